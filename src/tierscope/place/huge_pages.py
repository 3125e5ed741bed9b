"""Transparent huge pages of programs that are started.

The kernel has one setting for the machine (Documentation/admin-guide/mm/transhuge.rst). A process
can have less than that, by prctl(2), PR_SET_THP_DISABLE: none at all (Linux 3.15), or only where
it asks for them by madvise (6.18). Nothing gives one process more.
"""

import contextlib
import ctypes
import errno
import os
import re
from collections.abc import Iterator
from typing import Literal, get_args

from tierscope.machine.files import Files
from tierscope.model.errors import UserError

HugePages = Literal["never", "madvise", "always"]
"""For a program: none; where it asks for them by madvise; wherever they fit."""
HUGE_PAGES: tuple[HugePages, ...] = get_args(HugePages)
_SETTING = "/sys/kernel/mm/transparent_hugepage/enabled"
_PR_SET_THP_DISABLE = 41
_PR_GET_THP_DISABLE = 42
_DISABLED, _EXCEPT_ADVISED = 1, 1 << 1
_STATES: dict[HugePages, int] = {
    "never": _DISABLED,
    "madvise": _DISABLED | _EXCEPT_ADVISED,
    "always": 0,
}


@contextlib.contextmanager
def huge_pages(which: HugePages, files: Files | None = None) -> Iterator[None]:
    """Have programs that are started in the block get huge pages as asked: they inherit it.

    Raises UserError where the kernel cannot do it for a single program.
    """
    setting = _setting(files or Files())
    if which == "always" and setting != "always":
        raise UserError(
            f"thp:always: {_SETTING} is {setting or 'absent'}, and Linux cannot give one program "
            f"more than that; echo always | sudo tee {_SETTING} is for all programs, and "
            "env:GLIBC_TUNABLES=glibc.malloc.hugetlb=1 for what a program gets from malloc"
        )
    if which == "madvise" and setting == "never":
        raise UserError(
            f"thp:madvise: {_SETTING} is never, and Linux cannot give one program more than that; "
            f"echo madvise | sudo tee {_SETTING} is for all programs"
        )
    # Where the machine's setting is what is asked for, nothing has to be taken away.
    state = 0 if which == setting == "madvise" else _STATES[which]
    before = _get()
    _set(state)
    try:
        yield
    finally:
        _set(before)


def _setting(files: Files) -> str:
    """Return the machine's setting: the word in brackets."""
    found = re.search(r"\[(\w+)\]", files.text(_SETTING) or "")
    return found[1] if found else ""


def _get() -> int:
    return _prctl(_PR_GET_THP_DISABLE)


def _set(state: int) -> None:
    try:
        _prctl(_PR_SET_THP_DISABLE, state & _DISABLED, state & ~_DISABLED)
    except OSError as error:
        if error.errno == errno.EINVAL and state & _EXCEPT_ADVISED:
            raise UserError(
                "thp:madvise: this kernel cannot limit one program to the huge pages that it asks "
                "for, which came with Linux 6.18; use thp:never, or "
                f"echo madvise | sudo tee {_SETTING}, which is for all programs"
            ) from None
        raise UserError(
            f"transparent huge pages cannot be set for a program: {error.strerror}"
        ) from None


def _prctl(operation: int, value: int = 0, flags: int = 0) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    found: int = library.prctl(operation, ctypes.c_ulong(value), ctypes.c_ulong(flags), zero, zero)
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return found
