"""The spec of ops: a data structure, what threads do with it, and where each of its parts is."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.kinds.ops.structures import (
    INTERLEAVED,
    OF_FILES,
    OF_STRUCTURES,
    PARTS,
    SKEWED,
    STRUCTURES,
    cycle_of,
)
from tierscope.model.base import Model
from tierscope.model.endpoint import Endpoint, EndpointKind
from tierscope.model.spec import ChosenPlacement, Cpus, MemorySpec, Pages, Placement, Region

MAX_KEYS = 1 << 36
_FEWEST_KEYS = {"insert": 1 << 15, "filter": 1024, "merge": 1024}
"""Of each thread: an eighth of what is inserted lasts for a row; a block of others."""
_USUAL_FEWEST = 64

Node = Annotated[int, Field(ge=128, le=1 << 16, multiple_of=64)]


class OpsPattern(Model):
    """Operations on one data structure."""

    structure: Literal["btree", "hash", "column", "relations", "runs", "lsm"]
    operation: Literal["lookup", "insert", "update", "scan", "filter", "join", "merge"]
    keys: Annotated[int, Field(ge=1, le=MAX_KEYS)]
    """Keys of 8 bytes, each with a value of 8 bytes; of a file, its numbers, some of which may be
    the same key."""
    distribution: Literal["uniform", "zipf", "file"] = "uniform"
    """How often each key is asked for; file: its numbers are the keys, asked for in its order."""
    zipf_alpha: Annotated[float, Field(gt=0, le=10)] | None = None
    keys_file: str | None = None
    """Numbers of 64 bits, little-endian."""
    interleave: Annotated[int, Field(ge=1, le=64)] = 1
    """Lookups that a thread has under way at once."""
    scan_length: Annotated[int, Field(ge=1, le=1 << 20)] | None = None
    """Entries that a range scan reads."""
    inner_node: Node | None = None
    """Bytes of an inner node."""
    leaf_node: Node | None = None
    key_bytes: Literal[4, 8] | None = None
    """Of a column; keys of other structures have 8."""
    selectivity: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of a column's rows that the filter finds."""
    found: Literal["positions", "count"] | None = None
    """What a filter leaves: numbers of the rows that it found, or only how many there are."""
    probe_ratio: Annotated[int, Field(ge=1, le=64)] | None = None
    """Rows of the probe relation for each of the build relation, which has ``keys``."""
    misses: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of the keys that are asked for and are not there."""
    partitions: Annotated[int, Field(ge=1, le=4096)] | None = None
    """That a join copies both relations into first, a power of two; 1: it copies nothing."""
    runs: Annotated[int, Field(ge=2, le=256)] | None = None
    """That are merged."""
    ratio: Annotated[int, Field(ge=2, le=32)] | None = None
    """Of a level's keys to those of the level above."""
    pages: Pages = "thp"
    sample_every: Annotated[int, Field(ge=2, le=4096)] = 64
    """Of so many operations (groups of interleaved ones) one is timed."""

    @model_validator(mode="after")
    def _check(self) -> "OpsPattern":
        structure = STRUCTURES[self.structure]
        if self.operation not in structure.operations:
            raise ValueError(f"operation {self.operation} is none of {self.structure}")
        for name in OF_STRUCTURES:
            if (getattr(self, name) is not None) != (name in structure.own):
                goes = "needs" if name in structure.own else "takes no"
                raise ValueError(f"structure {self.structure} {goes} {name}")
        if (self.scan_length is not None) != (self.operation == "scan"):
            raise ValueError("scan_length goes with operation scan, and only with it")
        if (self.zipf_alpha is not None) != (self.distribution == "zipf"):
            raise ValueError("zipf_alpha goes with distribution zipf, and only with it")
        if (self.keys_file is not None) != (self.distribution == "file"):
            raise ValueError("keys_file goes with distribution file, and only with it")
        self._check_extras()
        return self

    def _check_extras(self) -> None:
        """Raise where a structure has no use of what only some can do."""
        if self.distribution == "zipf" and self.structure not in SKEWED:
            raise ValueError(f"distribution zipf goes with {', '.join(SKEWED)}")
        if self.distribution == "file" and self.structure not in OF_FILES:
            raise ValueError(f"keys of a file go with {', '.join(OF_FILES)}")
        if self.interleave > 1:
            if (self.structure, self.operation) not in INTERLEAVED:
                able = ", ".join(f"{operation} of {one}" for one, operation in INTERLEAVED)
                raise ValueError(f"interleave goes with {able}")
            if (self.partitions or 1) > 1:
                raise ValueError("interleave goes with one partition: tables of several are cached")
        if self.partitions is not None and self.partitions.bit_count() != 1:
            raise ValueError(f"partitions is {self.partitions}, no power of two")
        if self.key_bytes == 4 and self.keys > 1 << 32:
            raise ValueError("keys of 4 bytes have positions of 4 bytes, so at most 4g of them")
        if self.ratio is not None and self.keys < cycle_of(self.ratio):
            least = cycle_of(self.ratio)
            raise ValueError(f"levels of ratio {self.ratio} need {least} keys at least")


