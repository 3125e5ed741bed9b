"""A block that persists over the same stores alone."""

from collections.abc import Sequence

from tierscope.kinds.persist.spec import BY_FILE, BY_POOL, UNPERSISTED
from tierscope.model.run import Figure, Measurement

OF_METHODS = ("method", "ranges", "backing")
"""Properties that methods bring with them; figures that differ in no others stand side by side."""


def method_of(measurement: Measurement) -> str:
    """Return a method in words: "transaction, 4 ranges"."""
    method, ranges = str(measurement.pattern["method"]), measurement.pattern.get("ranges", 1)
    return method if ranges == 1 else f"{method}, {ranges} ranges"


def alone(measurement: Measurement, measured: Sequence[Measurement]) -> Measurement | None:
    """Return the figure of the same stores without anything that has them persist; None where it
    was not measured, and of that figure itself."""
    method = str(measurement.pattern.get("method"))
    wanted = UNPERSISTED.get(method, "stores")
    if method in (wanted, *UNPERSISTED.values(), "allocation"):
        return None
    return next(
        (m for m in measured if m.pattern["method"] == wanted and _where(m) == _where(measurement)),
        None,
    )


def _where(measurement: Measurement) -> tuple[object, ...]:
    """What a method shares with its stores: a pool's memory is the file's."""
    pattern = {k: v for k, v in measurement.pattern.items() if k not in OF_METHODS}
    return measurement.initiator, measurement.target, pattern


def _reaches(measurement: Measurement) -> bool:
    """Whether its blocks get to the target's medium: flushed lines of a page cache do not."""
    persistent = measurement.evidence.persistent if measurement.evidence else None
    by_calls = measurement.pattern["method"] in (*BY_FILE, *BY_POOL)
    return by_calls or persistent is None or persistent.durable_by == "flush"


def cost(measurement: Measurement, base: Measurement) -> Figure:
    """Return the time over that of ``base``; each end of its interval takes both figures at the
    ends of theirs, so it is no narrower than 95%."""
    assert measurement.estimate
    assert base.estimate
    known = measurement.ci_low and measurement.ci_high and base.ci_low and base.ci_high
    return Figure(
        metric="cost",
        unit="ratio",
        estimate=measurement.estimate / base.estimate,
        ci_low=measurement.ci_low / base.ci_high if known else None,  # type: ignore[operator]
        ci_high=measurement.ci_high / base.ci_low if known else None,  # type: ignore[operator]
    )


def cheapest(measured: Sequence[Measurement]) -> tuple[Measurement, Measurement] | None:
    """Return the method that has the smallest block persist in the least time, and the same stores
    alone; None where no method was measured beside its stores."""
    pairs = [(m, base) for m in measured if _reaches(m) for base in [alone(m, measured)] if base]
    return min(pairs, key=lambda pair: (pair[0].pattern["block_size"], pair[0].estimate or 0.0),
               default=None)  # fmt: skip
