"""The spec of io: operations on files and devices, alone, together and by all hosts of a fleet."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.machine.storage_paths import near_or_far
from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind, Target, format_ranges, whole_number
from tierscope.model.errors import UserError, counted
from tierscope.model.fleet import FleetPlace
from tierscope.model.io import (
    GPU_BACKENDS,
    MAPPED,
    SYNCHRONOUS,
    WITHOUT_DATA,
    Buffers,
    DeviceFiles,
    Files,
    IoPattern,
    PathFiles,
)
from tierscope.model.property import MadeBy
from tierscope.model.rules import Check, Distinct, Ruling, needs
from tierscope.model.spec import BoundBy, Cpus, MeasurementSpec, Region
from tierscope.model.storage import Access
from tierscope.model.threads import Threads
from tierscope.model.time_series import TimeSeries
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import (
    checked,
    choices,
    identity,
    parsed,
    sampling,
    sizes,
    targets,
)
from tierscope.plans.gpu import flag
from tierscope.plans.issuers import Issuer, issuers, storage_targets, storage_threads
from tierscope.plans.options import Option
from tierscope.plans.rated import ratings_of
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.event import Evidence
    from tierscope.model.path import Limit, Paths
    from tierscope.model.topology import Cache


_SLOWEST_FILL_BYTES_PER_S = 10e6
"""Storage that is slower is taken for a hang."""
_LOOKED_AT_S = 60.0
"""Seconds that a client of a network file system may take to see a new name."""
_PAGE = 4096
"""Buffers are multiples of it."""
_SLOWEST_OPERATIONS_PER_S = 25.0
"""Storage that is slower is taken for a hang; a hard disk does 50 in random order."""
_SLOWEST_PURGE_S = 3600.0
_BANDWIDTH_FROM = 512 << 10
"""Block size from which on the headline is bandwidth; IOPS below it."""
_DEFAULT_BYTES = 1 << 30
"""Bytes of all files that are made for a target."""
_CURVE = {"op": "write", "order": "random", "block-size": "4k", "depth": "32", "budget": "24h"}
"""Defaults of a write-saturation curve."""
_CURVE_PASSES = 1.0
"""An empty drive holds its rate until it has been written once: no steady state before that."""
_FILL_PASSES = 2.0
"""SNIA PTS: sequential writes of twice the capacity, in blocks of 128 KiB."""
_FILL_BLOCK, _FILL_DEPTH = 128 << 10, 32
_MAX_ROUND_S = 3600.0
_ROWS = 6
"""Samples of a round."""
_MAX_SAMPLE_S = 60.0
_SAMPLE_S = 0.05


_HOSTS_FILE = Option(
    "hosts-file",
    "WORD",
    "With several hosts (fleet run): each (own files per host), one (a shared file, of which "
    "each host writes its own region)",
    "each",
    essential=False,
)
_ROUND = Option(
    "round",
    "TIME",
    "Length of a round of --precondition and --write-saturation",
    "60s",
    essential=False,
)


def in_fleet(files: Files, pattern: IoPattern, place: FleetPlace) -> Files:
    """Return the files of one host; of a common file, the first host is its maker.

    Measurements whose file would be the same one share it. Its name has the fleet's token, so that
    no other fleet uses it.
    """
    if not isinstance(files, PathFiles) or files.common is None or place.hosts < 2:
        return files
    same = (place.token, files.path, files.size, pattern.compressible, _contents(pattern))
    name = f"tierscope.{hashlib.sha256(repr(same).encode()).hexdigest()[:16]}.common"
    fill_s = files.most_bytes / _SLOWEST_FILL_BYTES_PER_S
    common = files.common.model_copy(
        update={
            "name": name,
            "part": place.number,
            "parts": place.hosts,
            "wait_s": None if place.number == 0 else fill_s + _LOOKED_AT_S,
        }
    )
    return files.model_copy(update={"common": common})


def _contents(pattern: IoPattern) -> tuple[int, bool]:
    """Return what decides how the contents of files can be verified (engine/storage/contents.h)."""
    step = math.gcd(pattern.align or min(pattern.sizes), pattern.misalign, *pattern.sizes)
    cell = next((size for size in (4096, 512) if step % size == 0), 0)
    return cell, pattern.backend in GPU_BACKENDS


class Flow(Model):
    """Jobs of one number make operations in the ratio of their weights."""

    number: Annotated[int, Field(ge=0, le=1 << 30)]
    weight: Annotated[int, Field(ge=1, le=1 << 30)]
    sleep_s: Annotated[float, Field(ge=0, le=1e6)] = 0
    """A thread's pause while it is ahead of the others."""


