"""The access pattern of a pointer chase."""

from typing import Literal

from pydantic import model_validator

from tierscope.model.base import Model
from tierscope.model.spec import Bytes, Pages


class LatencyPattern(Model):
    """Access pattern of a pointer chase."""

    order: Literal["random", "page-random"] = "random"
    """random: one cycle through the whole region in random order; page-random: random inside a
    group of pages, one group after the other, so that each TLB fill serves many loads."""
    stride: Bytes = 256
    """Bytes from one chased line's slot to the next; 256 keeps adjacent-line prefetchers out."""
    size: Bytes
    """Bytes of the region that the cycle goes through."""
    pages: Pages = "thp"

    @model_validator(mode="after")
    def _check(self) -> "LatencyPattern":
        if self.size < 2 * self.stride:
            raise ValueError("size has to hold at least two strides")
        return self
