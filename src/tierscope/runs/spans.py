"""When measurements were visited, in time that runs of several hosts have in common."""

from datetime import datetime
from pathlib import Path

from tierscope.runs.read import parse_contents, read_bytes

Spans = dict[str, list[tuple[float, float]]]
"""Beginning and end of each visit in seconds since 1970, by the measurement's id."""


def spans_of(path: Path) -> Spans:
    """Return a run's visits by its host's clock; raises UserError for a damaged file."""
    contents = parse_contents(read_bytes(path), str(path))
    began = datetime.fromisoformat(contents.header.started).timestamp()
    return {
        name: [
            (began + visit.at_s, began + visit.at_s + visit.seconds)
            for record in contents.visits_of(name)
            if (visit := record.visit).at_s is not None
        ]
        for name in contents.visits
    }