class OpsSpec(MemorySpec):
    """Operations a second."""

    metric: ClassVar[str] = "operations"
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE,)
    recorded: ClassVar[tuple[str, ...]] = ("structure", "operation", "threads")
    extra_properties: ClassVar[dict[str, type]] = {
        **MemorySpec.extra_properties,
        "threads": int,
        **{f"on_{part}": str for part in PARTS},
    }

    kind: Literal["ops"] = "ops"
    cpus: Cpus
    parts: dict[str, ChosenPlacement] = {}
    """Where parts are that are not where ``placement`` says."""
    pattern: OpsPattern

    @model_validator(mode="after")
    def _check(self) -> "OpsSpec":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        known = self.part_names()
        for name, placement in self.parts.items():
            if name not in known:
                raise ValueError(f"{self.pattern.structure} has no part {name}")
            if placement.persistent:
                raise ValueError("parts are placed on nodes only")
        fewest = _FEWEST_KEYS.get(self.pattern.operation, _USUAL_FEWEST) * len(self.cpus)
        if self.pattern.keys < fewest:
            raise ValueError(f"{len(self.cpus)} threads need {fewest} keys at least")
        return self

    def part_names(self) -> tuple[str, ...]:
        """What the structure is made of."""
        return STRUCTURES[self.pattern.structure].parts

    def placement_of(self, part: str) -> Placement:
        """Where a part is."""
        return self.parts.get(part, self.placement)

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """One for each part."""
        sizes = STRUCTURES[self.pattern.structure].part_bytes(self.pattern, len(self.cpus))
        return [
            Region(self.placement_of(part), self.pattern.pages, size)
            for part, size in zip(self.part_names(), sizes, strict=True)
        ]

    def files(self) -> list[str]:
        """That of the keys."""
        return [self.pattern.keys_file] if self.pattern.keys_file else []

    def identity(self) -> dict[str, Any]:
        """The pattern, the number of threads, and where each part is."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        where = {f"on_{part}": where_of(self.placement_of(part)) for part in self.part_names()}
        switched = {"prefetchers": self.prefetchers} if self.prefetchers != "as-found" else {}
        return {**pattern, **switched, "threads": len(self.cpus), **where}


def where_of(placement: Placement) -> str:
    """Write a placement on nodes as an endpoint."""
    several = len(placement.nodes) > 1
    weights = tuple(share.weight for share in placement.nodes)
    weighted = several and placement.policy == "weighted"
    return str(
        Endpoint(
            kind=EndpointKind.NODE,
            numbers=tuple(share.node for share in placement.nodes),
            weights=weights if weighted else (),
        )
    )


SPEC = OpsSpec
