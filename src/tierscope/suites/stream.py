"""STREAM: its arrays by its own rule (McCalpin, stream.c 5.10, "Instructions" 1), its table."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.kinds.bandwidth.spec import BandwidthPattern, BandwidthSpec, arrays_of
from tierscope.kinds.bandwidth.spec import expand as expand_bandwidth
from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.model.spec import last_level_bytes
from tierscope.model.topology import Topology
from tierscope.plans import options
from tierscope.plans.axes import choices
from tierscope.plans.expand import expand
from tierscope.plans.grammar import format_size
from tierscope.plans.machine import MIB, default_size
from tierscope.plans.options import FIRST_TOUCH, Option
from tierscope.plans.request import Request
from tierscope.plans.sweep import options_for
from tierscope.report import figures
from tierscope.report.evidence import remarks
from tierscope.report.figures import size_text
from tierscope.report.style import new_table, note, title
from tierscope.suites.suite import Prepared

CACHES = 4
"""An array has at least this multiple of the bytes of all last-level caches used."""
_ELEMENTS = 1_000_000
"""Least number of elements of 8 bytes."""
_STEP = 64 * MIB
_LEAST = 256 * MIB
_ROOM = 0.75
"""Share of a node's free memory that a default may take."""
_BUDGET = "5s"
"""Large arrays take a while to fill and to compare."""
ARRAYS = ("a", "b", "c")
OPTIONS = (
    options.FROM,
    options.to_of(BandwidthSpec, what="Placement of all three arrays"),
    *(
        Option(name, "ENDPOINT", f"Placement of array {name}", "as --to", essential=False)
        for name in ARRAYS
    ),
    Option("first-touch", "", "Pages go where the threads run, not where --to says", flag=True),
    options.PIN,
    options.THREADS,
    Option(
        "stores",
        "LIST",
        "ordinary, memcpy (Copy by the C library, as gcc -O3 makes it), non-temporal",
        "all; memcpy for --format stream",
    ),
    options.SIZE.but(help="Bytes of each array", default="4 x the last-level caches used"),
    options.PAGES,
    *options_for(BandwidthPattern, "isa"),
    options.POLICY,
    options.MECHANISM,
    *options.PERSISTENT,
    options.PREFETCHERS,
    options.PRECISION,
    options.BUDGET.but(default=_BUDGET),
    options.SAMPLE,
)
_OWN = (*ARRAYS, "to", "first-touch", "stores")
"""Options that bandwidth has not, or not in this meaning."""
_APART = ("operation", "array_b", "array_c")
_GB = 1e9
_ON_BUS = "bandwidth_with_write_allocate"
_LINE = "-" * 61
_EPSILON = 1e-13
"""STREAM's own, of doubles; here every element that is compared has to be equal."""


def rule_bytes(topology: Topology, cpus: Sequence[int]) -> int:
    """Bytes that STREAM's rule asks of each array, for threads on these CPUs."""
    return max(CACHES * last_level_bytes(topology.caches, cpus), 8 * _ELEMENTS)


