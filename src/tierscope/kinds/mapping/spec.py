"""The spec of mapping: what it costs to map, populate and unmap memory."""

from typing import Literal

from pydantic import model_validator

from tierscope.model.base import Model
from tierscope.model.spec import Bytes, Cpu, MemorySpec, Pages


class MappingPattern(Model):
    """Anonymous memory that is mapped, touched page by page, and unmapped."""

    sharing: Literal["private", "shared"] = "private"
    size: Bytes
    """Whole pages."""
    pages: Pages = "thp"


class MappingSpec(MemorySpec):
    """Time to map, populate and unmap, by one thread; ``placement`` is bind or interleave."""

    kind: Literal["mapping"] = "mapping"
    cpu: Cpu
    pattern: MappingPattern

    @model_validator(mode="after")
    def _check(self) -> "MappingSpec":
        if self.placement.policy not in ("bind", "interleave"):
            raise ValueError("the placement of a mapping is bind or interleave")
        return self
