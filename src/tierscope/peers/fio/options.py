"""fio's options: those that are honoured, those that are not with the reason, and its engines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tierscope.model.errors import UserError, did_you_mean
from tierscope.peers.drop_in import Given, errors_at, path
from tierscope.peers.fio import values
from tierscope.peers.fio.values import Numbers
from tierscope.plans.grammar import parse_choice

_OTHERS = {
    "it does not read or write files": (
        "cpuio", "exec", "e4defrag", "dircreate", "dirstat", "dirdelete", "page_fault",
    ),
    "it moves data between hosts, not to storage": ("net", "netsplice", "rdma"),
    "it goes over the network by a library of its own; mount the storage and name a file": (
        "http", "rados", "rbd", "gfapi", "gfapi_async", "libiscsi",
        "libhdfs", "nbd", "nfs", "dfs", "ime_psync", "ime_psyncv", "ime_aio",
        "librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client",
        "librpma_gpspm_server",
    ),
    "it sends commands to a device past its block layer; use io_uring on a block device": (
        "sg", "io_uring_cmd", "xnvme", "libblkio", "libzbc", "mtd", "guasi",
    ),
    "its pools need libpmemblk, which PMDK has given up; use libpmem on a file": (
        "pmemblk",
    ),
    "GPUs of AMD are not measured": ("libhipfile",),
    "it joins neighbouring operations into larger ones; use pvsync": ("vsync",),
    "tierscope does not do I/O this way; psync and libaio are closest": ("syslet-rw", "external"),
}  # fmt: skip
_OFF = ("0", "none", "false", "off")
Parse = Callable[[Numbers, str], Any]


@dataclass(frozen=True)
class Engine:
    """One of fio's engines."""

    name: str
    backend: str
    remark: str = ""
    """Difference to fio."""
    operation: str = ""
    """Of the kind files, by which its jobs are measured; empty: they are measured by io."""


_NOTHING_MOVES = "moves nothing: figures are what tierscope itself needs for an operation"
ENGINES = {
    one.name: one
    for one in (
        Engine("psync", "posix"),
        Engine("sync", "sync"),
        Engine("pvsync", "pvsync"),
        Engine("pvsync2", "pvsync2"),
        Engine("splice", "splice"),
        Engine("libaio", "libaio"),
        Engine("posixaio", "posixaio"),
        Engine("io_uring", "io_uring"),
        Engine("mmap", "mmap"),
        Engine("libpmem", "pmem"),
        Engine("dev-dax", "pmem", "stores past the caches, and each write waits for its stores"),
        Engine("null", "null", _NOTHING_MOVES),
        Engine("ftruncate", "ftruncate", "ends the file at each offset; no data is written"),
        Engine(
            "falloc",
            "fallocate",
            "reserves blocks (read, write) and frees them (trim); no data is written",
        ),
        Engine("cpp_null", "null", _NOTHING_MOVES),
        Engine("libcufile", "cufile"),
        Engine("filecreate", "", "removes its files at the end", "create"),
        Engine("filestat", "", "makes its files first, and removes them at the end", "stat"),
        Engine("filedelete", "", "makes its files first", "unlink"),
    )
}


def engine(text: str) -> Engine:
    """Parse ``ioengine``; UserError says why another engine is not available."""
    found = ENGINES.get(text)
    if found is not None:
        return found
    for why, names in _OTHERS.items():
        if text.partition(":")[0] in names:
            raise UserError(f"'{text}' is not available: {why}")
    raise UserError(
        f"'{text}' is not one of {', '.join(ENGINES)}{did_you_mean(text, tuple(ENGINES))}"
    )


@dataclass(frozen=True)
class Fixed:
    """Options that are refused or ignored."""

    names: str
    why: str
    """Why values are refused, with a remedy, or ignored."""
    usual: tuple[str, ...] = ()
    """Values that ask for what is done anyway."""
    bare: bool = False
    """Given without a value, it is 1."""
    ignored: bool = False


def by_name(*rows: Fixed) -> dict[str, Fixed]:
    """Return rows by each of their names."""
    return {name: row for row in rows for name in row.names.split()}


