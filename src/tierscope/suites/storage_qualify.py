"""``tierscope storage --qualify``: tests of SNIA's performance test specification (PTS).

Each test brings the target into a defined state (purge, writes of twice its size in sequence; of
write saturation a purge alone) and then goes round by round over all of its accesses, until what it
tracks is steady over five rounds or its rounds are used up. Results are the averages of those five
rounds.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

from rich.console import Console

from tierscope.analysis.time_series import (
    RANGE,
    ROUNDS,
    SLOPE,
    Window,
    operation_times,
    window_of,
)
from tierscope.kinds.io.show import LATENCY, io_remarks, passes
from tierscope.kinds.io.spec import IoSpec, fill_of, in_rounds, purged
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.endpoint import EndpointKind, Target
from tierscope.model.errors import UserError, counted
from tierscope.model.run import Measurement, Run
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.grammar import format_size, parse_duration, parse_size
from tierscope.plans.request import Request
from tierscope.report import figures
from tierscope.report.evidence import remarks
from tierscope.report.figures import seconds_text
from tierscope.report.style import new_table, note, title
from tierscope.suites.storage_tour import Given, file_options, nodes_of

MOST_ROUNDS = 25
"""PTS gives up after so many."""
_A_DAY = 24 * 60
"""The same of write saturation, whose rounds of a minute are a day's."""
ROUND_S = 60.0
"""Length of a round of one access, as in PTS."""
_MAX_ROUND_S = 3600.0
_MIXES = (100, 95, 65, 50, 35, 5, 0)
"""Percent of reads."""
_SIZES = ("1m", "128k", "64k", "32k", "16k", "8k", "4k")
_SECTOR = "512"
"""The smallest block of PTS, which drives with sectors of 4 KiB and file systems cannot take."""
_THREADS, _DEPTH = 4, "32"
"""Load of the tests of rates: PTS leaves it to the tester, and asks for it in the report."""


@dataclass(frozen=True)
class Test:
    """One test of PTS, or one of its parts that is preconditioned by itself."""

    name: str
    title: str
    block_sizes: tuple[str, ...]
    mixes: tuple[int, ...]
    order: str
    tracked: str
    """Block size whose writes have to be steady."""
    metric: str
    """What its table shows: iops, bandwidth or latency."""
    fill: str = "128k"
    """Block size of the writes that come before; empty: there are none."""
    most_rounds: int = MOST_ROUNDS

    @property
    def loaded(self) -> bool:
        """Whether many operations are in flight; else one."""
        return self.metric != "latency"


_THROUGHPUT = tuple(
    Test(f"throughput-{size}", f"Throughput, sequential, {size}", (size,), (100, 0), "sequential",
         tracked=size, metric="bandwidth", fill=size)
    for size in ("1m", "128k")
)  # fmt: skip
TESTS: dict[str, tuple[Test, ...]] = {
    "iops": (
        Test("iops", "IOPS, random", (*_SIZES, _SECTOR), _MIXES, "random",
             tracked="4k", metric="iops"),
    ),
    "throughput": _THROUGHPUT,
    "latency": (
        Test("latency", "Latency, random, one operation in flight", ("8k", "4k", _SECTOR),
             (100, 65, 0), "random", tracked="4k", metric="latency"),
    ),
    "write-saturation": (
        Test("write-saturation", "Write saturation, random, 4k", ("4k",), (0,), "random",
             tracked="4k", metric="iops", fill="", most_rounds=_A_DAY),
    ),
}  # fmt: skip
"""By the words of ``--qualify``."""


@dataclass(frozen=True)
class Asked:
    """Options of the qualification beside those of every suite of storage."""

    tests: Sequence[str]
    """Keys of ``TESTS``."""
    destroy: str = ""
    """Name of the device whose data may go."""
    second_word: str = ""
    round_s: float = ROUND_S


@dataclass(frozen=True)
class Part:
    """A test of one target, with the ids of its measurements."""

    test: Test
    target: Target
    fill: str
    """Id of the writes that come before; empty: there are none."""
    purges: bool
    cells: dict[tuple[str, int], str]
    """By block size and percent of reads."""