class Steady(Model):
    """Jobs end when the figures of the latest samples are steady."""

    figure: Literal["iops", "bandwidth", "latency"]
    slope: bool = False
    """Of a line through them; else the largest distance from their mean."""
    limit: Annotated[float, Field(gt=0, le=1e18)]
    of_the_mean: bool = False
    """The limit is in percent of the mean."""
    duration_s: Annotated[float, Field(gt=0, le=1e6)]
    """Seconds of the samples that are looked at."""
    ramp_s: Annotated[float, Field(ge=0, le=1e6)] = 0
    """Seconds before the first of them."""


class IoJob(Threads):
    """Threads that go over the same files, with buffers in the same memory."""

    name: Annotated[str, Field(max_length=4200)] = ""
    """The part that its figures are of, where there are several jobs."""
    cpus: Annotated[Cpus, MadeBy("threads")]
    """One a thread, and a CPU may come several times; with ``cpu_sets``, all CPUs of the sets."""
    buffers: Buffers
    files: Files
    shared: bool = False
    """All threads go over all files; else each thread has its own, or its share of one."""
    pattern: IoPattern | None = None
    """Pattern of its threads, where it differs from the measurement's."""
    group: Annotated[int, Field(ge=0, le=1 << 30)] | None = None
    """Of jobs that run together."""
    ends: Literal["group", "all"] | None = None
    """Which jobs end as soon as it does."""
    flow: Flow | None = None

    @property
    def target(self) -> str:
        """Its files or device, as an endpoint."""
        return f"{'dev' if isinstance(self.files, DeviceFiles) else 'file'}:{self.files.where}"

    rules: ClassVar[tuple[Ruling, ...]] = (
        needs("group", when={"ends": "group"}, because="group needs a number of one"),
        Check(
            "files",
            "are one, or one for each thread, unless they are shared",
            lambda job: (
                job.shared
                or isinstance(job.files, DeviceFiles)
                or job.files.count in (1, job.thread_count)
            ),
            ("cpus", "cpu_sets", "shared"),
        ),
    )


def _of_jobs(
    field: str, because: str, keeps: Callable[[IoJob, IoPattern], bool], name: str = ""
) -> Check:
    """Return a check of each job and the pattern that it works by."""
    return Check(
        field,
        because,
        lambda spec: all(keeps(job, own) for job, own in spec.worked()),
        ("jobs",),
        name=name,
    )


def _of_jobs_and(
    field: str, because: str, keeps: Callable[["IoSpec", IoJob, IoPattern], bool], name: str = ""
) -> Check:
    """Return a check of each job, its pattern and the whole."""
    return Check(
        field,
        because,
        lambda spec: all(keeps(spec, job, own) for job, own in spec.worked()),
        ("jobs",),
        name=name,
    )


