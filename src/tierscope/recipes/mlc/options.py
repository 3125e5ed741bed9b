"""MLC's modes and options, one table of each."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tierscope.model.errors import UserError
from tierscope.plans.grammar import parse_duration, parse_size
from tierscope.recipes.drop_in.given import Given, path
from tierscope.recipes.mlc.traffic import mix_of

LATENCY, PEAK, MATRIX, LOADED, C2C, IDLE, MAX = (
    "latency_matrix",
    "peak_injection_bandwidth",
    "bandwidth_matrix",
    "loaded_latency",
    "c2c_latency",
    "idle_latency",
    "max_bandwidth",
)
MODES = {
    LATENCY: "idle latency, each node's CPUs to each node's memory",
    MATRIX: "bandwidth, likewise",
    PEAK: "highest bandwidth of all CPUs to their own nodes, for five mixes of traffic",
    MAX: "the same by several numbers of threads; the best of them",
    IDLE: "idle latency of one CPU, or of all (-a)",
    LOADED: "latency while the other CPUs load the memory, at falling rates",
    C2C: "latency of lines in another core's caches, clean (HIT) and modified (HITM)",
}
"""With what each one measures."""
BARE = (LATENCY, PEAK, MATRIX, LOADED, C2C)
"""What ``mlc`` without a mode measures, in this order."""
_BANDWIDTHS = (MATRIX, PEAK, MAX, LOADED)
_LATENCIES = (LATENCY, IDLE, LOADED)
_KIB = 1 << 10


@dataclass(frozen=True)
class Option:
    """One option; a value's text is turned into what ``parse`` returns."""

    flag: str
    metavar: str
    """What stands for its value in help; empty: it takes none."""
    what: str
    modes: tuple[str, ...]
    """Modes that it means something for; in others it changes nothing."""
    parse: Callable[[str], Any] = lambda _: True
    refused: str = ""
    """Why it cannot be had."""
    ignored: str = ""
    """Why it changes nothing."""


