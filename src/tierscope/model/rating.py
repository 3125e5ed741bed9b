"""Data-sheet figures of drives."""

from typing import Annotated

from pydantic import Field

from tierscope.model.base import Model

Rating = Annotated[float, Field(gt=0, le=1e15)]


class RatedDrive(Model):
    """Data-sheet figures of a drive."""

    model: str
    """As ``DriveFacts`` has it; ``*`` stands for any characters."""
    read: Rating | None = None
    """Bytes/s of sequential reads."""
    write: Rating | None = None
    read_iops: Rating | None = None
    """Random reads a second."""
    write_iops: Rating | None = None
    source: str = ""
    """Source: "rated.yaml, line 3"."""
