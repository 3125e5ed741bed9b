"""gdsio's flags, the keys of its job files, and its transfer and memory types."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tierscope.model.errors import UserError
from tierscope.model.io import LEAST_BLOCK, MOST_BLOCK, MOST_SIZES
from tierscope.peers.drop_in import Given, Values, errors_at, path, whole
from tierscope.plans.grammar import format_size, parse_choice, parse_size

RW = ("read", "write", "randread", "randwrite")
"""Operations by the number of ``-I``."""
MEMORIES = ("device", "vmm", "pinned", "plain", "plain")
"""``-m`` 0 to 4. malloc gets buffers of this size from mmap, so that 3 and 4 are the same."""
HOST_MEMORIES = (2, 3, 4)


@dataclass(frozen=True)
class Transfer:
    """One transfer type."""

    word: str
    """In the result line."""
    name: str
    """Description for help."""
    backend: str
    gpu: bool = True
    direct: bool = True

    @property
    def cufile(self) -> bool:
        """Whether data goes through cuFile."""
        return self.backend.startswith("cufile")

    @property
    def in_batches(self) -> bool:
        """Whether several operations are submitted at once."""
        return "batch" in self.backend


TRANSFERS: tuple[Transfer, ...] = (
    Transfer("GPUD", "storage to GPU by cuFile", "cufile"),
    Transfer("CPUONLY", "storage to host memory", "posix", gpu=False),
    Transfer("CPU_GPU", "storage to host memory to GPU", "staged"),
    Transfer("CPU_ASYNC_GPU", "storage to managed memory, prefetched to the GPU", "staged-managed"),
    Transfer("CPU_CACHED_GPU", "storage to page cache to host memory to GPU", "staged",
        direct=False),
    Transfer("GPUD_ASYNC", "storage to GPU by cuFile on a stream", "cufile-stream"),
    Transfer("GPU_BATCH", "storage to GPU by cuFile's batches", "cufile-batch"),
    Transfer("GPU_BATCH_STREAM", "storage to GPU by cuFile's batches on a stream",
        "cufile-batch-stream"),
)  # fmt: skip
"""Transfer types by the number of ``-x``."""


@dataclass(frozen=True)
class Sizes:
    """The I/O sizes of ``1M`` or ``min:max:step``, in bytes, ascending."""

    values: tuple[int, ...]
    step: int = 0
    """Bytes between two of them, as given; 0 of a single size."""


@dataclass
class JobValues:
    """Values of one job."""

    name: str
    place: str
    values: Values = field(default_factory=Values)


@dataclass
class Request:
    """A whole command line or job file."""

    values: Values
    jobs: list[JobValues]


def switch(text: str) -> bool:
    """Parse ``0`` or ``1``."""
    return bool(whole(0, 1)(text))


def io_sizes(text: str) -> Sizes:
    """Parse ``1M`` or ``1M:4M:1M`` (smallest, largest, step); at most 64 sizes."""
    words = text.split(":")
    if len(words) == 1:
        return Sizes((_block(text),))
    if len(words) != 3:
        raise UserError(f"'{text}' is neither a size such as 1M nor MIN:MAX:STEP")
    first, last, step = _block(words[0]), _block(words[1]), parse_size(words[2])
    if step < LEAST_BLOCK or last < first:
        raise UserError(
            f"'{text}': MIN:MAX:STEP goes up from MIN to MAX by a STEP of at least {LEAST_BLOCK}"
        )
    count = (last - first) // step + 1
    if count > MOST_SIZES:
        raise UserError(
            f"'{text}' has {count} sizes; at most {MOST_SIZES}, so make the step larger"
        )
    return Sizes(tuple(range(first, last + 1, step)), step)


def _size(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of bytes from low to high."""

    def parse(text: str) -> int:
        size = parse_size(text)
        if not low <= size <= high:
            raise UserError(f"'{text}' is not from {format_size(low)} to {format_size(high)}")
        return size

    return parse


_block = _size(LEAST_BLOCK, MOST_BLOCK)


def rw(text: str) -> int:
    """Parse a word of job files into the number that ``-I`` takes."""
    return RW.index(parse_choice(text, RW))


