"""Heat maps of core-to-core latency, readers by writers."""

from collections.abc import Callable, Iterator

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
        yield _picture(
            matrix, list(matrix.cells.values()), "Core-to-core latency", matrix.name, lambda m: m
        )
        exchanged = {m.id: _as_headline(m, f) for m in matrix.cells.values()
                     if (f := exchange_of(m))}  # fmt: skip
        if len(exchanged) >= _MIN_CELLS:
            name = matrix.name.removeprefix(f"{matrix.state}, ").removeprefix(matrix.state)
            yield _picture(
                matrix,
                [m for m in matrix.cells.values() if m.id in exchanged],
                "Exchange of one line",
                name,
                lambda m, known=exchanged: known[m.id],  # type: ignore[misc]
            )
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


def _picture(
    matrix: Matrix,
    measured: list[Measurement],
    what: str,
    name: str,
    headline: Callable[[Measurement], Measurement],
) -> Picture:
    place = {cpu: number for number, cpu in enumerate(matrix.cpus)}
    pairs = sorted(
        ((reader, writer, headline(m)) for (reader, writer), m in matrix.cells.items()
         if m in measured),
        key=lambda one: (place[one[0]], place[one[1]]),
    )  # fmt: skip
    rows = [
        row_of(m, 1.0, "ns", row=str(reader), column=str(writer), text=figures.plain(m, 1.0, 3),
               what=f"{cpus_text(m)}, {name}" if name else cpus_text(m))
        for reader, writer, m in pairs
    ]  # fmt: skip
    columns = list(dict.fromkeys(str(cpu) for cpu in matrix.cpus
                                 if any(cpu == writer for _, writer, _ in pairs)))  # fmt: skip
    by = sorted((m for _, _, m in pairs), key=lambda m: m.estimate or 0.0)
    said = constants(measured, "writer", "state")
    return Picture(
        key=slug(f"{what} {name}"),
        title=f"{what}: {name}" if name else what,
        subtitle="; ".join(filter(None, ("ns, lighter is nearer", said))),
        alt=f"Nearest: {cpus_text(by[0])} with {figures.with_interval(by[0], 1.0)} ns; "
        f"farthest: {cpus_text(by[-1])} with {figures.with_interval(by[-1], 1.0)} ns.",
        spec=shapes.heatmap(rows, "writer's CPU", "reader's CPU", "ns", "low", columns),
        measurements=measured,
    )