_ignored = partial(Fixed, ignored=True)
FIXED = by_name(
    Fixed("thread threads", "is 0 or 1", ("0", "1"), bare=True),
    Fixed("opendir", "files below a directory are not searched; name them by filename"),
    Fixed("filetype", "the type of a file is detected; leave it out", _OFF),
    Fixed("unique_filename", "each clone has a file of its own", ("1",)),
    Fixed("lockfile", "files are not locked between jobs", _OFF),
    Fixed("iodepth_batch_complete_min iodepth_batch_complete iodepth_batch_complete_max",
        "each completion is followed by a new submission at once; leave it out", ("1",)),
    Fixed("iodepth_low", "the queue is kept full; leave it out"),
    Fixed("serialize_overlap", "operations in flight may overlap", _OFF),
    Fixed("file_append", "files do not grow while they are measured", _OFF),
    Fixed("offset_align", "give an offset that is a multiple of it", ("0",)),
    Fixed("num_range", "trims are not measured", ("1",)),
    Fixed("bs_unaligned",
        "sizes are multiples of the smallest; name them with bssplit", _OFF, bare=True),
    Fixed("bs_is_seq_rand", "sizes are set for reads and writes", _OFF),
    _ignored("norandommap",
        "random offsets come in an order in which each block comes once before any comes "
        "again", _OFF, bare=True),
    Fixed("softrandommap overwrite rate_ignore_thinktime", "is 0 or 1", ("0", "1")),
    Fixed("random_sequence_stride", "offsets follow no sequence that is given"),
    _ignored("random_generator",
        "offsets come from tierscope's own generator; each block comes once before any again"),
    Fixed("sprandom", "drives are not preconditioned", _OFF),
    _ignored("fallocate",
        "files are written whole before they are measured", ("keep", "none", "0")),
    _ignored("fadvise_hint", "the kernel gets no hints about the order of reads", _OFF),
    Fixed("write_barrier sync_file_range", "use fdatasync", _OFF),
    Fixed("atomic", "atomic writes are not measured", _OFF),
    _ignored("clocksource", "the clock is chosen by tierscope", ("clock_gettime",)),
    Fixed("mem iomem", "buffers are on base pages of the node asked for", ("malloc", "mmap")),
    _ignored("iomem_align mem_align", "buffers begin at a page"),
    _ignored("verify_fatal", "a mismatch always ends the job", ("1",)),
    _ignored("verify_async", "data is checked by the thread that read it", ("0",)),
    _ignored("verify_dump", "a mismatch is described in a line", ("0",)),
    _ignored("verify_state_save", "no state of verification is saved", ("0", "1")),
    _ignored("verify_write_sequence", "data is verified in tierscope's own way", ("0", "1")),
    Fixed("exec_prerun exec_postrun",
        "foreign commands are not run; run it yourself before or afterwards"),
    Fixed("ioscheduler", "settings of the machine are left alone; set it beforehand"),
    Fixed("fdp dataplacement write_hint", "data placement in a drive is not steered", _OFF),
    Fixed("lockmem", "memory is not locked to keep it from others", ("0",)),
    Fixed("nfs_url", "mount the storage, and name a file or directory"),
    Fixed("nice", "run tierscope under nice", ("0",)),
    Fixed("priohint", "hints beside a priority are not given", ("0",)),
    _ignored("rate_cycle ratecycle", "a rate holds at every moment"),
    _ignored("verify_backlog verify_backlog_batch verify_interval verify_header_seed",
        "data is read back after the job, each block by headers in all of its parts", ("0",)),
    _ignored("log_offset log_entries", "logs have averages, of no offset", _OFF),
    Fixed("write_hist_log log_hist_msec log_hist_coarseness",
        "histograms are not logged; they are in the run file and in json+", _OFF, bare=True),
    Fixed("zonecapacity read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits "
        "zone_reset_threshold zone_reset_frequency write_zone_remainder recover_zbd_write_error",
        "zoned devices are not measured", _OFF),
    Fixed("latency_run", "a job ends when its depth is found", _OFF),
    Fixed("thinktime_iotime", "pauses come after operations, not after a time", ("0",)),
    Fixed("max_latency", "a job does not end by a latency; look at percentiles", ("0",)),
    _ignored("create_serialize", "files are made one by one, untimed"),
    _ignored("create_fsync", "files are made and written out before, untimed"),
    Fixed("create_only", "files are made by the first run that needs them", _OFF),
    Fixed("allow_mounted_write", "devices are only read", ("0",)),
    Fixed("gpu_dev_id", "use gpu_dev_ids"),
    Fixed("fsync_on_close end_syncfs", "use end_fsync", _OFF),
    Fixed("unlink_each_loop", "files are removed at the end, with unlink=1", _OFF),
    _ignored("exitall_on_error", "an error ends all jobs that run together", ("0", "1"), bare=True),
    Fixed("block_error_percentiles", "trims are not measured", _OFF),
    Fixed("stats", "each job is reported", ("1",)),
    _ignored("scramble_buffers", "data is random"),
    _ignored("buffer_compress_chunk", "compressible parts are as large as tierscope makes them"),
    _ignored("significant_figures", "figures are printed with all their digits"),
    _ignored("gtod_reduce disable_lat disable_clat disable_slat disable_bw_measurement disable_bw",
        "times are always measured", _OFF),
    _ignored("gtod_cpu", "each thread reads the clock by itself"),
    Fixed("unified_rw_reporting", "reads and writes are reported apart", _OFF),
    Fixed("continue_on_error ignore_error", "the first error ends a job", _OFF),
    _ignored("error_dump", "an error is named in a line"),
    Fixed("profile", "there are no profiles of fio's"),
    Fixed("cgroup", "run tierscope in the control group"),
    Fixed("uid gid", "run tierscope as that user"),
    _ignored("unit_base", "rates are printed in bytes"),
    Fixed("sqthread_poll_cpu", "the kernel chooses where its thread runs"),
    Fixed("nonvectored", "single buffers are read and written", ("1",)),
    Fixed("force_async", "the kernel decides what it queues", ("0",)),
    _ignored("userspace_reap", "tierscope decides how completions are reaped", bare=True),
    Fixed("cmd_type md_per_io_size pi_act pi_chk apptag apptag_mask writefua readfua write_mode",
        "drives are reached through the block layer, not by commands of their own"),
    Fixed("write_iolog read_iolog read_iolog_chunked replay_no_stall replay_redirect "
        "replay_scale replay_align replay_time_scale replay_skip merge_blktrace_file "
        "merge_blktrace_scalars merge_blktrace_iters",
        "traces of I/O are neither recorded nor replayed"),
)  # fmt: skip
"""Fixed options by name; all other ``verify_*`` are refused."""


