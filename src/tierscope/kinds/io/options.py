"""Options of requests for input and output."""

from tierscope.model.io import Backend
from tierscope.plans import options
from tierscope.plans.options import Option

BACKENDS: tuple[str, ...] = Backend.__args__  # type: ignore[attr-defined]
OPERATIONS = ("read", "write", "mix")
ORDERS = ("sequential", "random", "zipf")
MEMORIES = ("host", "device", "vmm", "pinned", "plain", "managed")
WAYS = ("p2p", "nvfs", "gpudirect", "odirect")
CACHE_STATES = ("as-found", "warm", "cold")
PRECONDITIONINGS = ("purge", "fill")
ARRIVALS = ("regular", "poisson")

TO = Option(
    "to",
    "ENDPOINTS",
    "Targets: file:/data (a directory, where files are made and removed, or a file), dev:/dev/...",
    "the current directory",
)
TOGETHER = Option(
    "together",
    "LIST",
    "yes: all targets in one measurement, each with --threads threads, which begin at one gate; "
    "no: one after another; no,yes: both",
    "no",
)
SAMPLE = options.SAMPLE.but(default="50ms")

OPTIONS: tuple[Option, ...] = (
    options.FROM.but(
        help="Initiators: node:0, cpus:0-7,16 or gpu:0; near, far: CPUs of a node that the "
        "target's drives are local to, and of the farthest one"
    ),
    TO,
    TOGETHER,
    Option("op", "LIST", ", ".join(OPERATIONS), "read"),
    Option("read-percent", "COUNTS", "Reads among the operations of mix, 1 to 99", "70"),
    Option("order", "LIST", ", ".join(ORDERS), "sequential"),
    Option("zipf", "NUMBER", "Exponent of order zipf", "1.1"),
    Option("block-size", "SIZES", "Bytes of one operation, as in 4k..16m*4", "1m"),
    Option("blocks", "SHARES", "Block sizes with weights, in place of one: 4k:60,64k:30,1m:10"),
    Option("backend", "LIST", ", ".join(BACKENDS), "io_uring; of GPUs, cufile"),
    Option("direct", "LIST", "yes: past the page cache (O_DIRECT); no: through it", "yes"),
    Option(
        "cache",
        "LIST",
        "Page cache when a visit begins: warm (what memory has room for), cold (of files that "
        "tierscope made), as-found",
        "cold where direct, else warm",
    ),
    Option("depth", "COUNTS", "Operations of each thread in flight, as in 1..256*2", "1"),
    options.THREADS.but(help="Number of threads, more than CPUs if you like", default="1"),
    options.PIN,
    Option("batch", "COUNT", "Most operations of one system call", "as many as are free"),
    Option("size", "SIZE", "Bytes of each file that is made", "1g over all threads"),
    Option("files", "LIST", "own: one for each thread; shared: all threads use one", "own"),
    Option(
        "file",
        "WORD",
        "Of several hosts (fleet run): each: files of its own for each host; one: a file that all "
        "of them use, each writing a region of its own",
        "each",
    ),
    Option("offset", "SIZE", "Where the part of each file begins that is used", "0"),
    Option("range", "SIZE", "Bytes of each file that are used", "up to its end"),
    Option("align", "SIZE", "Offsets are multiples of it", "the block size"),
    Option("misalign", "SIZE", "Bytes added to every offset", "0"),
    Option("memory", "LIST", "Of buffers: host, or of a GPU: " + ", ".join(MEMORIES[1:]), "host"),
    Option("buffers", "NODES", "Nodes that host buffers lie on: node:0 or node:*", "the CPUs' own"),
    Option("registered", "LIST", "yes: buffers and files are registered beforehand", "no"),
    Option("sqpoll", "", "io_uring: a kernel thread takes submissions", flag=True),
    Option("iopoll", "", "io_uring: poll for completions, without interrupts", flag=True),
    Option("fsync", "COUNT", "fsync after each so many writes of a thread", "never"),
    Option("fdatasync", "COUNT", "fdatasync after each so many writes of a thread", "never"),
    Option("end-fsync", "", "With --amount: fsync at the end, inside the figure", flag=True),
    Option(
        "rate",
        "NUMBERS",
        "Operations a second of all threads, as in 1000,5000 (open loop)",
    ),
    Option("arrivals", "LIST", "Of --rate: regular or poisson", "poisson"),
    Option(
        "amount",
        "SIZE",
        "Bytes that each thread moves, in place of a time; says who is done first and last",
    ),
    Option("refill", "", "New data for each write", flag=True),
    Option("compressible", "COUNT", "Percent of each block that compresses away", "0"),
    Option("seed", "COUNT", "Of random offsets and data", "1"),
    Option("verify", "", "Check every block that is read, read every written one back", flag=True),
    Option("require", "WAY", "Fail unless all data took this way: " + ", ".join(WAYS)),
    Option(
        "cufile",
        "KEY=VALUES",
        "Of cuFile: values of a key of cufile.json, each measured beside the file as it is: "
        "io_batchsize=32,128, max_io_threads=1..16*2",
    ),
    Option("overwrite", "", "Writes may go to a file that tierscope did not make", flag=True),
    Option(
        "destroy-data",
        "NAMES",
        "Writes may destroy a device: its name in /dev/disk/by-id, or its serial number; "
        "of several devices one each, in their order",
    ),
    Option(
        "second-word",
        "WORD",
        "Of a device whose data has no known signature: destroy-unknown-data",
    ),
    Option(
        "precondition",
        "LIST",
        "Before measuring with --destroy-data: purge (discard all blocks), fill (sequential writes "
        "of twice the capacity)",
    ),
    Option(
        "write-saturation",
        "",
        "With --destroy-data: random writes of 4 KiB, or what is asked for, round by round until "
        "they are steady or --budget is spent (24h)",
        flag=True,
    ),
    Option("round", "TIME", "Of --precondition and --write-saturation: length of a round", "60s"),
    Option("keep", "", "Files that were made stay, and are used again", flag=True),
    options.RATED,
    options.PRECISION,
    options.BUDGET,
    SAMPLE,
)
