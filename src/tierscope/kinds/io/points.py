"""What measurements of storage have: rates, latencies, and the sweeps that they make up."""

from collections.abc import Sequence

from tierscope.model.event import IoEvidence
from tierscope.model.run import Figure, Measurement
from tierscope.model.storage import StorageFacts
from tierscope.report import figures
from tierscope.report.figures import Figured

LATENCY = "io_latency"
PERCENTILES = ("p50", "p99", "p99.9")
"""Those that tables show."""


def rate(measurement: Measurement, metric: str, part: str = "") -> Figured | None:
    """Return ``iops`` or ``bandwidth``, whichever of them is the headline; None without."""
    if measurement.metric == metric and not part:
        return measurement
    return figures.side_figure(measurement, metric, part)


def estimate(measurement: Measurement, metric: str) -> float:
    """Return the estimate of ``iops`` or ``bandwidth``; 0 where it has none."""
    found = rate(measurement, metric)
    return (found.estimate if found else None) or 0.0


def latency(measurement: Measurement, percentile: str = "p50") -> Figure | None:
    """Return a percentile of the latency of operations, in ns; None where too few were made."""
    return figures.side_figure(measurement, f"{LATENCY}_{percentile}")


def cached(measurement: Measurement) -> bool:
    """Whether the page cache takes part."""
    return not measurement.pattern.get("direct")


def target(measurement: Measurement) -> str:
    """Return its target: "file:/a", or "2 targets together"."""
    if "together" in measurement.pattern:
        return f"{measurement.pattern['jobs']} targets together"
    return measurement.target


def way(measurement: Measurement) -> str:
    """Return the backend, and whether it goes past the page cache: "io_uring, page cache"."""
    where = "page cache" if cached(measurement) else "direct"
    return f"{measurement.pattern.get('backend', '')}, {where}"


def action(measurement: Measurement) -> str:
    """Return "read", "write", or a mix by its shares: "70:30"."""
    share = measurement.pattern.get("read_percent")
    return f"{share}:{100 - int(share)}" if share else str(measurement.pattern.get("operation", ""))


def operation(measurement: Measurement) -> str:
    """Return order and operation in words: "random read", "random 70:30"."""
    return f"{measurement.pattern.get('order', '')} {action(measurement)}".strip()


def plural(measurement: Measurement) -> str:
    """Return the same of many: "random reads", "random 70:30 reads and writes"."""
    mixed = measurement.pattern.get("read_percent")
    return f"{operation(measurement)} reads and writes" if mixed else f"{operation(measurement)}s"


def observed(measurement: Measurement) -> IoEvidence | None:
    """Return what was observed of its input and output."""
    return measurement.evidence.storage_io if measurement.evidence else None


def on(measurement: Measurement) -> list[StorageFacts]:
    """Return what its targets were on, as it was looked at before the visits."""
    return (measurement.evidence.storage if measurement.evidence else None) or []


def row_seconds(measurement: Measurement) -> float:
    """Return how long a row lasted; 0 where nobody knows."""
    return ((measurement.evidence.sample_ns if measurement.evidence else None) or 0.0) / 1e9


def same_but(first: Measurement, second: Measurement, *keys: str) -> bool:
    """Whether two measurements differ in these keys of their patterns only, and in no other."""
    return _rest(first, keys) == _rest(second, keys)


def _rest(measurement: Measurement, keys: Sequence[str]) -> tuple[str, str, str]:
    rest = sorted((k, str(value)) for k, value in measurement.pattern.items() if k not in keys)
    return measurement.initiator, measurement.target, str(rest)


def over_both(measured: Sequence[Measurement], *keys: str) -> list[list[Measurement]]:
    """Return groups that differ in nothing but two keys of their patterns, of which each value
    comes with at least two of the other's."""
    found = []
    groups: dict[tuple[str, str, str], list[Measurement]] = {}
    for m in measured:
        groups.setdefault(_rest(m, keys), []).append(m)
    for members in groups.values():
        for _ in range(2):  # what is left out may take others' company
            members = [m for m in members if all(_company(m, members, k, keys) for k in keys)]
        if members:
            found.append(sorted(members, key=lambda m: [int(m.pattern[key]) for key in keys]))
    return found


def _company(m: Measurement, members: list[Measurement], key: str, keys: Sequence[str]) -> bool:
    """Whether a measurement's value of a key comes with two values of the other one."""
    others = [o for o in members if o.pattern[key] == m.pattern[key]]
    return all(len({o.pattern[k] for o in others}) > 1 for k in keys if k != key)


def sweeps(measured: Sequence[Measurement], *keys: str) -> list[list[Measurement]]:
    """Return groups that differ in nothing but these keys of their patterns, in the order of the
    first key's values; groups of one value are left out."""
    groups: dict[tuple[str, ...], list[Measurement]] = {}
    for m in measured:
        groups.setdefault(_rest(m, keys), []).append(m)

    def by(m: Measurement) -> list[int]:
        return [int(m.pattern.get(key) or 0) for key in keys]

    return [
        sorted(group, key=by)
        for group in groups.values()
        if len({str(m.pattern.get(keys[0])) for m in group}) > 1
    ]