def check_fixed(name: str, given: Given) -> str:
    """Return a remark where a value is ignored, else nothing; UserError where it is refused."""
    found = FIXED.get(name)
    if found is None or given.value in found.usual:
        return ""
    if not found.ignored:
        raise UserError(f"{given.place}={given.value}: {found.why}")
    return f"{name}={given.value} changes nothing: {found.why}"


@dataclass(frozen=True)
class Option:
    """One option; its text is turned into what ``parse`` returns."""

    name: str
    metavar: str
    what: str
    """One line for help."""
    parse: Parse
    aliases: tuple[str, ...] = ()
    default: str = ""
    """As a job file would have it; empty: none."""
    bare: bool = False
    """Given alone, it is 1."""

    def default_value(self) -> Any:
        """Return the parsed default; None without one."""
        return self.parse(Numbers(), self.default) if self.default else None

    @property
    def help(self) -> str:
        """One line with the default."""
        return f"{self.what} ({self.default})" if self.default else self.what


@dataclass
class Section:
    """A job as it was given: ``[global]`` and what precedes ``--name`` at first, then its own."""

    name: str
    place: str
    common: dict[str, Given] = field(default_factory=dict)
    """Texts, by the names of options, of [global]."""
    own: dict[str, Given] = field(default_factory=dict)
    bare: set[str] = field(default_factory=set)
    """Options that were given without a value."""
    errors: list[str] = field(default_factory=list)
    """One line for each option that has no text."""

    def begun(self, name: str, place: str) -> "Section":
        """Return a job that has the options of this section, [global]."""
        return Section(name, place, dict(self.own), {}, set(self.bare), list(self.errors))

    @property
    def texts(self) -> dict[str, Given]:
        """All options; its own count, and come last."""
        common = {name: given for name, given in self.common.items() if name not in self.own}
        return {**common, **self.own}


