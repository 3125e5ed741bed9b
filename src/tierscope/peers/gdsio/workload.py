"""The workload of a command line or job file, its values checked against each other."""

from dataclasses import dataclass, replace
from typing import Any

from tierscope.model.errors import UserError
from tierscope.peers.drop_in import Given, Values, absolute, is_device, refuse_device
from tierscope.peers.gdsio.options import (
    HOST_MEMORIES,
    RW,
    TRANSFERS,
    JobValues,
    Request,
    Sizes,
    Transfer,
    value_of,
)


@dataclass(frozen=True)
class Job:
    """Threads that go over one directory's files, or share one file."""

    name: str
    place: str
    path: str
    is_directory: bool
    gpu: int
    node: int | None
    threads: int
    memory: int
    size: int | None
    """Bytes of data in each file; None: as many as the file has."""
    foreign: bool = False
    """The directory's files are there, and tierscope did not make them."""

    @property
    def is_device(self) -> bool:
        """Whether the path is a device, by its name alone."""
        return is_device(self.path)

    @property
    def data_bytes(self) -> int | None:
        """Bytes of all its files; None where the size of the file decides."""
        files = self.threads if self.is_directory else 1
        return None if self.size is None else files * self.size


@dataclass(frozen=True)
class Workload:
    """A whole request."""

    jobs: tuple[Job, ...]
    transfer_number: int
    operation: int
    """0 read, 1 write, 2 randread, 3 randwrite."""
    sizes: Sizes
    seconds: int
    """0: until every thread went over its data once."""
    offset: int
    seed: int
    align: int | None
    refill: bool
    registered: bool
    verify: bool
    batch: int | None
    mix: int | None
    """Percent of reads; None: all reads, or all writes."""
    per_job: bool
    buffered: bool
    remarks: tuple[str, ...] = ()
    """Options without effect, with reasons."""

    @property
    def transfer(self) -> Transfer:
        """Its transfer type."""
        return TRANSFERS[self.transfer_number]

    @property
    def writes(self) -> bool:
        """Whether anything is written."""
        return self.operation in (1, 3) or self.mix is not None

    @property
    def random(self) -> bool:
        """Whether offsets are random."""
        return self.operation in (2, 3)

    @property
    def word(self) -> str:
        """Name of the operation in the result line."""
        return "MIXED" if self.mix is not None else RW[self.operation].upper()

    @property
    def one_thread_each(self) -> bool:
        """Whether ``-w`` is the queue depth of one thread per job, as in batches without ``-B``."""
        return self.transfer.in_batches and self.batch is None

    @property
    def depth(self) -> int:
        """Operations of each thread in flight."""
        return (self.batch or self.jobs[0].threads) if self.transfer.in_batches else 1

    def threads(self, job: Job) -> int:
        """Threads that a job has."""
        return 1 if self.one_thread_each else job.threads


def workload(request: Request) -> Workload:
    """Check what was given; UserError names the flag or file, line and key that does not fit."""

    def of(name: str) -> Any:
        return value_of(request.values, name)

    number: int = of("transfer")
    transfer = TRANSFERS[number]
    _refuse(request, number)
    jobs = [replace(job, values=Values(request.values | job.values)) for job in request.jobs]
    made = Workload(
        jobs=tuple(_job(one, number) for one in jobs),
        transfer_number=number,
        operation=of("operation"),
        sizes=of("blocks"),
        seconds=of("seconds"),
        offset=_offset(jobs),
        seed=of("seed"),
        align=512 if of("unaligned") else of("align"),
        refill=of("refill"),
        registered=transfer.cufile and not of("unregistered"),
        verify=of("verify"),
        batch=of("batch"),
        mix=of("mix"),
        per_job=of("per_job"),
        buffered=of("buffered") or not transfer.direct,
    )
    _check_jobs(made)
    return replace(made, remarks=_remarks(request.values, made))


def _refuse(request: Request, transfer: int) -> None:
    """Raise UserError for options that tierscope cannot honour."""
    values = request.values
    nvlinks = values.get("nvlinks")
    if nvlinks is not None and nvlinks.value:
        raise UserError(
            f"{nvlinks.place}: cuFile decides by itself whether data crosses NVLink, and tierscope "
            "does not steer it; leave it out"
        )
    for job in request.jobs:
        url = job.values.get("rdma_url")
        if url is not None:
            raise UserError(
                f"{url.place}: rdma_url needs NVIDIA's own client and server, which "
                "are not public; mount the storage and name a file or directory"
            )
    unaligned, align = values.get("unaligned"), values.get("align")
    if unaligned is not None and unaligned.value and align is not None:
        raise UserError(f"{unaligned.place} and {align.place} contradict each other; give one")
    batch = values.get("batch")
    if batch is not None and not TRANSFERS[transfer].in_batches:
        raise UserError(f"{batch.place}: batches go with -x 6 or -x 7, and -x is {transfer}")


