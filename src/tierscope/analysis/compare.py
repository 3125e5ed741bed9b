"""Compare two runs: what is the same, what got faster or slower, what cannot be compared.

Two figures differ when the interval of their ratio leaves out 1. That interval has to hold for
two reasons why medians of one machine differ between runs:

- **Sampling.** Each run's interval says it. The engine makes that interval for the number of
  *independent* samples that a series is worth, so that it already holds for autocorrelation; a
  bootstrap over single samples would be far too sure. Their widths are added in squares,
  and none counts as narrower than is usual for its kind.
- **Wandering.** Neighbours, clocks and where pages came to lie change between runs and stay as they
  are during one, so no interval of one run shows them. The comparison itself does: what its
  differences scatter more than their intervals explain is wandering, measured by medians so that
  the few that changed on their own do not count. Where all measurements of a path changed alike,
  by far more than they differ among themselves, the path changed as a whole and its median is
  taken off first. Where neighbours took CPU time during more than a quarter of a measurement's
  samples (its evidence says so), it is trusted no further than its single samples.

Wandering has heavy tails, so its share is held to a Student t with 4 degrees of freedom, sampling
to a normal. Both quantiles are those of 5% over *all* measurements of the comparison (Bonferroni),
so that nineteen of twenty comparisons of a machine with itself find nothing at all.
docs/compare.md has the figures that this was tried on.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist, median, stdev
from typing import Any

from tierscope.analysis.obstacles import measurement_obstacle, run_obstacles
from tierscope.model.comparison import Comparison, Difference, Verdict
from tierscope.model.run import Measurement, Run

_CONFIDENCE = 0.95
_Z95 = 1.96
"""Half-width of a normal 95% interval in standard deviations."""
_FEWEST_SAMPLES = 6
"""Fewer cannot bear out a 95% interval of a median (2 x 0.5^n > 5%)."""
_FEWEST_RESIDUALS = 8
"""Fewer differences than this say too little about wandering."""
_MUCH_DISTURBED = 0.25
_MOST_UNSURE = 0.25
"""A figure that can only be compared more coarsely than this cannot be called the same."""
_FEWEST_OF_KIND = 6
_SMALLEST_PATH = 5
"""Of fewer measurements none can say that a path changed as a whole."""
_ALIKE = 4.0
"""Times that a path's change has to be larger than what its measurements differ in."""
_NORMAL = NormalDist().inv_cdf(0.75)
"""Median of the absolute value of a standard normal variable."""


@dataclass(frozen=True)
class _Pair:
    """A measurement that both runs have and that can be compared, as natural logarithms."""

    base: Measurement
    new: Measurement
    change: float
    sampling: float
    """Standard error of ``change`` from both intervals."""
    spread: float
    """Standard deviation of a single sample, both runs together."""
    disturbed: bool
    """Neighbours took CPU time during much of it, in either run."""
    before: tuple[float, float] = (0.0, 0.0)
    """Least and most change from the base that was there before: in the base itself, 0, and in
    further earlier runs."""

    @property
    def beyond(self) -> float:
        """How far the change goes beyond what was there before."""
        low, high = self.before
        return self.change - min(max(self.change, low), high)


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
    reasons = [
        obstacles[0] if obstacles else _obstacle(old, fresh, frozenset(allow))
        for old, fresh in joined
    ]
    pairs = [_pair(old, fresh) for old, fresh in joined if _measured(old) and _measured(fresh)]
    wander = _wander(pairs)
    usual = _usual_sampling(pairs)
    earlier = [identities(run) for run in also]
    judged = sum(not reason for reason in reasons) * comparisons
    differences = [
        _refused(old, fresh, reason)
        if reason
        else _difference(
            _pair(old, fresh, _changes(old, earlier)), usual, wander, judged, tolerance
        )
        for (old, fresh), reason in zip(joined, reasons, strict=True)
    ]
    return Comparison(
        base=base[0],
        new=new[0],
        tolerance=tolerance,
        obstacles=obstacles,
        remarks=remarks,
        wander=wander,
        differences=differences,
    )


Identity = tuple[str, str, str, str, int]


def identities(run: Run) -> dict[Identity, Measurement]:
    """Return a run's measurements by kind, endpoints and pattern; twins are counted through."""
    found: dict[Identity, Measurement] = {}
    seen: dict[tuple[str, str, str, str], int] = {}
    for m in run.measurements:
        key = (m.kind, m.initiator, m.target, _pattern(m))
        seen[key] = seen.get(key, 0) + 1
        found[*key, seen[key]] = m
    return found


