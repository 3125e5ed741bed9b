"""Predictions of `tierscope whatif` beside what the same operations take on slower memory.

On a machine with two nodes the tier is the second one. On one node it is the same memory made
slower, in two ways: by traffic of all other CPUs, and by base pages, whose addresses take longer
to translate.
$TIERS names them (load, base, node:N), $ONLY the structures (btree, hash, ..., chain).

Of each operation the local figure and the tier's are taken in turn, $ROUNDS times for $SECONDS; the
prediction sees the local ones and the tier's idle latency only. The measured slowdown is the ratio
of the pairs, with its interval. It is `within` the predicted range, `perhaps` where only its
interval meets that, or `OUTSIDE`.
"""

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pairs import asked
from tierscope.analysis.change import paired_ratio
from tierscope.analysis.whatif import Range, Tier
from tierscope.engine.repetitions import Engines, living_engine
from tierscope.kinds.plan import Spec
from tierscope.machine.discover import discover
from tierscope.model.event import Repetition
from tierscope.model.run import Header, Measurement, Run
from tierscope.model.spec import last_level_bytes
from tierscope.plans import machine
from tierscope.report import figures
from tierscope.runs.record import Bounds, measurement_of
from tierscope.runs.state import RunState
from tierscope.suites.whatif import lacking, near_size, predicted

ROUNDS = int(os.environ.get("ROUNDS", "8"))
SECONDS = float(os.environ.get("SECONDS", "0.4"))
_START_S = 5.0
"""Until the load runs."""
_SETTLE_S = 0.02
ONLY = os.environ.get("ONLY", "").replace(",", " ").split()
WORK: tuple[tuple[str, dict[str, str]], ...] = (
    ("chain", {"chain": "r_64", "size": "64m"}),
    ("chain", {"chain": "r_64", "size": "1g"}),
    ("ops", {"structure": "btree", "keys": "2m"}),
    ("ops", {"structure": "btree", "keys": "16m"}),
    ("ops", {"structure": "btree", "keys": "16m", "interleave": "16"}),
    ("ops", {"structure": "hash", "keys": "2m"}),
    ("ops", {"structure": "hash", "keys": "16m"}),
    ("ops", {"structure": "hash", "keys": "16m", "interleave": "16"}),
    ("ops", {"structure": "column", "keys": "32m"}),
    ("ops", {"structure": "relations", "keys": "4m"}),
    ("ops", {"structure": "runs", "keys": "4m"}),
    ("ops", {"structure": "lsm", "keys": "4m"}),
)


@dataclass
class Pairs:
    """Figures of one spec on local memory and on the tier."""

    local: list[float] = field(default_factory=list)
    tier: list[float] = field(default_factory=list)
    measured: tuple[Measurement, ...] = ()
    """With all repetitions: local, tier."""