@dataclass
class Line:
    """A parsed command line."""

    mode: str = ""
    """Empty: those of ``BARE``."""
    given: dict[str, Given] = field(default_factory=dict)
    """By flag, as in ``b``."""
    shown: str = ""
    """The arguments as MLC repeats them."""
    help: bool = False
    version: bool = False
    json: bool = False

    @property
    def modes(self) -> tuple[str, ...]:
        """What is measured."""
        return (self.mode,) if self.mode else BARE

    def of(self, flag: str, default: Any = None) -> Any:
        """The value of an option, else ``default``."""
        found = self.given.get(flag)
        return default if found is None else found.value


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from low to high."""

    def parse(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) <= 12
        if not digits or not low <= int(text) <= high:
            raise UserError(f"'{text}' is not a whole number from {low} to {high}")
        return int(text)

    return parse


def buffer_bytes(text: str) -> int:
    """Parse ``100000`` (KiB), ``500m`` or ``2g`` into bytes, from 1 KiB to 1 TiB in whole KiB."""
    size = int(text) * _KIB if text.isascii() and text.isdigit() else parse_size(text)
    if not _KIB <= size <= 1 << 40 or size % _KIB:
        raise UserError(f"'{text}' is not a buffer of 1 KiB to 1 TiB, as in 100000 (KiB), 500m, 2g")
    return size


def _stride(text: str) -> int:
    found = whole(64, 1 << 20)(text)
    if found % 64:
        raise UserError(f"'{text}' is not a multiple of 64 bytes")
    return found


def _seconds(text: str) -> float:
    return parse_duration(text, 0, 86400)


def word(text: str) -> str:
    """Let any text through."""
    return text


_CPU = whole(0, 65535)
_NODE = whole(0, 1023)
_NO_PMEM = "persistent memory is measured by 'tierscope persist' and --to pmem:PATH"
OPTIONS = (
    Option("a", "", "every CPU in turn", (IDLE,)),
    Option("b", "SIZE", "buffer, a thread's where threads load: KiB, or with k, m or g",
        (*_BANDWIDTHS, LATENCY, IDLE), buffer_bytes),
    Option("B", "", "also the bandwidth of each thread, of at most 16", (PEAK, MAX, LOADED)),
    Option("c", "CPU", "measures latency, or reads", (IDLE, LOADED, C2C), _CPU),
    Option("d", "CLOCKS", "one delay of the load in place of the table's 19", (LOADED,),
        whole(0, 1_000_000)),
    Option("D", "BYTES", "range of random order (4096): one page after the other, up to 256k; "
        "beyond, all of the buffer", _LATENCIES, parse_size),
    Option("e", "", "leave hardware prefetchers as they are", _LATENCIES),
    Option("g", "FILE", "delays of the load, one a line", (LOADED,), path),
    Option("i", "CPU", "the buffer of the latency is on this CPU's node", (IDLE, LOADED, C2C),
        _CPU),
    Option("j", "NODE", "all buffers are on this node", (IDLE, LOADED), _NODE),
    Option("k", "CPUS", "CPUs that move data, as in 3-6,9", _BANDWIDTHS, word),
    Option("l", "BYTES", "stride of the latency's loads (256; MLC's 64 lets neighbouring lines "
        "help)", _LATENCIES, _stride),
    Option("L", "", "2 MiB pages of the kernel's pool in place of transparent ones",
        (*_BANDWIDTHS, LATENCY, IDLE)),
    Option("o", "FILE", "traffic of each thread, a line for each (see below); with -T", (LOADED,),
        path),
    Option("r", "", "random order, which latency is always measured in", _LATENCIES),
    Option("R", "", "all reads", (MATRIX, LOADED)),
    Option("t", "SECONDS", "for each figure, set-up included, at most (2)", tuple(MODES),
        _seconds),
    Option("T", "", "load only, no latency", (LOADED,)),
    Option("u", "", "", (LOADED,), refused="threads that share a buffer find lines in caches "
        "that others fetched; 'tierscope bandwidth --sharing shared' measures that"),
    Option("U", "", "random order of the traffic", _BANDWIDTHS),
    Option("v", "", "verbose", tuple(MODES), ignored="the run file has everything"),
    Option("w", "CPU", "writes", (C2C,), _CPU),
    Option("W", "TYPE", "traffic, see below", (MATRIX, LOADED), mix_of),
    Option("x", "MI", "iterations", (IDLE,), word, ignored="-t limits the time, and an interval "
        "that is narrow enough ends it earlier"),
    Option("X", "", "one thread a core", (*_BANDWIDTHS, IDLE)),
    Option("Y", "", "AVX2", _BANDWIDTHS),
    Option("Z", "", "AVX-512", _BANDWIDTHS),
    Option("f", "N", "", (), word, refused="percentiles of loads are in the run file"),
    Option("I", "", "", (), ignored="what is written is always verified"),
    Option("J", "DIR", "", (), word, refused=_NO_PMEM),
    Option("m", "MASK", "", (), word, refused="name CPUs in -k"),
    Option("M", "N", "", (), word, refused="buffers have contents of the engine's own, by which "
        "they are verified"),
    Option("n", "BYTES", "", (), word, refused="-U goes over all of the buffer in random order"),
    Option("p", "CPUS", "", (), word, refused="keep cores awake by the kernel's settings; "
        "'tierscope doctor' names those that matter"),
    Option("P", "", "", (), refused=_NO_PMEM),
    Option("Q", "", "", (), refused="'tierscope traffic --mix 0:100clflushopt' writes lines back"),
    Option("s", "NAME", "", (), word, refused="--start-at begins programs together"),
    Option("S", "CPU", "", (), word, refused="a third CPU takes no part in core-to-core latency"),
)  # fmt: skip
BY_FLAG = {option.flag: option for option in OPTIONS}
