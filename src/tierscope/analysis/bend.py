"""Whether a curve bends upwards by more than its noise.

Two models are compared: one straight line, and two that join at a hinge, y = a + bx + c(x - h)+.
The curve bends where the weighted least-squares estimate of c exceeds its standard error by more
than chance does. Each point but the ends is tried as the hinge, so each gets an equal share of the
5% (Bonferroni). Hinkley, "Inference in Two-Phase Regression", Journal of the American Statistical
Association 66, 1971; Davies, Biometrika 74, 1987, on hinges that are sought in the data themselves.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

LEVEL = 0.05
"""Share of straight lines, at most, that are said to bend."""
_FINEST = 1e-4
"""Relative standard error that is assumed at least, so that equal samples are not exact ones."""
_PARAMETERS = 4
"""a, b, c and h: what a scatter about the hinged line has fewer degrees of freedom than points."""


@dataclass(frozen=True)
class Observed:
    """One point with its standard errors."""

    x: float
    y: float
    x_error: float
    y_error: float


def bends_upwards(points: Sequence[Observed], errors_known: bool) -> bool:
    """Return whether points bend upwards; 5% of straight lines at most do by chance.

    Where the errors are not known, those given are taken as shares of one unknown noise, which
    then is the scatter about the hinged line.
    """
    xs = [point.x for point in points]
    ys = [point.y for point in points]
    errors = [max(point.y_error, _FINEST * abs(point.y)) for point in points]
    _, slope = _line(xs, ys, [error**-2 for error in errors])
    # An error in x moves a point off the line by the slope times that much.
    across = [point.x_error if errors_known else 0.0 for point in points]
    weights = [
        1 / (error**2 + (slope * x_error) ** 2)
        for error, x_error in zip(errors, across, strict=True)
    ]
    base, slope = _line(xs, ys, weights)
    residuals = [y - base - slope * x for x, y in zip(xs, ys, strict=True)]
    bends = [_bend(xs, residuals, weights, hinge) for hinge in sorted(set(xs))[1:-1]]
    if not bends:
        return False
    steepest, level = max(bends), LEVEL / len(bends)
    if errors_known:
        return steepest > z_of(level)
    freedom = len(points) - _PARAMETERS
    if freedom < 3 or steepest <= 0:
        return False
    scatter = sum(w * r**2 for w, r in zip(weights, residuals, strict=True)) - steepest**2
    noise = max(scatter / freedom, (_FINEST * min(map(abs, ys)) / max(errors)) ** 2)
    return steepest > math.sqrt(noise) * _student(level, freedom)


def z_of(level: float) -> float:
    """Return the normal deviate that is exceeded with that probability."""
    return NormalDist().inv_cdf(1 - level)


def _line(
    xs: Sequence[float], ys: Sequence[float], weights: Sequence[float]
) -> tuple[float, float]:
    """Return base and slope of the weighted least-squares line."""
    whole = sum(weights)
    x_mean = sum(w * x for w, x in zip(weights, xs, strict=True)) / whole
    y_mean = sum(w * y for w, y in zip(weights, ys, strict=True)) / whole
    spread = sum(w * (x - x_mean) ** 2 for w, x in zip(weights, xs, strict=True))
    if spread == 0:
        return y_mean, 0.0
    shared = (w * (x - x_mean) * (y - y_mean) for w, x, y in zip(weights, xs, ys, strict=True))
    slope = sum(shared) / spread
    return y_mean - slope * x_mean, slope


def _bend(
    xs: Sequence[float], residuals: Sequence[float], weights: Sequence[float], hinge: float
) -> float:
    """Return the change of slope at a hinge over its standard error.

    ``residuals`` are about the straight line; what the hinge adds to a line is regressed on them.
    """
    rise = [max(0.0, x - hinge) for x in xs]
    base, slope = _line(xs, rise, weights)
    added = [value - base - slope * x for x, value in zip(xs, rise, strict=True)]
    size = math.sqrt(sum(w * value**2 for w, value in zip(weights, added, strict=True)))
    along = sum(w * a * r for w, a, r in zip(weights, added, residuals, strict=True))
    return along / size if size else 0.0


def _student(level: float, freedom: int) -> float:
    """Return Student's t by the approximation of Gaver and Kafadar, The American Statistician 38,
    1984: within 3% from three degrees of freedom on."""
    share = (freedom - 1.5) / (freedom - 1) ** 2
    return math.sqrt(freedom * math.expm1(z_of(level) ** 2 * share))
