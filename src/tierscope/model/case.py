"""A case of another benchmark's file, and the measurement that it became."""

from typing import Any

from tierscope.model.base import Model


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
