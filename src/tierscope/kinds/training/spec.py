"""The spec of training: samples of a dataset, read for accelerators that are emulated."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.kinds.training.workload import ACCELERATORS, Workload, workload_of
from tierscope.model.base import Model
from tierscope.model.directory import DirectorySpec
from tierscope.model.endpoint import Target
from tierscope.model.evidence import OwnEvidence
from tierscope.model.property import MadeBy, Property
from tierscope.model.rules import Check, Differs, Ruled, Ruling, refuses
from tierscope.model.spec import SLOWEST_BYTES_PER_S
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked, choices, sizes
from tierscope.plans.issuers import Issuer, issuers, storage_targets
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of

_STEPS = 5
"""Steps of an epoch, of a dataset whose size is not given."""
_LEAST_BYTES = 1 << 30
"""Bytes of such a dataset, unless it is smaller as a whole."""
_OVERHEAD = {"npz": (512, 0), "tfrecord": (0, 16)}
"""Bytes of a file and of each of its records beside the samples."""
_OF_WORKLOAD = (
    "format", "files", "file_samples", "sample_size", "sample_stdev", "batch", "step_s", "buffer"
)  # fmt: skip
_MOST_THREADS = 4096
_FILES_PER_S = 1000.0
"""Files that are made or forgotten a second; a file system that is slower is taken for a hang."""


class TrainingPattern(Ruled):
    """The dataset, readers and accelerators."""

    workload: Annotated[str, MadeBy("workload"), Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    """Its name, or that of its file."""
    format: Annotated[Literal["npz", "tfrecord"], MadeBy("workload")]
    """npz: a file a sample, whose end is read first; tfrecord: records, one after the other."""
    files: Annotated[int, MadeBy("size"), Field(ge=1, le=10_000_000)]
    file_samples: Annotated[int, MadeBy("workload"), Field(ge=1, le=1_000_000)] = 1
    """Of each file."""
    sample_size: Annotated[int, MadeBy("workload"), Field(ge=1, le=1 << 40)]
    """Mean bytes of a sample."""
    sample_stdev: Annotated[int, MadeBy("workload"), Field(ge=0, le=1 << 40)] = 0
    """Their standard deviation; samples above twice the mean are drawn again."""
    batch: Annotated[int, MadeBy("workload"), Field(ge=1, le=1_000_000)] = 1
    """Samples of a step."""
    step_s: Annotated[float, MadeBy("accelerator"), Field(gt=0, le=3600)]
    """Seconds that an accelerator computes on a batch."""
    needed: Annotated[float, MadeBy("workload"), Field(gt=0, le=1)] = 0.9
    """Share of the time that an accelerator has to compute."""
    buffer: Annotated[int, MadeBy("workload"), Field(ge=4096, le=1 << 26)] = 256 << 10
    """Bytes of one read."""
    accelerator: Annotated[
        Literal["h100", "a100"] | None,
        Property("h100, a100: whose step time is emulated", default_help="h100"),
    ] = None
    accelerators: Annotated[
        int,
        Field(ge=1, le=1024),
        Property("Accelerators that train together, as in 1,2,4", id="a{}", id_always=True),
    ] = 1
    readers: Annotated[
        int,
        Field(ge=1, le=1024),
        Property("Reader threads for each accelerator", default_help="the workload's", id="r{}"),
    ] = 1
    prefetch: Annotated[
        int,
        Field(ge=1, le=4096),
        Property(
            "Batches read ahead for each accelerator",
            default_help="the workload's",
            id="p{}",
            essential=False,
        ),
    ] = 2
    shuffle: Annotated[
        bool,
        Property(
            "yes: files in a new order each epoch",
            default_help="the workload's",
            words="shuffled|in order",
            essential=False,
        ),
    ] = True
    epochs: Annotated[
        int,
        Field(ge=1, le=1000),
        Property(
            "Epochs; an interval needs 6",
            default="6",
            single=True,
            identity=False,
        ),
    ] = 6
    seed: Annotated[
        int,
        Field(ge=0, lt=1 << 31),
        Property("Of sizes and of orders", single=True, identity=False, essential=False),
    ] = 1

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"file_samples": Differs(1), "format": "npz"}, because="is 1 in a file of format npz"
        ),
        Check(
            "files",
            "have to hold a batch for each accelerator",
            lambda one: one.steps >= 1,
            ("accelerators", "batch", "file_samples", "format"),
        ),
    )

    @property
    def steps(self) -> int:
        """Steps of each accelerator in an epoch; what is left over is not read."""
        if self.format == "npz":
            return self.files // (self.batch * self.accelerators)
        return self.files // self.accelerators * self.file_samples // self.batch

    @property
    def file_bytes(self) -> int:
        """Mean bytes of a file."""
        return _file_bytes(self.format, self.file_samples, self.sample_size)


def _file_bytes(form: str, samples: int, sample_size: int) -> int:
    whole, each = _OVERHEAD[form]
    return whole + samples * (sample_size + each)


class TrainingSeen(Model):
    """What was observed of a dataset and its readers."""

    files: int
    bytes: int
    """Of the dataset."""
    steps: int
    """Of each accelerator in an epoch."""
    memory_bytes: int
    """That the page cache could hold."""
    first_wait_s: float
    """Longest wait for an epoch's first batch, which nothing hides."""


