"""MLC's modes, options and types of traffic, which are ratios of reads to writes on the bus.

A program's ordinary store fetches its line before it writes it (write-allocate), so a line written
is a read and a write on the bus. Of lines that a program reads (R) and writes (S), with R + S = 1:

- ordinary stores: R + S = 1 read and S writes on the bus, so r:w takes S = w / r. W2, 2:1, is a
  line read for each line written; W5, 1:1, is nothing but writes.
- non-temporal stores fetch nothing: R reads and S writes, so r:w takes S = w / (r + w).

The engine takes whole percent: 3:1 is 33 of 100 lines written, 3.03:1 on the bus.

Sources: what MLC's documents and scripts that call it name the types (W2 2:1, W3 3:1, W5 1:1, W12
4:1, W6 to W9 non-temporal), and Intel's release notes (W19: 90% reads).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tierscope.model.errors import UserError
from tierscope.model.stream import StreamPattern
from tierscope.peers.drop_in import Given, Values, errors_at, parse_flags, path, whole, word
from tierscope.plans.grammar import parse_duration, parse_size

_KIB = 1 << 10
_CPU = whole(0, 65535)
_NODE = whole(0, 1023)
_NO_PMEM = "persistent memory is measured by 'tierscope persist' and --to pmem:PATH"
_ALIASES = {"peak_bandwidth": "peak_injection_bandwidth"}
"""Names of older versions."""
_SCAN = "memory_bandwidth_scan"
_OWN = ("help", "version", "json")
_HELP = "see 'tierscope mlc --help'"


@dataclass(frozen=True)
class Mix:
    """One type of traffic."""

    name: str
    """After ``-``: R, W5."""
    reads: int
    writes: int
    """Ratio on the bus."""
    stores: Literal["ordinary", "nt"] = "ordinary"
    two_buffers: bool = False
    """Reads alternate between two buffers, writes go to a third one, as in STREAM's Triad."""

    @property
    def percent(self) -> int:
        """Lines that the program writes, of 100."""
        every = self.reads + self.writes if self.stores == "nt" else self.reads
        return round(100 * self.writes / every)

    @property
    def bus_bytes(self) -> float:
        """Bytes on the bus per byte that the program reads or writes."""
        return StreamPattern(writes=self.percent, stores=self.stores, size=1024).traffic().both

    @property
    def both(self) -> bool:
        """Whether the program reads and writes."""
        return 0 < self.percent < 100

    @property
    def words(self) -> str:
        """For help: ``3:1``, ``1:1 non-temporal``."""
        stores = " non-temporal" if self.stores == "nt" else ""
        return f"{self.reads}:{self.writes}{stores}{', two read buffers' * self.two_buffers}"


READS = Mix("R", 1, 0)
_WRITTEN = (
    Mix("W2", 2, 1),
    Mix("W3", 3, 1),
    Mix("W4", 3, 2),
    Mix("W5", 1, 1),
    Mix("W6", 0, 1, "nt"),
    Mix("W7", 2, 1, "nt"),
    Mix("W8", 1, 1, "nt"),
    Mix("W9", 3, 1, "nt"),
    Mix("W10", 2, 1, "nt", two_buffers=True),
    Mix("W11", 3, 1, two_buffers=True),
    Mix("W12", 4, 1),
    Mix("W19", 9, 1),
)
MIXES = {mix.name: mix for mix in (READS, *_WRITTEN)}
"""Types by name, in the order of help."""

TWO_NODES = {"W21": READS, "W23": MIXES["W3"], "W27": MIXES["W7"]}
"""Types of per-thread files whose buffer is on two nodes."""

PEAK = {
    "ALL Reads        :": READS,
    "3:1 Reads-Writes :": MIXES["W3"],
    "2:1 Reads-Writes :": MIXES["W2"],
    "1:1 Reads-Writes :": MIXES["W5"],
    "Stream-triad like:": MIXES["W10"],
}
"""Mixes of peak injection, by the beginning of their lines."""


def mix_of(text: str) -> Mix:
    """Return the type of ``-W``: its number."""
    found = MIXES.get(f"W{text}")
    if found is None:
        known = ", ".join(name[1:] for name in MIXES if name != READS.name)
        raise UserError(f"'{text}' is not a type of traffic; types: {known}")
    return found


LATENCY, PEAK_INJECTION, MATRIX, LOADED, C2C, IDLE, MAX = (
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
    PEAK_INJECTION: "highest bandwidth of all CPUs to their own nodes, for five mixes of traffic",
    MAX: "the same by several numbers of threads; the best of them",
    IDLE: "idle latency of one CPU, or of all (-a)",
    LOADED: "latency while the other CPUs load the memory, at falling rates",
    C2C: "latency of lines in another core's caches, clean (HIT) and modified (HITM)",
}
"""Modes with descriptions."""
BARE = (LATENCY, PEAK_INJECTION, MATRIX, LOADED, C2C)
"""Modes of ``mlc`` without arguments, in order."""
_BANDWIDTHS = (MATRIX, PEAK_INJECTION, MAX, LOADED)
_LATENCIES = (LATENCY, IDLE, LOADED)


