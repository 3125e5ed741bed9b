"""A run of the study of coherent GPUs beside what the study published of the same measurements."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tierscope.analysis.best import best_of
from tierscope.model.errors import UserError
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.topology import Node, NodeKind, Topology
from tierscope.report import figures
from tierscope.report.pictures.beside import map_beside
from tierscope.report.pictures.picture import Picture
from tierscope.report.run_view import Beside
from tierscope.report.view import Summary
from tierscope.suites.coherent_gpu import FOOTPRINTS, LOOKUP, MAP, Pair, gib_here, pairs_of
from tierscope.suites.coherent_gpu_published import (
    HEADLINES,
    MAPS,
    SOURCE,
    Headline,
    published_map,
)

_FORMS: Mapping[str, Callable[[float], str]] = {
    "share": lambda value: f"{value:.1%}",
    "times": lambda value: f"{value:.2f}x",
    "cost": lambda value: f"{value:.1%}",
}
_COLUMNS = ["", "here", "ratio", "published", "stated"]
_SHORT = {"million/s": "M/s"}
_LIKE = {"size", "pages", "order", "operation", "access_size", "threads", "policy", "second",
         "chain", "load_threads", "load_order", "mix"}  # fmt: skip
"""Properties that tell the study's measurements apart."""


class _Pair(NamedTuple):
    """Two figures of the run; of one that is not there, why."""

    first: Measurement | str
    second: Measurement | str


@dataclass(frozen=True)
class _Studied:
    """A run of the study."""

    run: Run
    pair: Pair
    unit: int
    """Bytes that stand for a GiB of the study."""

    @property
    def near(self) -> str:
        """The CPUs' own memory, as a target."""
        return f"node:{self.pair.near.number}"

    @property
    def far(self) -> str:
        """The GPU's memory, or what stands in for it."""
        return f"node:{self.pair.far.number}"

    @property
    def threads(self) -> int:
        """The most threads: all CPUs of the pair."""
        counts = [m.pattern.get("threads", 0) for m in self.run.measurements if self._is_own(m)]
        return max((count for count in counts if isinstance(count, int)), default=0)

    def _is_own(self, m: Measurement) -> bool:
        return m.initiator == self.near and "cpu_sets" in m.pattern

    def all_like(self, target: str, **wanted: Any) -> list[Measurement]:
        """Return the measurements of a target with these values of the properties that count, and
        with no others of them unless they are given as ..., which is any value."""
        return [
            m
            for m in self.run.measurements
            if (m.initiator, m.target) == (self.near, target)
            and _LIKE & m.pattern.keys() == wanted.keys()
            and all(value in (..., m.pattern[key]) for key, value in wanted.items())
        ]

    def cells(self, target: str, order: str, operation: str) -> list[Measurement]:
        """Return a map of threads by access size."""
        what: dict[str, Any] = {"order": order, "operation": operation, "pages": "base"}
        return self.all_like(
            target, **what, size=MAP * self.unit, access_size=..., threads=...
        )  # fmt: skip

    def by_all(self, target: str, order: str, operation: str, gib: int) -> list[Measurement]:
        """Return the accesses of 64 B by all threads over a footprint."""
        what: dict[str, Any] = {"order": order, "operation": operation, "pages": "base"}
        return self.all_like(
            target, **what, size=gib * self.unit, access_size=64, threads=self.threads
        )

    def spread(self, order: str, operation: str) -> list[Measurement]:
        """Return the same with pages spread over both, in all ratios."""
        found = []
        for m in self.run.measurements:
            if m.target.startswith(f"{self.near},{self.pair.far.number}@"):
                what = (m.pattern.get(key) for key in ("order", "operation", "policy"))
                found += [m] if tuple(what) == (order, operation, "weighted") else []
        return found

    def tree(self, inner: str, leaves: str) -> list[Measurement]:
        """Return the lookups of a tree by all threads."""
        what: dict[str, Any] = {"chain": LOOKUP, "second": leaves, "pages": "base"}
        return self.all_like(inner, **what, size=..., threads=self.threads)

    def latency(self, target: str) -> list[Measurement]:
        """Return idle latency."""
        what: dict[str, Any] = {"size": MAP * self.unit, "pages": "base", "order": "random"}
        return self.all_like(target, **what)

    def loaded(self, target: str) -> list[Measurement]:
        """Return latency under sequential reads of all other threads."""
        what: dict[str, Any] = {"size": ..., "pages": ..., "order": ...}
        what |= {"mix": "100:0", "load_order": "sequential", "load_threads": ...}
        found = self.all_like(target, **what)
        most = max((int(m.pattern["load_threads"]) for m in found), default=0)
        return [m for m in found if m.pattern["load_threads"] == most > 0]

    def figures_of(self, name: str) -> _Pair:
        """Return the two figures of a headline."""
        near, far = self.near, self.far
        *more, order, operation = name.split() if " " in name else (name, "", "")
        if more and more[0] == "spread":
            local = self.by_all(near, order, operation, FOOTPRINTS[-1])
            return _Pair(_best(local), _best(self.spread(order, operation)))
        if operation:
            return _Pair(*(_best(self.cells(target, order, operation)) for target in (near, far)))
        small, large = (self.by_all(far, "random", "read", gib) for gib in (MAP, FOOTPRINTS[-1]))
        local = self.tree(near, near)
        found = {
            "idle": (self.latency(near), self.latency(far)),
            "loaded": (self.loaded(near), self.loaded(far)),
            "footprint": (small, large),
            "leaves": (local, self.tree(near, far)),
            "inner": (local, self.tree(far, near)),
        }
        return _Pair(*map(_best, found[name]))