class IoSpec(MeasurementSpec):
    """Bandwidth, IOPS and latency of storage."""

    metric: ClassVar[str] = "bandwidth"
    adds_up: ClassVar[bool] = True
    initiators: ClassVar[tuple[EndpointKind, ...]] = (
        EndpointKind.NODE,
        EndpointKind.CPUS,
        EndpointKind.GPU,
    )
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.FILE, EndpointKind.DEV)
    recorded: ClassVar[tuple[str, ...]] = ("operation", "block_size", "depth", "threads")
    extra_properties: ClassVar[dict[str, type]] = {
        "blocks": str,
        "threads": int,
        "cpu_sets": str,
        "memory": str,
        "size": int,
        "jobs": int,
        "together": str,
        "shared": bool,
        "file": str,
        "beside": str,
        "preconditioning": bool,
        "write_saturation": bool,
        "qualification": str,
        "purged": bool,
    }

    kind: Literal["io"] = "io"
    jobs: Annotated[list[IoJob], Field(min_length=1, max_length=256), Distinct("name")]
    pattern: IoPattern
    series: TimeSeries | None = None
    """Preconditioning (until written) or the write-saturation curve (until steady) of a device."""
    own_ends: bool = False
    """Each thread ends by its own amount or time limit, and the samples when all have ended.
    Samples in which no operation ended have no rate."""
    ends_steady: Steady | None = None
    """With ``own_ends``: all jobs end then, if they have not ended before."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        _of_jobs(
            "pattern.backend",
            "needs a GPU in a job's buffers where it is one of GPUs, and takes none elsewhere",
            lambda job, own: (own.backend in GPU_BACKENDS) == (job.buffers.gpu is not None),
            "Gpu",
        ),
        _of_jobs(
            "pattern.backend",
            "staged-managed needs memory managed",
            lambda job, own: own.backend != "staged-managed" or job.buffers.memory == "managed",
            "Managed",
        ),
        _of_jobs(
            "pattern.pages",
            "other than base need buffers in host memory",
            lambda job, own: own.pages == "base" or job.buffers.placement is not None,
        ),
        _of_jobs(
            "pattern.operation",
            "writing to a device destroys its data: name it in destroy (--destroy-data)",
            lambda job, own: (
                own.operation == "read"
                or not isinstance(job.files, DeviceFiles)
                or job.files.destroy != ""
            ),
        ),
        Check(
            "pattern.amount",
            "is in all patterns or in none, and time_limit_s the same, unless jobs have own_ends",
            lambda spec: (
                spec.own_ends
                or len({(own.amount is None, own.time_limit_s) for own in spec.together()}) == 1
            ),
            ("pattern.time_limit_s", "own_ends", "jobs"),
        ),
        Check(
            "pattern.ramp_s",
            "has to be the same in all patterns, and so require",
            lambda spec: len({(own.ramp_s or 0, own.require) for own in spec.together()}) == 1,
            ("pattern.require", "jobs"),
        ),
        _of_jobs_and(
            "own_ends",
            "needs an amount or a time_limit_s in each pattern",
            lambda spec, _job, own: (
                not spec.own_ends or own.amount is not None or own.time_limit_s is not None
            ),
        ),
        _of_jobs_and(
            "pattern.time_limit_s",
            "goes with amount, or with own_ends",
            lambda spec, _job, own: (
                spec.own_ends or own.amount is not None or own.time_limit_s is None
            ),
            "Limited",
        ),
        _of_jobs_and(
            "jobs",
            "delay_s, search, ends and flow go with own_ends",
            lambda spec, job, own: (
                spec.own_ends or not (own.delay_s or own.search or job.flow or job.ends)
            ),
            "Paced",
        ),
        Check(
            "pattern.backend",
            "of GPUs has to be the same in all patterns",
            lambda spec: (
                len(backends := {own.backend for own in spec.together()}) == 1
                or backends.isdisjoint(GPU_BACKENDS)
            ),
            ("jobs",),
            name="Same",
        ),
        Check(
            "series",
            "writes, unless it is of a group",
            lambda spec: (
                spec.series is None
                or spec.series.group != ""
                or all(own.operation != "read" for _job, own in spec.worked())
            ),
            ("pattern.operation", "jobs"),
        ),
        Check(
            "jobs",
            "purge goes with a series",
            lambda spec: (
                spec.series is not None
                or not any(
                    isinstance(job.files, DeviceFiles) and job.files.purge for job in spec.jobs
                )
            ),
            ("series",),
        ),
    )

    def together(self) -> list[IoPattern]:
        """Patterns that run at the same time, and the measurement's."""
        return [self.pattern, *(own for _job, own in self.worked())]

    def worked(self) -> list[tuple[IoJob, IoPattern]]:
        """Each job with the pattern that it works by."""
        return [(job, job.pattern or self.pattern) for job in self.jobs]

    @property
    def patterns(self) -> list[IoPattern]:
        """Patterns that occur, each once, the measurement's at first."""
        found: list[IoPattern] = []
        for _job, pattern in self.worked():
            if pattern not in found:
                found.append(pattern)
        return found

    @property
    def one_repetition(self) -> bool:
        """As ``ramp_s`` and ``own_ends`` say."""
        return self.own_ends or self.pattern.ramp_s is not None

    def cufile_setting(self) -> str:
        """As the pattern says."""
        return self.pattern.cufile or ""

    def headline(self) -> str:
        """IOPS of small blocks, bandwidth of large ones."""
        largest = max(size for pattern in self.patterns for size in pattern.sizes)
        return "bandwidth" if largest >= _BANDWIDTH_FROM else "iops"

    def thread_cpus(self) -> list[int]:
        """The CPUs of all jobs' threads."""
        return [cpu for job in self.jobs for cpu in job.cpus]

    def regions(self) -> list[Region]:
        """The buffers that lie in host memory."""
        return [
            Region(job.buffers.placement, pattern.pages, _buffer_bytes(pattern), job.thread_count)
            for job, pattern in self.worked()
            if job.buffers.placement is not None
        ]

    def in_fleet(self, place: FleetPlace) -> "IoSpec":
        """With the file that all hosts use, where there is one."""
        jobs = [
            job.model_copy(update={"files": in_fleet(job.files, pattern, place)})
            for job, pattern in self.worked()
        ]
        dumped = {**self.model_dump(), "jobs": [one.model_dump() for one in jobs]}
        return type(self).model_validate(dumped)

    def files(self) -> list[str]:
        """Files and devices of all jobs."""
        return [job.files.where for job in self.jobs]

    def identity(self) -> dict[str, Any]:
        """The pattern, threads, and what holds the buffers."""
        first, *others = [_said(pattern) for pattern in self.patterns]
        beside = [_differences(first, other) for other in others]
        first_job = self.jobs[0]
        memories = dict.fromkeys(job.buffers.name for job in self.jobs)
        together = self.targets_together()
        return {
            **first,
            **({"beside": "; ".join(beside)} if beside else {}),
            "threads": sum(job.thread_count for job in self.jobs),
            **first_job.pinned_as(),
            "memory": ", ".join(memories),
            **({"size": first_job.files.size} if first_job.files.size else {}),
            **({"jobs": len(self.jobs)} if len(self.jobs) > 1 else {}),
            **({"together": ", ".join(together)} if together else {}),
            **({"shared": True} if first_job.shared else {}),
            **({"file": "one"} if getattr(first_job.files, "common", None) else {}),
            **self._series_identity(),
        }

    def _series_identity(self) -> dict[str, bool | str]:
        if self.series is None:
            return {}
        if self.series.group:
            return {"qualification": self.series.group}
        name = "preconditioning" if self.series.until == "written" else "write_saturation"
        return {name: True, **({"purged": True} if self._purges() else {})}

    def _purges(self) -> bool:
        return any(isinstance(job.files, DeviceFiles) and job.files.purge for job in self.jobs)

    def time_series(self) -> TimeSeries | None:
        """As the spec says."""
        return self.series

    def targets_together(self) -> list[str]:
        """All targets where there are several, with each initiator where those are several, too."""
        targets = dict.fromkeys(job.target for job in self.jobs)
        if len(targets) < 2:
            return []
        initiators = [self._initiator_of(job) for job in self.jobs]
        if len(set(initiators)) == 1:
            return list(targets)
        return [f"{one} → {job.target}" for one, job in zip(initiators, self.jobs, strict=True)]

    def _initiator_of(self, job: IoJob) -> str:
        """The endpoint that issues a job's operations."""
        if job.buffers.gpu is not None:
            return f"gpu:{job.buffers.gpu}"
        if job.buffers.name == self.jobs[0].buffers.name:
            return self.initiator
        return f"cpus:{format_ranges(tuple(sorted(set(job.cpus))))}"

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Whether the page cache takes part, so that its figure is not the drive's."""
        return not all(pattern.direct for pattern in self.patterns)

    def bound_by(self, estimate: float, evidence: "Evidence") -> BoundBy | None:  # noqa: ARG002
        """Whether the drives' counters contradict it, of accesses past the page cache that move
        data."""
        past_caches = all(
            pattern.direct and pattern.backend not in WITHOUT_DATA for pattern in self.patterns
        )
        return "not-the-device" if past_caches and evidence.less_on_devices() else None

    def limit(self, paths: "Paths") -> "Limit | None":
        """The limit by links and the drives' data sheets; none of the page cache, of several
        patterns at once, and where no data moves."""
        pattern = self.patterns[0]
        if len(self.patterns) > 1 or pattern.backend in WITHOUT_DATA:
            return None
        reads = {"read": 1.0, "write": 0.0}.get(
            pattern.operation, (pattern.read_percent or 0) / 100
        )
        access = Access(
            read_share=reads,
            random=pattern.order != "sequential",
            direct=pattern.direct,
            block_bytes=pattern.block_size,
            counts_operations=max(pattern.sizes) < _BANDWIDTH_FROM,
            through_host=pattern.backend.startswith("staged"),
        )
        ways = [(self._initiator_of(job), job.target) for job in self.jobs]
        return paths.storage_limit(ways, access)

    def set_up_s(self) -> float:
        """Seconds for making files, and for an amount that a repetition moves whatever its time."""
        filled = sum(job.files.most_bytes for job in self.jobs) / _SLOWEST_FILL_BYTES_PER_S
        longest = sum(_longest(pattern, job.thread_count) for job, pattern in self.worked())
        purged = _SLOWEST_PURGE_S if self._purges() else 0.0
        return super().set_up_s() + filled + longest + (self.pattern.ramp_s or 0.0) + purged


