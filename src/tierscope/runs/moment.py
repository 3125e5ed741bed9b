"""Wait for the moment at which a run is to begin."""

import time
from collections.abc import Callable

_NAP_S = 0.05
"""Between two looks for a signal."""


def nap(seconds: float, interrupted: Callable[[], bool]) -> None:
    """Sleep so long, or until a signal came."""
    wait_until(time.time() + seconds, interrupted)


def wait_until(moment: float, interrupted: Callable[[], bool]) -> float | None:
    """Sleep until a time of ``time.time()``; return how many seconds later it is then.

    None where a signal came before. A time that has passed is not waited for.
    """
    while not interrupted():
        left = moment - time.time()
        if left <= 0:
            return -left
        time.sleep(min(left, _NAP_S))
    return None