def _plain(parse: Callable[[str], Any]) -> Parse:
    return lambda _numbers, text: parse(text)


def _whole(low: int, high: int) -> Parse:
    def parse(numbers: Numbers, text: str) -> int:
        value = numbers.amount(text)
        if not low <= value <= high:
            raise UserError(f"'{text}' is not a whole number from {low} to {high}")
        return value

    return parse


def _choice(name: str, *allowed: str, default: str = "", of: str = "") -> Option:
    """Make an option with a few values, listed in its help."""
    what = f"{of}{', '.join(allowed)}"
    return Option(name, "WORD", what, lambda _, text: parse_choice(text, allowed), default=default)


def _switch(name: str, what: str, *aliases: str, default: str = "0", bare: bool = False) -> Option:
    return Option(name, "0|1", what, _plain(values.switch), aliases, default, bare)


_COUNT = _whole(0, 1 << 30)
OPTIONS: tuple[Option, ...] = (
    Option("name", "TEXT", "name of a job; on the command line it begins one", _plain(str)),
    Option("description", "TEXT", "kept with the job", _plain(str)),
    Option("ioengine", "ENGINE", ", ".join(ENGINES), _plain(engine), default="psync"),
    Option("rw", "WORD", f"{', '.join(values.RW)}; read:8k leaves out bytes, or goes backwards "
        "(read:-8k); randread:8 keeps to an offset", Numbers.work, ("readwrite",), default="read"),
    _choice("rw_sequencer", "sequential", "identical", default="sequential",
        of="after a random offset of randread:8: "),
    Option("percentage_random", "PERCENT", "operations with a random offset; others go on from "
        "the last", lambda numbers, text: _whole(1, 100)(numbers, text.partition(",")[0]),
        default="100"),
    Option("rwmixread", "PERCENT", "reads of a mix", _whole(0, 100), default="50"),
    Option("rwmixwrite", "PERCENT", "writes of a mix", _whole(0, 100)),
    Option("bs", "SIZE", "bytes of an operation; of reads and writes: 4k,8k", Numbers.blocks,
        ("blocksize",), default="4k"),
    Option("bsrange", "MIN-MAX", "multiples of MIN up to MAX, equally often", Numbers.range,
        ("blocksize_range",)),
    Option("bssplit", "SHARES", "sizes with percentages, as in 4k/10:64k/90", Numbers.split),
    Option("blockalign", "SIZE", "random offsets are multiples of it", lambda numbers,
        text: numbers.block(text.partition(",")[0]), ("ba",)),
    Option("size", "SIZE", "data of a job in all its files; 100%: the whole files", Numbers.size),
    _switch("fill_device", "the size is what is free of the file system, less a twentieth of it",
        "fill_fs"),
    Option("io_size", "SIZE", "bytes to move; default: size", Numbers.plain, ("io_limit",)),
    Option("number_ios", "COUNT", "operations to do, in place of io_size", _whole(1, 1 << 40)),
    Option("loops", "COUNT", "repetitions of size", _whole(1, 1 << 30), default="1"),
    Option("filesize", "SIZE", "bytes of each file", Numbers.plain),
    Option("offset", "SIZE", "start of the data in each file", lambda numbers,
        text: numbers.plain("0" if text == "0%" else text), ("fileoffset",), default="0"),
    Option("offset_increment", "SIZE", "added to offset per further clone of a job", Numbers.plain,
        default="0"),
    Option("filename", "FILE", "file that all clones of a job share", _plain(values.names)),
    Option("directory", "DIR", "directory of files JOB.CLONE.FILE", _plain(path),
        default="."),
    Option("filename_format", "TEXT", "pattern of names, with $jobname, $jobnum, $filenum",
        _plain(str), default="$jobname.$jobnum.$filenum"),
    Option("nrfiles", "COUNT", "files of each clone", _whole(1, 65536), ("nr_files",),
        default="1"),
    Option("openfiles", "COUNT", "accepted from nrfiles on: all files are open", _whole(1, 65536)),
    _choice("file_service_type", "sequential", "random", "roundrobin", default="roundrobin",
        of="order of files: "),
    Option("iodepth", "COUNT", "operations of each clone in flight", _whole(1, 4096),
        default="1"),
    Option("iodepth_batch", "COUNT", "maximum operations per submission", _whole(1, 4096),
        ("iodepth_batch_submit",), default="1"),
    Option("numjobs", "COUNT", "clones of a job, each a thread", _whole(1, 256), default="1"),
    _switch("group_reporting", "one result for each group", bare=True),
    _switch("new_group", "the job begins a group", bare=True),
    _switch("stonewall", "the job begins when all before it have ended", "wait_for_previous",
        bare=True),
    Option("wait_for", "JOB", "the job begins when this one, which runs alone, has ended",
        _plain(str)),
    Option("runtime", "TIME", "time limit", _plain(values.seconds), ("timeout",), default="0"),
    _switch("time_based", "run for all of runtime", bare=True),
    Option("ramp_time", "TIME", "warm-up that is not counted", _plain(values.seconds),
        default="0"),
    Option("startdelay", "TIME", "pause before jobs that run together begin",
        _plain(values.seconds), default="0"),
    _switch("direct", "O_DIRECT: past the page cache; libpmem: stores that bypass the caches"),
    _choice("sync", "0", "none", "1", "sync", "dsync", default="0",
        of="libpmem: each write waits until its stores have left the CPU: "),
    _switch("buffered", "the opposite of direct", default="1"),
    _switch("invalidate", "empty the page cache of tierscope's files first", default="1"),
    _switch("pre_read", "fill the page cache first"),
    Option("fsync", "COUNT", "fsync every COUNT writes of a clone", _COUNT, default="0"),
    Option("fdatasync", "COUNT", "fdatasync every COUNT writes of a clone", _COUNT, default="0"),
    _switch("end_fsync", "fsync at the end"),
    _switch("randrepeat", "the same offsets in each run", "allrandrepeat", default="1"),
    Option("randseed", "NUMBER", "seed of offsets and data", _whole(0, (1 << 60)), default="0x89"),
    Option("random_distribution", "WORD", "random, zipf:THETA, pareto:H, normal:DEVIATION or "
        "zoned:ACCESSES/SIZE:...", _plain(values.spread), default="random"),
    Option("zonemode", "WORD", "parts of the file that are used: none, strided",
        _plain(values.zone_mode), default="none"),
    Option("zonesize", "SIZE", "strided: bytes moved in a zone", Numbers.plain),
    Option("zonerange", "SIZE", "strided: bytes that a zone reaches over (zonesize)",
        Numbers.plain),
    Option("zoneskip", "SIZE", "strided: bytes behind a zone", Numbers.plain, default="0"),
    Option("rate", "SIZE", "bytes a second of each clone", Numbers.rates),
    Option("rate_iops", "COUNT", "operations a second of each clone", Numbers.rates),
    Option("rate_min", "SIZE", "a job that moves less in a second has failed", Numbers.rates,
        ("ratemin",)),
    Option("rate_iops_min", "COUNT", "a job that does fewer in a second has failed",
        Numbers.rates),
    Option("thinktime", "TIME", "pause (us) of each clone", _plain(values.microseconds),
        default="0"),
    Option("thinktime_spin", "TIME", "part of the pause (us) in which the CPU is busy",
        _plain(values.microseconds), default="0"),
    Option("thinktime_blocks", "COUNT", "operations before a pause", _whole(1, 1 << 40),
        default="1"),
    _choice("thinktime_blocks_type", "complete", "issue", default="complete",
        of="all operations end before a pause, so that both do the same: "),
    Option("latency_target", "TIME", "find the depth at which operations take no longer (us)",
        _plain(values.microseconds), default="0"),
    Option("latency_window", "TIME", "how long each depth is tried (us)",
        _plain(values.microseconds), default="0"),
    Option("latency_percentile", "PERCENT", "operations that latency_target is of",
        _plain(lambda text: values.number(text, 1e-6, 100)), default="100"),
    Option("steadystate", "LIMIT", "end when figures are steady: iops:10%, bw_slope:1%",
        Numbers.steadiness, ("ss",)),
    Option("steadystate_duration", "TIME", "figures that are looked at, one a second",
        _plain(values.seconds), ("ss_dur",), default="0"),
    Option("steadystate_ramp_time", "TIME", "time before the first of them",
        _plain(values.seconds), ("ss_ramp",), default="0"),
    Option("flow", "WEIGHT", "jobs make operations in the ratio of their weights",
        _whole(0, 1000), default="0"),
    Option("flow_id", "NUMBER", "jobs whose weights go together", _whole(0, 1 << 30),
        default="0"),
    Option("flow_sleep", "TIME", "pause (us) of a job that is ahead", _plain(values.microseconds),
        default="0"),
    _switch("exitall", "when a job ends, so do others", bare=True),
    _choice("exit_what", "group", "stonewall", "all", default="group", of="which: "),
    _choice("rate_process", "linear", "poisson"),
    _choice("io_submit_mode", "inline", "offload", of="with a rate, both do the same: "),
    Option("prioclass", "NUMBER", "class of a job's I/O: 1 real-time, 2 best-effort, 3 idle",
        _whole(0, 3), default="0"),
    Option("prio", "NUMBER", "level of a job's I/O in its class (2), 0 to 7", _whole(0, 7)),
    Option("cmdprio_percentage", "PERCENT", "libaio, io_uring: operations with another priority; "
        "of reads and writes: 20,0", values.each_direction(0, 100), default="0"),
    Option("cmdprio_class", "NUMBER", "class of that priority", values.each_direction(0, 3),
        default="1"),
    Option("cmdprio", "NUMBER", "level of that priority", values.each_direction(0, 7),
        default="0"),
    Option("cmdprio_bssplit", "SHARES", "the same by size: 64k/100:1m/0, or with class and level: "
        "64k/25/1/1:64k/75/3/2", Numbers.priorities),
    Option("verify", "METHOD", "check data, by tierscope's own headers", _plain(str),
        default="none"),
    _switch("do_verify", "read back what a verify job has written", default="1"),
    Option("verify_pattern", "BYTES", "data between headers repeats them: 0xdeadbeef, \"text\"",
        _plain(values.pattern)),
    Option("buffer_pattern", "BYTES", "as verify_pattern, without a check",
        _plain(values.pattern)),
    _switch("zero_buffers", "data is zeros, but for headers", bare=True),
    _switch("refill_buffers", "new data for each write", bare=True),
    Option("buffer_compress_percentage", "PERCENT", "compressible share of written data",
        _whole(0, 100), default="0"),
    Option("dedupe_percentage", "PERCENT", "written blocks that occur several times",
        _whole(0, 100), default="0"),
    _choice("dedupe_mode", "repeat", "working_set", default="repeat",
        of="they repeat the block before, or one of a set: "),
    Option("dedupe_working_set_percentage", "PERCENT", "the set, in percent of size",
        _whole(1, 99), default="5"),
    _switch("dedupe_global", "jobs share their sets"),
    _switch("fixedbufs", "register buffers with io_uring", bare=True),
    _switch("registerfiles", "register files with io_uring", bare=True),
    _switch("sqthread_poll", "io_uring: a kernel thread takes submissions", bare=True),
    _switch("hipri", "io_uring: poll for completions", bare=True),
    Option("cpus_allowed", "LIST", "CPUs that threads may run on", _plain(values.whole_list)),
    Option("cpumask", "MASK", "cpus_allowed as a mask", _plain(values.mask)),
    _choice("cpus_allowed_policy", "shared", "split", default="shared",
        of="each thread on any of them, or on one, in turn: "),
    Option("numa_cpu_nodes", "LIST", "nodes whose CPUs threads may run on",
        _plain(values.whole_list)),
    Option("numa_mem_policy", "POLICY", "for buffers: bind:0, interleave:0-1, prefer:0, local",
        _plain(values.policy), default="local"),
    Option("gpu_dev_ids", "LIST", "libcufile: GPUs, which clones take in turn",
        _plain(values.colons), default="0"),
    _choice("cuda_io", "cufile", "posix", default="cufile", of="libcufile: "),
    _switch("unlink", "remove files that were made"),
    _switch("allow_file_create", "make files that are missing", default="1"),
    _switch("create_on_open", "only with ioengine=filecreate, which makes files while it is timed"),
    _switch("clat_percentiles", "percentiles of completion latency", default="1"),
    _switch("lat_percentiles", "percentiles of total latency"),
    _switch("slat_percentiles", "percentiles of submission latency"),
    Option("percentile_list", "LIST", "percentiles to print", _plain(values.percentiles),
        default="1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99"),
    Option("write_bw_log", "NAME", "write NAME_bw.JOB.log", _plain(path), bare=True),
    Option("write_iops_log", "NAME", "write NAME_iops.JOB.log", _plain(path), bare=True),
    Option("write_lat_log", "NAME", "write NAME_lat.JOB.log, _slat and _clat",
        _plain(path), bare=True),
    Option("log_avg_msec", "TIME", "time (ms) of each line of logs (500)",
        _plain(values.milliseconds), default="0"),
    _switch("log_max_value", "logs of latency have the largest in place of the mean", bare=True),
    _switch("log_prio", "the log of completion latency has a line for each priority", bare=True),
    _switch("per_job_logs", "a log for each clone", default="1"),
    Option("bwavgtime", "TIME", "time (ms) of each average",
        _plain(values.milliseconds), ("iopsavgtime",), default="500"),
    _switch("disk_util", "say what drives did", default="1"),
    _choice("kb_base", "1024", "1000", default="1024", of="meaning of k: "),
)  # fmt: skip