def _best(found: list[Measurement]) -> Measurement | str:
    """Return the best of measurements that have a figure, or why none has."""
    measured = [m for m in found if m.has_figure and m.estimate]
    if measured:
        return best_of(measured)
    reasons = dict.fromkeys(m.reason for m in found if m.reason)
    return next(iter(reasons), "the run ended before" if found else "not in this run")


def beside(run: Run) -> Beside | None:
    """Return what the study published beside the run's figures; None of a run that has none of
    its measurements."""
    topology = run.header.topology
    if topology is None:
        return None
    try:
        pair = pairs_of(topology)[0]
    except UserError:
        return None
    studied = _Studied(run, pair, gib_here(topology, pair.both))
    rows = [(one, studied.figures_of(one.name)) for one in HEADLINES]
    if not any(isinstance(one, Measurement) for _, both in rows for one in both):
        return None
    return Beside(
        title="Beside the published study",
        method="The best of all thread counts and access sizes; of latency under load, the most "
        "threads; of trees, footprints and interleaving, all threads. Maps: figures here above "
        "published ones, coloured by their ratio.",
        summary=Summary(
            title="This run beside the published study of Grace Hopper",
            columns=_COLUMNS,
            rows=[_row(one, both) for one, both in rows],
            notes=[*_not_measured(rows), *_notes(studied, topology)],
        ),
        pictures=lambda: _maps(studied),
        json={"published_study": _in_json(rows, studied)},
    )


def _ratio(form: str, both: _Pair) -> Figure | None:
    """Return how the second figure compares with the first; None where one is missing."""
    first, second = both
    if isinstance(first, str) or isinstance(second, str):
        return None
    found = figures.ratio(second, first)
    if form != "cost":
        return found
    low = None if found.ci_high is None else 1 - found.ci_high
    high = None if found.ci_low is None else 1 - found.ci_low
    return found.model_copy(update={"estimate": 1 - found.estimate, "ci_low": low, "ci_high": high})


