"""The table of kinds: how each kind of measurement is made, in a line, and its pictures.

A new kind adds a row. A kind without one gets bars, sweeps and matrices of whatever it measured.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from tierscope.model.run import Run
from tierscope.report.pictures import bandwidth, generic, latency, loaded, patterns, streams
from tierscope.report.pictures.picture import Gathered, Picture

Draw = Callable[[Gathered], Iterable[Picture]]


@dataclass(frozen=True)
class Kind:
    """What the report knows of one kind of measurement."""

    title: str
    method: str
    """How the figures are made, in one line."""
    draw: tuple[Draw, ...]


KINDS = {
    "bandwidth": Kind(
        "Bandwidth",
        "Pinned threads pass one gate and run one loop over arrays whose pages were read back; "
        "bytes are those the program asked to move, as STREAM counts; median and its 95% interval.",
        (
            bandwidth.matrix,
            bandwidth.operations,
            bandwidth.over_threads,
            bandwidth.access_sizes,
            bandwidth.expansion,
            patterns.orders,
            patterns.strides,
        ),
    ),
    "latency": Kind(
        "Idle latency",
        "One pinned thread follows one random cycle of dependent loads through the whole working "
        "set, nothing else running; time per load; median and its 95% interval.",
        (latency.matrix, latency.over_working_set, latency.variants),
    ),
    "loaded-latency": Kind(
        "Latency under load",
        "A pointer chase on its own CPU while other threads load the memory at a set rate; "
        "bandwidth is what ran during the chase; medians with 95% intervals.",
        (loaded.curves,),
    ),
    "streams": Kind(
        "Streams",
        "Threads of all streams pass one gate and stop together; reads and writes are mixed line "
        "by line; bytes are those the program asked to move; medians with 95% intervals.",
        (streams.mixes, streams.over_threads, streams.sweeps, streams.together),
    ),
    "atomics": Kind(
        "Atomic updates",
        "Pinned threads update 64-bit counters, one a cache line, in random order; the counters' "
        "sum has to be the number of updates; median and its 95% interval.",
        (patterns.updates,),
    ),
    "mapping": Kind(
        "Mapping",
        "One thread maps, writes to each page and unmaps, each timed by itself; the pages' nodes "
        "are read back before they go; medians of the parts, scaled to a MiB.",
        (patterns.mapping,),
    ),
    "gpu-copy": Kind(
        "GPU copies",
        "Copies queued behind a gate on the device and timed by its events, data verified "
        "afterwards; n bytes copied count n; n½ is the size that reaches half the peak.",
        (generic.matrices, generic.size_sweeps, generic.bars),
    ),
    "gpu-memory": Kind(
        "GPU memory",
        "A kernel over arrays in the GPU's memory, timed by the device's events; bytes as STREAM "
        "counts them; median and its 95% interval.",
        (generic.size_sweeps, generic.bars),
    ),
    "gpu-latency": Kind(
        "Latency from a GPU",
        "One warp follows one random cycle of dependent loads through the whole working set; time "
        "per load; median and its 95% interval.",
        (generic.matrices, latency.over_working_set, generic.bars),
    ),
}
"""In the order shown."""

_METHOD = "Median of all samples and its 95% interval; see docs/method.md for how each is made."


def kind_of(name: str) -> Kind:
    """Return a kind's row, or one that suits any kind."""
    drawn = (generic.matrices, generic.size_sweeps, generic.bars)
    return KINDS.get(name) or Kind(name.replace("-", " ").capitalize(), _METHOD, drawn)


def kinds_in(run: Run) -> list[str]:
    """Return the kinds that a run has, known ones first."""
    present = dict.fromkeys(measurement.kind for measurement in run.measurements)
    known = [kind for kind in KINDS if kind in present]
    return known + [kind for kind in present if kind not in KINDS]


def pictures_of(run: Run, kind: str) -> Iterator[Picture]:
    """Yield all pictures of one kind in a run, before they are drawn; their keys are unique."""
    measured = [m for m in run.measurements if m.kind == kind and m.status == "measured"]
    if not measured:
        return
    gathered = Gathered(kind, kind_of(kind).title, measured, run)
    used: Counter[str] = Counter()
    for picture in chain.from_iterable(draw(gathered) for draw in kind_of(kind).draw):
        used[picture.key] += 1
        number = used[picture.key]
        yield picture if number == 1 else replace(picture, key=f"{picture.key}-{number}")
