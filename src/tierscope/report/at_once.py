"""What hosts of a fleet moved together, as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.model.run import Figure, Measurement
from tierscope.model.together import TogetherFigure
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures.picture import varying, words_of
from tierscope.report.style import new_table, note, title

HEADINGS = ("measurement", "hosts", "together", "IOPS", "slowest host", "fairness", "p50", "p99")
_LEFT = (HEADINGS[0], "slowest host")
_NETWORK = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb", "9p", "glusterfs", "fuse.",
            "orangefs", "pvfs2", "weka", "wekafs", "virtiofs", "daos", "gfs2", "ocfs2")  # fmt: skip
"""What types of file systems that hosts share begin with."""
_STALLS = 0.1
"""By how much, as a share, the mean differs from the median where hosts stall."""
_MOST = 40
"""Rows of a table; the Parquet file has all."""


@dataclass(frozen=True)
class TogetherRow:
    """A measurement of all hosts together, as text."""

    cells: tuple[str, ...]
    """As ``HEADINGS`` name them."""


def together_rows(found: Sequence[TogetherFigure]) -> list[TogetherRow]:
    """Return a row for each measurement."""
    groups = _groups(found)
    names = _names([members[0] for members in groups])
    return [_row(name, members) for name, members in zip(names, groups, strict=True)]


def together_lines(found: Sequence[TogetherFigure]) -> list[str]:
    """Return what has to be known of the table."""
    heads = [members[0] for members in _groups(found)]
    if not heads:
        return []
    visits = [one.visits for one in heads]
    many = f"{min(visits)}" if min(visits) == max(visits) else f"{min(visits)} to {max(visits)}"
    summed = (
        f"together: the sum over hosts while all of them measured, in {many} visits, "
        f"{min(one.common for one in heads):.0%} of their time at least; clocks known to "
        f"±{max(one.clocks_ns for one in heads) / 1e3:.3g} µs"
    )
    read = (
        "slowest host: its share of what the fastest one got; fairness: Jain's index, 1 where all "
        "get the same; p50 and p99: over all operations of all hosts"
    )
    return [
        summed,
        read,
        *_without_interval(heads),
        *_left_out(heads),
        *_stalls(heads),
        *_stores(heads),
    ]


def show_together(console: Console, found: Sequence[TogetherFigure]) -> None:
    """Print the table, where there is anything in it."""
    rows = together_rows(found)
    if not rows:
        return
    title(console, "Hosts together")
    table = new_table()
    for heading in HEADINGS:
        left = heading in _LEFT
        table.add_column(
            heading, justify="left" if left else "right", no_wrap=not left, overflow="fold"
        )
    for row in rows[:_MOST]:
        table.add_row(*map(Text, row.cells))
    console.print(table)
    if len(rows) > _MOST:
        note(console, f"and {len(rows) - _MOST} more: table 'together' of tierscope query")
    for line in together_lines(found):
        note(console, line)


def _groups(found: Sequence[TogetherFigure]) -> list[list[TogetherFigure]]:
    """Return the figures of each measurement as a whole, the headline first."""
    groups: dict[str, list[TogetherFigure]] = {}
    for one in found:
        if not one.part:
            groups.setdefault(one.id, []).append(one)
    return [members for members in groups.values() if members[0].headline]


def _names(heads: Sequence[TogetherFigure]) -> list[str]:
    """Return what each is called: its path, and what tells it from the others."""
    same = [
        Measurement(
            id=one.id, kind=one.kind, initiator=one.initiator, target=one.target, cpus=[],
            pattern=one.pattern, status="measured", metric=one.metric, unit=one.unit,
        )
        for one in heads
    ]  # fmt: skip
    keys = list(dict.fromkeys(["operation", "block_size", *varying(same, "path")]))
    return [", ".join(filter(None, (path_of(m), words_of(m, keys)))) for m in same]


def _row(name: str, members: Sequence[TogetherFigure]) -> TogetherRow:
    head = members[0]
    by_metric = {one.metric: one for one in members}
    rate = next((one for one in members if one.unit == "B/s"), None)
    count = next((one for one in members if one.unit == "1/s"), None)
    latency = next((name[: -len("_mean")] for name in by_metric if name.endswith("_mean")), "")
    times = [by_metric.get(f"{latency}_{name}") for name in ("p50", "p99")]
    return TogetherRow(
        (
            name,
            str(head.hosts),
            _value(rate),
            _value(count),
            _slowest(head),
            f"{head.fairness:.3f}" if head.fairness is not None else "–",
            *(_plain(one) for one in times),
        )
    )


def _figure(one: TogetherFigure) -> Figure:
    fields = one.model_dump(include={"metric", "unit", "estimate", "ci_low", "ci_high"})
    return Figure.model_validate(fields)


def _value(one: TogetherFigure | None) -> str:
    if one is None:
        return "–"
    unit, factor = figures.scale_of(one.unit, [one.estimate])
    known = one.ci_low is not None and one.headline
    text = (figures.with_interval if known else figures.plain)(_figure(one), factor)
    return text if unit == "1/s" else f"{text} {unit}"


def _plain(one: TogetherFigure | None) -> str:
    if one is None:
        return "–"
    unit, factor = figures.scale_of(one.unit, [one.estimate])
    return f"{figures.plain(_figure(one), factor, 3)} {unit}"


def _slowest(head: TogetherFigure) -> str:
    if head.slowest is None or not head.fastest:
        return "–"
    return f"{head.slowest / head.fastest:.0%}: {head.slowest_host}"


def _without_interval(heads: Sequence[TogetherFigure]) -> Iterator[str]:
    without = sum(one.ci_low is None for one in heads)
    if without:
        yield (
            f"{without} of {len(heads)} have no interval: their visits are few, or depend on each "
            "other; ask for a larger --budget"
        )


def _left_out(heads: Sequence[TogetherFigure]) -> Iterator[str]:
    most = max(one.left_out for one in heads)
    if most:
        yield (
            f"up to {counted(most, 'visit')} left out, which not all of these hosts made at the "
            "same time"
        )


def _stalls(heads: Sequence[TogetherFigure]) -> Iterator[str]:
    far = [
        one.mean / one.estimate - 1
        for one in heads
        if one.mean is not None and abs(one.mean / one.estimate - 1) > _STALLS
    ]
    if far:
        yield (
            f"{len(far)} of {len(heads)}: the mean differs from this median by up to "
            f"{max(far, key=abs):+.0%}: the storage serves in bursts"
        )


def _stores(heads: Sequence[TogetherFigure]) -> Iterator[str]:
    stores = sorted({store for one in heads for store in one.stores})
    local = [store for store in stores if not store.startswith(_NETWORK)]
    if stores:
        yield f"on {', '.join(stores)}"
    if local:
        yield (
            "a file system of this type is a host's own: hosts share it only where they are ranks "
            "of one machine"
        )
    if any(one.pattern.get("direct") for one in heads):
        yield (
            "direct: past the hosts' page caches; what caches of a server, or of a hypervisor "
            "below it, held cannot be seen from hosts"
        )
    if any(one.pattern.get("direct") is False for one in heads):
        yield (
            "through the page cache of each host: such figures are its memory's, not the storage's"
        )
