"""The programs that are written against cemalloc's documents: built, started, and their output."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tierscope.place.launch import find_library

SOURCES = Path(__file__).with_name("cemalloc")
JAVA = SOURCES / "java"
LIBRARIES = find_library().parent
LIBRARY = str(LIBRARIES / "libcemalloc.so")
_LINKED = ["-I", LIBRARIES.with_name("_include"), "-L", LIBRARIES, "-lcemalloc"]
PagesByBlock = dict[str, dict[int, int]]
"""Pages by node, for each way in which the program got memory."""


class Programs:
    """Those in C and C++; each is built when it is used first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def explicit(self) -> Path:
        """One that takes memory by cxl_malloc and its like."""
        return self._built("explicit.c", _LINKED)

    @cached_property
    def shares(self) -> Path:
        """One that is linked with the library and calls malloc."""
        return self._built("shares.c", _LINKED)

    @cached_property
    def implicit(self) -> Path:
        """One that knows nothing of the library."""
        return self._built("implicit.cpp", ["-std=c++17", "-pthread"])

    def _built(self, name: str, options: Sequence[str | Path]) -> Path:
        program = self._folder / Path(name).stem
        compiler = "c++" if name.endswith(".cpp") else "cc"
        command = [
            compiler,
            "-O1",
            "-Wall",
            "-Werror",
            "-D_GNU_SOURCE",
            f"-I{SOURCES.parent}",
            SOURCES / name,
            *options,
        ]
        subprocess.run([*command, "-o", program], check=True)
        return program


def environment(mode: str, **settings: str) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(LIBRARIES), "CE_MODE": mode, **settings}


def started(
    command: Sequence[str | Path], settings: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)


def pages_by_cemalloc(
    command: Sequence[str | Path], settings: dict[str, str], status: int = 0
) -> tuple[PagesByBlock, str]:
    """What the program prints, and what it says on stderr."""
    done = started(command, settings)
    assert done.returncode == status, done.stderr
    found = {}
    for what, *words in map(str.split, done.stdout.splitlines()):
        found[what] = {int(node): int(pages) for node, pages in (one.split(":") for one in words)}
    return found, done.stderr


def run_indicator(settings: dict[str, str], status: int = 0) -> tuple[PagesByBlock, str]:
    """The program in Python, with a module for cemalloc that does what HMSDK's does."""
    paths = {"LIBCEMALLOC_DIR": str(LIBRARIES), "PYTHONPATH": str(SOURCES / "wrapper")}
    return pages_by_cemalloc([sys.executable, SOURCES / "indicator.py"], settings | paths, status)