@dataclass(frozen=True)
class Row:
    """An operation on the tier, predicted and measured."""

    tier: str
    name: str
    predicted: Range
    measured: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether what was measured, or its interval, is in the predicted range."""
        if self.predicted.low <= self.measured <= self.predicted.high:
            return "within"
        meets = self.low <= self.predicted.high and self.high >= self.predicted.low
        return "perhaps" if meets else "OUTSIDE"

    def __str__(self) -> str:
        said = self.predicted
        error = said.estimate / self.measured - 1
        return (
            f"{self.tier:7} {self.name:44} predicted {said.estimate:5.2f} "
            f"({said.low:.2f} to {said.high:.2f})  measured {self.measured:5.2f} "
            f"({self.low:.2f} to {self.high:.2f})  {error:+5.0%}  "
            f"{self.verdict}"
        )


def compare() -> Iterator[object]:
    """A row for each operation and tier."""
    topology = discover()
    nodes = [node.number for node in machine.memory_nodes(topology)]
    usual = f"node:{nodes[1]}" if len(nodes) > 1 else "load,base"
    cpu = min(os.sched_getaffinity(0))
    for tier in os.environ.get("TIERS", usual).split(","):
        with _loading(cpu) if tier == "load" else contextlib.nullcontext(_same) as load:
            errors = []
            for row in _rows(tier, cpu, load):
                yield row
                if isinstance(row, Row):
                    errors.append(abs(row.predicted.estimate / row.measured - 1))
            yield f"{tier}: median error {statistics.median(errors):.0%}, largest {max(errors):.0%}"


def _rows(tier: str, cpu: int, load: Callable[[bool], None]) -> Iterator[object]:
    topology = discover()
    own_node = next(node.number for node in topology.nodes if cpu in node.cpus)
    there = tier if tier.startswith("node") else None
    own = {"from": f"cpus:{cpu}", "to": f"node:{own_node}"}
    specs = [
        asked(kind, SECONDS, **own, threads="1", pages="thp", **options)
        for kind, options in WORK
        if not ONLY or options.get("structure", kind) in ONLY
    ]
    sizes = {near_size(spec.host_bytes()) for spec in specs}
    sizes |= {near_size(last_level_bytes(topology.caches, [cpu]) // 2)}
    idle = machine.default_size(topology, [cpu], [0], 1)
    chases = {
        size: asked("latency", SECONDS, **own, pages="thp", size=str(size))
        for size in sorted(sizes | {idle})
    }

    def elsewhere(spec: Spec) -> Spec:
        return _on(spec, tier, there)

    taken = {size: _pairs(spec, elsewhere(spec), load) for size, spec in chases.items()}
    local = [pairs.measured[0] for pairs in taken.values()]
    for size, pairs in taken.items():
        ratio, low, high = _slowdown(pairs)
        near = figures.with_interval(pairs.measured[0], 1.0)
        yield (
            f"{tier}: chase over {size >> 10} KiB: local {near} ns, tier {ratio:.2f} ({low:.2f} to "
            f"{high:.2f}) times that"
        )
    for spec in specs:
        pairs = _pairs(spec, elsewhere(spec), load)
        small = [_alone(one, load) for one in lacking([spec], topology, [])]
        run = _run(spec, [*local, pairs.measured[0], *small])
        # What translating addresses takes depends on how many bytes there are.
        slow = _added(tier, taken[near_size(spec.host_bytes()) if tier == "base" else idle])
        (answer,) = predicted([run], [slow]).answers
        ((_, found),) = answer.predictions
        yield Row(tier, answer.work.name, found[-1].slowdown, *_slowdown(pairs))


def _added(name: str, chase: Pairs) -> Tier:
    """Return the tier by how much longer its loads take, from the pairs of a chase."""
    local = chase.measured[0].estimate or 0.0
    more, low, high = (local * (ratio - 1) for ratio in _slowdown(chase))
    return Tier(name, Range(more, low, high), None, added=True)


def _slowdown(pairs: Pairs) -> tuple[float, float, float]:
    """Return the time on the tier over the local one, with its interval."""
    taken = list(zip(pairs.local, pairs.tier, strict=True))
    if pairs.measured[0].unit == "1/s":
        taken = [(tier, local) for local, tier in taken]
    found = paired_ratio(taken)
    assert found.low is not None
    assert found.high is not None
    return found.ratio, found.low, found.high


def _run(spec: Spec, measurements: list[Measurement]) -> Run:
    """Return a run with these figures, as `whatif` reads it."""
    header = Header.model_construct(
        name="bench", host="", imported=None, topology=discover(),
        plan={"measurements": [spec.model_dump()]},
    )  # fmt: skip
    return Run.model_construct(header=header, measurements=measurements, footer=None, added=[])


def _same(_loaded: bool) -> None:
    """Change nothing: the tier is other memory."""


@contextlib.contextmanager
def _loading(cpu: int) -> Iterator[Callable[[bool], None]]:
    """Run traffic on all other CPUs, which the function stops and lets go on."""
    others = sorted(os.sched_getaffinity(0) - {cpu})
    if not others:
        raise SystemExit("TIERS=load needs a second CPU")
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-c", "from tierscope.cli.main import main; main()", "bandwidth",
            "--from", f"cpus:{','.join(map(str, others))}", "--op", "write", "--size", "1g",
            "--threads", "all", "--budget", "36000", "--out", folder,
        ]  # fmt: skip
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True) as load:
            time.sleep(_START_S)

            def switch(on: bool) -> None:
                os.killpg(load.pid, signal.SIGCONT if on else signal.SIGSTOP)
                time.sleep(_SETTLE_S)

            try:
                yield switch
            finally:
                os.killpg(load.pid, signal.SIGCONT)
                os.killpg(load.pid, signal.SIGKILL)


def _on(spec: Spec, tier: str, target: str | None) -> Spec:
    """Return the same measurement with all its data on the tier."""
    given = spec.model_dump()
    given["id"] = f"tier.{spec.id[-50:]}"
    if target is not None:
        number = int(target.partition(":")[2])
        given |= {"target": target}
        given["placement"]["nodes"] = [{"node": number, "weight": 1}]
    elif tier == "base":
        given["pattern"]["pages"] = "base"
    return type(spec).model_validate(given)


def _pairs(local: Spec, tier: Spec, load: Callable[[bool], None]) -> Pairs:
    """Take both sides in turn, each with an engine of its own unless they are the same memory; the
    first pair warms up and does not count."""
    state = RunState([local, tier])
    found = Pairs()
    with living_engine() as near, living_engine() as other:
        same = local.model_copy(update={"id": tier.id}) == tier
        far = near if same else other
        near.plan([local])
        far.plan([tier])
        for number in range(ROUNDS + 1):
            sides = [(near, local, found.local, False), (far, tier, found.tier, True)]
            for engine, spec, values, loaded in sides if number % 2 else reversed(sides):
                load(loaded)
                repetition = _repetition(engine, spec)
                if number:
                    state.add_repetition(repetition)
                    values.append(_middle(repetition))
    load(False)
    found.measured = tuple(
        measurement_of(spec, state.repetitions[spec.id], None, Bounds()) for spec in (local, tier)
    )
    return found


def _alone(spec: Spec, load: Callable[[bool], None]) -> Measurement:
    load(False)
    with living_engine() as engine:
        engine.plan([spec])
        taken = [_repetition(engine, spec) for _ in range(ROUNDS + 1)]
    return measurement_of(spec, taken[1:], None, Bounds(fits_caches=True))


def _repetition(engine: Engines, spec: Spec) -> Repetition:
    for event in engine.repetition(spec.id, SECONDS, False):
        if event.event in ("skipped", "failed"):
            raise RuntimeError(f"{spec.id}: {event.reason}")
        if event.event == "repetition":
            return event
    raise RuntimeError(f"{spec.id}: no rows")


def _middle(repetition: Repetition) -> float:
    """Return the median of the headline's samples."""
    return statistics.median(value for value in repetition.series[0].columns[0].values if value)
