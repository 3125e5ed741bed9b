"""What a job asks for, once its values are checked against each other."""

import math
import os
import random
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tierscope.model.errors import UserError
from tierscope.model.io import SYNCHRONOUS
from tierscope.model.text import is_text
from tierscope.recipes.drop_in.given import Given, is_device
from tierscope.recipes.fio.engines import DEFAULT, ENGINES, Engine
from tierscope.recipes.fio.options import Section, parsed
from tierscope.recipes.fio.values import Blocks, Policy, Work

_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_SEED = 0x89
_FORMAT = "$jobname.$jobnum.$filenum"


@dataclass(frozen=True)
class Values:
    """A job's values by name; absent ones have their default."""

    given: dict[str, Given]
    place: str

    def of(self, name: str, default: Any = None) -> Any:
        """Return a value."""
        found = self.given.get(name)
        return default if found is None else found.value

    def where(self, name: str) -> str:
        """Return where a value stands; the job's place where it does not."""
        found = self.given.get(name)
        return self.place if found is None else found.place

    def fail(self, name: str, text: str) -> UserError:
        """Return an error that begins with the place of a value."""
        return UserError(f"{self.where(name)}: {text}")


@dataclass(frozen=True)
class FileNames:
    """The files of a job: one by its path, or those of each clone below a directory."""

    path: str
    """Absolute; empty: below the directory."""
    directory: str
    pattern: str
    """Of names below it: ``filename_format``."""
    count: int
    """Of each clone."""
    create: bool
    keep: bool

    @property
    def is_device(self) -> bool:
        """Whether the path is that of a device, by its name alone."""
        return is_device(self.path)


@dataclass(frozen=True)
class Timing:
    """When a job begins and ends; the same for all that run together."""

    seconds: float
    """Of time_based, and the longest time of others; 0: none."""
    time_based: bool
    ramp: float
    delay: float


@dataclass(frozen=True)
class Job:
    """One section of a job file, or one ``--name``."""

    name: str
    place: str
    own: dict[str, str]
    """Its own options as given."""
    values: Values
    clones: int
    work: Work
    reads_percent: int
    blocks: tuple[tuple[int, int], ...]
    engine: Engine
    backend: str
    depth: int
    direct: bool
    files: FileNames
    size: int | None
    """Bytes of data of a clone, over all its files; None: what the file has."""
    offset: int
    increment: int
    amount: int | None
    """Bytes that a clone moves; None: its size, ``loops`` times."""
    timing: Timing
    verify: bool
    rate: tuple[float, str] | None
    """Operations a second of a clone, and how they are spaced."""
    policy: Policy
    percentiles: tuple[float, ...]
    remarks: tuple[str, ...]

    @property
    def operation(self) -> str:
        """read, write or mix."""
        if self.work.operation == "mix" and self.reads_percent in (0, 100):
            return "read" if self.reads_percent else "write"
        return self.work.operation

    @property
    def writes(self) -> bool:
        """Whether anything is written."""
        return self.operation != "read"

    @property
    def largest(self) -> int:
        """Bytes of its largest operation."""
        return max(size for size, _weight in self.blocks)

    @property
    def file_bytes(self) -> int | None:
        """Bytes of data in each file."""
        return None if self.size is None else self.size // self.files.count

    @property
    def seed(self) -> int:
        """Of offsets; another one in each run where ``randrepeat`` is off."""
        if not self.values.of("randrepeat", True) and "randseed" not in self.values.given:
            return random.SystemRandom().getrandbits(60)
        return int(self.values.of("randseed", _SEED))


def job_of(section: Section) -> Job:
    """Check a section's values; UserError names the place of what does not fit."""
    given, remarks = parsed(section)
    values = Values(given, section.place)
    work = values.of("rw", Work("read", "read", False))
    engine = values.of("ioengine", ENGINES[DEFAULT])
    backend = _backend(values, engine)
    direct = _direct(values, backend)
    _check_submission(values, backend)
    blocks = _blocks(values, work)
    size = _size(values)
    said = [*remarks, *_remarks(values, engine, backend, work)]
    return Job(
        name=section.name,
        place=section.place,
        own={name: str(text.value) for name, text in section.own.items()},
        values=values,
        clones=values.of("numjobs", 1),
        work=work,
        reads_percent=_reads_percent(values),
        blocks=blocks,
        engine=engine,
        backend=backend,
        depth=1 if backend in SYNCHRONOUS else values.of("iodepth", 1),
        direct=direct,
        files=_files(values, section.name, work),
        size=size,
        offset=values.of("offset", 0),
        increment=values.of("offset_increment", 0),
        amount=_amount(values, blocks),
        timing=_timing(values),
        verify=values.of("verify", "0") not in ("0", "none"),
        rate=_rate(values, work, blocks),
        policy=values.of("numa_mem_policy", Policy("local", ())),
        percentiles=values.of("percentile_list", _PERCENTILES),
        remarks=tuple(said),
    )


