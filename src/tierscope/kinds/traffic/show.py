"""Pages that are spread over several nodes: what was measured, what is predicted, what it gains.

A study is the measurements of one initiator and one access pattern that differ only in threads and
in the shares of pages. Its nodes by themselves say what each can carry, and so what is predicted.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.best import best_of
from tierscope.analysis.spread import (
    Limit,
    best_spread,
    node_limit,
    predict,
    threads_limit,
    whole_weights,
)
from tierscope.machine.paths import MachinePaths, limit_of
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError, counted
from tierscope.model.path import Traffic
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.spec import Placement
from tierscope.model.stream import StreamPattern
from tierscope.model.topology import Topology
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.generic import curves_over, stacked
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    Spec,
    constants,
    distinct,
    groups_by,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.style import fits, new_table, note, title
from tierscope.report.table import show_notes, show_table
from tierscope.report.view import View

Weights = tuple[tuple[int, int], ...]
"""Nodes, ascending, each with its weight, without common divisors; one node has weight 1."""

_THREADS = "threads"
_NOT_PATTERN = (_THREADS, "policy", "mechanism", "backing")
_UNSAID = ("writes", "stores", "zipf_alpha", "prefetch", "delay_ns", "threads", "policy",
           "mechanism")  # fmt: skip
_SPREAD_PICTURES_UNSAID = tuple(key for key in _UNSAID if key != _THREADS)
_TICKS = (80, 20, 8, 4, 2, 1, 1 / 2, 1 / 4, 1 / 8, 1 / 20, 1 / 80)
_LABEL = (
    "datum.value >= 1 ? format(datum.value, '.3~g') + ':1' : '1:' + format(1 / datum.value, '.3~g')"
)
_MOST = 80.0
"""Pages on one node for each on the other, at either end of the axis."""
_STEPS = 60
_ROOM = 1.08
_MOST_COLUMNS = 5
"""Placements that a table of mixes has room for."""
_MIX = ("mix", "writes", "stores")
_SWEPT = ("prefetch", "delay_ns", "zipf_alpha", "access_size", "size")
_TITLES = {"prefetch": "prefetch distance", "delay_ns": "delay between accesses",
           "zipf_alpha": "Zipf's alpha", "size": "working set"}  # fmt: skip
_ON_BUS = "bandwidth_with_write_allocate"
_ALL = "total_bandwidth"


def is_gain(ratio: Figure) -> bool | None:
    """Return whether a ratio is a gain; None where its interval includes none, or is not known."""
    if ratio.ci_low is None or ratio.ci_high is None or ratio.ci_low <= 1 < ratio.ci_high:
        return None
    return ratio.ci_low > 1


@dataclass
class Study:
    """One initiator and one access pattern over the shares of pages."""

    initiator: str
    pattern: dict[str, Any]
    """Without threads and placement."""
    topology: Topology | None
    points: dict[tuple[Weights, int], Measurement] = field(default_factory=dict)
    """By weights and threads."""

    @property
    def nodes(self) -> list[int]:
        """All nodes that hold pages in any of its points."""
        return sorted({node for weights, _ in self.points for node, _ in weights})

    @property
    def threads(self) -> list[int]:
        """Thread counts at which pages were spread."""
        return sorted({threads for weights, threads in self.points if len(weights) > 1})

    def at(self, threads: int) -> dict[Weights, Measurement]:
        """Return its points of so many threads."""
        return {weights: m for (weights, n), m in self.points.items() if n == threads}

    def alone(self, node: int) -> dict[int, Measurement]:
        """Return the points with all pages on one node, by threads, ascending."""
        found = {n: m for (weights, n), m in self.points.items() if weights == ((node, 1),)}
        return dict(sorted(found.items()))

    @property
    def local(self) -> int | None:
        """The initiator's own node; the fastest one by itself where it has none or several."""
        singles = {node: list(found.values()) for node in self.nodes if (found := self.alone(node))}
        end = parse_endpoint(self.initiator)
        if end.kind is EndpointKind.NODE and len(end.numbers) == 1 and end.numbers[0] in singles:
            return end.numbers[0]
        best = best_of([m for members in singles.values() for m in members]) if singles else None
        return next((node for node, found in singles.items() if best in found), None)

    def local_at(self, threads: int) -> Measurement | None:
        """Return the figure of the local node only, at so many threads."""
        return self.points.get((((self.local, 1),), threads)) if self.local is not None else None

    def local_best(self) -> Measurement | None:
        """Return the figure of the local node only, at the threads that are best for it."""
        found = list(self.alone(self.local).values()) if self.local is not None else []
        return best_of(found) if found else None

    def even_at(self, threads: int) -> Measurement | None:
        """Return the figure of as many pages on each node."""
        return self.points.get((tuple((node, 1) for node in self.nodes), threads))

    def best_at(self, threads: int) -> tuple[Weights, Measurement]:
        """Return the best shares at so many threads, by the lower ends of intervals."""
        found = self.at(threads)
        best = best_of(list(found.values()))
        return next(weights for weights, m in found.items() if m is best), best

    def limits(self, threads: int) -> list[Limit]:
        """Return what bounds spreads at so many threads; empty where a node was not measured."""
        curves = [{n: m.estimate or 0.0 for n, m in self.alone(node).items()}
                  for node in self.nodes]  # fmt: skip
        if not all(curves):
            return []
        found = [
            node_limit(f"node {node}", tuple(float(other == node) for other in self.nodes), curve)
            for node, curve in zip(self.nodes, curves, strict=True)
        ]
        # A single count of threads does not tell what one of them can do.
        seconds = [min(c) / c[min(c)] if len(c) > 1 else 0.0 for c in curves]
        if any(seconds):
            found.append(threads_limit(f"{threads} threads", threads, seconds))
        return found + self._shared_links()

    def predicted(self, threads: int, longest_round: int | None = None) -> "Prediction | None":
        """Return the best shares as the nodes by themselves let expect."""
        limits = self.limits(threads)
        if not limits or len(self.nodes) < 2:
            return None
        weights = whole_weights(limits, best_spread(limits), longest_round)
        return self.expected(threads, normal(zip(self.nodes, weights, strict=True)))

    def expected(self, threads: int, weights: Weights) -> "Prediction | None":
        """Return what these shares are predicted to give."""
        limits = self.limits(threads)
        if not limits:
            return None
        found = predict(limits, self._shares(dict(weights)))
        return Prediction(weights, found.bandwidth, found.bound_by)

    def bandwidths(self, threads: int, shares: Iterable[Mapping[int, float]]) -> list[float]:
        """Return what shares of nodes are predicted to give, in bytes/s; empty where unknown."""
        limits = self.limits(threads)
        return [predict(limits, self._shares(one)).bandwidth for one in shares] if limits else []

    def _shares(self, given: Mapping[int, float]) -> list[float]:
        return [given.get(node, 0.0) / sum(given.values()) for node in self.nodes]

    def _shared_links(self) -> list[Limit]:
        """Return the links that several of the nodes are behind, where their rates are known."""
        if self.topology is None:
            return []
        paths = MachinePaths(self.topology)
        users: dict[str, set[int]] = {}
        rates: dict[str, float] = {}
        for node in self.nodes:
            try:
                hops = paths.path(self.initiator, f"node:{node}").hops
            except UserError:
                return []
            for hop in hops:
                limit = limit_of(hop, self.traffic())
                if limit is not None and not hop.parallel:
                    name = hop.name.removesuffix(f" of node {node}")
                    users.setdefault(name, set()).add(node)
                    rates[name] = limit.value
        return [
            Limit(name, rates[name], tuple(float(node in nodes) for node in self.nodes))
            for name, nodes in users.items()
            if len(nodes) > 1
        ]

    def traffic(self) -> Traffic:
        """What its mix moves."""
        return StreamPattern(
            writes=self.pattern["writes"], stores=self.pattern["stores"], size=64
        ).traffic()


