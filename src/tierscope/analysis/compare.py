"""Compare two runs, figure by figure; obstacles that keep them from being compared."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tierscope.analysis.change import Change, Traits, Variation, change_of, pair_spread
from tierscope.model.comparison import Comparison, Difference, NotComparable, Verdict
from tierscope.model.errors import UserError
from tierscope.model.metric import COMPARED
from tierscope.model.run import Measurement, Run, lower_is_better

_SETTINGS = (
    "kernel", "governor", "frequency-driver", "turbo", "smt", "thp", "numa-balancing",
)  # fmt: skip
_VISIBLE_TO_ROOT = ("prefetchers",)
"""Settings that differ only where both runs could read them."""
ALLOWABLE = (
    "host",
    "machine",
    *_SETTINGS,
    *_VISIBLE_TO_ROOT,
    "link",
    "isa",
    "emulated",
    "imported",
)
"""Values of ``--allow``."""
_MACHINE = ("cpu", "architecture", "hypervisor", "packages", "cores", "cpus")
_MIN_SAMPLES = 6
"""Fewer give no 95% interval of a median (2 x 0.5^n > 5%)."""
_MAX_BOUND = 0.25
"""A figure that may have changed by more than this cannot be called the same."""
_MAX_LOGARITHM = 30.0
"""A wider interval says nothing: a factor of 10^13."""
_Z95 = 1.96
_FINEST = 0.01
"""Change that pairs are to tell from none where every change counts."""
_MIN_PAIRS = 6
_Name = tuple[str, str, str, str]
"""Kind, endpoints and pattern."""


def check_allowed(words: list[str]) -> None:
    """Raise UserError for a word that names no obstacle."""
    from tierscope.model.errors import did_you_mean

    for word in words:
        if word not in ALLOWABLE:
            raise UserError(
                f"--allow: '{word}' is not one of {', '.join(ALLOWABLE)}"
                f"{did_you_mean(word, ALLOWABLE)}"
            )


def run_obstacles(base: Run, new: Run, allow: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return what keeps two runs from being compared at all, and what was allowed to differ."""
    found = _differing(base, new)
    obstacles = [text for word, text in found if word not in allow]
    remarks = [text for word, text in found if word in allow]
    return obstacles, remarks


def _differing(base: Run, new: Run) -> list[tuple[str, str]]:
    found = []
    for which, run in (("base", base), ("new", new)):
        if run.header.emulated:
            found.append(
                ("emulated", f"emulated: the {which} run's machine, so its figures mean nothing")
            )
        if run.header.imported:
            text = f"{run.header.imported.program} measured the {which} run; its machine"
            found.append(("imported", f"imported: {text} and settings are not known"))
    old, fresh = base.header, new.header
    if old.imported or fresh.imported:
        return found
    if old.host != fresh.host:
        found.append(("host", _text("host", old.host, fresh.host)))
    for key in _MACHINE:
        values = old.machine.get(key), fresh.machine.get(key)
        if values[0] != values[1]:
            found.append(("machine", _text(f"machine: {key}", *values)))
    nodes = _nodes(old.machine), _nodes(fresh.machine)
    if nodes[0] != nodes[1]:
        found.append(("machine", _text("machine: nodes", *nodes)))
    gpus = _gpus(old.machine), _gpus(fresh.machine)
    if gpus[0] != gpus[1]:
        found.append(("machine", _text("machine: GPUs", *gpus)))
    for key in (*_SETTINGS, *_VISIBLE_TO_ROOT):
        values = old.environment.get(key), fresh.environment.get(key)
        if values[0] != values[1] and (key in _SETTINGS or None not in values):
            found.append((key, _text(key, *values)))
    return found


def _text(name: str, base: Any, new: Any) -> str:
    said = ["absent" if value in (None, "") else str(value) for value in (base, new)]
    return f"{name}: {said[0]} in the base run, {said[1]} in the new run"


def _nodes(machine: dict[str, Any]) -> str:
    """Return the nodes in words; memory in whole GiB, since firmware reserves varying amounts."""
    return ", ".join(
        f"{node['node']} {node['kind']} {round(node['total_bytes'] / 2**30)} GiB"
        for node in machine.get("nodes", [])
    )


def _gpus(machine: dict[str, Any]) -> str:
    return ", ".join(str(gpu.get("name", "")) for gpu in machine.get("gpus", []))


def _rate(m: Measurement) -> str:
    """Return what tells a path's link from others: its rate, in whole MB/s."""
    return f"{m.limit.value / 1e6:.0f}" if m.limit else ""


def measurement_obstacle(base: Measurement, new: Measurement, allow: frozenset[str]) -> str:
    """Return what keeps two measured figures of one identity from being compared, or nothing."""
    if _rate(base) != _rate(new) and "link" not in allow:
        links = (m.limit.link if m.limit else None for m in (base, new))
        return _text("link", *links)
    ran = [m.evidence.isa if m.evidence else None for m in (base, new)]
    if ran[0] != ran[1] and "isa" not in allow:
        return _text("isa", *ran)
    return ""