class TrainingEvidence(OwnEvidence):
    """Keys of evidence of training."""

    training: TrainingSeen | None = None


class TrainingSpec(DirectorySpec):
    """Samples a second, and the share of the time that accelerators compute."""

    metric: ClassVar[str] = "samples"
    own_evidence: ClassVar[type[OwnEvidence]] = TrainingEvidence
    compared: ClassVar[tuple[str, ...]] = ("utilisation",)
    recorded: ClassVar[tuple[str, ...]] = ("workload", "accelerators", "readers")
    extra_properties: ClassVar[dict[str, type]] = {"dataset": str}

    kind: Literal["training"] = "training"
    large: bool = False
    """The dataset may take more than a tenth of the free space."""
    pattern: TrainingPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "pattern.readers",
            "and accelerators are more than 4096 threads together",
            lambda spec: spec.pattern.accelerators * (spec.pattern.readers + 1) <= _MOST_THREADS,
            ("pattern.accelerators",),
        ),
    )

    @property
    def bytes(self) -> int:
        """Expected bytes of the dataset."""
        return self.pattern.files * self.pattern.file_bytes

    def rounds(self) -> int:
        """Epochs."""
        return self.pattern.epochs

    def identity(self) -> dict[str, Any]:
        """The pattern; what its workload has decided stands in one text."""
        found = self.pattern.as_recorded()
        own = {name: found.pop(name, "") for name in _OF_WORKLOAD}
        text = (
            "{files} {format} files of {file_samples} x {sample_size} B, deviation "
            "{sample_stdev} B, batches of {batch}, steps of {step_s} s, reads of {buffer} B"
        )
        return {**found, "dataset": text.format(**own)}

    def set_up_s(self) -> float:
        """Seconds for making the dataset, and for an epoch with the forgetting before it."""
        pattern = self.pattern
        return (
            super().set_up_s()
            + 3 * self.bytes / SLOWEST_BYTES_PER_S
            + 2 * pattern.files / _FILES_PER_S
            + pattern.steps * pattern.step_s
        )


SPEC = TrainingSpec


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[TrainingSpec]:
    """Yield a measurement for each combination of the options' values."""
    words = grammar.split_words(request.options.get("workload", "unet3d"))
    wanted = [checked(request, "workload", workload_of, word) for word in words]
    there = storage_targets(request, TrainingSpec)
    for issuer, target, workload in itertools.product(
        issuers(request, topology, TrainingSpec), there, wanted
    ):
        for values in _combinations(request, workload):
            yield _spec(request, issuer, target, values)


