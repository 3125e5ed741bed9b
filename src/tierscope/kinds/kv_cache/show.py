"""How transfers of a language model's cache are shown."""

from collections.abc import Iterator, Sequence

from tierscope.analysis.best import best_of
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.evidence import drives_text
from tierscope.report.figures import size_text
from tierscope.report.naming import described
from tierscope.report.view import View

TIME = "transfer_time"


def sentences(measured: Sequence[Measurement]) -> Iterator[str]:
    """Say what files were read from, and what a figure leaves out."""
    yield from _cached(measured)
    yield from _missing(measured)
    grids = [m.evidence.grid_blocks for m in measured if m.evidence and m.evidence.grid_blocks]
    if grids:
        few, many = min(grids), max(grids)
        yield (
            f"Kernels took {few if few == many else f'{few} to {many}'} multiprocessors at most: "
            "as few as are nearly as fast as more, unless --multiprocessors says how many."
        )
    if any(observed_file(m) and m.pattern.get("operation") == "store" for m in measured):
        yield (
            "An object counts as stored once the write of it has returned; nothing waits for the "
            "drive to make it durable, since a cache that is lost is computed again."
        )


def observed_file(m: Measurement) -> bool:
    """Whether a measurement's objects are in a file."""
    return m.target.startswith("file:")


def _cached(measured: Sequence[Measurement]) -> Iterator[str]:
    for target in dict.fromkeys(m.target for m in measured if observed_file(m)):
        asked = [m.evidence.storage_io for m in measured if m.target == target and m.evidence]
        kept = max((one.cached_bytes or 0 for one in asked if one), default=0)
        if kept:
            yield (
                f"{target}: before a transfer the page cache kept {size_text(kept)}: what was "
                "read may have come from memory"
            )


def _missing(measured: Sequence[Measurement]) -> Iterator[str]:
    """Say where drives moved less than was asked of them, by the kernel's counters."""
    for m in measured:
        both = [m.evidence.drive_bytes(written) for written in (False, True)] if m.evidence else []
        if m.evidence and any(found.missing for found in both if found):
            yield f"{m.target}, {m.pattern['operation']}: {drives_text(m.evidence)}"


def time_text(m: Measurement) -> str:
    """Return the time of a transfer with its unit; its interval is that of the bandwidth."""
    found = figures.figure_of(m, TIME)
    if found is None:
        return ""
    unit, factor = figures.scale_of("ns", [found])
    return f"{figures.significant(found / factor, 3)} {unit}"


def summary_of(measured: list[Measurement]) -> str:
    """Return the best path."""
    return f"pieces of a cache: {described(best_of(measured))}"


VIEW = View(
    title="Caches of keys and values",
    method="Pieces move between scattered places of a pool and objects; time runs from the call "
    "until the last piece is in its place, and each transfer has other places. All pieces of the "
    "last transfer are compared. Medians and their 95% intervals.",
    endpoints=("pool", "objects"),
    notes=lambda measured, _run: sentences(measured),
    represents_path=False,
    summary=summary_of,
)
