"""Do two runs one after the other agree within their stated intervals nineteen times in twenty?

Each pair is two separate engine processes, as two calls of `tierscope bandwidth --op read` are.
They agree where their intervals overlap. A shared machine drifts by more than any interval taken
in two seconds can know of; the pairs are back to back, so a drift slower than a pair cancels.
"""

import os

from pairs import bandwidth, measure
from tierscope.kinds.bandwidth.spec import BandwidthPattern
from tierscope.model.run import Measurement

PAIRS = 40


def report() -> str:
    """The count of pairs that agree, as one line."""
    cpus = sorted(os.sched_getaffinity(0))
    spec = bandwidth(BandwidthPattern(operation="read", size=1 << 30), cpus)
    agree = unknown = 0
    widths = []
    for _ in range(PAIRS):
        first, second = measure(spec), measure(spec)
        if None in (first.ci_low, second.ci_low):
            unknown += 1
            continue
        agree += overlap(first, second)
        widths += [(r.ci_high - r.ci_low) / 2 / r.estimate for r in (first, second)]
    widths.sort()
    if not widths:
        return f"none of {PAIRS} pairs of runs has intervals"
    return (
        f"{agree} of {PAIRS - unknown} pairs of runs agree within their intervals "
        f"({unknown} have none; half-width: median {widths[len(widths) // 2]:.1%}, "
        f"widest {widths[-1]:.1%})"
    )


def overlap(first: Measurement, second: Measurement) -> bool:
    """Whether the two intervals have a value in common."""
    return first.ci_low <= second.ci_high and second.ci_low <= first.ci_high
