"""The access pattern of a pointer chase."""

from typing import Annotated, ClassVar, Literal

from tierscope.model.property import ORDER, PAGES, SIZE, STRIDE
from tierscope.model.rules import Check, Ruled, Ruling
from tierscope.model.spec import Bytes, Pages


class LatencyPattern(Ruled):
    """Access pattern of a pointer chase."""

    size: Annotated[Bytes, SIZE.but(help="Bytes of the chase, as in 64k..1g")]
    """Bytes of the region that the cycle goes through."""
    pages: Annotated[Pages, PAGES] = "thp"
    order: Annotated[
        Literal["random", "page-random"],
        ORDER.but(
            help="Order of the chase: random; page-random separates TLB misses from cache misses"
        ),
    ] = "random"
    """random: one cycle through the whole region in random order; page-random: random inside a
    group of pages, one group after the other, so that each TLB fill serves many loads."""
    stride: Annotated[Bytes, STRIDE] = 256
    """Bytes from one chased line's slot to the next; 256 keeps adjacent-line prefetchers out."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "size",
            "is too small: a chase needs two strides",
            lambda pattern: pattern.size >= 2 * pattern.stride,
            ("stride",),
        ),
    )
