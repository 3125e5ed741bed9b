"""Start programs under a policy; find what ``execve`` runs, and whether it preloads libraries."""

import contextlib
import errno
import os
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import gcd
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, NoReturn

from tierscope.machine.files import Files
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import ExitCode, UserError
from tierscope.place.features import has_feature, missing
from tierscope.place.nodes import format_list
from tierscope.place.policy import Policy, check_policy, kernel_mode, policy_set
from tierscope.place.weights import kernel_weights, table_words

_GRACE_S = 5.0
"""Between a signal that asks a program to end and SIGKILL."""
_MOST_INTERPRETERS = 5
"""Scripts whose interpreter is a script: Linux follows so many (fs/exec.c)."""
_LINE = 256
"""Bytes of a script's first line that Linux looks at (BINPRM_BUF_SIZE)."""
_LOADED, _DYNAMIC, _INTERPRETER, _NOTE = 1, 2, 3, 4
"""PT_*: kinds of ELF program headers."""
_STRINGS, _STRINGS_LENGTH = 5, 10
"""DT_STRTAB and DT_STRSZ: entries for the dynamic loader."""
_MOST_DYNAMIC, _MOST_NAMES = 1 << 16, 1 << 26
_SANITIZER = re.compile(
    rb"\0(__(a|hwa|l|m|t)san_init|__sanitizer_malloc_hook|__[lt]san_default_suppressions)\0"
)
"""Names in programs of GCC and Clang; a run time that is linked statically has one of the last."""
_OLDEST_GLIBC = (2, 31)
"""glibc of Debian 11, the oldest that programs were run with."""
_LOADER = re.compile(r"ld(64|-linux.*|-\d.*)?\.so(\.\d+)?")
Mechanism = Literal["kernel", "user"]
SETTING = "TIERSCOPE_PLACE"
"""The variable that tells the preloaded library what to do (alloc/place.c)."""
_LIBRARY = "_lib/libtierscope-place.so"


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


def end_program(process: "subprocess.Popen[bytes]", number: int = signal.SIGTERM) -> int:
    """Send a program a signal if it runs, and SIGKILL where it takes too long to end.

    Returns the status of Popen.
    """
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


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
        return f"{name} is not an ELF program"
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
    """One program header."""

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


def start(
    policy: Policy | None,
    command: Sequence[str],
    cpus: Sequence[int] | None = None,
    **settings: Any,
) -> "subprocess.Popen[Any]":
    """Start a program under a policy; None leaves it that of this thread.

    The calling thread takes the policy and the CPUs on for the moment in which it starts the
    child, which inherits both; so a refusal is an error here and not in the child. ``settings`` are
    Popen's. Raises UserError for the policy and the CPUs, OSError where the program does not start.
    """
    with contextlib.ExitStack() as stack:
        if cpus:
            stack.enter_context(_on_cpus(cpus))
        if policy:
            stack.enter_context(policy_set(policy))
        return subprocess.Popen(list(command), **settings)