@dataclass(frozen=True)
class Option:
    """One option or key; ``parse`` converts its text."""

    name: str
    flag: str
    """Its letter on the command line; empty: job files only."""
    key: str
    """Its name in job files; empty: the command line only."""
    metavar: str
    """Placeholder of its value in help; empty: a flag without a value, ``0|1`` in job files."""
    what: str
    """One line for help."""
    parse: Callable[[str], Any] = switch
    of_job: bool = False
    """It belongs to one ``-f`` or ``-D``, or to a ``[job]`` section."""
    job_overrides: bool = False
    """In job files it may stand in ``[global]`` and in a job, whose value counts."""
    default: str = ""
    """As it would be given; empty: none, or 0 for a flag."""

    @property
    def help(self) -> str:
        """One line with the default."""
        return f"{self.what} (default: {self.default})" if self.default else self.what

    def default_value(self) -> Any:
        """Return the parsed default; False for a flag, None without a default."""
        if self.default:
            return self.parse(self.default)
        return None if self.metavar else False


OPTIONS: tuple[Option, ...] = (
    Option("file", "f", "filename", "FILE", "a file that its threads share", path, True),
    Option("directory", "D", "directory", "DIR",
        "files gdsio.0 to gdsio.N-1, one per thread; excludes -f", path, True),
    Option("gpu", "d", "gpu_dev_id", "GPU", "number of the GPU, as in nvidia-smi",
        whole(0, 1023), True, default="0"),
    Option("node", "n", "numa_node", "NODE",
        "NUMA node of threads and host memory (default: the GPU's)", whole(0, 1023), True),
    Option("memory", "m", "", "0..4", "0 cudaMalloc, 1 cuMem, 2 cudaMallocHost, 3 malloc, 4 mmap; "
        "2 to 4 with -x 0, 5, 6, 7", whole(0, 4), True, default="0"),
    Option("threads", "w", "num_threads", "N", "threads", whole(1, 4096), True, default="1"),
    Option("size", "s", "size", "SIZE", "size of each file, in K, M or G (default for reads: the "
        "file's own)", _size(4096, 1 << 50), job_overrides=True),
    Option("offset", "o", "start_offset", "SIZE", "start of the data in each file",
        parse_size, job_overrides=True, default="0"),
    Option("blocks", "i", "bs", "SIZE", "I/O size, or MIN:MAX:STEP", io_sizes, default="1M"),
    Option("transfer", "x", "xfer_type", "0..7", "transfer type; see below",
        whole(0, 7), default="0"),
    Option("operation", "I", "", "0..3",
        ", ".join(f"{number} {word}" for number, word in enumerate(RW)), whole(0, 3), default="0"),
    Option("operation", "", "rw", "WORD", ", ".join(RW), rw, default=RW[0]),
    Option("seconds", "T", "runtime", "SECONDS", "measuring time; 0: until all data was "
        "accessed once", whole(0, 86400), default="0"),
    Option("seed", "k", "random_seed", "N", "seed of random offsets", whole(0, (1 << 63) - 1),
        default="1"),
    Option("unaligned", "U", "unaligned_random", "", "random offsets at multiples of 512 bytes"),
    Option("align", "a", "", "SIZE", "random offsets are multiples of it (default: the I/O size)",
        _block),
    Option("fill", "R", "fill_random", "", "fill buffers with random data; always so"),
    Option("refill", "F", "refill_buffer", "", "new data for each write"),
    Option("unregistered", "b", "skip_bufregister", "", "do not register buffers with cuFile"),
    Option("nvlinks", "p", "enable_nvlinks", "", "refused: cuFile chooses by itself"),
    Option("verify", "V", "do_verify", "", "check all data; writes are read back afterwards"),
    Option("batch", "B", "", "N", "I/Os in flight with -x 6 and 7 (default: -w, by one thread)",
        whole(1, 4096)),
    Option("mix", "M", "", "PERCENT", "share of reads; the rest are writes", whole(1, 99)),
    Option("per_job", "J", "", "", "also print a line for each job"),
    Option("buffered", "O", "", "0|1", "0 O_DIRECT, 1 through the page cache", default="0"),
    Option("rdma_url", "P", "rdma_url", "URL", "refused: needs a server of NVIDIA's own protocol",
        str, True),
    Option("name", "", "name", "TEXT", "name of the whole job file", str),
)  # fmt: skip
"""In the order in which help lists the flags."""

BY_FLAG = {option.flag: option for option in OPTIONS if option.flag}
BY_KEY = {option.key: option for option in OPTIONS if option.key}
_DEFAULTS = {option.name: option.default_value() for option in OPTIONS}


def parsed(option: Option, text: str, place: str) -> Given:
    """Parse the text of a value; errors begin with its place."""
    with errors_at(place):
        return Given(option.parse(text), place)


def value_of(values: Values, name: str) -> Any:
    """Return a value, or the default of its option."""
    return values.of(name, _DEFAULTS[name])
