"""A case of another benchmark's file, and the measurement that it became."""

from typing import Any

from tierscope.model.base import Count, Model


class Reported(Model):
    """What a result file of the other benchmark has of a case, as it stands there."""

    entry: Count
    """Which of the file's entries has it, from 0."""
    about: dict[str, Any]
    """The entry, without its cases."""
    results: dict[str, Any]


class Case(Model):
    """One case: one combination of the values of a benchmark's matrix."""

    file: str
    """The workload file, as it was named."""
    benchmark: str
    """Its name in the file."""
    matrix: dict[str, Any]
    """Values of this case of the keys that the file varies; by part where several run at once."""
    config: dict[str, Any]
    """All keys with their values, defaults included, in the other benchmark's words."""
    measurements: list[str]
    """Ids of what it became; empty where it was refused."""
    refused: str = ""
    """Why it became nothing."""
    notes: list[str] = []
    """What differs from what the file says: sizes that were fitted, keys whose meaning changed."""
    reported: Reported | None = None
    """Of an imported case."""