@dataclass(frozen=True)
class Qualification:
    """The plan, and its tests."""

    plan: Plan
    parts: list[Part]
    asked: Asked


def parse_tests(text: str) -> list[str]:
    """Return the tests of ``--qualify``; raises UserError for another word."""
    words = [word.strip() for word in text.split(",")]
    if words == ["all"]:
        return list(TESTS)
    for word in words:
        if word not in TESTS:
            raise UserError(f"'{word}' is not a test; allowed: {', '.join(TESTS)}, all")
    return list(dict.fromkeys(words))


def parse_round(text: str | None) -> float:
    """Return the seconds of ``--round``; raises UserError for what is none, or too long."""
    return ROUND_S if text is None else parse_duration(text, 0, _MAX_ROUND_S)


def qualification(topology: Topology, given: Given, asked: Asked, thp: bool) -> Qualification:
    """Return the tests of one target; raises UserError where it must not be written."""
    if len(given.targets) != 1:
        raise UserError("--qualify takes one target: name one directory, file or device")
    (target,), (facts,) = given.targets, given.facts
    _check_may_write(target, facts, given, asked)
    specs: list[IoSpec] = []
    parts = []
    for test in (test for word in asked.tests for test in TESTS[word]):
        part, made = _part(topology, given, asked, test, thp)
        parts.append(part)
        specs += made
    return Qualification(Plan(version=PLAN_VERSION, measurements=list(specs)), parts, asked)


def _check_may_write(target: Target, facts: PathFacts, given: Given, asked: Asked) -> None:
    if target.kind is EndpointKind.DEV and not asked.destroy:
        raise UserError(
            f"--qualify overwrites all of {target.path}: to lose what is on it, add --destroy-data "
            "with its name in /dev/disk/by-id or its serial number"
        )
    if target.kind is not EndpointKind.DEV and asked.destroy:
        raise UserError(f"--destroy-data goes with a device, not with {target.path}")
    if facts.kind == "file" and not given.overwrite:
        raise UserError(
            f"--qualify overwrites {target.path}: to lose what is in it, add --overwrite; or name "
            "a directory, where a file is made"
        )


def _part(
    topology: Topology, given: Given, asked: Asked, test: Test, thp: bool
) -> tuple[Part, list[IoSpec]]:
    (target,), (facts,) = given.targets, given.facts
    device = target.kind is EndpointKind.DEV
    sizes = [size for size in test.block_sizes if size != _SECTOR or _takes_sectors(facts)]
    rounds: list[IoSpec] = []
    cells: dict[tuple[str, int], str] = {}
    for size in sizes:
        for mix in test.mixes:
            name = f"{test.name}.{size}.{mix}-{100 - mix}"
            (spec,) = _expanded(topology, _options(topology, given, asked, test, size, mix), thp)
            cells[size, mix] = name
            rounds.append(in_rounds(spec, name, asked.round_s, **_rule(test, size, mix)))
    fills = []
    if test.fill:
        name, block = f"{test.name}.fill", parse_size(test.fill)
        fills = [fill_of(rounds[-1], rounds[-1].jobs[0], name, asked.round_s, block)]
    first, *others = [*fills, *rounds]
    part = Part(test, target, fills[0].id if fills else "", device, cells)
    return part, [purged(first) if device else first, *others]


def _rule(test: Test, size: str, mix: int) -> dict[str, Any]:
    """Return how the rounds of one of its accesses end: with those of the others, if there are
    any."""
    if len(test.block_sizes) * len(test.mixes) == 1:
        return {}
    of = "rate" if test.loaded else "time"
    return {"group": test.name, "tracked": (size, mix) == (test.tracked, 0), "of": of}


def _takes_sectors(facts: PathFacts) -> bool:
    """Whether the kernel says that a device takes blocks of 512 bytes as they are."""
    return facts.kind == "block" and facts.dio_offset_align == int(_SECTOR)