def _backend(values: Values, engine: Engine) -> str:
    for name in ("gpu_dev_ids", "cuda_io"):
        if name in values.given and engine.name != "libcufile":
            raise values.fail(name, f"goes with ioengine=libcufile, and this is {engine.name}")
    for name in ("fixedbufs", "registerfiles", "sqthread_poll", "hipri"):
        if values.of(name) and engine.name != "io_uring":
            raise values.fail(name, f"goes with ioengine=io_uring, and this is {engine.name}")
    if values.of("fixedbufs", False) != values.of("registerfiles", False):
        raise values.fail(
            "fixedbufs" if values.of("fixedbufs") else "registerfiles",
            "buffers and files are registered together; give fixedbufs=1 and registerfiles=1",
        )
    if engine.name == "libcufile" and values.of("cuda_io", "cufile") == "posix":
        return "staged"
    return engine.backend


def _direct(values: Values, backend: str) -> bool:
    direct, buffered = values.given.get("direct"), values.given.get("buffered")
    if direct is not None and buffered is not None and direct.value == buffered.value:
        raise UserError(f"{buffered.place}: it contradicts {direct.place}")
    found = direct.value if direct is not None else not values.of("buffered", True)
    if backend == "mmap" and found:
        raise values.fail("direct", "ioengine=mmap goes through the page cache; leave it out")
    if backend == "cufile" and not found:
        raise values.fail("direct", "cuda_io=cufile goes past the page cache; give direct=1")
    if values.of("hipri") and not found:
        raise values.fail("hipri", "polling for completions needs direct=1")
    return bool(found)


def _blocks(values: Values, work: Work) -> tuple[tuple[int, int], ...]:
    given = [name for name in ("bssplit", "bsrange", "bs") if name in values.given]
    name = given[0] if given else "bs"
    found: Blocks = values.of(name, Blocks(((4096, 1),), ((4096, 1),)))
    if work.operation == "mix" and found.reads != found.writes:
        raise values.fail(name, "reads and writes of a mix have the same sizes; give one")
    blocks = found.writes if work.operation == "write" else found.reads
    smallest = reduce(math.gcd, (size for size, _weight in blocks))
    if smallest % 512:
        raise values.fail(name, "block sizes are multiples of 512 bytes")
    return blocks


def _reads_percent(values: Values) -> int:
    reads, writes = values.given.get("rwmixread"), values.given.get("rwmixwrite")
    if writes is None:
        return int(values.of("rwmixread", 50))
    if reads is not None and reads.value + writes.value != 100:
        raise UserError(f"{writes.place}: with {reads.place} it does not add up to 100")
    return int(100 - writes.value)


def _size(values: Values) -> int | None:
    count = values.of("nrfiles", 1)
    if "size" in values.given:
        size: int | None = values.of("size")
        each = values.of("filesize")
        if size is not None and each is not None and each * count < size:
            size = each * count
        return size
    return values.of("filesize") * count if "filesize" in values.given else None


def _amount(values: Values, blocks: tuple[tuple[int, int], ...]) -> int | None:
    loops = int(values.of("loops", 1))
    if "number_ios" in values.given:
        if len(blocks) > 1:
            raise values.fail("number_ios", "with several block sizes, give io_size in bytes")
        return int(values.of("number_ios")) * blocks[0][0] * loops
    found = values.of("io_size") or None
    return None if found is None else int(found) * loops