def compare(
    base: tuple[str, Run],
    new: tuple[str, Run],
    tolerance: float,
    allow: Iterable[str] = (),
    comparisons: int = 1,
    also: Iterable[Run] = (),
) -> Comparison:
    """Compare two runs, each given with the name to call it by.

    ``tolerance`` is the share of change that counts as the same. ``allow`` names what may differ
    nevertheless (see ``obstacles``). ``comparisons`` is how many such comparisons are read
    together: the error of 5% is shared between them. ``also`` are further runs from before: what
    they differ in from the base counts as no change.
    """
    obstacles, remarks = run_obstacles(base[1], new[1], frozenset(allow))
    joined = join(base[1], new[1])
    whole = _Obstacle("setting", obstacles[0]) if obstacles else None
    refusals = [whole or _obstacle(old, fresh, frozenset(allow)) for old, fresh in joined]
    traits = Traits.of(base[1], new[1])
    earlier = [{_name(m): m for m in reversed(identities(run).values())} for run in also]
    changes = [
        change_of(old, fresh, traits, _earlier(old, earlier))
        for old, fresh in joined
        if old and fresh and _measured(old) and _measured(fresh)
    ]
    known = {id(change.base): change for change in changes}
    # Tails vary far more than medians do.
    variation, of_tails = (
        Variation([change for change in changes if (change.base.metric in COMPARED) == tails])
        for tails in (False, True)
    )
    # A figure without an interval is shown, but no verdict is based on it.
    judged = max(1, sum(_judged(*both) for both in _comparable(joined, refusals))) * comparisons

    def difference(
        old: Measurement | None, fresh: Measurement | None, refusal: _Obstacle | None
    ) -> Difference:
        if refusal:
            return _refused(old, fresh, refusal)
        assert old is not None
        assert fresh is not None
        change = known.get(id(old)) or change_of(old, fresh, traits, _earlier(old, earlier))
        usual = of_tails if old.metric in COMPARED else variation
        return _difference(change, usual.bound(change, judged), tolerance)

    differences = [
        difference(old, fresh, refusal)
        for (old, fresh), refusal in zip(joined, refusals, strict=True)
    ]
    return Comparison(
        base=base[0],
        new=new[0],
        tolerance=tolerance,
        obstacles=obstacles,
        remarks=remarks,
        wander=variation.overall(),
        pairs=(pairs := _pairs(joined, differences, tolerance)),
        pairs_s=pairs * _pair_seconds(base[1], new[1]) if pairs else None,
        differences=differences,
    )


@dataclass(frozen=True)
class Identity:
    """Join key of figures of two runs."""

    measurement: tuple[str, str, str, str, int]
    """Kind, endpoints and pattern; repeated ones are numbered."""
    figure: tuple[str, str] | None = None
    """Metric and part; None: the measurement has no figure."""


def identities(run: Run) -> dict[Identity, Measurement]:
    """Return a run's measurements, each with one figure: all that are compared."""
    found: dict[Identity, Measurement] = {}
    seen: Counter[_Name] = Counter()
    for m in run.measurements:
        seen[_name(m)] += 1
        name = (*_name(m), seen[_name(m)])
        if not m.figures:
            found[Identity(name)] = m
        for figure in m.figures:
            if figure.compared:
                found[Identity(name, (figure.metric, figure.part))] = m.of_figure(figure)
    return found


def join(base: Run, new: Run) -> list[tuple[Measurement | None, Measurement | None]]:
    """Join two runs on the figures' identity, never on their order.

    A measurement that has no figure in one run stands beside each figure of the other one.
    """
    old, fresh = identities(base), identities(new)
    figured = {key.measurement for key in (*old, *fresh) if key.figure}
    keys = [k for k in dict.fromkeys([*old, *fresh]) if k.figure or k.measurement not in figured]
    sides = ([run.get(k) or run.get(Identity(k.measurement)) for k in keys] for run in (old, fresh))
    return list(zip(*sides, strict=True))


@dataclass(frozen=True)
class _Obstacle:
    """Reason why two measurements cannot be compared."""

    cause: NotComparable
    reason: str


def _obstacle(
    base: Measurement | None, new: Measurement | None, allow: frozenset[str]
) -> _Obstacle | None:
    if base is None:
        return _Obstacle("only-new", "only in the new run")
    if new is None:
        return _Obstacle("only-base", "only in the base run")
    for which, m in (("base", base), ("new", new)):
        if not m.has_figure:
            return _Obstacle("not-measured", f"{m.status} in the {which} run: {m.reason}")
        if not m.estimate or m.estimate < 0 or m.unit != base.unit:
            return _Obstacle("no-ratio", f"the {which} run's figure gives no ratio")
    difference = measurement_obstacle(base, new, allow)
    return _Obstacle("setting", difference) if difference else None


