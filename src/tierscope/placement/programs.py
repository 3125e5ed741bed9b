"""Programs, as ``execve`` finds them: what is executed in the end, and whether it preloads."""

import errno
import os
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tierscope.model.errors import ExitCode, UserError
from tierscope.topology.files import Files

_MOST_INTERPRETERS = 5
"""Scripts whose interpreter is a script: Linux follows so many (fs/exec.c)."""
_LINE = 256
"""Bytes of a script's first line that Linux looks at (BINPRM_BUF_SIZE)."""
_LOADED, _DYNAMIC, _INTERPRETER, _NOTE = 1, 2, 3, 4
"""PT_*: kinds of ELF program headers."""
_STRINGS, _STRINGS_LENGTH = 5, 10
"""DT_STRTAB and DT_STRSZ: entries for the dynamic loader."""
_MOST_DYNAMIC, _MOST_NAMES = 1 << 16, 1 << 26
_SANITIZER = re.compile(rb"\0(__(a|hwa|l|m|t)san_init|__sanitizer_malloc_hook)\0")
"""Names in programs of GCC and Clang; a run time that is linked statically has the last one."""
_OLDEST_GLIBC = (2, 31)
"""That of Debian 11, the oldest that programs were run with."""
_LOADER = re.compile(r"ld(64|-linux.*|-\d.*)?\.so(\.\d+)?")


@dataclass(frozen=True)
class Elf:
    """The parts of an ELF file that preloading depends on."""

    machine: bytes
    """Word size, byte order and instruction set."""
    loader: str
    """The dynamic loader that it names; empty in static programs."""
    is_go: bool
    """Built by Go's own compiler."""
    has_sanitizer: bool
    """Built with a sanitizer that has an allocator of its own."""


def find_program(name: str) -> Path:
    """Return the file that ``name`` executes, as a shell looks for it.

    Raises UserError with status 127 where there is none and 126 where it cannot be executed.
    """
    folders = [""] if "/" in name else os.get_exec_path()
    found = [path for folder in folders if (path := Path(folder, name)).exists()]
    if not name or not found:
        where = "no such file" if "/" in name else "no folder of PATH has it"
        raise UserError(f"'{name}' cannot be started: {where}", ExitCode.NOT_FOUND)
    for path in found:
        if path.is_file() and os.access(path, os.X_OK):
            _check_interpreters(path)
            return path
    what = "is a folder" if found[0].is_dir() else "is not executable; chmod +x allows it"
    raise UserError(f"'{name}' cannot be started: {found[0]} {what}", ExitCode.NOT_EXECUTABLE)


def cannot_start(name: str, error: OSError) -> UserError:
    """Return what to say where ``execve`` itself refuses."""
    why = {
        errno.ENOEXEC: "it is neither a program of this machine nor a script that begins with #!",
        errno.E2BIG: "its arguments and environment are too long",
    }.get(error.errno or 0, error.strerror)
    status = ExitCode.NOT_FOUND if error.errno == errno.ENOENT else ExitCode.NOT_EXECUTABLE
    return UserError(f"'{name}' cannot be started: {why}", status)


def interpreted_by(path: Path) -> list[Path]:
    """Return a script's interpreter, that one's own and so on; empty for a program."""
    found: list[Path] = []
    while len(found) < _MOST_INTERPRETERS:
        first_line = _beginning(found[-1] if found else path, _LINE).partition(b"\n")[0]
        words = first_line[2:].split() if first_line.startswith(b"#!") else []
        if not words:
            break
        found.append(Path(os.fsdecode(words[0])))
    return found


def preload_obstacle(path: Path, library: Path, files: Files | None = None) -> str:
    """Say why a library cannot be preloaded into a program; empty where it can."""
    executed = [path, *interpreted_by(path)][-1]
    name = f"'{path}'" if executed == path else f"'{executed}', which interprets '{path}',"
    elf, own = read_elf(executed), read_elf(library)
    if elf is None:
        return f"{name} is no ELF program"
    if own is not None and elf.machine != own.machine:
        return f"{name} is built for another kind of processor or word size than the library"
    if not elf.loader and not _LOADER.fullmatch(executed.name):
        return f"{name} is statically linked and has no dynamic loader"
    if "musl" in elf.loader:
        return f"{name} is built for the C library musl, the library for glibc"
    if glibc_version() < _OLDEST_GLIBC:
        has, needed = (".".join(map(str, v)) for v in (glibc_version(), _OLDEST_GLIBC))
        return f"this system has glibc {has}, and libraries are preloaded from {needed} on only"
    if elf.is_go:
        return f"{name} is written in Go, which maps memory without the C library"
    if elf.has_sanitizer:
        return (
            f"{name} is built with a sanitizer (-fsanitize=address, thread, memory or leak), whose "
            "allocator maps memory without the C library"
        )
    if why := _gains_privileges(executed, files or Files()):
        return f"{name} {why}, and the dynamic loader ignores LD_PRELOAD in such programs"
    return ""