def join(base: Run, new: Run) -> list[tuple[Measurement | None, Measurement | None]]:
    """Join two runs on the measurements' identity, never on their order."""
    old, fresh = identities(base), identities(new)
    return [(old.get(key), fresh.get(key)) for key in dict.fromkeys([*old, *fresh])]


def _obstacle(base: Measurement | None, new: Measurement | None, allow: frozenset[str]) -> str:
    if base is None or new is None:
        return "only in the new run" if base is None else "only in the base run"
    for which, m in (("base", base), ("new", new)):
        if m.status != "measured":
            return f"{m.status} in the {which} run: {m.reason}"
        if not m.estimate or m.estimate < 0 or m.unit != base.unit:
            return f"the {which} run's figure is no ratio's part"
        if m.n < _FEWEST_SAMPLES or not m.ci_low or m.ci_high is None or m.ci_low <= 0:
            return (
                f"too few samples in the {which} run: {m.n}, and {_FEWEST_SAMPLES} are the least "
                "for a 95% interval"
            )
    return measurement_obstacle(base, new, allow)


def _measured(m: Measurement | None) -> bool:
    return m is not None and m.status == "measured" and bool(m.estimate) and bool(m.ci_low)


def _changes(
    base: Measurement | None, earlier: list[dict[Identity, Measurement]]
) -> tuple[float, float]:
    """Return the least and the most change from the base to itself and to the earlier runs."""
    if base is None or not base.estimate:
        return 0.0, 0.0
    key = (base.kind, base.initiator, base.target, _pattern(base), 1)
    others = [other for found in earlier if _measured(other := found.get(key)) and other]
    changes = [0.0] + [math.log((other.estimate or 1.0) / base.estimate) for other in others]
    return min(changes), max(changes)


def _pattern(m: Measurement) -> str:
    return json.dumps(m.pattern, sort_keys=True)


def _pair(
    base: Measurement | None,
    new: Measurement | None,
    before: tuple[float, float] = (0.0, 0.0),
) -> _Pair:
    assert base is not None
    assert new is not None
    assert base.estimate is not None
    assert new.estimate is not None
    return _Pair(
        base=base,
        new=new,
        change=math.log(new.estimate / base.estimate),
        sampling=math.hypot(_sampling(base), _sampling(new)),
        spread=math.hypot(_spread(base), _spread(new)),
        disturbed=any(_disturbed_share(m) > _MUCH_DISTURBED for m in (base, new)),
        before=before,
    )


def _disturbed_share(m: Measurement) -> float:
    disturbed = m.evidence.disturbed if m.evidence else None
    return (disturbed or 0) / max(1, m.n)


def _sampling(m: Measurement) -> float:
    """Standard error of the logarithm of a median, from the wider side of its interval."""
    assert m.estimate is not None
    assert m.ci_low is not None
    assert m.ci_high is not None
    return max(math.log(m.ci_high / m.estimate), math.log(m.estimate / m.ci_low), 0.0) / _Z95


def _spread(m: Measurement) -> float:
    logs = [math.log(sample) for sample in m.samples if sample > 0]
    return stdev(logs) if len(logs) > 1 else _sampling(m) * math.sqrt(m.n)


def _usual_sampling(pairs: list[_Pair]) -> dict[str, float]:
    """Return the median sampling error of each kind.

    Among many intervals of few independent samples some are narrow by luck; none is trusted to be
    narrower than its kind's usual one.
    """
    kinds = dict.fromkeys(pair.base.kind for pair in pairs)
    return {
        kind: median(pair.sampling for pair in pairs if pair.base.kind == kind) for kind in kinds
    }


def _wander(pairs: list[_Pair]) -> float | None:
    """Return how far medians wander: the larger of all pairs' scatter and of any one kind's.

    None where there are too few differences to tell.
    """
    if len(pairs) < _FEWEST_RESIDUALS:
        return None
    kinds: dict[str, list[_Pair]] = {}
    for pair in pairs:
        kinds.setdefault(pair.base.kind, []).append(pair)
    groups = [pairs, *(members for members in kinds.values() if len(members) >= _FEWEST_OF_KIND)]
    return max(_scatter(_residuals(members)) for members in groups)