def _row(one: Headline, both: _Pair) -> list[str]:
    ratio = _ratio(one.form, both)
    if ratio is None:
        return [one.what, "not measured", "", one.figures, one.ratio]
    first, second = both
    assert isinstance(first, Measurement)
    assert isinstance(second, Measurement)
    unit, factor = figures.common_scale([first, second])
    here = " → ".join(f"{figures.plain(m, factor, 3)}{figures.mark(m)}" for m in (first, second))
    said = _FORMS[one.form]
    if ratio.ci_low is None or ratio.ci_high is None:
        text = f"{said(ratio.estimate)} (no interval)"
    else:
        low = said(ratio.ci_low).rstrip("%x")
        text = f"{said(ratio.estimate)} ({low}–{said(ratio.ci_high)})"
    return [one.what, f"{here} {_SHORT.get(unit, unit)}", text, one.figures, one.ratio]


def _not_measured(rows: list[tuple[Headline, _Pair]]) -> Iterator[str]:
    """Say why figures are missing, those with one reason together."""
    reasons: dict[str, list[str]] = {}
    for one, both in rows:
        why = next((each for each in both if isinstance(each, str)), None)
        if why is not None:
            reasons.setdefault(why, []).append(one.what)
    for why, names in reasons.items():
        yield f"not measured: {'; '.join(names)}: {why}"


def _notes(studied: _Studied, topology: Topology) -> Iterator[str]:
    yield (
        "ratio: the second figure over the first, with its 95% interval; of trees, the share of "
        "lookups lost; → both: from local memory to pages over both, in the best ratio of them"
    )
    yield f"published: {SOURCE}"
    pair, largest = studied.pair, FOOTPRINTS[-1] * studied.unit
    stands_in = "" if pair.far.kind is NodeKind.GPU else ", which stands in for it"
    yield (
        f"here: {topology.cpu_model}, {studied.threads} threads; local memory is "
        f"{_named(pair.near)}, GPU memory {_named(pair.far)}{stands_in}"
    )
    if studied.unit < 1 << 30:
        yield (
            f"regions here are {figures.size_text(studied.unit)} for each GiB of the study, "
            f"{figures.size_text(largest)} at most: a cache holds more of them"
        )
    held = sum(bool(m.fits_caches) for m in studied.run.measurements if m.has_figure)
    if held:
        count = sum(m.has_figure for m in studied.run.measurements)
        yield f"{held} of {count} figures of this run are of regions that the caches can hold"


def _named(node: Node) -> str:
    return f"node {node.number} ({node.kind})"


def _in_json(rows: list[tuple[Headline, _Pair]], studied: _Studied) -> dict[str, Any]:
    """Return the table for JSON: estimates in B/s, ns and 1/s."""

    def value(one: Measurement | str) -> float | None:
        return None if isinstance(one, str) else one.estimate

    found = []
    for one, both in rows:
        ratio = _ratio(one.form, both)
        entry: dict[str, Any] = {"what": one.what, "is": one.form}
        entry |= {"first": value(both.first), "second": value(both.second)}
        names = ("estimate", "ci_low", "ci_high")
        entry |= {name: getattr(ratio, name) if ratio else None for name in names}
        entry["reason"] = next((each for each in both if isinstance(each, str)), "")
        found.append({**entry, "published": one.figures, "published_ratio": one.ratio})
    return {"source": SOURCE, "gib_bytes": studied.unit, "rows": found}


def _maps(studied: _Studied) -> Iterator[Picture]:
    """Yield each map over the published one, of the cells that both have."""
    names = {"local": (studied.near, "local memory"), "gpu": (studied.far, "GPU memory")}
    for memory, order, operation in MAPS:
        target, name = names[memory]
        published = published_map(memory, order, operation)
        cells = [
            (m, published[at])
            for m in studied.cells(target, order, operation)
            if m.has_figure
            and m.estimate
            and (at := (m.pattern["access_size"], m.pattern["threads"])) in published
        ]
        if cells:
            yield map_beside(
                cells,
                "access_size",
                "threads",
                key=f"published {memory} {order} {operation}",
                title=f"{order.capitalize()} {operation}s of {name} over the published ones",
                subtitle=f"{target}; base pages, {figures.size_text(MAP * studied.unit)} here, "
                f"{MAP} GiB published",
            )