def become(program: Path, command: Sequence[str], environment: dict[bytes, bytes]) -> NoReturn:
    """Turn this process into a program; raises UserError where it cannot be executed."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, [*command], environment)  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise cannot_start(command[0], error) from None


def run_on(cpus: Sequence[int]) -> None:
    """Let the calling thread run on these CPUs only; raises UserError where it may not."""
    allowed = os.sched_getaffinity(0)
    outside = sorted(set(cpus) - allowed)
    if outside:
        raise UserError(
            f"CPUs {format_ranges(tuple(outside))} do not exist, are offline or are outside of "
            f"what this process may use: {format_ranges(tuple(sorted(allowed)))}"
        )
    os.sched_setaffinity(0, cpus)


@contextlib.contextmanager
def _on_cpus(cpus: Sequence[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    run_on(cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Launch:
    """Policy and settings that a program is started with."""

    policy: Policy | None = None
    """Policy of its process; None keeps the caller's."""
    setting: str = ""
    """Setting for the preloaded library; empty where none is needed."""
    mechanism: Mechanism = "kernel"
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, before the program starts."""


def decide(
    policy: Policy,
    mechanism: Mechanism | None = None,
    heap_only: bool = False,
    files: Files | None = None,
) -> Launch:
    """Return how to do what was asked; raises UserError where this machine cannot.

    ``mechanism`` is for weights: by default the kernel places by them where its table has them,
    else the library does.
    """
    files = files or Files()
    if mechanism and policy.mode != "weighted":
        raise UserError(f"--mechanism is for weights; policy {policy.mode} is always the kernel's")
    if heap_only and (policy.mode == "local" or policy.balancing):
        what = "--balancing" if policy.balancing else "policy local"
        raise UserError(f"--heap-only does not go with {what}; leave one of them out")
    notes: list[str] = []
    if policy.mode == "weighted" and _by_user(policy, mechanism, files, notes):
        pairs = zip(policy.nodes, policy.weights, strict=True)
        setting = "weights " + ",".join(f"{node}@{weight}" for node, weight in pairs)
        # What the library does not see, code and stacks, stays on these nodes, too.
        rest = None if heap_only else Policy("bind", policy.nodes)
        return Launch(rest, setting, "user", notes)
    check_policy(policy, files)
    if heap_only:
        setting = f"{kernel_mode(policy.mode)} {format_list(policy.nodes)}"
        return Launch(None, setting, "kernel", notes)
    return Launch(policy, notes=notes)


def _by_user(policy: Policy, mechanism: Mechanism | None, files: Files, notes: list[str]) -> bool:
    """Whether the library has to place by weights; adds to ``notes`` what applies, and why."""
    lacking = missing("weighted-interleave", files)
    if not policy.weights:
        if lacking or mechanism == "user":
            raise UserError(
                f"policy {policy}: name the weights, as in --to node:0,2@3:1"
                + (f"; {lacking}" if lacking else "")
            )
        notes.append(f"the weights are the kernel's: {_table_words(policy.nodes, files)}")
        return False
    if mechanism == "user":
        return True
    if lacking:
        if mechanism == "kernel":
            raise UserError(f"policy {policy}: {lacking} (leave --mechanism out)")
        notes.append(lacking)
        return True
    table = kernel_weights(policy.nodes, files)
    if _reduced(table) == _reduced(policy.weights):
        return False
    differ = (
        "the kernel's weights, one table for the whole machine, are "
        f"{_table_words(policy.nodes, files)}; `{apply_command(policy)}` sets those asked for"
    )
    if mechanism == "kernel":
        raise UserError(
            f"policy {policy}: {differ}; without --mechanism, a preloaded library places by them"
        )
    notes.append(f"a preloaded library places memory by these weights, since {differ}")
    return True


def apply_command(policy: Policy) -> str:
    """Return the command that writes a policy's weights into the kernel's table."""
    weights = ":".join(map(str, policy.weights))
    return f"sudo tierscope place weights --use node:{format_list(policy.nodes)}@{weights} --apply"


def _table_words(nodes: tuple[int, ...], files: Files) -> str:
    return table_words(dict(zip(nodes, kernel_weights(nodes, files), strict=True)))


def _reduced(weights: tuple[int, ...]) -> tuple[int, ...]:
    """3:1 of 6:2: rounds are of another length then, shares the same."""
    divisor = reduce(gcd, weights)
    return tuple(weight // divisor for weight in weights)


def preloading(
    launch: Launch, policy: Policy, program: Path, environment: dict[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return the environment with the library in it, where one is needed.

    Raises UserError where the program would not load it, with what to do instead.
    """
    if not launch.setting:
        return environment
    library = find_installed(_LIBRARY)
    if why := preload_obstacle(program, library):
        remedy = _remedy(policy, heap_only=launch.policy is None)
        raise UserError(f"policy {policy} needs a preloaded library, and {why}; {remedy}")
    return with_library(environment, library) | {SETTING.encode(): launch.setting.encode()}


def with_library(environment: dict[bytes, bytes], library: Path) -> dict[bytes, bytes]:
    """Return an environment in which a library is preloaded.

    It is behind others, so that an allocator among them stays the program's.
    """
    earlier = environment.get(b"LD_PRELOAD", b"")
    return environment | {b"LD_PRELOAD": b":".join(filter(None, (earlier, os.fsencode(library))))}


def _remedy(policy: Policy, heap_only: bool) -> str:
    if policy.mode == "weighted" and not has_feature("weighted-interleave"):
        return "use policy interleave, which places one page on each node in turn"
    weights = policy.weights and _reduced(policy.weights)
    if weights and weights != _reduced(kernel_weights(policy.nodes)):
        then = "the kernel then places it" + (" without --heap-only" if heap_only else "")
        return f"`{apply_command(policy)}` makes them the kernel's weights; {then}"
    return "without --heap-only and --mechanism, the kernel places all of its memory"


def find_library() -> Path:
    """Return the library that places memory; raises UserError without one."""
    return find_installed(_LIBRARY)


def find_installed(name: str) -> Path:
    """Return a file or folder that is installed with this package; raises UserError without it.

    In a source tree that ``make run`` set up, builds the allocator library, which that leaves out.
    """
    source = Path(__file__).parents[3]
    build = source / "build/engine"
    found = _installed(name)
    if found is None and (source / "tools/bootstrap").exists() and (build / "build.ninja").exists():
        print("building the allocator library, once", file=sys.stderr)
        tool = [f"{source}/tools/bootstrap", "--allocator", sys.prefix, str(build)]
        if subprocess.run(tool, stdout=sys.stderr, check=False).returncode:
            raise UserError(f"the allocator library cannot be built; see {build}.log")
        found = _installed(name)
    if found is None:
        raise UserError(
            f"{Path(name).name} is not installed with this tierscope; build it with 'make build', "
            "or install the wheel again"
        )
    return found


def _installed(name: str) -> Path | None:
    folders = (Path(__file__).parents[1], *(Path(entry) / "tierscope" for entry in sys.path))
    return next((folder / name for folder in folders if (folder / name).exists()), None)


def own_environment() -> dict[bytes, bytes]:
    """Return the environment that this process was started with.

    ``os.environ`` has what Python and tierscope set since.
    """
    try:
        text = Path("/proc/self/environ").read_bytes()
    except OSError:
        return dict(os.environb)
    return dict(entry.split(b"=", 1) for entry in text.split(b"\0") if b"=" in entry)
