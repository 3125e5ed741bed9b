"""The spec of model-checkpoint: files of a large model's checkpoint, written and read by ranks."""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.kinds.model_checkpoint.models import SUBSET, Model, models
from tierscope.model.base import Model as Base
from tierscope.model.directory import DirectorySpec
from tierscope.model.evidence import OwnEvidence
from tierscope.model.property import IN_BYTES, MadeBy, Property
from tierscope.model.rules import Ruled
from tierscope.model.spec import SLOWEST_BYTES_PER_S
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked
from tierscope.plans.issuers import issuers, storage_targets
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of

_LEAST = 4096
"""Bytes of a file of a scaled checkpoint."""
_MOST_RANKS = 4096


class RankFiles(Base):
    """Files of one rank."""

    bytes: Annotated[
        list[Annotated[int, Field(ge=1, le=1 << 50)]], Field(min_length=1, max_length=1024)
    ]
    """Of each, in the order in which they are written."""


class ModelCheckpointPattern(Ruled):
    """A checkpoint, and how often it is written and read."""

    model: Annotated[
        Literal["llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t"],
        Property(
            "Model of MLPerf Storage: llama3-8b, llama3-70b, llama3-405b, llama3-1t",
            default="llama3-8b",
            id_always=True,
        ),
    ]
    """One of models.yaml."""
    scale: Annotated[
        float,
        Field(gt=0, le=1),
        Property(
            "Scale the bytes of each file, above 0 to 1",
            default="1",
            words="scaled by {}",
            id="x{}",
        ),
    ] = 1.0
    block_size: Annotated[
        int,
        IN_BYTES,
        Field(ge=4096, le=1 << 26),
        Property(
            "Bytes of one read", label="block", default="4m", words="{} blocks", essential=False
        ),
    ] = 4 << 20
    count: Annotated[
        int,
        Field(ge=1, le=1000),
        Property(
            "Checkpoints written, and as many read",
            default="10",
            single=True,
            identity=False,
        ),
    ] = 10
    ranks: Annotated[list[RankFiles], MadeBy("ranks"), Field(min_length=1, max_length=_MOST_RANKS)]


class RankFilesSeen(Base):
    """Files of a checkpoint, and what was observed of them."""

    files: int
    bytes: int
    """Of one checkpoint."""


class ModelCheckpointEvidence(OwnEvidence):
    """Keys of evidence of checkpoints of models."""

    rank_files: RankFilesSeen | None = None


class ModelCheckpointSpec(DirectorySpec):
    """Bandwidth and time of writing a checkpoint durably, and of reading it."""

    metric: ClassVar[str] = "bandwidth"
    own_evidence: ClassVar[type[OwnEvidence]] = ModelCheckpointEvidence
    compared: ClassVar[tuple[str, ...]] = ("restart_bandwidth",)
    recorded: ClassVar[tuple[str, ...]] = ("model", "checkpoint_size", "ranks")
    extra_properties: ClassVar[dict[str, type]] = {"checkpoint_size": int, "ranks": int}

    kind: Literal["model-checkpoint"] = "model-checkpoint"
    pattern: ModelCheckpointPattern

    @property
    def bytes(self) -> int:
        """Of a checkpoint."""
        return sum(sum(rank.bytes) for rank in self.pattern.ranks)

    def rounds(self) -> int:
        """Checkpoints."""
        return self.pattern.count

    def identity(self) -> dict[str, Any]:
        """The pattern, with the bytes and ranks of the checkpoint."""
        found = self.pattern.as_recorded()
        return {**found, "checkpoint_size": self.bytes, "ranks": len(self.pattern.ranks)}

    def set_up_s(self) -> float:
        """Seconds for a checkpoint that is written and read once."""
        return super().set_up_s() + 3 * self.bytes / SLOWEST_BYTES_PER_S


SPEC = ModelCheckpointSpec


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[ModelCheckpointSpec]:
    """Yield a measurement for each combination of the options' values."""
    there = storage_targets(request, ModelCheckpointSpec)
    for issuer, target in itertools.product(issuers(request, topology, ModelCheckpointSpec), there):
        for values in combinations(request, ModelCheckpointPattern, {}):
            model = models()[values["model"]]
            for count in _ranks(request, model):
                files = [
                    {"bytes": [_scaled(one, values["scale"]) for one in model.rank_files(rank)]}
                    for rank in range(count)
                ]
                parts = [str(issuer.initiator), str(target), f"r{count}"]
                parts += id_parts(ModelCheckpointPattern, values)
                fields = {
                    "initiator": str(issuer.initiator),
                    "target": str(target),
                    "cpus": issuer.cpus,
                    "directory": target.path,
                    "pattern": {**values, "ranks": files},
                }
                yield spec_of(request, ModelCheckpointSpec, fields, parts)


def _ranks(request: Request, model: Model) -> list[int]:
    """Return numbers of ranks: MLPerf's subset where none is given."""
    text = request.options.get("ranks", str(SUBSET))
    found: list[int] = checked(request, "ranks", grammar.expand_counts, text, model.ranks)
    if max(found) > model.ranks:
        raise request.wrong("ranks", f"{max(found)} are more than the job's {model.ranks}")
    return found


def _scaled(size: int, scale: float) -> int:
    return size if scale == 1 else max(_LEAST, int(size * scale))


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(ModelCheckpointSpec, "the current directory").but(
            help="Directories: file:/data"
        ),
        *options_of(ModelCheckpointPattern),
        Option(
            "ranks",
            "COUNTS",
            "Ranks that write, as in 8,all: the first ones of the model's whole job",
            str(SUBSET),
        ),
        options.PIN,
    ),
    expand=expand,
    help="""\
Each rank writes its files of the model's checkpoint with fsync, then reads them back, of which the
page cache holds nothing, as in MLPerf Storage. One checkpoint exists at a time, in a new directory
below the one that is named; it is removed.""",
    examples=(
        "model-checkpoint --to file:/data --model llama3-8b",
        "model-checkpoint --to file:/tmp --model llama3-70b,llama3-1t --scale 0.0001 --count 2",
    ),
)
