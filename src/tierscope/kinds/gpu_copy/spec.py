"""The spec of copies among host memory and GPUs."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import format_ranges
from tierscope.model.gpu import (
    SURELY_IN_MEMORY,
    GpuBytes,
    GpuSpec,
    HostPlace,
    Transfer,
    endpoint_of,
    host_regions,
)
from tierscope.model.spec import Region

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache


class GpuCopyPattern(Model):
    """What one copy of each transfer moves."""

    size: GpuBytes
    """Bytes of one copy; of rows together."""
    offset: Annotated[int, Field(ge=0, le=1 << 42)] = 0
    """Bytes before the first one, in both memories."""
    row_bytes: GpuBytes | None = None
    """Strided (2D) copies: bytes of a row; engine ce only."""
    pitch: GpuBytes | None = None
    """Strided (2D) copies: bytes from one row to the next."""

    @property
    def buffer_bytes(self) -> int:
        """Bytes of memory at each endpoint of a transfer, padding of rows included."""
        if self.row_bytes is None or self.pitch is None:
            return self.offset + self.size
        return self.offset + self.size // self.row_bytes * self.pitch

    @model_validator(mode="after")
    def _check(self) -> "GpuCopyPattern":
        if (self.row_bytes is None) != (self.pitch is None):
            raise ValueError("row_bytes and pitch go together")
        if self.row_bytes is not None and self.pitch is not None:
            if self.pitch < self.row_bytes:
                raise ValueError("pitch is smaller than row_bytes")
            if self.size % self.row_bytes:
                raise ValueError("size is not a whole number of rows")
        return self


class GpuCopySpec(GpuSpec):
    """Transfers that run at once, all of them contested to the end."""

    metric: ClassVar[str] = "bandwidth"

    kind: Literal["gpu-copy"] = "gpu-copy"
    pattern: GpuCopyPattern
    verify: bool = True
    """Compare every destination with its source's pattern, on the GPU, after the clock stopped."""
    call_latency: bool = False
    """Also measure how long one call takes until its bytes are there; of single small copies."""
    transfers: Annotated[list[Transfer], Field(min_length=1, max_length=256)]

    @model_validator(mode="after")
    def _check(self) -> "GpuCopySpec":
        for transfer in self.transfers:
            if transfer.alone and (len(self.transfers) > 1 or transfer.streams > 1):
                raise ValueError("pageable and migrating memory goes with one transfer, one stream")
            if self.pattern.row_bytes is not None and transfer.engine != "ce":
                raise ValueError("rows are copied by engine ce only")
            if transfer.engine == "tma" and self.pattern.offset % 16:
                raise ValueError("engine tma needs an offset that is a multiple of 16")
        return self

    def regions(self) -> list[Region]:
        """Host memory that transfers read or write."""
        ends = [end for one in self.transfers for end in (one.source, one.destination)]
        return host_regions(ends, self.pattern.buffer_bytes)

    def identity(self) -> dict[str, Any]:
        """The pattern, and how the bytes go: engine, host memory, streams, what else is copied."""
        transfers, counted = self.transfers, self.counted
        first = counted[0]
        kinds = dict.fromkeys(
            end.memory
            for one in transfers
            for end in (one.source, one.destination)
            if isinstance(end, HostPlace)
        )
        found: dict[str, Any] = {
            **self.pattern.model_dump(mode="json", exclude_none=True),
            "engine": ", ".join(dict.fromkeys(one.engine for one in transfers)),
            "memory": ", ".join(kinds),
            "streams": first.streams,
        }
        others = [one for one in transfers if one is not first]
        if len(others) == 1 and others[0].source == first.destination:
            found["way"] = "both ways summed" if len(counted) == 2 else "beside the way back"
        elif len(counted) > 1:
            found["transfers"] = f"sum of {_names(counted)}"
        elif others:
            found["transfers"] = f"beside {_names(others)}"
        elif first.between_gpus and first.source != first.destination:
            reads = endpoint_of(first.destination) == f"gpu:{first.gpu}"
            found["issued"] = "by a read" if reads else "by a write"
        return found

    @property
    def counted(self) -> list[Transfer]:
        """The transfers whose bytes the figure counts."""
        return [one for one in self.transfers if one.reported] or list(self.transfers)

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002 - the CPUs'
        """Whether a copy inside a GPU may stay in its L2."""
        inside = any(one.source == one.destination for one in self.transfers)
        return inside and self.pattern.size < SURELY_IN_MEMORY

    def limit(self, paths: "Paths") -> "Limit | None":
        """What the links of the counted transfers let through together."""
        from tierscope.kinds.gpu_copy.limit import limit_of_set

        if self.fits_caches(paths.topology.caches):
            return None
        return limit_of_set(paths, [one for one in self.transfers if one.reported])


def endpoints_of(transfers: Sequence[Transfer]) -> tuple[str, str]:
    """Initiator and target that a measurement of transfers has: where bytes come from and go to.

    Of both ways between two places, those of the first way; of several, all: ``node:0 gpu:0-3``.
    """
    counted = [one for one in transfers if one.reported] or list(transfers)
    first = counted[0]
    others = [one for one in transfers if one is not first]
    if len(others) == 1 and others[0].source == first.destination:
        counted = [first]
    sources = (endpoint_of(one.source) for one in counted)
    destinations = (endpoint_of(one.destination) for one in counted)
    return _joined(sources), _joined(destinations)


def _joined(endpoints: Iterable[str]) -> str:
    found = dict.fromkeys(endpoints)
    gpus = sorted(int(end.removeprefix("gpu:")) for end in found if end.startswith("gpu:"))
    names = [end for end in found if not end.startswith("gpu:")]
    return " ".join([*names, *([f"gpu:{format_ranges(tuple(gpus))}"] if gpus else [])])


def _names(transfers: Sequence[Transfer]) -> str:
    return ", ".join(one.name.replace("->", "→") for one in transfers)


SPEC = GpuCopySpec