def _longest(pattern: IoPattern, threads: int) -> float:
    """Return the seconds that threads need at most for an amount, or for their own time."""
    if pattern.amount is None:
        return pattern.delay_s + (pattern.time_limit_s or 0.0)
    operations = pattern.amount / min(pattern.sizes) * threads
    each = 1 / min(_SLOWEST_OPERATIONS_PER_S, pattern.rate or math.inf)
    if pattern.think:
        each += pattern.think.pause_s / pattern.think.every
    return pattern.delay_s + min(operations * each, pattern.time_limit_s or math.inf)


def _buffer_bytes(pattern: IoPattern) -> int:
    """Bytes of the buffers of a thread."""
    buffer = -(-max(pattern.sizes) // _PAGE) * _PAGE
    return buffer * pattern.depth * (2 if pattern.operation == "mix" else 1)


_USUAL = ("run", "same", "random_percent", "stride", "by_turns", "delay_s")
"""Fields that identities leave out where they have their default."""
_PARTS = (
    "distribution", "strided", "think", "search", "write_blocks", "priority", "command_priorities",
    "duplicates",
)  # fmt: skip
"""Fields with fields of their own, which identities have as one text."""


def _said(pattern: IoPattern) -> dict[str, Any]:
    """Return what identities say of a pattern: flat, without what is usual."""
    found = pattern.as_recorded()
    if not pattern.ramp_s:
        found.pop("ramp_s", None)
    for name in _USUAL:
        if getattr(pattern, name) == IoPattern.model_fields[name].default:
            found.pop(name, None)
    for name in _PARTS:
        if found.get(name) is not None:
            found[name] = json.dumps(pattern.model_dump(include={name})[name])
    if pattern.blocks:
        found["blocks"] = ",".join(f"{b.bytes}:{b.weight}" for b in pattern.blocks)
    return found


def _differences(first: dict[str, Any], other: dict[str, Any]) -> str:
    """Return how a further pattern differs from the first one: "operation=write depth=4"."""
    changed = [f"{name}={value}" for name, value in other.items() if first.get(name) != value]
    return " ".join([*changed, *(f"no-{name}" for name in first if name not in other)])


SPEC = IoSpec


def files(request: Request, target: Target, count: int) -> dict[str, Any]:
    """Return the files or the device of one target; ``count`` threads have files of their own."""
    asked = sizes(request, "size")
    if len(asked) > 1:
        raise request.wrong("size", "files have one size; use --range for parts of them")
    size = asked[0] if asked else None
    if target.kind is EndpointKind.DEV:
        return {
            "device": target.path,
            "size": size,
            "destroy": _destroyed(request, target),
            "second_word": request.options.get("second-word", ""),
        }
    for option in ("destroy-data", "second-word"):
        if option in request.options:
            raise request.wrong(option, f"goes with a device (dev:/dev/...), not with {target}")
    common = parsed(request, _HOSTS_FILE, grammar.parse_choice, ("each", "one"))
    made = {"path": target.path, "large": bool(asked)}
    if common == "one":
        return {**made, "size": size or _DEFAULT_BYTES, "common": {}}
    return {
        **made,
        "size": size or max(1 << 20, _DEFAULT_BYTES // count),
        "count": count,
        "keep": flag(request, "keep"),
        "overwrite": flag(request, "overwrite"),
    }


def _destroyed(request: Request, target: Target) -> str:
    """Return the name that says that this device's data may go; empty where none was given."""
    if "destroy-data" not in request.options:
        return ""
    names = grammar.split_words(request.options["destroy-data"])
    devices = [
        word for word in grammar.split_endpoints(request.options["to"]) if word.startswith("dev:")
    ]
    if len(names) != len(devices):
        many = f"{counted(len(names), 'name')} for {counted(len(devices), 'device')}"
        raise request.wrong("destroy-data", f"{many} in --to; give one each")
    return names[devices.index(str(target))]


def _blocks(text: str) -> dict[str, Any]:
    shares = []
    for word in grammar.split_words(text):
        size, _, share = word.partition(":")
        weight = whole_number(share)
        if not weight:
            raise UserError(f"'{word}' is not SIZE:WEIGHT such as 4k:60")
        shares.append({"bytes": grammar.parse_size(size), "weight": weight})
    whole = sum(share["weight"] for share in shares)
    mean = sum(share["bytes"] * share["weight"] for share in shares) // whole
    return {"blocks": shares, "block_size": mean}


def with_defaults(request: Request) -> Request:
    """Return the request with the defaults of a write-saturation curve, where it asks for one."""
    if not flag(request, "write-saturation"):
        return request
    usual = dict(_CURVE)
    if request.options.get("backend") in SYNCHRONOUS:
        del usual["depth"]
    return request.model_copy(update={"options": usual | request.options})


def in_series(request: Request, specs: Sequence[IoSpec]) -> list[IoSpec]:
    """Return measurements with the preconditioning that goes before them; as curves if asked for.

    Raises UserError where they do not write to a device that may be destroyed.
    """
    before = choices(request, "precondition", ("purge", "fill"))
    curve = flag(request, "write-saturation")
    if not before and not curve:
        if "round" in request.options:
            raise request.wrong("round", "goes with --precondition or --write-saturation")
        return list(specs)
    option = "write-saturation" if curve else "precondition"
    for spec in specs:
        _check_destroys(request, option, spec)
    if curve and (len(specs) > 1 or len(specs[0].jobs) > 1):
        raise request.wrong(option, "is of one device and one pattern; this request has several")
    if curve and specs[0].pattern.operation == "read":
        raise request.wrong(option, "needs writes: --op write or mix")
    if "fill" not in before and not curve:
        raise request.wrong(
            option, "purge leaves an empty drive; it goes with fill or --write-saturation"
        )
    round_s = parsed(request, _ROUND, grammar.parse_duration, 0, _MAX_ROUND_S)
    curves = [in_rounds(spec, spec.id, round_s) for spec in (specs if curve else ())]
    fills = _fills(request, specs, round_s) if "fill" in before else []
    if "purge" in before:
        first = fills or curves
        first[:] = [purged(spec) for spec in first]
    return [*fills, *(curves or specs)]


def _check_destroys(request: Request, option: str, spec: IoSpec) -> None:
    for files in (job.files for job in spec.jobs):
        if not isinstance(files, DeviceFiles):
            raise request.wrong(option, f"goes with devices (dev:/dev/...), not {files.where}")
        if not files.destroy:
            raise request.wrong(
                option, f"overwrites all of {files.device}: name it in --destroy-data, too"
            )


def _fills(request: Request, specs: Sequence[IoSpec], round_s: float) -> list[IoSpec]:
    """Return a fill of each device, by what goes over it first."""
    found: dict[str, IoSpec] = {}
    for spec in specs:
        for job in spec.jobs:
            if job.files.where not in found:
                found[job.files.where] = _fill(request, spec, job, round_s)
    return list(found.values())


def _fill(request: Request, spec: IoSpec, first: IoJob, round_s: float) -> IoSpec:
    name = identity([request.name or "io", spec.initiator, first.target, "fill"])
    return fill_of(spec, first, name, round_s)


def fill_of(
    spec: IoSpec, first: IoJob, name: str, round_s: float, block_size: int = _FILL_BLOCK
) -> IoSpec:
    """Return sequential writes by a job's first thread, to all that it goes over."""
    job, pattern = first.model_dump(mode="json"), spec.pattern
    return _changed(
        spec,
        id=name,
        target=first.target,
        sampling=_sampling(spec, round_s),
        jobs=[{**job, "cpus": job["cpus"][:1], "shared": False}],
        pattern={
            "operation": "write",
            "block_size": block_size,
            "backend": pattern.backend,
            "direct": pattern.direct,
            "depth": 1 if pattern.backend in SYNCHRONOUS else _FILL_DEPTH,
            "offset": pattern.offset,
            "range": pattern.range,
        },
        series={"until": "written", "passes": _FILL_PASSES, "round_s": round_s},
    )


def in_rounds(spec: IoSpec, name: str, round_s: float, **rule: Any) -> IoSpec:
    """Return a measurement that makes rounds until they are steady, as further keys of the rule
    say."""
    series = {"until": "steady", "passes": _CURVE_PASSES, "round_s": round_s, **rule}
    return _changed(spec, id=name, series=series, sampling=_sampling(spec, round_s))


def _sampling(spec: IoSpec, round_s: float) -> dict[str, Any]:
    sample_s = min(_MAX_SAMPLE_S, round_s / _ROWS)
    return {**spec.sampling.model_dump(), "sample_s": sample_s}


def purged(spec: IoSpec) -> IoSpec:
    """Return a series that begins by discarding all data of its devices."""
    jobs = spec.model_dump(mode="json")["jobs"]
    return _changed(spec, jobs=[{**j, "files": {**j["files"], "purge": True}} for j in jobs])


def _changed(spec: IoSpec, **fields: Any) -> IoSpec:
    return IoSpec.model_validate({**spec.model_dump(mode="json"), **fields})


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[IoSpec]:
    """Yield a measurement for each combination of the options' values."""
    ratings_of(request)  # limits take them from the machine; here only their errors count
    request = with_defaults(request)
    found = [
        _spec(request, places, group, values)
        for group in _groups(request)
        for places in _places_of(request, topology, group)
        for values in _combinations(request, places[0])
    ]
    if not found:
        raise UserError("no combination of these options can be measured")
    yield from in_series(request, found)


def _groups(request: Request) -> Iterator[list[Target]]:
    """Yield the targets of each measurement: one, or all together."""
    every = storage_targets(request, IoSpec)
    for together in choices(request, "together", ("no", "yes")) or ["no"]:
        if together == "yes" and len(every) < 2:
            raise request.wrong("together", "needs several targets in --to")
        yield from [every] if together == "yes" else ([target] for target in every)


def _places_of(
    request: Request, topology: Topology, group: Sequence[Target]
) -> Iterator[tuple[Issuer, ...]]:
    """Yield places for all targets of a measurement, one each."""
    yield from zip(
        *(issuers(_with_nodes(request, topology, target), topology, IoSpec) for target in group),
        strict=True,
    )


def _with_nodes(request: Request, topology: Topology, target: Target) -> Request:
    """Replace ``near`` and ``far`` by nodes, which differ from target to target."""
    if "from" not in request.options:
        return request
    words = checked(request, "from", grammar.split_endpoints, request.options["from"])
    named = [
        f"node:{checked(request, 'from', near_or_far, topology, word, target)}"
        if word in ("near", "far")
        else word
        for word in words
    ]
    return request.model_copy(update={"options": {**request.options, "from": ",".join(named)}})


def _combinations(request: Request, place: Issuer) -> Iterator[dict[str, Any]]:
    """Yield values of all options that are lists; what makes no difference comes once."""
    on_gpu = place.gpu is not None
    backends = asked(request, IoPattern, "backend") or ["cufile" if on_gpu else "io_uring"]
    axes: dict[str, Sequence[Any]] = {
        "backend": backends,
        "cufile": _cufile_settings(request, backends),
        "threads": storage_threads(request, place),
        "files": choices(request, "files", ("own", "shared")) or ["own"],
        "memory": asked(request, Buffers, "memory") or ["device" if on_gpu else "host"],
        "buffers": _buffer_nodes(request, place),
    }
    blocks = (
        checked(request, "blocks", _blocks, request.options["blocks"])
        if "blocks" in request.options
        else {}
    )
    seen = []
    for values in combinations(request, IoPattern, axes):
        values |= blocks
        if values["backend"] in MAPPED:
            values["direct"] = False
        if values["backend"] == "staged-managed":
            values["memory"] = "managed"
        if values["memory"] != "host":
            del values["buffers"]
        if values not in seen:
            seen.append(values)
            yield {**values}


def _cufile_settings(request: Request, backends: Sequence[str]) -> list[str | None]:
    """Return cufile.json as it is, and each setting that is asked for."""
    if "cufile" not in request.options:
        return [None]
    if not any(backend.startswith("cufile") for backend in backends):
        raise request.wrong("cufile", "goes with cuFile: --from gpu:0 --backend cufile")
    from tierscope.plans.cufile import cufile_settings

    return [None, *checked(request, "cufile", cufile_settings, request.options["cufile"])]


def _buffer_nodes(request: Request, place: Issuer) -> list[int]:
    if "buffers" not in request.options:
        return [place.node]
    found = targets(request, "buffers", _NodesOnly)
    return [number for target in found for number in target.numbers]


class _NodesOnly(IoSpec):
    targets = (EndpointKind.NODE,)


def _spec(
    request: Request, places: Sequence[Issuer], group: Sequence[Target], values: dict[str, Any]
) -> IoSpec:
    """Return the measurement of one target, or of several together, each from its own place."""
    threads, shared = values.pop("threads"), values.pop("files") == "shared"
    memory, node = values.pop("memory"), values.pop("buffers", None)
    own_nodes = "buffers" not in request.options
    what = str(group[0]) if len(group) == 1 else f"{len(group)}-together"
    parts = [str(places[0].initiator), what, values["operation"], f"t{threads}"]
    parts += id_parts(IoPattern, values, "operation")
    parts += [*(["shared"] if shared else []), *([memory] if memory != "host" else [])]
    fields: dict[str, Any] = {
        "initiator": str(places[0].initiator),
        "target": str(group[0]),
        "sampling": {"sample_s": _SAMPLE_S, **sampling(request)},
        "jobs": [
            {
                "name": str(target) if len(group) > 1 else "",
                "cpus": [
                    place.cpus[i % len(place.cpus)]
                    for i in range(number * threads, (number + 1) * threads)
                ],
                "buffers": _buffers(
                    place, memory, place.node if own_nodes else node, values["backend"]
                ),
                "files": files(request, target, 1 if shared else threads),
                "shared": shared,
            }
            for number, (place, target) in enumerate(zip(places, group, strict=True))
        ],
        "pattern": values,
    }
    return spec_of(request, IoSpec, fields, parts)


def _buffers(place: Issuer, memory: str, node: int, backend: str) -> dict[str, Any]:
    if memory == "host" and (place.gpu is None or backend not in GPU_BACKENDS):
        return {"placement": {"policy": "bind", "nodes": [{"node": node}]}}
    return {"memory": memory, "gpu": place.gpu}


OPTIONS: tuple[Option, ...] = (
    options.FROM.but(
        help="Initiators: node:0, cpus:0-7,16 or gpu:0; near, far: CPUs of a node that the "
        "target's drives are local to, and of the farthest one"
    ),
    options.to_of(IoSpec, "the current directory").but(
        help="Targets: file:/data (a directory, where files are made and removed, or a file), "
        "dev:/dev/..."
    ),
    Option(
        "together",
        "LIST",
        "yes: all targets in one measurement, each with --threads threads, which begin at one "
        "barrier; no: one after another; no,yes: both",
        "no",
        essential=False,
    ),
    *options_of(IoPattern),
    Option(
        "blocks",
        "SHARES",
        "Block sizes with weights, in place of one: 4k:60,64k:30,1m:10",
        essential=False,
    ),
    options.THREADS.but(help="Number of threads, more than CPUs if you like", default="1"),
    options.PIN,
    Option("size", "SIZE", "Bytes of each file that is made", "1g over all threads"),
    Option(
        "files",
        "LIST",
        "own: one for each thread; shared: all threads use one",
        "own",
        essential=False,
    ),
    _HOSTS_FILE,
    *options_of(Buffers),
    Option(
        "buffers",
        "NODES",
        "Nodes that host buffers lie on: node:0 or node:*",
        "the CPUs' own",
        essential=False,
    ),
    Option(
        "overwrite", "", "Write to files that tierscope did not make", flag=True, essential=False
    ),
    Option(
        "destroy-data",
        "NAMES",
        "Writes may destroy a device: its name in /dev/disk/by-id, or its serial number; "
        "of several devices one each, in their order",
        essential=False,
    ),
    Option(
        "second-word",
        "WORD",
        "Confirm overwriting unrecognised data: destroy-unknown-data",
        essential=False,
    ),
    Option(
        "precondition",
        "LIST",
        "Before measuring with --destroy-data: purge (discard all blocks), fill (sequential writes "
        "of twice the capacity)",
        essential=False,
    ),
    Option(
        "write-saturation",
        "",
        "With --destroy-data: random writes of 4 KiB, or what is asked for, round by round until "
        "they are steady or --budget is spent (24h)",
        flag=True,
        essential=False,
    ),
    _ROUND,
    Option("keep", "", "Keep and reuse the files that were made", flag=True, essential=False),
    options.RATED,
    options.PRECISION,
    options.BUDGET,
    options.SAMPLE.but(default="50ms"),
)

REQUEST = RequestForm(
    options=OPTIONS,
    expand=expand,
    help="""\
Below a directory, files are made, filled, measured and removed; nothing else is written. Existing
files are opened read-only unless --overwrite. Figures of blocks below 512k are IOPS, of larger ones
bandwidth; each has the percentiles of its latency.""",
    examples=(
        "io --to file:/tmp --op read,write --order random --block-size 4k --depth 1..64*4",
        "io --to file:/tmp --backend posix,libaio,io_uring,mmap --direct no --size 64m",
        "io --to file:/tmp --rate 1000,5000 --arrivals regular,poisson --block-size 4k --size 64m",
        "io --to file:/tmp,file:/var/tmp --together no,yes --size 64m",
        "io --from gpu:0 --to file:/data --backend cufile,staged --require gpudirect",
        "io --from gpu:0 --to file:/data --cufile max_direct_io_size_kb=1024..16384*4",
        "io --to file:/mnt/shared --hosts-file one --op read,write",
        "io --to dev:/dev/nvme9n1 --destroy-data SERIAL --precondition fill --write-saturation",
    ),
)
