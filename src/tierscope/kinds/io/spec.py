"""The spec of input and output: reads and writes of files and block devices."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.kinds.io.common import SLOWEST_FILL_BYTES_PER_S, in_fleet, is_common
from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind, format_ranges
from tierscope.model.fleet import FleetPlace
from tierscope.model.io import GPU_BACKENDS, Buffers, DeviceFiles, Files, IoPattern
from tierscope.model.spec import Cpus, MeasurementSpec, Region
from tierscope.model.storage import Access
from tierscope.model.time_series import TimeSeries

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache

PAGE = 4096
"""Buffers are multiples of it."""
_SLOWEST_OPERATIONS_PER_S = 25.0
"""Storage that is slower is taken for a hang; a hard disk does 50 in random order."""
_SLOWEST_PURGE_S = 3600.0
BANDWIDTH_FROM = 512 << 10
"""Block size from which on the headline is bandwidth; IOPS below it."""


class IoJob(Model):
    """Threads that go over the same files, with buffers in the same memory."""

    name: Annotated[str, Field(max_length=4200)] = ""
    """The part that its figures are of, where there are several jobs."""
    cpus: Cpus
    """One a thread; a CPU may come several times."""
    buffers: Buffers
    files: Files
    shared: bool = False
    """All threads go over all files; else each thread has its own, or its share of one."""
    pattern: IoPattern | None = None
    """What its threads read and write, where that is not the measurement's pattern."""

    @property
    def target(self) -> str:
        """Its files or device, as an endpoint."""
        return f"{'dev' if isinstance(self.files, DeviceFiles) else 'file'}:{self.files.where}"

    @model_validator(mode="after")
    def _check(self) -> "IoJob":
        files = self.files
        if isinstance(files, DeviceFiles) or self.shared:
            return self
        if files.count not in (1, len(self.cpus)):
            raise ValueError("there is one file, or one for each thread, unless they are shared")
        return self


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
        "memory": str,
        "size": int,
        "jobs": int,
        "together": str,
        "shared": bool,
        "file": str,
        "beside": str,
        "preconditioning": bool,
        "write_saturation": bool,
        "purged": bool,
    }

    kind: Literal["io"] = "io"
    jobs: Annotated[list[IoJob], Field(min_length=1, max_length=256)]
    pattern: IoPattern
    series: TimeSeries | None = None
    """Preconditioning (until written) or the write-saturation curve (until steady) of a device."""

    @model_validator(mode="after")
    def _check(self) -> "IoSpec":
        names = [job.name for job in self.jobs]
        if len(set(names)) != len(names):
            raise ValueError("two jobs have the same name")
        for job, pattern in self.worked():
            self._check_together(pattern)
            _check_job(job, pattern)
            self._check_series(job.files, pattern)
        return self

    def _check_series(self, files: Files, pattern: IoPattern) -> None:
        device = files if isinstance(files, DeviceFiles) else None
        destroys = device is not None and device.destroy and pattern.operation != "read"
        if self.series and not destroys:
            raise ValueError("a series writes to devices whose data may be destroyed")
        if device is not None and device.purge and not self.series:
            raise ValueError("purge goes with a series")

    def _check_together(self, pattern: IoPattern) -> None:
        """Check what patterns that run together have in common with the measurement's."""
        common = self.pattern
        if (pattern.amount is None) != (common.amount is None):
            raise ValueError("all patterns have an amount, or none has")
        same = ("time_limit_s", "ramp_s", "require")
        if any((getattr(pattern, name) or 0) != (getattr(common, name) or 0) for name in same):
            raise ValueError(f"{', '.join(same)} are the same in all patterns")
        on_gpu = {pattern.backend, common.backend} & {*GPU_BACKENDS}
        if on_gpu and pattern.backend != common.backend:
            raise ValueError("the backend of GPUs is the same in all patterns")

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
    def one_visit(self) -> bool:
        """As ``ramp_s`` says."""
        return self.pattern.ramp_s is not None

    def cufile_setting(self) -> str:
        """As the pattern says."""
        return self.pattern.cufile or ""

    def headline(self) -> str:
        """IOPS of small blocks, bandwidth of large ones."""
        largest = max(size for pattern in self.patterns for size in pattern.sizes)
        return "bandwidth" if largest >= BANDWIDTH_FROM else "iops"

    def thread_cpus(self) -> list[int]:
        """One thread a CPU, all jobs'."""
        return [cpu for job in self.jobs for cpu in job.cpus]

    def regions(self) -> list[Region]:
        """The buffers that lie in host memory."""
        return [
            Region(job.buffers.placement, "base", _buffer_bytes(pattern), len(job.cpus))
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
        """What it reads or writes."""
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
            "threads": len(self.thread_cpus()),
            "memory": ", ".join(memories),
            **({"size": first_job.files.size} if first_job.files.size else {}),
            **({"jobs": len(self.jobs)} if len(self.jobs) > 1 else {}),
            **({"together": ", ".join(together)} if together else {}),
            **({"shared": True} if first_job.shared else {}),
            **({"file": "one"} if is_common(first_job.files) else {}),
            **self._series_identity(),
        }

    def _series_identity(self) -> dict[str, bool]:
        if self.series is None:
            return {}
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
        """What issues the operations of a job, as an endpoint."""
        if job.buffers.gpu is not None:
            return f"gpu:{job.buffers.gpu}"
        if job.buffers.name == self.jobs[0].buffers.name:
            return self.initiator
        return f"cpus:{format_ranges(tuple(sorted(set(job.cpus))))}"

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Whether the page cache takes part, so that its figure is not the drive's."""
        return not all(pattern.direct for pattern in self.patterns)

    def limit(self, paths: "Paths") -> "Limit | None":
        """What links and data sheets of the drives allow; none of the page cache, and none of
        several patterns at once."""
        pattern = self.patterns[0]
        if len(self.patterns) > 1:
            return None
        reads = {"read": 1.0, "write": 0.0}.get(
            pattern.operation, (pattern.read_percent or 0) / 100
        )
        access = Access(
            read_share=reads,
            random=pattern.order != "sequential",
            direct=pattern.direct,
            block_bytes=pattern.block_size,
            counts_operations=max(pattern.sizes) < BANDWIDTH_FROM,
            through_host=pattern.backend.startswith("staged"),
        )
        ways = [(self._initiator_of(job), job.target) for job in self.jobs]
        return paths.storage_limit(ways, access)

    def set_up_s(self) -> float:
        """Seconds for making files, and for an amount that a visit moves whatever its time."""
        filled = sum(job.files.most_bytes for job in self.jobs) / SLOWEST_FILL_BYTES_PER_S
        operations = sum(
            (pattern.amount or 0) / min(pattern.sizes) * len(job.cpus)
            for job, pattern in self.worked()
        )
        longest = min(operations / _SLOWEST_OPERATIONS_PER_S, self.pattern.time_limit_s or math.inf)
        purged = _SLOWEST_PURGE_S if self._purges() else 0.0
        return super().set_up_s() + filled + longest + (self.pattern.ramp_s or 0.0) + purged


