"""Compare two runs: what is the same, what got faster or slower, what cannot be compared.

Two figures differ when the interval of their ratio leaves out 1. That interval covers two reasons
why medians of one machine differ between runs:

- **Sampling.** Each run's interval covers it. That interval is made for the effective sample size,
  so that it already allows for autocorrelation; a bootstrap over single samples would be far too
  narrow. The intervals' widths are added in squares, and none counts as narrower than is usual for
  its kind.
- **Run-to-run variation.** Other programs, clocks and the placement of pages change between runs
  and stay as they are during one, so no interval of one run shows them. The comparison itself does:
  the scatter of its differences beyond their intervals is run-to-run variation. It is estimated by
  medians, so that the few figures that changed on their own do not count, and separately for each
  kind and for working sets that stay in a core's own caches. Where all measurements of a path
  changed alike, by far more than they differ among themselves, the path changed as a whole, and its
  median is subtracted first. A *volatile* figure is trusted no further than its single samples: one
  of which more than a quarter of the samples were disturbed (its evidence says so), and a latency
  between a core's own caches and memory's, which depends on how much of a cache other programs
  leave.

Run-to-run variation has heavy tails, so its share uses Student's t with 4 degrees of freedom,
sampling a normal distribution. Both quantiles are those of 5% over *all* figures of the
comparison (Bonferroni), so that nineteen of twenty comparisons of a machine with itself find
nothing at all. docs/compare.md has the data that this was tried on.

Of measurements that time single operations, the percentiles of ``model.metric.COMPARED`` are judged
beside the headline. Their run-to-run variation is estimated by itself: tails vary more.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tierscope.analysis.change import Change, Traits, change_of, pair_spread
from tierscope.analysis.direction import lower_is_better
from tierscope.analysis.further import is_further, with_percentiles
from tierscope.analysis.obstacles import measurement_obstacle, run_obstacles
from tierscope.analysis.run_to_run import Variation
from tierscope.model.comparison import Comparison, Difference, NotComparable, Verdict
from tierscope.model.run import Measurement, Run

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
    changes = [
        change_of(old, fresh, traits)
        for old, fresh in joined
        if old and fresh and _measured(old) and _measured(fresh)
    ]
    variation, of_further = (
        Variation.of([change for change in changes if is_further(change.base) == further])
        for further in (False, True)
    )
    earlier = [identities(run) for run in also]
    # A figure without an interval is shown, but no verdict is based on it.
    judged = max(1, sum(_judged(*both) for both in _comparable(joined, refusals))) * comparisons

    def difference(
        old: Measurement | None, fresh: Measurement | None, refusal: _Obstacle | None
    ) -> Difference:
        if refusal:
            return _refused(old, fresh, refusal)
        assert old is not None
        assert fresh is not None
        change = change_of(old, fresh, traits, _changes(old, earlier))
        usual = of_further if is_further(old) else variation
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
        wander=variation.overall,
        pairs=_pairs(joined, differences, tolerance),
        differences=differences,
    )


Identity = tuple[str, str, str, str, int]


def identities(run: Run) -> dict[Identity, Measurement]:
    """Return a run's measurements by kind, endpoints and pattern; repeated ones are numbered."""
    found: dict[Identity, Measurement] = {}
    seen: dict[tuple[str, str, str, str], int] = {}
    for m in with_percentiles(run.measurements):
        key = (m.kind, m.initiator, m.target, _pattern(m))
        seen[key] = seen.get(key, 0) + 1
        identity = (*key, seen[key])
        found[identity] = m
    return found


def join(base: Run, new: Run) -> list[tuple[Measurement | None, Measurement | None]]:
    """Join two runs on the measurements' identity, never on their order."""
    old, fresh = identities(base), identities(new)
    return [(old.get(key), fresh.get(key)) for key in dict.fromkeys([*old, *fresh])]


@dataclass(frozen=True)
class _Obstacle:
    """What keeps two measurements from being compared."""

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
    return m.has_figure and bool(m.estimate) and bool(m.ci_low)


def _changes(base: Measurement, earlier: list[dict[Identity, Measurement]]) -> tuple[float, float]:
    """Return the least and the most change from the base to itself and to the earlier runs."""
    assert base.estimate
    key = (base.kind, base.initiator, base.target, _pattern(base), 1)
    others = [other for found in earlier if (other := found.get(key)) and _measured(other)]
    changes = [0.0] + [math.log((other.estimate or 1.0) / base.estimate) for other in others]
    return min(changes), max(changes)


def _pattern(m: Measurement) -> str:
    return json.dumps(m.pattern, sort_keys=True)


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
    """Return how many visits of each side in turn tell a change beyond the tolerance from none.

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


def percent(bound: float) -> str:
    """Return a change of a logarithm in words: 12%, or a factor of 3."""
    factor = math.exp(bound)
    return f"{100 * (factor - 1):.2g}%" if factor < 2 else f"a factor of {factor:.2g}"


def _refused(base: Measurement | None, new: Measurement | None, refusal: _Obstacle) -> Difference:
    known = base or new
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
