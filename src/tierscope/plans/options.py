"""Options of requests, each written once.

Flags of the command line, keys of YAML plans, ``--help``, docs/cli.md and error messages come from
here. An option that several kinds take stands in this module; one that a single kind takes stands
in that kind's request. Values have the grammar of ``plans.grammar``.
"""

from dataclasses import dataclass, replace

from tierscope.model.spec import HUGETLB, Isa


@dataclass(frozen=True)
class Option:
    """One option of a request."""

    name: str
    """After ``--``, and the key in YAML plans: ``access-size``."""
    metavar: str
    """What kind of value it takes: ``SIZES``; empty where it is a flag."""
    help: str
    default: str = ""
    """What an absent option means, in words; empty where the help says so or nothing is meant."""
    flag: bool = False
    """A switch on the command line; yes or no in plans."""
    many: bool = False
    """It may be given again on the command line; its value has a line for each."""
    rest: bool = False
    """On the command line it is what stands behind ``--``, and no flag."""

    def but(self, *, help: str = "", default: str = "") -> "Option":  # noqa: A002 - the field's name
        """The same option with another help or default, of a kind where those differ."""
        return replace(self, help=help or self.help, default=default or self.default)


ISAS: tuple[str, ...] = Isa.__args__  # type: ignore[attr-defined]
PINS = ("cores", "one-a-core", "compact", "spread")
BASE_PAGES = {"4k": 4096, "64k": 65536}
"""Names of base pages by their bytes, on machines that have them."""
PAGE_KINDS = ("base", *BASE_PAGES, "thp", *HUGETLB)
POLICIES = ("bind", "preferred", "interleave", "weighted", "partition")
MECHANISMS = ("user", "kernel")
BACKINGS = ("file", "pool", "pool-objects")
PREFETCHER_STATES = ("on", "off")
CHASE_ORDERS = ("random", "page-random")
STREAM_ORDERS = ("sequential", "random", "zipf")

FROM = Option(
    "from",
    "ENDPOINTS",
    "Initiators: node:0, cpus:0-7,16 or node:*",
    "the first node with CPUs",
)
TO = Option(
    "to",
    "ENDPOINTS",
    "Targets: node:1, node:0,2@3:1 (interleaved by weight), node:0,2@1..4:1, node:*; "
    "pmem:DIR, pmem:node:0, dax:/dev/dax0.0",
    "the initiator's node",
)
SIZE = Option("size", "SIZES", "Bytes of the working set, as in 64k..1g", "past the caches")
PAGES = Option(
    "pages",
    "LIST",
    "base (or 4k, 64k), thp, 2m, 512m, 1g",
    "thp where the kernel offers it, else base",
)
RATED = Option(
    "rated",
    "FILE",
    "What data sheets promise of drive models, which figures are compared with, too",
)
STRIDE = Option("stride", "SIZES", "Bytes from one access to the next, a multiple of 64", "256")
POLICY = Option(
    "policy",
    "LIST",
    ", ".join(POLICIES),
    "bind; interleave for several nodes, weighted if they have weights",
)
MECHANISM = Option("mechanism", "LIST", "Placed by: user (the engine), kernel (its policy)", "user")
BACKING = Option(
    "backing",
    "LIST",
    "What holds the data of pmem:DIR: file, pool (libpmemobj), pool-objects (ids translated for "
    "each element)",
    "file",
)
BACKED_BY = Option(
    "backed-by", "WHAT", "What keeps the memory when power is lost, by your word: battery"
)
PRECISION = Option(
    "precision", "SHARE", "Half-width of the 95% confidence interval to reach, at most 50%", "1%"
)
BUDGET = Option(
    "budget", "TIME", "Longest time of each measurement, as in 500ms, at most 24h", "2s"
)
SAMPLE = Option("sample", "TIME", "Length of one sample, at most 60s", "10ms")
PIN = Option(
    "pin",
    "HOW",
    "Order: cores (siblings last), one-a-core, compact, spread (over sockets, nodes, L3 caches)",
    "cores",
)
THREADS = Option("threads", "COUNTS", "Number of threads, as in 1..8 or 1..all*2", "all")
ISA = Option("isa", "LIST", ", ".join(ISAS), "auto")
ACCESS_SIZE = Option(
    "access-size", "SIZES", "Bytes that one access touches contiguously, a multiple of 64", "64"
)
CHASE_ORDER = Option(
    "order", "LIST", "random; page-random separates TLB misses from cache misses", "random"
)
MIX = Option("mix", "LIST", "Reads:writes: 67:33, 2:1; 50:50nt has non-temporal stores", "100:0")

PREFETCHERS = Option(
    "prefetchers",
    "LIST",
    "Hardware prefetchers of the CPUs that measure: on, off (needs root, restored afterwards)",
    "as they are",
)

PLACEMENT = (POLICY, MECHANISM)
DAX_OFFSET = Option("dax-offset", "SIZE", "Of dax: targets: touch nothing before it", "0")
DESTROY_DAX = Option(
    "destroy-data",
    "NAME",
    "Overwrite the device of dax: targets: its name (dax0.0) or its namespace's UUID",
)
PERSISTENT = (BACKING, BACKED_BY, DAX_OFFSET, DESTROY_DAX)
"""Of targets on persistent memory."""
SAMPLING = (PRECISION, BUDGET, SAMPLE)
"""When a measurement is precise enough."""

GPU_FROM = Option("from", "GPUS", "gpu:0 or gpu:*", "gpu:*")
ENGINE = Option("engine", "LIST", "ce (copy engine), sm (kernel), tma (bulk copy unit)", "ce")
HOST_MEMORY = Option(
    "memory",
    "LIST",
    "Host memory: pinned, write-combined, registered, pageable, managed, managed-prefetch, "
    "managed-advised",
    "pinned",
)
HOST_PAGES = Option(
    "pages", "LIST", "Pages of pageable and registered host memory: base, thp, 2m, 512m, 1g", "base"
)
COPY_SIZE = Option("size", "SIZES", "Bytes of one copy, as in 4..4g*4", "512m")
TRACE = Option("trace", "", "Show where the time went: calls, copies, kernels (CUPTI)", flag=True)
GPU_SAMPLING = (PRECISION, BUDGET.but(default="1s"), SAMPLE)