@dataclass(frozen=True)
class Prediction:
    """What shares of pages are predicted to give."""

    weights: Weights
    bandwidth: float
    bound_by: str


def normal(shares: Iterable[tuple[int, int]]) -> Weights:
    """Return nodes and weights, ascending, without nodes that hold nothing or common divisors."""
    held = sorted((node, weight) for node, weight in shares if weight)
    divisor = math.gcd(*(weight for _, weight in held))
    return tuple((node, weight // divisor) for node, weight in held)


def weights_of(target: str) -> Weights | None:
    """Return the shares of a target such as ``node:0,2@3:1``; None where it is not a node."""
    try:
        end = parse_endpoint(target)
    except UserError:
        return None
    if end.kind is not EndpointKind.NODE:
        return None
    return normal(zip(end.numbers, end.weights or (1,) * len(end.numbers), strict=True))


def placed(placement: Placement) -> Weights:
    """Return the shares of a placement."""
    return normal((share.node, share.weight) for share in placement.nodes)


def target_of(weights: Weights) -> str:
    """Return the target with these shares: ``node:0,2@3:1``."""
    nodes = ",".join(str(node) for node, _ in weights)
    return f"node:{nodes}" + (f"@{ratio_of(weights)}" if len(weights) > 1 else "")


def ratio_of(weights: Weights) -> str:
    """Return ``3:1``."""
    return ":".join(str(weight) for _, weight in weights)


def weights_text(weights: Weights) -> str:
    """Return ``3:1 on nodes 0,2`` or ``all on node 0``."""
    nodes = ",".join(str(node) for node, _ in weights)
    return f"all on node {nodes}" if len(weights) == 1 else f"{ratio_of(weights)} on nodes {nodes}"


def studies_of(run: Run) -> list[Study]:
    """Return the studies of a run: those in which pages were spread."""
    return studies(run.measurements, run.header.topology)


def studies(measurements: Iterable[Measurement], topology: Topology | None) -> list[Study]:
    """Return the studies among measurements."""
    return [study for study in patterns(measurements, topology) if study.threads]


def patterns(measurements: Iterable[Measurement], topology: Topology | None) -> list[Study]:
    """Return the figures of each initiator and access pattern, whether pages were spread or not."""
    found: dict[str, Study] = {}
    for m in measurements:
        weights = weights_of(m.target)
        if m.kind != "traffic" or m.status != "measured" or weights is None or not m.estimate:
            continue
        if m.pattern.get("beside") or m.pattern.get("policy") in ("partition", "preferred"):
            continue
        pattern = {key: value for key, value in m.pattern.items() if key not in _NOT_PATTERN}
        key = json.dumps([m.initiator, pattern], sort_keys=True)
        study = found.setdefault(key, Study(m.initiator, pattern, topology))
        study.points.setdefault((weights, int(m.pattern[_THREADS])), m)
    return list(found.values())


def show_spreads(console: Console, run: Run) -> None:
    """Print a table for each access pattern and thread count, and what comes of it."""
    found = studies_of(run)
    if found:
        title(console, "Pages spread over nodes")
    for study in found:
        for threads in study.threads:
            _show(console, study, threads)
    for alike in _by_mix(found):
        for threads in alike[0].threads:
            _show_mixes(console, alike, threads)


def _by_mix(found: Sequence[Study]) -> list[list[Study]]:
    """Group studies that differ in nothing but their mix; those of one mix belong to no group."""
    groups: dict[str, list[Study]] = {}
    for study in found:
        same = {key: value for key, value in study.pattern.items() if key not in _MIX}
        key = json.dumps([study.initiator, study.threads, same], sort_keys=True)
        groups.setdefault(key, []).append(study)
    return [alike for alike in groups.values() if len(alike) > 1]


def _show_mixes(console: Console, alike: Sequence[Study], threads: int) -> None:
    """Print the bandwidths of all mixes by where the pages are: a row a mix."""
    points = [study.at(threads) for study in alike]
    columns = _columns(alike, threads)
    every = [m for found in points for m in found.values()]
    unit, factor = figures.scale_of("B/s", [m.estimate or 0.0 for m in every])
    same = constants(every, *_UNSAID, *_MIX)
    console.print()
    caption = f"All mixes, {alike[0].initiator}, {counted(threads, 'thread')}, {same}; {unit}"
    console.print(Text(caption, style="bold"))
    table = new_table("mix", "reads on\nthe bus", *map(weights_text, columns), words=["mix"])
    for study, found in zip(alike, points, strict=True):
        best, _ = study.best_at(threads)
        reads = f"{100 * study.traffic().read_share:.0f}%"
        cells = [
            Text(
                figures.with_interval(m, factor) + figures.mark(m) if m else "",
                style="bold green" if weights == best else "",
            )
            for weights, m in ((weights, found.get(weights)) for weights in columns)
        ]
        table.add_row(str(study.pattern["mix"]), reads, *cells)
    console.print(table)


def _columns(alike: Sequence[Study], threads: int) -> list[Weights]:
    """Where pages were in all mixes; of many, the nodes alone, the even spread and the bests."""
    points = [study.at(threads) for study in alike]
    common = [weights for weights in points[0] if all(weights in found for found in points)]
    if len(common) > _MOST_COLUMNS:
        bests = {study.best_at(threads)[0] for study in alike}
        common = [w for w in common if len({n for _, n in w}) == 1 or w in bests]
    return sorted(common, key=lambda weights: (len(weights) > 1, _order(weights, alike[0].local)))


def _show(console: Console, study: Study, threads: int) -> None:
    points = study.at(threads)
    unit, factor = figures.scale_of("B/s", [m.estimate or 0.0 for m in points.values()])
    same = constants(list(points.values()), *_UNSAID)
    console.print()
    caption = f"{study.initiator}, {counted(threads, 'thread')}, {same}"
    console.print(Text(caption, style="bold"))
    local = study.local
    own = f"node {local}"
    headings = [unit, "predicted", f"over\n{own}", f"over {own},\nbest threads", "over\n1:1"]
    table = new_table("pages", *headings, words=["pages"])
    best, _ = study.best_at(threads)
    for weights, m in sorted(points.items(), key=lambda one: _order(one[0], local)):
        expected = study.expected(threads, weights) if len(weights) > 1 else None
        table.add_row(
            weights_text(weights),
            figures.with_interval(m, factor) + figures.mark(m),
            figures.significant(expected.bandwidth / factor, 3) if expected else "",
            *(_over(m, base) for base in bases(study, threads).values()),
            style="bold green" if weights == best else "",
        )
    if not fits(console, table):  # The figures' own intervals are in the JSON.
        table.columns[1]._cells = [str(cell).partition(" ")[0] for cell in table.columns[1]._cells]
    console.print(table)
    for line in (verdict(study, threads), *_prediction(study, threads, factor, unit)):
        note(console, line, style="")
    measured = list(points.values())
    show_notes(console, measured, ())


def bases(study: Study, threads: int) -> dict[str, Measurement | None]:
    """Return what spread pages are compared with, by its name in JSON."""
    return {
        "local": study.local_at(threads),
        "local_best": study.local_best(),
        "even": study.even_at(threads),
    }


def _over(measured: Measurement, base: Measurement | None) -> str:
    return (
        ""
        if base is None or base is measured
        else figures.with_interval(figures.ratio(measured, base), 1.0)
    )


def _order(weights: Weights, local: int | None) -> tuple[float, Weights]:
    """Those with most pages on the own node first."""
    return -dict(weights).get(local or 0, 0) / sum(weight for _, weight in weights), weights


def verdict(study: Study, threads: int) -> str:
    """Say whether spreading pays, over the own node at the threads that are best for it."""
    weights, best = study.best_at(threads)
    base, same = study.local_best(), study.local_at(threads)
    if base is None or study.local is None:
        return f"The best is {weights_text(weights)}; the own node was not measured by itself."
    own = f"node {study.local} only"
    if len(weights) == 1:
        return f"Spreading does not pay: {weights_text(weights)} is the best."
    found = figures.ratio(best, base)
    at_best = f"the bandwidth of {own} at its best thread count, {base.pattern['threads']}"
    also = "" if same is None or same is base else (
        f", and {figures.text(figures.ratio(best, same))} times that of {own} at {threads}"
    )  # fmt: skip
    said = f"{weights_text(weights)} has {figures.text(found)} times {at_best}{also}"
    if is_gain(found):
        return f"Spreading pays: {said}."
    if is_gain(found) is None:
        return f"No gain is shown: {said}, and that interval includes no gain."
    return f"Spreading does not pay: the best, {said}."


def _prediction(study: Study, threads: int, factor: float, unit: str) -> Iterator[str]:
    found = study.predicted(threads)
    if found is None:
        return
    rate = figures.significant(found.bandwidth / factor, 3)
    yield (
        f"Predicted from the nodes by themselves: {weights_text(found.weights)} with {rate} "
        f"{unit}, bound by {found.bound_by}."
    )


def spreads_json(run: Run) -> list[dict[str, Any]]:
    """Return each access pattern and thread count with its points, gains and prediction."""
    return [
        {
            "initiator": study.initiator,
            "pattern": study.pattern,
            "threads": threads,
            "local": study.local,
            "points": [_point(study, threads, weights) for weights in study.at(threads)],
            "best": _point(study, threads, study.best_at(threads)[0]),
            "predicted": _predicted(study.predicted(threads)),
            "pays": pays(study, threads),
        }
        for study in studies_of(run)
        for threads in study.threads
    ]


def pays(study: Study, threads: int) -> bool | None:
    """Return whether spreading pays over the own node at its best; None where that is not shown."""
    weights, best = study.best_at(threads)
    base = study.local_best()
    if len(weights) == 1:
        return False
    return is_gain(figures.ratio(best, base)) if base is not None else None


def _point(study: Study, threads: int, weights: Weights) -> dict[str, Any]:
    m = study.at(threads)[weights]
    expected = study.expected(threads, weights)
    over = {
        name: base and _ratio_json(figures.ratio(m, base))
        for name, base in bases(study, threads).items()
    }
    return {
        "id": m.id,
        "weights": dict(weights),
        "bandwidth": m.estimate,
        "ci_low": m.ci_low,
        "ci_high": m.ci_high,
        "predicted": expected and expected.bandwidth,
        "gain": over,
    }


def _ratio_json(found: Figure) -> dict[str, float | None]:
    return {"value": found.estimate, "low": found.ci_low, "high": found.ci_high}


def _predicted(found: Prediction | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "weights": dict(found.weights), "bandwidth": found.bandwidth, "bound_by": found.bound_by
    }  # fmt: skip


def gains(given: PictureInput) -> Iterator[Picture]:
    """Draw, of each pair of nodes, the gain over the own node only against the ratio of pages."""
    found = studies(given.measured, given.run.header.topology)
    drawn: dict[tuple[str, int, int, int], list[Study]] = {}
    for study in found:
        for threads in study.threads:
            for other in study.nodes:
                if study.local not in (None, other) and _points(study, threads, other):
                    key = (study.initiator, threads, int(study.local or 0), other)
                    drawn.setdefault(key, []).append(study)
    for (initiator, threads, local, other), group in drawn.items():
        yield _picture(f"{initiator}", threads, (local, other), group)


def _points(study: Study, threads: int, other: int) -> list[tuple[float, Measurement]]:
    """Return the ratio, own node to the other, of pages spread over just these two."""
    found = []
    for weights, m in study.at(threads).items():
        shares = dict(weights)
        if shares.keys() == {study.local, other} and study.local is not None:
            found.append((shares[study.local] / shares[other], m))
    found.sort(key=lambda point: point[0])
    return found if len(found) > 1 and study.local_at(threads) else []


def _picture(initiator: str, threads: int, nodes: tuple[int, int], group: list[Study]) -> Picture:
    local, other = nodes
    points = {id(study): _points(study, threads, other) for study in group}
    members = [m for found in points.values() for _, m in found]
    names = varying(members, *_SPREAD_PICTURES_UNSAID, "path")
    rows: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for study in group:
        base = study.local_at(threads)
        assert base is not None
        series = words_of(base, names) or f"node {other} beside node {local}"
        rows += [_row(ratio, m, base, series) for ratio, m in points[id(study)]]
        lines += _spread_pictures_predicted(study, threads, other, base, series)
    best = best_of(members)
    top = max(row["high"] for row in rows)
    axis = {"title": f"bandwidth / that of node {local} only", "scale": {"domain": [0, _ROOM * top],
            "nice": False}}  # fmt: skip
    predicted = "; lines: predicted" if lines else ""
    return Picture(
        key=slug(f"expansion {initiator} {threads} {local} {other}"),
        title=f"Gain of pages spread over nodes {local} and {other}, {initiator}",
        subtitle=f"{constants(members, *_SPREAD_PICTURES_UNSAID)}; points: measured{predicted}",
        alt=f"The best ratio is {best.target} with {figures.text(best, 1e9, 'GB/s')}.",
        spec=shapes.curves(
            rows,
            _ratio_axis(rows, nodes),
            {**shapes.from_zero(""), **axis},
            more=[_baseline()],
            lines=lines or None,
        ),
        measurements=members,
    )


def _row(ratio: float, m: Measurement, base: Measurement, series: str) -> dict[str, Any]:
    found = figures.ratio(m, base)
    return {
        "x": ratio,
        "value": found.estimate,
        "low": found.estimate if found.ci_low is None else found.ci_low,
        "high": found.estimate if found.ci_high is None else found.ci_high,
        "series": series,
        "doubtful": figures.is_doubtful(m) or figures.is_doubtful(base),
        "tip": f"{series}, {m.target}: {figures.text(found)} times",
    }


def _spread_pictures_predicted(
    study: Study, threads: int, other: int, base: Measurement, series: str
) -> list[dict[str, Any]]:
    """Return the predicted gain over the ratio, from the most to the fewest pages on the own
    node."""
    if study.local is None or not base.estimate:
        return []
    ratios = [_MOST ** (1 - 2 * step / _STEPS) for step in range(_STEPS + 1)]
    found = study.bandwidths(threads, [{study.local: ratio, other: 1.0} for ratio in ratios])
    return [
        {"x": ratio, "value": bandwidth / base.estimate, "series": series}
        for ratio, bandwidth in zip(ratios, found, strict=bool(found))
    ]


def _ratio_axis(rows: list[dict[str, Any]], nodes: tuple[int, int]) -> Spec:
    low, high = min(row["x"] for row in rows), max(row["x"] for row in rows)
    return {
        "field": "x",
        "type": "quantitative",
        "title": f"pages on node {nodes[0]} : pages on node {nodes[1]}",
        "scale": {"type": "log", "reverse": True, "nice": False,
                  "domain": [min(low, 1 / _MOST), max(high, _MOST)]},
        "axis": {"values": list(_TICKS), "labelExpr": _LABEL, "labelOverlap": "greedy"},
    }  # fmt: skip


def _baseline() -> Spec:
    """The own node only."""
    return {
        "data": {"values": [{"one": 1}]},
        "mark": {"type": "rule", "color": "role:soft", "strokeDash": [2, 3], "aria": False},
        "encoding": {"y": {"field": "one", "type": "quantitative"}, "x": None},
    }


def mixes(given: PictureInput) -> list[Picture]:
    """Bars of each mix's best: what the program asked for, and what the bus carries on top."""
    pictures: list[Picture] = []
    for (path, *_), group in groups_by(_alone(given), "path", "order", *_SWEPT, "pages").items():
        best = [best_of(members) for members in groups_by(group, "mix").values()]
        if len(best) < 2:
            continue
        unit, factor = scale_of(best)
        rows = []
        for m in best:
            asked, bus = m.estimate or 0.0, figures.figure_of(m, _ON_BUS) or m.estimate or 0.0
            text = figures.with_interval(m, factor)
            name = words_of(m, ["mix"])
            tip = figures.text(m, factor, unit)
            rows.append(_part(name, "asked by the program", asked / factor, tip, text))
            if bus > asked:
                tip = f"{figures.significant((bus - asked) / factor, 3)} {unit}"
                rows.append(_part(name, "fetched before writes", (bus - asked) / factor, tip, text))
        fastest = best_of(best)
        pictures.append(
            Picture(
                key=slug(f"mixes {path} {len(pictures)}"),
                title=f"Bandwidth by mix of reads and writes, {path}",
                subtitle=_said(best, *_MIX, "threads"),
                alt=f"{len(best)} mixes; the fastest is {words_of(fastest, ['mix'])} with "
                f"{figures.text(fastest, factor, unit)}.",
                spec=stacked(rows, unit),
                measurements=best,
            )
        )
    return pictures


def over_threads(given: PictureInput) -> list[Picture]:
    """Bandwidth over threads, a curve a mix."""
    groups = groups_by(_alone(given), "path", "order", *_SWEPT, "pages")
    return [
        _curves(f"threads {path}", f"over threads, {path}", group, "threads")
        for (path, *_), group in groups.items()
        if len(distinct(group, "threads")) > 1
    ]


def sweeps(given: PictureInput) -> list[Picture]:
    """Bandwidth over prefetch distance, delay, alpha, access size or working set."""
    pictures: list[Picture] = []
    for swept in _SWEPT:
        others = [key for key in _SWEPT if key != swept]
        keys = ("path", "order", *others, "pages")
        for (path, *_), group in groups_by(_alone(given), *keys).items():
            if swept == "zipf_alpha" and group[0].pattern["order"] != "zipf":
                continue
            alike = groups_by(group, *varying(group, swept, "path")).values()
            group = [m for members in alike for m in members if len(distinct(members, swept)) > 2]
            if not group:
                continue
            title = f"over {_TITLES.get(swept, swept.replace('_', ' '))}, {path}"
            pictures.append(_curves(f"{swept} {path}", title, group, swept))
    return pictures


def concurrent(given: PictureInput) -> list[Picture]:
    """Concurrent streams: each one's share of all, a bar a measurement."""
    pictures: list[Picture] = []
    several = [m for m in given.measured if m.pattern.get("beside")]
    for (path, beside), group in groups_by(several, "path", "beside").items():
        unit, factor = scale_of(group)
        names = varying(group, *_MIX[1:], "path")
        rows = []
        for m in group:
            name = words_of(m, names) or "all streams"
            said = figures.plain(figures.side_figure(m, _ALL) or m, factor)
            parts: list[tuple[str, Measurement | Figure]] = [("main", m)]
            parts += [(figure.part, figure) for figure in _others(m)]
            for part, figure in parts:
                tip = f"{figures.plain(figure, factor)} {unit}"
                rows.append(_part(name, part, (figure.estimate or 0.0) / factor, tip, said))
        pictures.append(
            Picture(
                key=slug(f"concurrent {path} {len(pictures)}"),
                title=f"Concurrent streams, {path} and others",
                subtitle=f"main: {_said(group, *_MIX[1:], 'beside', 'threads')}; {beside}",
                alt=f"Concurrent with the main stream: {beside}. "
                + "; ".join(row["tip"] for row in rows[:8]),
                spec=stacked(rows, unit),
                measurements=group,
            )
        )
    return pictures


def _alone(given: PictureInput) -> list[Measurement]:
    """Return streams by themselves; ratios of pages have pictures of their own."""
    spread = {
        m.id
        for study in studies(given.measured, None)
        for (weights, _), m in study.points.items()
        if len(weights) > 1
    }
    return [m for m in given.measured if not m.pattern.get("beside") and m.id not in spread]


def _others(measurement: Measurement) -> list[Figure]:
    """Return the bandwidths of the streams but the main one."""
    return [f for f in measurement.figures[1:] if f.metric == "bandwidth" and f.part]


def _part(name: str, part: str, value: float, tip: str, text: str) -> dict[str, Any]:
    return {"name": name, "series": part, "value": value, "tip": f"{name}, {part}: {tip}",
            "text": text}  # fmt: skip


def _said(group: list[Measurement], *without: str) -> str:
    """Say what is the same; Zipf's alpha only where the order is Zipf's."""
    unsaid = () if group[0].pattern.get("order") == "zipf" else ("zipf_alpha",)
    return constants(group, *without, *unsaid, "prefetch", "delay_ns") or "best thread count"


def _curves(key: str, title: str, group: list[Measurement], swept: str) -> Picture:
    names = varying(group, swept, *_MIX[1:], "path")
    return curves_over(
        group,
        swept,
        names if names or swept == "threads" else ["mix"],
        key=f"streams {key} {_said(group, swept)}",
        title=f"Bandwidth of streams {title}",
        subtitle=_said(group, swept, *_MIX[1:]),
    )


_PLAIN = View(
    title="Streams",
    method="Threads of all streams pass one barrier and stop together; reads and writes are mixed "
    "line by line; bytes are those the program asked to move; medians with 95% intervals.",
    hidden=("writes", "stores"),
    separate=("order", "beside"),
    whole="main",
    pictures=(
        gains,
        mixes,
        over_threads,
        sweeps,
        concurrent,
    ),
)


def _view_show(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print what studies of spread pages came to, and all else in the generic way."""
    shown = {m.id for study in studies_of(run) for t in study.threads for m in study.at(t).values()}
    if rest := [m for m in measured if m.id not in shown]:
        show_table(console, rest, run, _PLAIN)
    show_spreads(console, run)


def _more(run: Run) -> dict[str, object]:
    found = spreads_json(run)
    return {"spread": found} if found else {}


VIEW = replace(_PLAIN, table=_view_show, more=_more)