BY_NAME = {name: option for option in OPTIONS for name in (option.name, *option.aliases)}
_KNOWN = (*BY_NAME, *FIXED)


def is_bare(name: str) -> bool:
    """Return whether an option may be given without a value."""
    known = BY_NAME.get(name)
    return known.bare if known else name in FIXED and FIXED[name].bare


def is_known(name: str) -> bool:
    """Return whether tierscope knows an option, if only to refuse it."""
    return name in _KNOWN


def _check_known(key: str, place: str) -> None:
    """Raise UserError for unknown options."""
    if is_known(key):
        return
    if key.split()[:1] == ["include"]:
        raise UserError(f"{place}: other files are not read; put their lines here")
    if key.startswith("verify_"):
        raise UserError(f"{place}: data is verified in tierscope's own way; leave it out")
    raise UserError(
        f"{place}: no option that tierscope knows{did_you_mean(key, _KNOWN)}; "
        "'tierscope fio --help' lists them"
    )


class RefusedError(UserError):
    """Several options of a job, with a line for each."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


def parsed(section: Section) -> tuple[dict[str, Given], list[str]]:
    """Return values by name, and remarks on those without effect.

    Raises RefusedError, which has a line for each option that cannot be honoured.
    """
    texts = section.texts
    base = texts.get("kb_base")
    numbers = Numbers(1000 if base is not None and base.value == "1000" else 1024)
    found: dict[str, Given] = {}
    remarks, errors = [], list(section.errors)
    for name, text in texts.items():
        try:
            _check_known(name, text.place)
            option = BY_NAME.get(name)
            if option is None:
                remarks.append(check_fixed(name, text))
                continue
            with errors_at(text.place):
                found[name] = Given(option.parse(numbers, text.value), text.place)
        except UserError as error:
            errors.append(str(error))
    if errors:
        raise RefusedError(errors)
    return found, [remark for remark in remarks if remark]