def _combinations(request: Request, workload: Workload) -> Iterator[dict[str, Any]]:
    counts = asked(request, TrainingPattern, "accelerators") or [1]
    made = {
        "workload": workload.name,
        "format": workload.format,
        "files": _files(request, workload, max(counts)),
        "file_samples": workload.samples,
        "sample_size": workload.sample_size,
        "sample_stdev": workload.sample_stdev,
        "batch": workload.batch,
        "needed": workload.needed,
        "buffer": workload.buffer,
    }
    axes: dict[str, Sequence[Any]] = {
        "readers": asked(request, TrainingPattern, "readers") or [workload.readers],
        "prefetch": asked(request, TrainingPattern, "prefetch") or [None],
        "shuffle": asked(request, TrainingPattern, "shuffle") or [workload.shuffle],
        "accelerator": _accelerators(request, workload),
    }
    for values in combinations(request, TrainingPattern, axes):
        values.setdefault("prefetch", workload.ahead(values["readers"]))
        yield {**made, **values, "step_s": workload.steps[values.get("accelerator", "")]}


def _accelerators(request: Request, workload: Workload) -> list[str | None]:
    """Return the accelerators whose step times the workload has; None of one that has no names."""
    asked = choices(request, "accelerator", ACCELERATORS)
    if "" in workload.steps:
        if asked:
            raise request.wrong(
                "accelerator", f"workload {workload.name} has one step time, of no accelerator"
            )
        return [None]
    for name in asked:
        if name not in workload.steps:
            known = ", ".join(workload.steps)
            raise request.wrong("accelerator", f"workload {workload.name} has {known}, not {name}")
    return [*(asked or [next(iter(workload.steps))])]


def _files(request: Request, workload: Workload, accelerators: int) -> int:
    """Return how many files the dataset has: as many as fit ``--size``, at most the workload's."""
    each = _file_bytes(workload.format, workload.samples, workload.sample_size)
    in_file = workload.samples if workload.format == "tfrecord" else 1
    least = -(-workload.batch // in_file) * accelerators
    given = sizes(request, "size")
    if len(given) > 1:
        raise request.wrong("size", "takes a single value")
    if not given:
        return min(workload.files, max(_STEPS * least, _LEAST_BYTES // each))
    files = given[0] // each
    if files < least:
        needed = grammar.format_size(-(-least * each // (1 << 20)) << 20)
        raise request.wrong(
            "size",
            f"{grammar.format_size(given[0])} does not hold a batch of {workload.name} for each "
            f"accelerator; give {needed} or more",
        )
    return min(files, workload.files)


def _spec(request: Request, issuer: Issuer, target: Target, values: dict[str, Any]) -> TrainingSpec:
    fields: dict[str, Any] = {
        "initiator": str(issuer.initiator),
        "target": str(target),
        "cpus": issuer.cpus,
        "directory": target.path,
        "large": "size" in request.options,
        "pattern": values,
    }
    parts = [str(issuer.initiator), str(target), values["workload"]]
    parts += id_parts(TrainingPattern, values)
    return spec_of(request, TrainingSpec, fields, parts)


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(TrainingSpec, "the current directory").but(help="Directories: file:/data"),
        Option(
            "workload",
            "LIST",
            "unet3d, resnet50, cosmoflow, or files with DLIO's keys: ./mine.yaml",
            "unet3d",
        ),
        Option(
            "size",
            "SIZE",
            "Bytes of the dataset, by fewer files; at most the workload's own",
            "5 steps of an epoch, 1g at least",
        ),
        *options_of(TrainingPattern),
        options.PIN,
    ),
    expand=expand,
    help="""\
A dataset is made in a new directory below the one that is named, and removed; nothing else is
written. Before each epoch the page cache drops it. Readers hand batches to threads that stand for
accelerators and sleep for the time of a step; nothing is decoded.""",
    examples=(
        "training --to file:/data --workload unet3d --size 100g --accelerators 1,2,4",
        "training --to file:/data --workload resnet50,cosmoflow --accelerator h100,a100",
        "training --to file:/tmp --workload cosmoflow --size 64m --epochs 2",
    ),
)