def _scatter(residuals: list[tuple[float, float]]) -> float:
    """Return the scatter of residuals that their sampling errors do not explain, robustly.

    Of residuals over their whole standard deviation the median is that of a normal distribution;
    that gives the part of it that sampling is not, whose uncertainty of two standard errors of
    1.17 / sqrt(n) is added.
    """

    def excess(wander: float) -> float:
        return median(abs(r) / max(1e-9, math.hypot(s, wander)) for r, s in residuals) - _NORMAL

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, max(abs(residual) for residual, _ in residuals) / _NORMAL
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high * (1 + 2 * 1.17 / math.sqrt(len(residuals)))


def _residuals(pairs: list[_Pair]) -> list[tuple[float, float]]:
    """Return each difference, less its path's if that changed as a whole, with its error."""
    paths: dict[tuple[str, ...], list[_Pair]] = {}
    for pair in pairs:
        m = pair.base
        paths.setdefault((m.kind, m.initiator, m.target), []).append(pair)
    found = []
    for members in paths.values():
        common = _common_change(members)
        # A path's own median lies nearer to its members than the true change does.
        grow = math.sqrt(len(members) / (len(members) - 1)) if common else 1.0
        found += [((pair.change - common) * grow, pair.sampling) for pair in members]
    return found


def _common_change(members: list[_Pair]) -> float:
    """Return the median change of a path's measurements where they changed alike, else nothing.

    Alike: the change is far larger than what they differ in among themselves. A clock that went
    down, or a neighbour, changes some of a path's measurements more than others.
    """
    if len(members) < _SMALLEST_PATH:
        return 0.0
    middle = median(pair.change for pair in members)
    apart = 1.4826 * median(abs(pair.change - middle) for pair in members)
    apart = max(apart, median(pair.sampling for pair in members))
    return middle if abs(middle) > _ALIKE * apart else 0.0


def _bound(pair: _Pair, sampling: float, wander: float | None, judged: int) -> float:
    """Return the half-width of the interval of a pair's logarithm, one of ``judged``."""
    tail = (1 - _CONFIDENCE) / 2 / judged
    # Where nothing tells how far medians wander, it is at worst as far as single samples do.
    own = pair.spread if pair.disturbed or wander is None else 0.0
    wandering = math.hypot(wander or 0.0, own)
    return math.hypot(NormalDist().inv_cdf(1 - tail) * sampling, student4(1 - tail) * wandering)


def student4(probability: float) -> float:
    """Quantile of Student's t with 4 degrees of freedom, above 0.5; exact (Shaw, 2006)."""
    alpha = 4 * probability * (1 - probability)
    root = math.sqrt(alpha)
    return 2 * math.sqrt(max(0.0, math.cos(math.acos(root) / 3) / root - 1))


def _difference(
    pair: _Pair, usual: dict[str, float], wander: float | None, judged: int, tolerance: float
) -> Difference:
    bound = _bound(pair, max(pair.sampling, usual[pair.base.kind]), wander, judged)
    ratio = math.exp(pair.change)
    sure = abs(pair.beyond) > bound
    # The same factor up or down, so that it does not matter which run is called the base.
    large = abs(pair.beyond) > -math.log1p(-tolerance)
    if not sure and bound > math.log1p(_MOST_UNSURE):
        return _refused(
            pair.base, pair.new, f"too noisy: no change of less than {percent(bound)} would show"
        )
    slower = (ratio > 1) == lower_is_better(pair.base)
    verdict: Verdict = ("slower" if slower else "faster") if sure and large else "same"
    return Difference(
        **_identity(pair.base),
        verdict=verdict,
        base=pair.base.estimate,
        new=pair.new.estimate,
        ratio=ratio,
        low=math.exp(pair.change - pair.before[1] - bound),
        high=math.exp(pair.change - pair.before[0] + bound),
    )


def percent(bound: float) -> str:
    """Return a change of a logarithm in words: 12%, or a factor of 3."""
    factor = math.exp(bound)
    return f"{100 * (factor - 1):.2g}%" if factor < 2 else f"a factor of {factor:.2g}"


def lower_is_better(measurement: Measurement) -> bool:
    """Whether a smaller figure is the better one: times are, rates are not."""
    return measurement.unit == "ns"


def _refused(base: Measurement | None, new: Measurement | None, reason: str) -> Difference:
    known = base or new
    assert known is not None
    old = base.estimate if base else None
    fresh = new.estimate if new else None
    ratio = fresh / old if old and fresh else None
    return Difference(
        **_identity(known),
        verdict="not comparable",
        reason=reason,
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
