"""The samples that a run file holds, as the engine took them."""

from collections.abc import Iterator
from pathlib import Path

from tierscope.runs.read import parse_contents

Sample = dict[tuple[str, str], float | None]
"""Its values by metric and part."""


def samples_of(run: Path, measurement: str) -> Iterator[Sample]:
    """Yield the samples of the first series of each repetition of a measurement."""
    contents = parse_contents(run.read_bytes(), str(run))
    for record in contents.repetitions_of(measurement):
        columns = record.repetition.series[0].columns
        for values in zip(*(column.values for column in columns), strict=True):
            yield dict(zip(((c.metric, c.part) for c in columns), values, strict=True))
