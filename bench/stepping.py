"""The instructions that a running thread executes one by one, with the memory that each touches.

A thread in the middle of its loop is stopped and single-stepped (ptrace, x86-64); objdump names the
instruction at each address, and the registers give the addresses of its operands. So loops of two
programs compare, whatever their compilers made of them.
"""

import contextlib
import ctypes
import os
import re
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_STEP, _REGISTERS, _ATTACH, _DETACH = 9, 12, 16, 17
_ALL_THREADS = 0x40000000
_NAMES = ("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx",
          "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp")  # fmt: skip
"""Of user_regs_struct, in its order."""
_LINE = re.compile(
    r"^\s+([0-9a-f]+):\t((?:(?:lock|rep|repz|repnz|notrack|bnd|data16|cs) )*)(\S+) *(.*)$"
)
_OPERAND = re.compile(r"(%fs:)?(-?0x[0-9a-f]+|-?\d+)?\((%\w+)?(?:,(%\w+))?(?:,(\d))?\)")
_FENCES = ("sfence", "mfence")
_FLUSHES = ("clwb", "clflush", "clflushopt")
_IGNORED = ("lea", "nop", "prefetch", "lfence")
_SUFFIXES = {"b": 1, "w": 2, "l": 4, "q": 8}
_REGISTER = re.compile(r"%(xmm|ymm|zmm|r\w+|e\w+|\w+)")
_VECTORS = {"xmm": 16, "ymm": 32, "zmm": 64}
_LONG = 4096
"""Bytes from which on a run counts as a stream."""


@dataclass(frozen=True)
class Step:
    """An executed instruction that touches the region or orders memory."""

    what: str
    """load, store, nt-load, nt-store, atomic, clwb, clflush, clflushopt, sfence or mfence."""
    address: int = 0
    size: int = 0


@dataclass(frozen=True)
class Instruction:
    """An instruction as objdump writes it."""

    name: str
    operands: str
    locked: bool = False


@cache
def disassembly(program: Path) -> dict[int, Instruction]:
    """Return the instructions of a program by their address in the file."""
    command = ["objdump", "-d", "-w", "--no-show-raw-insn", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        if match := _LINE.match(line):
            operands = match[4].partition("#")[0].partition("<")[0].strip()
            found[int(match[1], 16)] = Instruction(match[3], operands, "lock" in match[2])
    return found


def steps_of(instruction: Instruction, registers: dict[str, int], region: range) -> Iterator[Step]:
    """Yield what an instruction does to the region, or to the order of memory."""
    name = instruction.name
    if name in _FENCES:
        yield Step(name)
    operand = _OPERAND.search(instruction.operands)
    if not operand or operand[1] or name.startswith(_IGNORED):
        return
    address = _address(operand, registers)
    if address not in region:
        return
    if name in _FLUSHES:
        yield Step(name, address)
        return
    size = _size(instruction)
    writes = instruction.operands.endswith(")") and not name.startswith(("cmp", "test", "vptest"))
    streams = "nt-" if "movnt" in name else ""
    if instruction.locked or name.startswith("xchg"):
        yield Step("atomic", address, size)
    elif not writes:
        yield Step(f"{streams}load", address, size)
    else:
        if "mov" not in name and not name.startswith("set"):
            yield Step("load", address, size)
        yield Step(f"{streams}store", address, size)


def _address(operand: re.Match[str], registers: dict[str, int]) -> int:
    at = int(operand[2] or "0", 0)
    for register, factor in ((operand[3], 1), (operand[4], int(operand[5] or "1"))):
        if register:
            at += registers.get(register[1:], 0) * factor
    return at & (1 << 64) - 1


def _size(instruction: Instruction) -> int:
    outside = _OPERAND.sub("", instruction.operands)
    found = [match[1] for match in _REGISTER.finditer(outside)]
    for name in found:
        if name[:3] in _VECTORS:
            return _VECTORS[name[:3]]
    if found:
        name = found[0]
        wide = name.startswith("r") and not name.endswith(("d", "w", "b"))
        return 8 if wide else 4 if name.startswith("e") or name.endswith("d") else 1
    return _SUFFIXES.get(instruction.name[-1], 8)


def events(steps: Sequence[Step]) -> list[str]:
    """Return steps in words: adjacent accesses of one sort are one, as are fences in a row."""
    found: list[tuple[str, int, int]] = []
    for step in steps:
        what, low, high = found[-1] if found else ("", 0, 0)
        if step.what == what and (step.what in _FENCES or low <= step.address <= high):
            # A read of a flushed line's other words, or of the next line, goes on with the run.
            found[-1] = (what, low, max(high, step.address + step.size))
        elif step.what in _FLUSHES and step.what == what:
            found[-1] = (what, low, high + 64)
        else:
            found.append((step.what, step.address, step.address + (step.size or 64)))
    return [_in_words(*one) for one in found]


def _in_words(what: str, low: int, high: int) -> str:
    if what in _FENCES:
        return what
    size = high - low
    return f"{what} of a stream" if size >= _LONG else f"{what} {size}"


def loop(found: Sequence[str]) -> dict[str, float]:
    """Return the events of a loop, each by how often it comes to one of the most frequent."""
    counts = Counter(found[1:-1])
    most = max(counts.values(), default=1)
    return {what: count / most for what, count in sorted(counts.items()) if count / most > 0.1}


class Watched:
    """A program whose threads are stepped."""

    def __init__(self, pid: int) -> None:
        """Disassemble the program of the process, which may take seconds."""
        self.pid = pid
        program = Path(f"/proc/{pid}/exe")
        head = program.open("rb").read(18)
        self._moved = struct.unpack("<H", head[16:18])[0] != 2  # ET_EXEC
        self._instructions = disassembly(program.resolve())

    def step(self, thread: int, count: int, region: range) -> list[Step]:
        """Return what a thread does to the region within so many instructions."""
        base = self._base() if self._moved else 0
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        libc.ptrace.restype = ctypes.c_long
        state = (ctypes.c_ulonglong * 27)()
        found: list[Step] = []
        if libc.ptrace(_ATTACH, thread, None, None):
            raise OSError(ctypes.get_errno(), f"thread {thread} cannot be stepped")
        try:
            os.waitpid(thread, _ALL_THREADS)
            for _ in range(count):
                libc.ptrace(_REGISTERS, thread, None, ctypes.addressof(state))
                registers = dict(zip(_NAMES, state, strict=False))
                instruction = self._instructions.get(registers["rip"] - base)
                if instruction:
                    found += steps_of(instruction, registers, region)
                libc.ptrace(_STEP, thread, None, None)
                _, status = os.waitpid(thread, _ALL_THREADS)
                if not os.WIFSTOPPED(status):
                    return found
        finally:
            libc.ptrace(_DETACH, thread, None, None)
        return found

    def _base(self) -> int:
        program = str(Path(f"/proc/{self.pid}/exe").readlink())
        for line in Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            if line.endswith(program) and line.split()[2] == "00000000":
                return int(line.partition("-")[0], 16)
        raise OSError(f"{program} is not mapped")

    def busiest(self) -> int:
        """Return the running thread that used most CPU time: one that waits cannot be stepped."""
        used: dict[int, int] = {}
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                fields = (task / "stat").read_text().rpartition(")")[2].split()
                if fields[0] == "R":
                    used[int(task.name)] = int(fields[11]) + int(fields[12])
        if not used:
            raise OSError("no thread is running")
        return max(used, key=used.__getitem__)