def glibc_version() -> tuple[int, ...]:
    """Return the version of the C library that runs tierscope; (0,) where it is not glibc."""
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    return tuple(map(int, version.split("."))) if name == "glibc" else (0,)


def read_elf(path: Path) -> Elf | None:
    """Return what an ELF file's headers say; None where it is none or cannot be read."""
    try:
        with path.open("rb") as file:
            header = file.read(64)
            if header[:4] != b"\x7fELF" or len(header) < 52:
                return None
            wide, order = header[4] == 2, "<" if header[5] == 1 else ">"
            offset = struct.unpack_from(
                f"{order}Q" if wide else f"{order}I", header, 32 if wide else 28
            )[0]
            size, count = struct.unpack_from(f"{order}HH", header, 54 if wide else 42)
            file.seek(offset)
            table = file.read(size * count)
            loader, is_go = "", False
            segments = [
                _segment(table, at, wide, order)
                for at in range(0, len(table) - size + 1, size or 1)
            ]
            for one in segments:
                if one.kind in (_INTERPRETER, _NOTE):
                    data = _read(file, one.start, min(one.length, 4096))
                    if one.kind == _INTERPRETER:
                        loader = os.fsdecode(data.rstrip(b"\0"))
                    is_go = is_go or (one.kind == _NOTE and b"Go\0\0" in data)
            names = _dynamic_names(file, segments, wide, order)
    except (OSError, struct.error, OverflowError, ValueError):
        return None
    has_sanitizer = _SANITIZER.search(names) is not None
    return Elf(header[4:6] + header[18:20], loader, is_go, has_sanitizer)


class _Segment(NamedTuple):
    """What one program header says."""

    kind: int
    start: int
    """In the file."""
    address: int
    length: int
    """In the file."""


def _segment(table: bytes, at: int, wide: bool, order: str) -> _Segment:
    if wide:
        kind, _, start, address, _, length = struct.unpack_from(f"{order}IIQQQQ", table, at)
    else:
        kind, start, address, _, length = struct.unpack_from(f"{order}IIIII", table, at)
    return _Segment(kind, start, address, length)


def _dynamic_names(file: BinaryIO, segments: Sequence[_Segment], wide: bool, order: str) -> bytes:
    """Return the names of symbols and libraries for the dynamic loader, each between zero bytes."""
    entry = struct.Struct(f"{order}{'QQ' if wide else 'II'}")
    found: dict[int, int] = {}
    for one in segments:
        if one.kind == _DYNAMIC:
            data = _read(file, one.start, min(one.length, _MOST_DYNAMIC))
            found.update(entry.iter_unpack(data[: len(data) // entry.size * entry.size]))
    address, length = found.get(_STRINGS, 0), found.get(_STRINGS_LENGTH, 0)
    for one in segments:
        if one.kind == _LOADED and one.address <= address < one.address + one.length:
            return _read(file, one.start + address - one.address, min(length, _MOST_NAMES))
    return b""


def _read(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)


def _gains_privileges(path: Path, files: Files) -> str:
    """Say by what a program gets more rights than its caller has (AT_SECURE); else empty."""
    status = files.text("/proc/self/status") or ""
    found = path.stat()
    if "NoNewPrivs:\t1" in status or os.statvfs(path).f_flag & os.ST_NOSUID:
        return ""
    if found.st_mode & 0o4000 and found.st_uid != os.getuid():
        return "is set-user-ID"
    if found.st_mode & 0o2010 == 0o2010 and found.st_gid != os.getgid():
        return "is set-group-ID"
    if os.getuid() != 0 and "security.capability" in os.listxattr(path):
        return "has file capabilities"
    return ""


def _check_interpreters(path: Path) -> None:
    for interpreter in interpreted_by(path):
        if not interpreter.is_file() or not os.access(interpreter, os.X_OK):
            raise UserError(
                f"'{path}' cannot be started: its interpreter '{interpreter}' is not there or "
                "not executable",
                ExitCode.NOT_EXECUTABLE,
            )


def _beginning(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""