def _options(
    topology: Topology, given: Given, asked: Asked, test: Test, size: str, mix: int
) -> dict[str, str]:
    (target,), (facts,) = given.targets, given.facts
    first, _ = nodes_of(topology, given, target)
    options = {
        "from": first,
        "to": str(target),
        "files": "shared",
        "order": test.order,
        "block-size": size,
        "budget": f"{test.most_rounds * asked.round_s}",
        **file_options(facts, given),
        **{100: {"op": "read"}, 0: {"op": "write"}}.get(mix, {"op": "mix"}),
    }
    if options["op"] == "mix":
        options["read-percent"] = str(mix)
    if test.loaded:
        options |= {"threads": str(min(_THREADS, len(topology.cpus))), "depth": _DEPTH}
    if target.kind is EndpointKind.DEV:
        options |= {"destroy-data": asked.destroy}
        options |= {"second-word": asked.second_word} if asked.second_word else {}
        options |= {"size": str(given.size)} if given.size else {}
    return options


def _expanded(topology: Topology, options: dict[str, str], thp: bool) -> Iterator[IoSpec]:
    plan = expand([Request(kind="io", name="qualify", options=options)], topology, thp)
    yield from cast("list[IoSpec]", plan.measurements)


# What is shown


@dataclass(frozen=True)
class Judged:
    """A part that was measured, and whether it came to its steady state."""

    part: Part
    cells: dict[tuple[str, int], Measurement]
    fill: Measurement | None
    rounds: int
    """Rounds that all of its accesses made."""
    window: Window | None
    """Of the last five rounds of what is tracked; None: there were fewer."""

    @property
    def tracked(self) -> list[float]:
        """What is tracked, by round."""
        found = self.cells.get((self.part.test.tracked, 0))
        return self.values(found) if found else []

    def values(self, cell: Measurement) -> list[float]:
        """Return what the test is of, by round: the rate of operations or of bytes, or of one
        operation in flight the mean latency."""
        if not self.part.test.loaded:
            return operation_times(cell.rounds or [])
        rates = [one.value for one in cell.rounds or []]
        if self.part.test.metric == cell.metric:
            return rates
        block = cell.pattern["block_size"]
        return [rate * block if cell.metric == "iops" else rate / block for rate in rates]

    def mean(self, cell: Measurement) -> float | None:
        """Return a result: the average over the last five rounds, of latency over all of their
        operations; None where there was none."""
        values = self.values(cell)[-ROUNDS:]
        if self.part.test.loaded:
            return fmean(values)
        operations = fmean(1.0 / value for value in values)
        return 1.0 / operations if operations else None


def judged(run: Run, made: Qualification) -> list[Judged]:
    """Return the tests of which something was measured."""
    found = {m.id: m for m in run.measurements if m.status == "measured" and m.rounds}
    return [
        _judged(part, cells, found.get(part.fill))
        for part in made.parts
        if (cells := {key: found[name] for key, name in part.cells.items() if name in found})
    ]


def _judged(
    part: Part, cells: dict[tuple[str, int], Measurement], fill: Measurement | None
) -> Judged:
    rounds = min(len(m.rounds or []) for m in cells.values())
    tracked = Judged(part, cells, fill, rounds, None).tracked[-ROUNDS:]
    window = window_of(tracked) if len(tracked) == ROUNDS else None
    return Judged(part, cells, fill, rounds, window)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def show_qualification(console: Console, run: Run, made: Qualification) -> None:
    """Print each test: its state, the evidence of that, and its results."""
    for one in judged(run, made):
        title(console, f"{one.part.test.title}: {one.part.target}")
        for line in _state_lines(one, made.asked.round_s):
            note(console, line, style="")
        if one.window is not None:
            _show_window(console, one, one.window)
        _show_results(console, one)
    measured = [m for m in run.measurements if m.status == "measured"]
    for line in (*io_remarks(measured), *remarks(measured)):
        note(console, line)