def array_bytes(
    topology: Topology,
    cpus: Sequence[int],
    nodes: Sequence[int],
    arrays: int,
    devices: Sequence[int] = (),
) -> int:
    """Bytes of an array by STREAM's rule, rounded up to 64 MiB and from 256 MiB on; less where the
    emptiest of the nodes, or of devices of so many bytes, has not room for so many arrays, or the
    machine is emulated."""
    least = default_size(topology, list(cpus), list(nodes), arrays)
    if topology.emulated:
        return least
    wanted = max(256 * MIB, -(-rule_bytes(topology, cpus) // _STEP) * _STEP)
    free = [node.free_bytes for n in nodes if (node := topology.node(n)) and node.free_bytes]
    free += devices
    if topology.memory_left_bytes is not None:
        free.append(topology.memory_left_bytes)
    if not free:
        return wanted
    return max(MIB, min(wanted, min(free) // 2 // arrays // MIB * MIB))


def rule_text(topology: Topology, cpus: Sequence[int], size: int, asked: bool) -> str:
    """Say whether an array of this size keeps STREAM's rule, and if not, why; ``asked``: by an
    option."""
    caches = last_level_bytes(topology.caches, cpus)
    if not caches:
        return "the system names no caches, so nobody knows whether STREAM's rule is kept"
    times = f"{size / caches:.3g} x the {size_text(caches)} of last-level cache used"
    if size >= rule_bytes(topology, cpus):
        return f"arrays of {size_text(size)}: {times}; STREAM's rule, {CACHES} x, is kept"
    why = "--size asked for it" if asked else "the nodes have no more memory free"
    if topology.emulated and not asked:
        why = "the machine is emulated and slow"
    return (
        f"arrays of {size_text(size)}: {times}, less than STREAM's rule of {CACHES} x, because "
        f"{why}; caches may serve a part"
    )


NON_TEMPORAL, ORDINARY, MEMCPY = "non-temporal", "ordinary", "memcpy"
STORES = (ORDINARY, MEMCPY, NON_TEMPORAL)


@dataclass(frozen=True)
class Function:
    """One of STREAM's four."""

    name: str
    operation: str
    """With ordinary stores, as kind bandwidth names it."""
    written: str
    read: tuple[str, ...]

    def operation_with(self, stores: str) -> str:
        """The operation that such stores make of it; compilers make memcpy of Copy alone."""
        if stores == MEMCPY and self.operation == "copy":
            return "memcpy"
        return f"{self.operation}-nt" if stores == NON_TEMPORAL else self.operation


FUNCTIONS = (
    Function("Copy", "copy", "c", ("a",)),
    Function("Scale", "scale", "b", ("c",)),
    Function("Add", "add", "c", ("a", "b")),
    Function("Triad", "triad", "a", ("b", "c")),
)


def requests(given: dict[str, str], stores: Sequence[str] = STORES) -> list[Request]:
    """Return a request of bandwidth for each function, with the kinds of stores asked for, else
    ``stores``; raises UserError where options contradict each other."""
    asked = Request(kind="bandwidth", options=given)
    chosen = choices(asked, "stores", STORES) or _possible(given, stores)
    _check(asked)
    passed = {"budget": _BUDGET}
    passed |= {name: text for name, text in given.items() if name not in _OWN}
    if "first-touch" in given:
        passed["policy"] = FIRST_TOUCH
    found = []
    for function in FUNCTIONS:
        operations = dict.fromkeys(function.operation_with(one) for one in chosen)
        places, origins = _places(asked, function)
        made = {**passed, **places, "op": ",".join(operations)}
        found.append(Request(kind="bandwidth", name="stream", options=made, origins=origins))
    return found


def _possible(given: dict[str, str], stores: Sequence[str]) -> list[str]:
    """Return the kinds of stores that go with what else was asked for.

    The C library chooses its own instructions, and object ids are translated in ordinary loops.
    """
    if "pool-objects" in given.get("backing", ""):
        return [ORDINARY]
    possible = [one for one in stores if one != MEMCPY or "isa" not in given]
    return possible or [ORDINARY]


def _check(asked: Request) -> None:
    given = asked.options
    named = [name for name in ARRAYS if name in given]
    if "first-touch" in given:
        for name in ("to", *ARRAYS, "policy", "mechanism"):
            if name in given:
                raise asked.wrong(name, "goes not with --first-touch, by which threads place pages")
    if named and len(named) < len(ARRAYS) and "to" not in given:
        missing = " and ".join(f"--{name}" for name in ARRAYS if name not in given)
        raise asked.wrong(named[0], f"name the other arrays' place in --to, or in {missing}")


def _places(asked: Request, function: Function) -> tuple[dict[str, str], dict[str, str]]:
    """Return where bandwidth's arrays are, by its options, and the options that said so."""
    roles = dict(zip(("to", *ARRAYS[1:]), (function.written, *function.read), strict=False))
    places, origins = {}, {}
    for option, array in roles.items():
        source = array if array in asked.options else "to"
        if source in asked.options and (option == "to" or any(n in asked.options for n in ARRAYS)):
            places[option] = asked.options[source]
            origins[option] = f"--{source}"
    return places, origins


def with_size(made: list[Request], topology: Topology, thp: bool) -> list[Request]:
    """Return the requests with arrays as large as STREAM's rule asks, where no size was given."""
    if any("size" in request.options for request in made) or topology.emulated:
        return made
    specs = [spec for request in made for spec in expand_bandwidth(request, topology, thp)]
    size = stream_default_size(specs, topology)
    rounds = max((each.round_pages for spec in specs for each in spec.placements()), default=1)
    if rounds > 1:  # of which each thread's share holds at least one
        size = max(size, *(spec.pattern.size for spec in specs))
    text = format_size(size)
    return [r.model_copy(update={"options": {**r.options, "size": text}}) for r in made]


def stream_default_size(specs: Iterable[BandwidthSpec], topology: Topology) -> int:
    """Bytes of an array by STREAM's rule, rounded up to 64 MiB and from 256 MiB on; less where the
    nodes have not so much free."""
    size, room = _LEAST, None
    for spec in specs:
        wanted = rule_bytes(topology, spec.cpus)
        size = max(size, -(-wanted // _STEP) * _STEP)
        found = _room(spec, topology)
        room = found if room is None else min(room, found or room)
    if room is None or size <= room:
        return size
    return max(MIB, room // MIB * MIB)


def _room(spec: BandwidthSpec, topology: Topology) -> int | None:
    """Bytes that each array of a measurement may have, by what is free; None: nobody knows."""
    needed: Counter[int] = Counter()
    for region in spec.regions():
        needed.update(region.bytes_by_node())
    per_node = [
        node.free_bytes * spec.pattern.size / needed[node.number]
        for node in topology.nodes
        if node.free_bytes is not None and needed[node.number]
    ]
    if topology.memory_left_bytes is not None:
        per_node.append(topology.memory_left_bytes * spec.pattern.size / needed.total())
    return int(_ROOM * min(per_node)) if per_node else None


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return STREAM as ``tierscope stream`` makes it without options."""
    made = with_size(requests({}), topology, thp)
    return Prepared(expand(made, topology, thp), made)


BY_OPERATION: dict[str, tuple[Function, str]] = {
    function.operation_with(stores): (function, stores)
    for stores in (MEMCPY, NON_TEMPORAL, ORDINARY)
    for function in FUNCTIONS
}
"""Function and stores by the operation that measures them."""
BINARIES = {
    MEMCPY: "Copy of gcc from -O2 on and of clang at -O3, which call memcpy",
    ORDINARY: "Scale, Add and Triad of gcc and clang; Copy of gcc with -fno-builtin",
    NON_TEMPORAL: "binaries with streaming stores: icx -qopt-streaming-stores=always, clang's "
    "__builtin_nontemporal_store on vectors",
}
"""Which binaries of STREAM have the stores of ours."""


@dataclass(frozen=True)
class Setting:
    """The functions as one command line of STREAM would run them: alike in all but the stores."""

    where: dict[str, str]
    """Array by array: ``{"a": "node:0", ...}``."""
    threads: int
    members: tuple[Measurement, ...]

    @property
    def first(self) -> Measurement:
        """Any of them."""
        return self.members[0]

    @property
    def size(self) -> int:
        """Bytes of an array."""
        return int(self.first.pattern["size"])

    def get(self, function: Function, stores: str) -> Measurement | None:
        """The measurement of a function with such stores; None where there is none."""
        operation = function.operation_with(stores)
        return next((m for m in self.members if m.pattern["operation"] == operation), None)


def settings_of(run: Run) -> list[Setting]:
    """Gather a run's measurements, whatever became of them, by all that a function does not
    decide."""
    found: dict[tuple[Any, ...], tuple[dict[str, str], list[Measurement]]] = {}
    for measurement in run.measurements:
        pattern = measurement.pattern
        if pattern.get("operation") not in BY_OPERATION:
            continue
        where = _where(measurement)
        alike = [v for key, v in sorted(pattern.items()) if key not in _APART]
        key = (measurement.initiator, str(measurement.cpus), *map(str, alike))
        for other, (placed, members) in found.items():
            agrees = all(placed.get(name, place) == place for name, place in where.items())
            new = all(m.pattern["operation"] != pattern["operation"] for m in members)
            if other[: len(key)] == key and agrees and new:
                placed.update(where)
                members.append(measurement)
                break
        else:
            numbered = (*key, len(found))
            found[numbered] = (where, [measurement])
    return [
        Setting(dict(sorted(where.items())), int(members[0].pattern["threads"]), tuple(members))
        for where, members in found.values()
    ]


def _where(measurement: Measurement) -> dict[str, str]:
    """Placements of STREAM's arrays of a measurement."""
    function, _ = BY_OPERATION[measurement.pattern["operation"]]
    pattern = measurement.pattern
    places = [measurement.target]
    places += [pattern.get(f"array_{name}", measurement.target) for name in ("b", "c")]
    arrays = (function.written, *function.read)
    count = arrays_of(function.operation)
    return dict(sorted(zip(arrays, places[:count], strict=True)))


def best_of(measurement: Measurement) -> float:
    """The highest rate of a sample, in bytes/s: STREAM's headline."""
    return max(measurement.samples)


def in_json(run: Run) -> dict[str, Any]:
    """Return what the command's JSON has under ``stream``."""
    return {
        "stream": [
            {
                "threads": setting.threads,
                "array_bytes": setting.size,
                "arrays": setting.where,
                "functions": [
                    _function_json(one) for one in setting.members if one.status == "measured"
                ],
            }
            for setting in settings_of(run)
        ]
    }


def _function_json(measurement: Measurement) -> dict[str, Any]:
    function, stores = BY_OPERATION[measurement.pattern["operation"]]
    if stores == MEMCPY and function.operation != "copy":
        stores = ORDINARY
    return {
        "function": function.name,
        "stores": stores,
        "id": measurement.id,
        "median": measurement.estimate,
        "ci_low": measurement.ci_low,
        "ci_high": measurement.ci_high,
        "best": best_of(measurement),
        "samples": measurement.n,
        "limit": measurement.limit.value if measurement.limit else None,
        "efficiency": measurement.efficiency,
        "compares_with": BINARIES[stores],
    }


def show_stream(console: Console, run: Run, size_asked: bool) -> None:
    """Print a run of STREAM; ``size_asked``: an option named the arrays' size."""
    title(console, "STREAM, GB/s (10⁹ bytes that the function counts, a second)")
    swept: dict[str, list[Setting]] = {}
    for setting in settings_of(run):
        swept.setdefault(_place(setting), []).append(setting)
    for place, settings in swept.items():
        if len({setting.threads for setting in settings}) > 1:
            _show_sweep(console, place, settings)
        else:
            for setting in settings:
                _show_one(console, place, setting)
    measured = [m for m in run.measurements if m.status == "measured"]
    for line in _rules(run, size_asked):
        note(console, line)
    for line in _explained(measured):
        note(console, line)
    for line in remarks(measured):
        note(console, line)


def _place(setting: Setting) -> str:
    """Say who goes over which arrays: ``node:0 to node:1``, ``node:0 to a, b node:0, c node:2``."""
    by_place: dict[str, list[str]] = {}
    for array, place in setting.where.items():
        by_place.setdefault(place, []).append(array)
    one = len(by_place) == 1
    where = "; ".join(
        place if one else f"{', '.join(arrays)} on {place}" for place, arrays in by_place.items()
    )
    pattern = setting.first.pattern
    touched = ", first touch" if pattern.get("policy") == "first-touch" else ""
    backing = f" ({pattern['backing']})" if "backing" in pattern else ""
    return (
        f"{setting.first.initiator} to {where}{backing}{touched}, arrays of "
        f"{figures.size_text(setting.size)}, {pattern['pages']} pages"
    )


def _rows(setting: Setting) -> list[tuple[Function, str, Measurement]]:
    """Functions in STREAM's order, each with the kinds of stores that were measured."""
    found = []
    for function in FUNCTIONS:
        for stores in STORES:
            if stores == MEMCPY and function.operation != "copy":
                continue
            measurement = setting.get(function, stores)
            if measurement is not None and measurement.status == "measured":
                found.append((function, stores, measurement))
    return found


def _show_one(console: Console, place: str, setting: Setting) -> None:
    rows = _rows(setting)
    if not rows:
        return
    console.print(Text(f"{counted(setting.threads, 'thread')}, {place}", style="bold"))
    columns: tuple[tuple[str, Callable[[Measurement], str]], ...] = (
        ("median", lambda m: figures.with_interval(m, _GB)),
        ("best", lambda m: figures.significant(best_of(m) / _GB, 3)),
        ("samples", lambda m: str(m.n)),
        ("on the bus", _on_bus),
        ("limit", lambda m: figures.significant(m.limit.value / _GB, 3) if m.limit else "unknown"),
        ("of limit", figures.of_limit),
    )
    names = ("function", "stores")
    table = new_table(*names, *(name for name, _ in columns), words=names)
    before = None
    for function, stores, measurement in rows:
        name = function.name if function is not before else ""
        table.add_row(name, stores, *(make(measurement) for _, make in columns))
        before = function
    console.print(table)


def _on_bus(measurement: Measurement) -> str:
    figure = figures.side_figure(measurement, _ON_BUS)
    if figure is not None:
        return figures.plain(figure, _GB, 3)
    operation = measurement.pattern["operation"]
    if operation == "memcpy":
        return "unknown"
    return figures.plain(measurement, _GB, 3) if operation.endswith("-nt") else "in cache"


def _show_sweep(console: Console, place: str, settings: list[Setting]) -> None:
    """Print thread counts by functions, a table for each kind of stores."""
    for stores in STORES:
        functions = [
            f for f in FUNCTIONS if stores != MEMCPY or f.operation_with(MEMCPY) == "memcpy"
        ]
        if not any(setting.get(f, stores) for setting in settings for f in functions):
            continue
        console.print(Text(f"{stores} stores, {place}", style="bold"))
        table = new_table("threads", *(function.name for function in functions))
        for setting in sorted(settings, key=lambda one: one.threads):
            cells = [setting.get(function, stores) for function in functions]
            table.add_row(
                str(setting.threads),
                *(figures.with_interval(m, _GB) if m and m.estimate else "·" for m in cells),
            )
        console.print(table)


def _rules(run: Run, size_asked: bool) -> list[str]:
    """Say whether STREAM's rule is kept, once for each case."""
    topology = run.header.topology
    if topology is None:
        return []
    return list(
        dict.fromkeys(
            rule_text(topology, setting.first.cpus, setting.size, size_asked)
            for setting in settings_of(run)
        )
    )


def _explained(measured: list[Measurement]) -> list[str]:
    """Say what the columns are, and which binary each kind of stores compares with."""
    if not measured:
        return []
    durations = [m.evidence.sample_ns for m in measured if m.evidence and m.evidence.sample_ns]
    each = f" of {median(durations) / 1e6:.3g} ms" if durations else ""
    operations = {m.pattern["operation"] for m in measured}
    kinds = [
        ("memcpy" in operations, MEMCPY),
        (any(o in ("copy", "scale", "add", "triad") for o in operations), "ordinary"),
        (any(o.endswith("-nt") for o in operations), "non-temporal"),
    ]
    return [
        f"median: of all samples{each}, with its interval of 95%; best: the highest sample",
        *(f"{stores} compares with {BINARIES[stores]}" for shown, stores in kinds if shown),
    ]


_MIB, _GIB = 2.0**20, 2.0**30


def stream_text(run: Run) -> str:
    """Return what STREAM would print, once for each thread count and place.

    A sample lasts as long as the option says, not a pass over the arrays: times are those of a pass
    at the rate of a sample. A function that was not measured has no row; where it failed, the text
    says that the solution does not validate.
    """
    return "\n".join(line for setting in settings_of(run) for line in _lines(setting)) + "\n"


def _lines(setting: Setting) -> Iterator[str]:
    elements = setting.size // 8
    rows = [(function, _measured(setting, function.name)) for function in FUNCTIONS]
    samples = min((m.n for _, m in rows if m), default=0)
    yield from (_LINE, "STREAM version $Revision: 5.10 $", _LINE)
    yield from ("This system uses 8 bytes per array element.", _LINE)
    yield f"Array size = {elements} (elements), Offset = 0 (elements)"
    size = 8.0 * elements
    yield f"Memory per array = {size / _MIB:.1f} MiB (= {size / _GIB:.1f} GiB)."
    yield f"Total memory required = {3 * size / _MIB:.1f} MiB (= {3 * size / _GIB:.1f} GiB)."
    yield f"Each kernel will be executed {samples} times."
    yield " The *best* time for each kernel (excluding the first iteration)"
    yield " will be used to compute the reported bandwidth."
    yield _LINE
    yield f"Number of Threads requested = {setting.threads}"
    yield f"Number of Threads counted = {setting.threads}"
    yield _LINE
    yield "Your clock granularity appears to be less than one microsecond."
    scale = rows[1][1]
    pass_us = 1e6 * 2 * size / scale.estimate if scale and scale.estimate else 0.0
    yield f"Each test below will take on the order of {pass_us:.0f} microseconds."
    yield f"   (= {pass_us:.0f} clock ticks)"
    yield "Increase the size of the arrays if this shows that"
    yield "you are not getting at least 20 clock ticks per test."
    yield _LINE
    yield "WARNING -- The above is only a rough guideline."
    yield "For best results, please be sure you know the"
    yield "precision of your system timer."
    yield _LINE
    yield "Function    Best Rate MB/s  Avg time     Min time     Max time"
    yield from (_row(f.name, arrays_of(f.operation) * size, m) for f, m in rows if m)
    yield from (_LINE, *_validation(setting), _LINE)


def _measured(setting: Setting, name: str) -> Measurement | None:
    """Return the function's measurement, with the first of the kinds of stores that there is."""
    function = next(one for one in FUNCTIONS if one.name == name)
    found = [m for stores in STORES[::-1] if (m := setting.get(function, stores))]
    return next((m for m in found if m.status == "measured"), None)


def _row(name: str, size: float, measurement: Measurement) -> str:
    times = [size / rate for rate in measurement.samples]
    rate = 1e-6 * best_of(measurement)
    label = f"{name}:".ljust(11)
    return f"{label}{rate:12.1f}  {fmean(times):11.6f}  {min(times):11.6f}  {max(times):11.6f}"


def _validation(setting: Setting) -> Iterator[str]:
    wrong = [m for m in setting.members if m.cause == "verification"]
    for measurement in wrong:
        yield f"Failed Validation on array a[], AvgRelAbsErr > epsilon ({_EPSILON:e})"
        yield f"     {measurement.reason}"
    measured = [m for m in setting.members if m.status == "measured"]
    if not wrong and measured and all(m.evidence and m.evidence.verified for m in measured):
        yield f"Solution Validates: avg error less than {_EPSILON:e} on all three arrays"