def _without_interval(base: Measurement, new: Measurement) -> _Obstacle | None:
    """Return why no verdict can be based on one of these figures."""
    for which, m in (("base", base), ("new", new)):
        if m.n < _MIN_SAMPLES:
            return _Obstacle(
                "few-samples",
                f"too few samples in the {which} run: {m.n}; a 95% interval takes at least "
                f"{_MIN_SAMPLES}",
            )
        if not m.ci_low or m.ci_high is None or m.ci_low <= 0:
            return _Obstacle("no-interval", f"no interval in the {which} run")
    return None


def _comparable(
    joined: list[tuple[Measurement | None, Measurement | None]], refusals: list[_Obstacle | None]
) -> Iterator[tuple[Measurement, Measurement]]:
    for (old, fresh), refusal in zip(joined, refusals, strict=True):
        if old and fresh and refusal is None:
            yield old, fresh


def _judged(base: Measurement, new: Measurement) -> bool:
    return _without_interval(base, new) is None


def _measured(m: Measurement) -> bool:
    return m.has_figure and (m.estimate or 0.0) > 0 and bool(m.ci_low)


def _earlier(base: Measurement, runs: list[dict[_Name, Measurement]]) -> list[Measurement]:
    """Return the base's figure as earlier runs have it."""
    return [other for found in runs if (other := found.get(_name(base))) and _measured(other)]


def _name(m: Measurement) -> _Name:
    return m.kind, m.initiator, m.target, json.dumps(m.pattern, sort_keys=True)


def _difference(change: Change, bound: float, tolerance: float) -> Difference:
    ratio = math.exp(change.size)
    significant = abs(change.beyond) > bound
    # The same factor up or down, so that it does not matter which run is called the base.
    large = abs(change.beyond) > -math.log1p(-tolerance)
    slower = (ratio > 1) == lower_is_better(change.base)
    verdict: Verdict = ("slower" if slower else "faster") if significant and large else "same"
    doubt = _without_interval(change.base, change.new)
    if doubt is None and not significant and abs(change.beyond) + bound > math.log1p(_MAX_BOUND):
        doubt = _Obstacle("noisy", f"too noisy: no change of less than {percent(bound)} would show")
    known = bound < _MAX_LOGARITHM
    return Difference(
        **_identity(change.base),
        verdict="undecided" if doubt else verdict,
        cause=doubt.cause if doubt else None,
        reason=doubt.reason if doubt else "",
        base=change.base.estimate,
        new=change.new.estimate,
        ratio=ratio,
        low=math.exp(change.size - change.before[1] - bound) if known else None,
        high=math.exp(change.size - change.before[0] + bound) if known else None,
        detectable=math.expm1(bound) if known else None,
    )


def _pairs(
    joined: list[tuple[Measurement | None, Measurement | None]],
    differences: list[Difference],
    tolerance: float,
) -> int | None:
    """Return how many repetitions of each side in turn tell a change beyond the tolerance from
    none.

    So many make the half-width of a paired ratio's 95% interval as narrow as the tolerance, for
    three in four of the undecided measurements.
    """
    target = max(-math.log1p(-tolerance), _FINEST)
    needed = sorted(
        math.ceil((_Z95 * spread / target) ** 2)
        for both, found in zip(joined, differences, strict=True)
        if found.verdict == "undecided" and all(both)
        if math.isfinite(spread := pair_spread(*both))  # type: ignore[arg-type]
    )
    return max(_MIN_PAIRS, needed[(3 * len(needed) - 1) // 4]) if needed else None


def _pair_seconds(base: Run, new: Run) -> float:
    """Return how long the samples of a repetition of all measurements of both runs take."""
    return sum(
        m.n * m.evidence.sample_ns * 1e-9 / m.repetitions
        for run in (base, new)
        for m in run.measurements
        if m.repetitions and m.evidence and m.evidence.sample_ns
    )


def percent(bound: float) -> str:
    """Return a change of a logarithm in words: 12%, or a factor of 3."""
    factor = math.exp(bound)
    return f"{100 * (factor - 1):.2g}%" if factor < 2 else f"a factor of {float(f'{factor:.2g}'):g}"


def _refused(base: Measurement | None, new: Measurement | None, refusal: _Obstacle) -> Difference:
    known = base if base and (base.figures or not new) else new
    assert known is not None
    old = base.estimate if base else None
    fresh = new.estimate if new else None
    ratio = fresh / old if old and fresh else None
    return Difference(
        **_identity(known),
        verdict="not comparable",
        cause=refusal.cause,
        reason=refusal.reason,
        base=old,
        new=fresh,
        ratio=ratio,
    )


def _identity(m: Measurement) -> dict[str, Any]:
    return {
        "kind": m.kind,
        "initiator": m.initiator,
        "target": m.target,
        "pattern": m.pattern,
        "metric": m.metric or "",
        "unit": m.unit,
    }
