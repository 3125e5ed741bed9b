"""Where more threads stop to help."""

SHARE = 0.95
"""Share of the best bandwidth from which on a path counts as saturated."""


def knee(bandwidth: dict[int, float]) -> int:
    """Return the fewest threads that reach 95% of the best bandwidth.

    ``bandwidth`` maps thread counts to bytes/s; at least one. A path that still scales at its
    largest count has its knee there, which says that it may lie further on.
    """
    best = max(bandwidth.values())
    return min(threads for threads, value in bandwidth.items() if value >= SHARE * best)