def _timing(values: Values) -> Timing:
    seconds, time_based = values.of("runtime", 0.0), values.of("time_based", False)
    if time_based and not seconds:
        raise values.fail("time_based", "needs a runtime")
    ramp = values.of("ramp_time", 0.0)
    if ramp and not time_based:
        raise values.fail("ramp_time", "goes with time_based=1 and runtime")
    if time_based and values.of("end_fsync"):
        raise values.fail("end_fsync", "goes with an amount (size, io_size), not with time_based")
    return Timing(seconds, time_based, ramp, values.of("startdelay", 0.0))


def _check_submission(values: Values, backend: str) -> None:
    if values.of("io_submit_mode") != "offload":
        return
    if backend in SYNCHRONOUS or not ("rate" in values.given or "rate_iops" in values.given):
        raise values.fail(
            "io_submit_mode", "a thread submits its own operations, at set times only with a rate "
            "and ioengine libaio or io_uring; leave it out",
        )  # fmt: skip


def _rate(
    values: Values, work: Work, blocks: tuple[tuple[int, int], ...]
) -> tuple[float, str] | None:
    name = "rate_iops" if "rate_iops" in values.given else "rate"
    if name not in values.given:
        return None
    reads, writes = values.of(name)
    if work.operation == "mix":
        raise values.fail(
            name, "in a mix it is one rate for reads and one for writes; give two jobs"
        )
    rate = float(writes if work.operation == "write" else reads)
    if not rate:
        return None
    if name == "rate":
        weights = sum(weight for _size, weight in blocks)
        rate /= sum(size * weight for size, weight in blocks) / weights
    return rate, "poisson" if values.of("rate_process") == "poisson" else "regular"


def _files(values: Values, name: str, work: Work) -> FileNames:
    count = values.of("nrfiles", 1)
    if values.of("openfiles", count) < count:
        raise values.fail("openfiles", f"all {count} files are open; leave it out")
    service = values.of("file_service_type", "roundrobin")
    fits = ("random", "roundrobin") if work.random else ("sequential",)
    if count > 1 and service not in fits:
        raise values.fail(
            "file_service_type" if "file_service_type" in values.given else "nrfiles",
            f"{'random' if work.random else 'sequential'} I/O over several files goes with "
            f"file_service_type={' or '.join(fits)}",
        )
    paths = values.of("filename", ())
    if len(paths) > 1 or (paths and count > 1):
        raise values.fail("filename", "a job has one file by name; give each file a job")
    directory = os.path.abspath(values.of("directory", "."))  # noqa: PTH100 - looks at no file
    path = os.path.normpath(os.path.join(directory, paths[0])) if paths else ""  # noqa: PTH118
    for text, where in ((path, "filename"), (directory, "directory")):
        if len(os.fsencode(text)) > 3800 or not is_text(text):
            raise values.fail(where, "the path is longer than 3800 bytes, or no text in UTF-8")
    files = FileNames(
        path=path,
        directory=directory,
        pattern=values.of("filename_format", _FORMAT).replace("$jobname", name),
        count=count,
        create=values.of("allow_file_create", True),
        keep=not values.of("unlink", False),
    )
    if files.is_device and work.operation != "read":
        raise values.fail(
            "filename", "writing to a device destroys what is on it; "
            "'tierscope io --destroy-data' does",
        )  # fmt: skip
    return files


def _remarks(values: Values, engine: Engine, backend: str, work: Work) -> list[str]:
    """Say what changes nothing, or is done in another way."""
    found = [f"ioengine={engine.name} {engine.remark}"] if engine.remark else []

    def nothing(name: str, why: str, when: bool) -> None:
        if when and values.of(name):
            found.append(f"{name}={values.of(name):g} changes nothing: {why}")

    with_depth = values.of("iodepth", 1) > 1
    nothing("iodepth", f"ioengine={engine.name} has one operation in flight",
            with_depth and backend in SYNCHRONOUS)  # fmt: skip
    for name in ("fsync", "fdatasync", "end_fsync", "refill_buffers"):
        nothing(name, "nothing is written", work.operation == "read")
    nothing("blockalign", "I/O is sequential", not work.random)
    if values.of("io_submit_mode") == "offload":
        found.append("io_submit_mode=offload: operations are due at set times in either mode")
    if values.of("verify", "0") not in ("0", "none"):
        found.append(f"verify={values.of('verify')}: blocks have tierscope's own checksum (XXH3)")
    if values.of("nrfiles", 1) > 1 and work.random:
        found.append(f"nrfiles={values.of('nrfiles')}: files are drawn at random, not in turn")
    return found