@dataclass(frozen=True)
class Option:
    """One option; ``parse`` converts its text."""

    flag: str
    metavar: str
    """Placeholder of its value in help; empty: it takes none."""
    what: str
    modes: tuple[str, ...]
    """Modes that use it; in others it changes nothing."""
    parse: Callable[[str], Any] = lambda _: True
    refused: str = ""
    """Reason of a refusal."""
    ignored: str = ""
    """Reason why it changes nothing."""


@dataclass
class Line:
    """A parsed command line."""

    mode: str = ""
    """Empty: those of ``BARE``."""
    given: Values = field(default_factory=Values)
    """Values by flag, as in ``b``."""
    shown: str = ""
    """The arguments as MLC repeats them."""
    help: bool = False
    version: bool = False
    json: bool = False

    @property
    def modes(self) -> tuple[str, ...]:
        """Modes to measure."""
        return (self.mode,) if self.mode else BARE

    def of(self, flag: str, default: Any = None) -> Any:
        """The value of an option, else ``default``."""
        return self.given.of(flag, default)


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


OPTIONS = (
    Option("a", "", "every CPU in turn", (IDLE,)),
    Option("b", "SIZE", "buffer, a thread's where threads load: KiB, or with k, m or g",
        (*_BANDWIDTHS, LATENCY, IDLE), buffer_bytes),
    Option("B", "", "also the bandwidth of each thread, of at most 16",
        (PEAK_INJECTION, MAX, LOADED)),
    Option("c", "CPU", "measures latency, or reads", (IDLE, LOADED, C2C), _CPU),
    Option("d", "CLOCKS", "one delay of the load in place of the table's 19", (LOADED,),
        whole(0, 1_000_000)),
    Option("D", "BYTES", "range of random order (4096): one page after the other, up to 256k; "
        "beyond, all of the buffer", _LATENCIES, parse_size),
    Option("e", "", "leave hardware prefetchers as they are", _LATENCIES),
    Option("g", "FILE", "delays of the load, one a line", (LOADED,), path),
    Option("i", "CPU", "the buffer of the latency is on this CPU's node, without -j",
        (IDLE, LOADED, C2C), _CPU),
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


_SHORT = "h" + "".join(f"{flag}:" if option.metavar else flag for flag, option in BY_FLAG.items())
_LONG = (*MODES, *_ALIASES, _SCAN, *_OWN)


def parse_line(arguments: Sequence[str]) -> Line:
    """Parse MLC's arguments; UserError names the option and what it allows."""
    pairs, rest = parse_flags(arguments, _SHORT, _LONG, "mlc", _needs, "modes")
    if rest:
        raise UserError(f"'{rest[0]}' belongs to no option; {_HELP}")
    line = Line(shown=" ".join(one for one in arguments if one != "--json"))
    for name, text in pairs:
        if name.startswith("--"):
            _take_word(line, name[2:])
        elif name == "-h":
            line.help = True
        else:
            _take_flag(line, BY_FLAG[name[1:]], text)
    _check_together(line)
    return line


def remarks(line: Line) -> list[str]:
    """Return remarks on options without effect."""
    found = []
    for flag, given in line.given.items():
        option = BY_FLAG[flag]
        if option.ignored:
            found.append(f"{given.place} changes nothing: {option.ignored}")
        elif not set(option.modes) & set(line.modes):
            found.append(f"{given.place} changes nothing with --{' --'.join(line.modes)}")
    return found


def _take_word(line: Line, name: str) -> None:
    if name in _OWN:
        setattr(line, name, True)
        return
    if name == _SCAN:
        raise UserError(
            f"--{_SCAN} is refused: it goes by physical addresses, 1 GiB at a time, which programs "
            "cannot choose; --bandwidth_matrix measures each node"
        )
    mode = _ALIASES.get(name, name)
    if line.mode and line.mode != mode:
        raise UserError(f"--{name} stands beside --{line.mode}: one mode at a time, or none")
    line.mode = mode


def _take_flag(line: Line, option: Option, text: str) -> None:
    place = f"-{option.flag}"
    if option.refused:
        raise UserError(f"{place} is refused: {option.refused}")
    if option.flag in line.given and option.metavar:
        raise UserError(f"{place} is given twice")
    with errors_at(place):
        line.given[option.flag] = Given(option.parse(text.strip()), place)


def _check_together(line: Line) -> None:
    """Refuse options that contradict each other."""
    for one, other in (("d", "g"), ("R", "W"), ("R", "o"), ("W", "o"), ("Y", "Z")):
        if one in line.given and other in line.given:
            raise UserError(f"-{one} and -{other} contradict each other; give one")


def _needs(flag: str) -> str:
    option = BY_FLAG[flag]
    return f"{option.metavar}{', ' if option.what else ''}{option.what}"