def _check_job(job: IoJob, pattern: IoPattern) -> None:
    on_gpu = pattern.backend in GPU_BACKENDS
    if not on_gpu and pattern.require not in (None, "odirect"):
        raise ValueError(f"require {pattern.require} is a way to a GPU")
    if not on_gpu and pattern.require == "odirect" and not pattern.direct:
        raise ValueError("require odirect needs direct I/O")
    if on_gpu != (job.buffers.gpu is not None):
        with_gpu = "needs" if on_gpu else "takes no"
        raise ValueError(f"backend {pattern.backend} {with_gpu} GPU in its buffers")
    if pattern.backend == "staged-managed" and job.buffers.memory != "managed":
        raise ValueError("backend staged-managed needs memory managed")
    files = job.files
    if isinstance(files, DeviceFiles) and pattern.operation != "read" and not files.destroy:
        raise ValueError(
            f"writing to {files.device} destroys its data: name it in destroy (--destroy-data)"
        )


def _buffer_bytes(pattern: IoPattern) -> int:
    """Bytes of the buffers of a thread."""
    buffer = -(-max(pattern.sizes) // PAGE) * PAGE
    return buffer * pattern.depth * (2 if pattern.operation == "mix" else 1)


def _said(pattern: IoPattern) -> dict[str, Any]:
    """Return what identities say of a pattern: flat, without what is usual."""
    found = pattern.model_dump(mode="json", exclude_none=True, exclude={"blocks"})
    for name, usual in _UNSAID.items():
        if found.get(name) == usual:
            del found[name]
    if pattern.blocks:
        found["blocks"] = ",".join(f"{b.bytes}:{b.weight}" for b in pattern.blocks)
    return found


def _differences(first: dict[str, Any], other: dict[str, Any]) -> str:
    """Return how a further pattern differs from the first one: "operation=write depth=4"."""
    changed = [f"{name}={value}" for name, value in other.items() if first.get(name) != value]
    return " ".join([*changed, *(f"no-{name}" for name in first if name not in other)])


_UNSAID: dict[str, object] = {
    "misalign": 0,
    "offset": 0,
    "fsync": 0,
    "fdatasync": 0,
    "end_fsync": False,
    "registered": False,
    "sqpoll": False,
    "iopoll": False,
    "refill": False,
    "compressible": 0,
    "verify": False,
    "seed": 1,
    "ramp_s": 0.0,
}
"""Values that identities leave out, so that they stay readable."""

SPEC = IoSpec
