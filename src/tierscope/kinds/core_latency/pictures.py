"""Heat maps of core-to-core latency, readers by writers."""

from collections.abc import Iterator, Mapping

from tierscope.analysis.core_groups import Pair
from tierscope.kinds.core_latency.cells import EXCHANGE, Matrix, exchange_of, matrices
from tierscope.kinds.core_latency.words import cpus_text
from tierscope.model.run import Figure, Measurement
from tierscope.report import figures
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    constants,
    row_of,
    slug,
)

_MIN_CELLS = 2


def heat_maps(gathered: Gathered) -> Iterator[Picture]:
    """A heat map of each matrix, and one of exchanges; bars of what makes no matrix."""
    found = [m for m in matrices(gathered.measured, gathered.run) if len(m.cells) >= _MIN_CELLS]
    drawn = {id(m) for matrix in found for m in matrix.cells.values()}
    for matrix in found:
        yield _picture(matrix, matrix.cells, "Core-to-core latency", matrix.name)
        exchanged = {
            pair: _as_headline(m, figure)
            for pair, m in matrix.cells.items()
            if (figure := exchange_of(m))
        }
        if len(exchanged) >= _MIN_CELLS:
            name = matrix.name.removeprefix(matrix.state).removeprefix(", ")
            yield _picture(matrix, exchanged, "Exchange of one line", name)
    rest = [m for m in gathered.measured if id(m) not in drawn]
    if rest:
        yield from generic.bars(
            Gathered(gathered.kind, gathered.title, rest, gathered.run, gathered.endpoints)
        )


def _as_headline(measurement: Measurement, figure: Figure) -> Measurement:
    """Return a measurement whose headline is one of its further figures."""
    return measurement.model_copy(
        update={
            "metric": EXCHANGE,
            "estimate": figure.estimate,
            "ci_low": figure.ci_low,
            "ci_high": figure.ci_high,
            "figures": [],
        }
    )


def _picture(matrix: Matrix, cells: Mapping[Pair, Measurement], what: str, name: str) -> Picture:
    place = {cpu: number for number, cpu in enumerate(matrix.cpus)}
    pairs = sorted(cells, key=lambda pair: (place[pair[0]], place[pair[1]]))
    rows = [
        row_of(m, 1.0, "ns", row=str(reader), column=str(writer), text=figures.plain(m, 1.0, 3),
               what=", ".join(filter(None, (cpus_text(m), name))))
        for reader, writer in pairs
        for m in (cells[reader, writer],)
    ]  # fmt: skip
    writers = sorted({writer for _, writer in pairs}, key=place.__getitem__)
    by = sorted(cells.values(), key=lambda m: m.estimate or 0.0)
    said = constants(by, "writer", "state")
    return Picture(
        key=slug(f"{what} {name}"),
        title=f"{what}: {name}" if name else what,
        subtitle="; ".join(filter(None, ("ns, lighter is nearer", said))),
        alt=f"Nearest: {cpus_text(by[0])} with {figures.with_interval(by[0], 1.0)} ns; "
        f"farthest: {cpus_text(by[-1])} with {figures.with_interval(by[-1], 1.0)} ns.",
        spec=shapes.heatmap(
            rows, "writer's CPU", "reader's CPU", "ns", "low", list(map(str, writers))
        ),
        measurements=[matrix.cells[pair] for pair in pairs],
    )