def _job(given: JobValues, transfer: int) -> Job:
    own = given.values
    file, directory = own.get("file"), own.get("directory")
    if file is not None and directory is not None:
        raise UserError(f"{directory.place}: {file.place} names a file already; give one of them")
    target = file or directory
    if target is None:
        raise UserError(f"{given.place}: [{given.name}] has neither filename nor directory")
    memory = own.get("memory")
    if memory is not None:
        _check_memory(memory, transfer)
    return Job(
        name=given.name,
        place=given.place,
        path=absolute(target.value, target.place),
        is_directory=directory is not None,
        gpu=value_of(own, "gpu"),
        node=value_of(own, "node"),
        threads=value_of(own, "threads"),
        memory=value_of(own, "memory"),
        size=value_of(own, "size"),
    )


def _check_memory(memory: Given, transfer: int) -> None:
    number = memory.value
    if number in HOST_MEMORIES and not TRANSFERS[transfer].cufile:
        raise UserError(
            f"{memory.place}: host memory (2, 3, 4) goes with -x 0, 5, 6 and 7; -x is {transfer}"
        )
    if number and not TRANSFERS[transfer].gpu:
        raise UserError(f"{memory.place}: with -x {transfer} no GPU's memory is used; leave it out")
    if number and TRANSFERS[transfer].backend == "staged-managed":
        raise UserError(f"{memory.place}: -x {transfer} always uses managed memory; leave it out")


def _offset(jobs: list[JobValues]) -> int:
    """Return the start of the data in each file, which all jobs share."""
    offsets: set[int] = {value_of(job.values, "offset") for job in jobs}
    if len(offsets) > 1:
        given = next(job.values["offset"] for job in jobs if "offset" in job.values)
        raise UserError(f"{given.place}: all jobs have to have the same value")
    return offsets.pop()


def _remarks(values: Values, made: Workload) -> tuple[str, ...]:
    """Return remarks on options without effect."""
    why = {
        "fill": "buffers are always filled with random data",
        "unaligned": "" if made.random else "I/O is sequential",
        "align": "" if made.random else "I/O is sequential",
        "refill": "" if made.writes else "nothing is written",
        "unregistered": ""
        if made.transfer.cufile
        else f"-x {made.transfer_number} does not go through cuFile",
    }
    given = ((values[name], said) for name, said in why.items() if said and name in values)
    return tuple(f"{one.place} changes nothing: {said}" for one, said in given if one.value)


def _check_jobs(made: Workload) -> None:
    """Check what several values decide together."""
    odd = [size for size in (*made.sizes.values, made.offset) if size % 512]
    if odd and not made.buffered:
        raise UserError(
            f"with O_DIRECT, I/O sizes and start offset are multiples of 512 bytes; {odd[0]} is "
            "not; -O 1 goes through the page cache"
        )
    if made.one_thread_each and len({job.threads for job in made.jobs}) > 1:
        raise UserError(
            "with -x 6 and 7 and without -B, -w is the number of I/Os in flight, which all jobs "
            "share; give all the same"
        )
    for job in made.jobs:
        _check_target(made, job)
    paths = [job.path for job in made.jobs]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if made.writes and twice:
        raise UserError(f"two jobs write to {twice}; give each its own file or directory")


def _check_target(made: Workload, job: Job) -> None:
    if made.writes and job.is_device:
        raise refuse_device(job.path, job.place)
    if job.is_device and job.is_directory:
        raise UserError(f"{job.place}: '{job.path}' is below /dev; name a directory for files")
    if job.size is None and made.writes:
        raise UserError(f"{job.place}: writing needs the size of the files; give -s (size)")


def check_amounts(made: Workload) -> None:
    """Raise UserError where the jobs' data does not suit their I/O, once all sizes are known."""
    largest = max(made.sizes.values)
    for job in made.jobs:
        share = amount(made, job)
        if job.size is not None and share < largest:
            raise UserError(
                f"{job.place}: each thread has {share} bytes of data, less than one I/O of "
                f"{largest}; make -s (size) larger or -i (bs) smaller"
            )
    if not made.seconds and len({amount(made, job) for job in made.jobs}) > 1:
        raise UserError(
            "without -T (runtime) all threads move the same number of bytes, and these jobs have "
            "data of several sizes; give -T"
        )


def amount(made: Workload, job: Job) -> int:
    """Bytes of data that belong to each of a job's threads: a file, or its share of one."""
    size = job.size or 0
    if made.one_thread_each:
        return size * (job.threads if job.is_directory else 1)
    return size if job.is_directory else size // job.threads
