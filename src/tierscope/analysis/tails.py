"""How heavy the tail of scores is, from the half of them in which there is nothing to find."""

import math

from tierscope.analysis.estimate import student_quantile

NORMAL = 1000
"""Degrees of freedom at which Student's t is normal."""
_FEW = 4
"""Degrees of freedom where too little is known, as run-to-run variation has."""
_CHOICES = (200, 100, 60, 40, 30, 20, 15, 10, 8, 6, 5, 4, 3)
_MIN_VALUES = 200
"""Fewer say too little about the one in a hundred that is looked at."""
_FAR = 0.01
_BIN = 0.005
_BINS = 20_000


class Tail:
    """Counts positive values in bins, so that any number of them takes the same memory."""

    def __init__(self) -> None:
        self._bins = [0] * _BINS
        self._count = 0

    def add(self, value: float) -> None:
        """Count a value if it is positive."""
        if value > 0:
            self._bins[min(_BINS - 1, int(value / _BIN))] += 1
            self._count += 1

    def freedom(self, otherwise: int = _FEW) -> int:
        """Return the most degrees of freedom of a Student's t whose tail is as heavy as that of
        the values: by their 99% quantile over their median. Of few values it is ``otherwise``."""
        if self._count < _MIN_VALUES:
            return otherwise
        middle = self._quantile(0.5)
        seen = self._quantile(1 - _FAR) / middle
        for freedom in (NORMAL, *_CHOICES):
            if student_quantile(freedom, _FAR) / student_quantile(freedom, 0.5) >= seen:
                return freedom
        return _CHOICES[-1]

    def _quantile(self, share: float) -> float:
        """Return a quantile, at the middle of its bin."""
        left = math.ceil(share * self._count)
        for number, count in enumerate(self._bins):
            left -= count
            if left <= 0:
                return (number + 0.5) * _BIN
        return _BINS * _BIN