def _state_lines(one: Judged, round_s: float) -> Iterator[str]:
    test = one.part.test
    purge = "Purged by discard" if one.part.purges else "Not purged, as it is a file"
    written = "not written before"
    if test.fill:
        written = f"written in sequence {_times(one.fill)}, in blocks of {_size_text(test.fill)}"
    yield f"{purge}; {written}."
    load = next(iter(one.cells.values())).pattern
    yield (
        f"{counted(load['threads'], 'thread')}, {load.get('depth', 1)} in flight each; rounds of "
        f"{seconds_text(round_s)} for each access."
    )
    state = "Steady" if one.window and one.window.steady else "Not steady"
    last = f"rounds {one.rounds - ROUNDS + 1} to {one.rounds}" if one.window else "too few rounds"
    yield f"{state} by the five-round rule: {last} of at most {test.most_rounds}."


def _times(fill: Measurement | None) -> str:
    if fill is None or not fill.rounds:
        return "an unknown number of times"
    return f"{passes(fill, fill.rounds[-1]):.3g} times"


def _size_text(text: str) -> str:
    return format_size(parse_size(text))


def _unit_of(test: Test, values: Sequence[float]) -> tuple[str, float]:
    if test.metric == "iops":
        return "IOPS", 1.0
    if test.metric == "latency":
        return "µs", 1e-6
    return figures.scale_of("B/s", list(values))


def _show_window(console: Console, one: Judged, window: Window) -> None:
    """Print the rounds of what is tracked, and how they keep to the rule."""
    test = one.part.test
    unit, factor = _unit_of(test, one.tracked)
    first = one.rounds - ROUNDS
    numbers = [str(first + at + 1) for at in range(ROUNDS)]
    what = f"writes of {_size_text(test.tracked)}, {unit}"
    judgement = ("average", "range", "slope")
    table = new_table("steady state", *numbers, *judgement, words=("steady state",))
    table.add_row(
        what,
        *(figures.significant(value / factor, 4) for value in one.tracked[-ROUNDS:]),
        figures.significant(window.mean / factor, 4),
        f"{window.range:.1%}",
        f"{window.slope:.1%}",
    )
    table.add_row("allowed", *([""] * (ROUNDS + 1)), f"{RANGE:.0%}", f"{SLOPE:.0%}")
    console.print(table)


def _show_results(console: Console, one: Judged) -> None:
    """Print the averages of the last five rounds, and of latency the longest, too."""
    test = one.part.test
    means = {key: one.mean(m) for key, m in one.cells.items()}
    unit, factor = _unit_of(test, [value for value in means.values() if value is not None])
    mixes = [f"{mix}/{100 - mix}" for mix in test.mixes]
    table = new_table(f"{unit}, read/write %", *mixes)
    for size in test.block_sizes:
        cells = [means.get((size, mix)) for mix in test.mixes]
        if any(key[0] == size for key in means):
            table.add_row(
                _size_text(size),
                *("" if cell is None else figures.significant(cell / factor, 4) for cell in cells),
            )
    console.print(table)
    if test.loaded:
        return
    longest = new_table("longest, µs, read/write %", *mixes)
    for size in test.block_sizes:
        row = [one.cells.get((size, mix)) for mix in test.mixes]
        if any(row):
            longest.add_row(_size_text(size), *(_longest(m) for m in row))
    console.print(longest)


def _longest(m: Measurement | None) -> str:
    figure = figures.side_figure(m, f"{LATENCY}_max") if m else None
    return figures.significant(figure.estimate / 1e3, 4) if figure else ""


def qualification_json(found: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return the tests as objects: state, evidence of it, results."""
    return [
        {
            "test": one.part.test.name,
            "target": str(one.part.target),
            "purged": one.part.purges,
            "steady": one.window is not None and one.window.steady,
            "rounds": one.rounds,
            "tracked": [*map(_finite, one.tracked)],
            "window": {
                "average": _finite(one.window.mean), "range": _finite(one.window.range),
                "slope": _finite(one.window.slope),
            } if one.window else None,
            "results": [
                {"id": m.id, "block_size": parse_size(size), "read_percent": mix,
                 one.part.test.metric: one.mean(m)}
                for (size, mix), m in one.cells.items()
            ],
        }
        for one in found
    ]  # fmt: skip
