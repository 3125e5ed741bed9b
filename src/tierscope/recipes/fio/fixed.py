"""Options of fio that cannot be honoured, other than by values that say what is done anyway."""

from dataclasses import dataclass

from tierscope.model.errors import UserError
from tierscope.recipes.drop_in.given import Given


@dataclass(frozen=True)
class Fixed:
    """What happens with an option, whatever it says."""

    usual: tuple[str, ...] = ()
    """Values that say what is done anyway; nothing is said about them."""
    nothing: str = ""
    """Why other values change nothing; empty: they are refused."""
    refused: str = ""
    """Why they are refused, and what to do."""
    bare: bool = False
    """It may be given without a value, which is 1."""


_OFF = ("0", "none", "false", "off")
_LOGS = "no logs are written; the run file has all rows ('tierscope show last')"
_ZONES = "zoned devices are not measured"
_REPLAY = "traces of I/O are neither recorded nor replayed"
_COMMANDS = "foreign commands are not run; run it yourself before or afterwards"
_PRIORITY = "the priority of I/O is not set; run tierscope under ionice"
_VERIFY = "how data is checked is tierscope's own"
_DEDUPE = "data is random and repeats nowhere; leave it out"
_TIMES = "times are always taken"
_PLACES = "data placement in a drive is not steered"
_STEADY = "a job does not end by its steady state; give runtime ('tierscope io' judges it)"
_THINK = "threads do not pause between operations; rate_iops spaces them"
_RATE_MIN = "a job does not end because it is slow; look at its bandwidth"
_NO_LOG = "no logs are written"
_ZONE_NAMES = (
    "zonesize", "zonecapacity", "zonerange", "zoneskip", "read_beyond_wp", "max_open_zones",
    "job_max_open_zones", "ignore_zone_limits", "zone_reset_threshold", "zone_reset_frequency",
    "write_zone_remainder", "recover_zbd_write_error",
)  # fmt: skip
_NVME_NAMES = (
    "cmd_type", "md_per_io_size", "pi_act", "pi_chk", "apptag", "apptag_mask", "writefua",
    "readfua", "write_mode",
)  # fmt: skip
_COMMANDS_OF_DRIVES = "drives are reached through the block layer, not by commands of their own"
_REPLAY_NAMES = (
    "write_iolog", "read_iolog", "read_iolog_chunked", "replay_no_stall", "replay_redirect",
    "replay_scale", "replay_align", "replay_time_scale", "replay_skip", "merge_blktrace_file",
    "merge_blktrace_scalars", "merge_blktrace_iters",
)  # fmt: skip
_COMPLETE = "each operation that ends is followed by the next one at once; leave it out"

FIXED: dict[str, Fixed] = {
    "thread": Fixed(("0", "1"), bare=True),
    "threads": Fixed(("0", "1"), refused="is 0 or 1", bare=True),
    "opendir": Fixed(refused="files below a directory are not searched; name them by filename"),
    "filetype": Fixed(_OFF, refused="what a path is, is found out; leave it out"),
    "unique_filename": Fixed(("1",), refused="each clone has a file of its own"),
    "lockfile": Fixed(_OFF, refused="files are not locked between jobs"),
    "rw_sequencer": Fixed(("sequential",), refused="offsets go on or are drawn one by one"),
    "iodepth_batch_complete_min": Fixed(("1",), refused=_COMPLETE),
    "iodepth_batch_complete": Fixed(("1",), refused=_COMPLETE),
    "iodepth_batch_complete_max": Fixed(refused=_COMPLETE),
    "iodepth_low": Fixed(refused="the queue is kept full; leave it out"),
    "serialize_overlap": Fixed(_OFF, refused="operations in flight may overlap"),
    "fill_device": Fixed(_OFF, refused="a device or file system is never filled up; give size"),
    "fill_fs": Fixed(_OFF, refused="a device or file system is never filled up; give size"),
    "file_append": Fixed(_OFF, refused="files do not grow while they are measured"),
    "offset_align": Fixed(("0",), refused="give an offset that is a multiple of it"),
    "num_range": Fixed(("1",), refused="trims are not measured"),
    "bs_unaligned": Fixed(
        _OFF, refused="sizes are multiples of the smallest; name them with bssplit", bare=True
    ),
    "bs_is_seq_rand": Fixed(_OFF, refused="sizes go by reads and writes"),
    "norandommap": Fixed(
        _OFF,
        "random offsets come in an order in which each block comes once before any comes again",
        bare=True,
    ),
    "softrandommap": Fixed(("0", "1")),
    "random_sequence_stride": Fixed(refused="offsets follow no sequence that is given"),
    "verify_backlog": Fixed(("0",), refused="data is read back after the job, not during it"),
    "random_generator": Fixed(
        (), "offsets come from tierscope's own generator; each block comes once before any again"
    ),
    "sprandom": Fixed(_OFF, refused="drives are not brought into a state by a model of them"),
    "percentage_random": Fixed(
        ("100",), refused="I/O is either random or sequential; give two jobs"
    ),
    "fallocate": Fixed(("keep", "none", "0"), "files are written whole before they are measured"),
    "fadvise_hint": Fixed(_OFF, "the kernel is given no hints about the order of reads"),
    "write_barrier": Fixed(_OFF, refused="use fdatasync"),
    "sync_file_range": Fixed(refused="use fdatasync"),
    "atomic": Fixed(_OFF, refused="atomic writes are not measured"),
    "overwrite": Fixed(("0", "1")),
    "clocksource": Fixed(("clock_gettime",), "the clock is chosen by tierscope"),
    "mem": Fixed(("malloc", "mmap"), refused="buffers are on base pages of the node asked for"),
    "iomem": Fixed(("malloc", "mmap"), refused="buffers are on base pages of the node asked for"),
    "iomem_align": Fixed((), "buffers begin at a page"),
    "mem_align": Fixed((), "buffers begin at a page"),
    "do_verify": Fixed(("1",), refused="what is written with verify is read back at the end"),
    "verify_fatal": Fixed(("1",), "a mismatch always ends the job"),
    "verify_async": Fixed(("0",), "data is checked by the thread that read it"),
    "verify_dump": Fixed(("0",), "a mismatch is described in a line"),
    "verify_state_save": Fixed(("0", "1"), "no state of verification is saved"),
    "verify_write_sequence": Fixed(("0", "1"), _VERIFY),
    "exec_prerun": Fixed(refused=_COMMANDS),
    "exec_postrun": Fixed(refused=_COMMANDS),
    "ioscheduler": Fixed(refused="settings of the machine are left alone; set it beforehand"),
    "zonemode": Fixed(_OFF, refused=_ZONES),
    "fdp": Fixed(_OFF, refused=_PLACES),
    "dataplacement": Fixed(_OFF, refused=_PLACES),
    "write_hint": Fixed(_OFF, refused=_PLACES),
    "lockmem": Fixed(("0",), refused="memory is not taken away from others"),
    "nfs_url": Fixed(refused="mount the storage, and name a file or directory"),
    "nice": Fixed(("0",), refused="run tierscope under nice"),
    "prio": Fixed(refused=_PRIORITY),
    "prioclass": Fixed(refused=_PRIORITY),
    "priohint": Fixed(refused=_PRIORITY),
    "cmdprio": Fixed(refused=_PRIORITY),
    "cmdprio_percentage": Fixed(("0",), refused=_PRIORITY),
    "cmdprio_class": Fixed(refused=_PRIORITY),
    "cmdprio_bssplit": Fixed(refused=_PRIORITY),
    "thinktime": Fixed(("0",), refused=_THINK),
    "thinktime_spin": Fixed(("0",), refused=_THINK),
    "thinktime_blocks": Fixed((), "there is no thinktime"),
    "thinktime_blocks_type": Fixed((), "there is no thinktime"),
    "thinktime_iotime": Fixed(("0",), refused=_THINK),
    "rate_min": Fixed(("0",), refused=_RATE_MIN),
    "ratemin": Fixed(("0",), refused=_RATE_MIN),
    "rate_iops_min": Fixed(("0",), refused=_RATE_MIN),
    "rate_cycle": Fixed((), "a rate holds at every moment"),
    "ratecycle": Fixed((), "a rate holds at every moment"),
    "rate_ignore_thinktime": Fixed(("0", "1")),
    "max_latency": Fixed(("0",), refused="a job does not end by a latency; look at percentiles"),
    "latency_target": Fixed(
        ("0",), refused="the queue depth for a latency is not searched; give several iodepth"
    ),
    "latency_window": Fixed((), "there is no latency_target"),
    "latency_percentile": Fixed((), "there is no latency_target"),
    "latency_run": Fixed(("0", "1")),
    "sync": Fixed(_OFF, refused="files are not opened with O_SYNC; use fsync=1 or fdatasync=1"),
    "create_serialize": Fixed((), "files are made one by one, untimed"),
    "create_fsync": Fixed((), "files are made and written out before, untimed"),
    "create_on_open": Fixed(_OFF, refused="files are made before anything is timed"),
    "create_only": Fixed(_OFF, refused="files are made by the first run that needs them"),
    "allow_mounted_write": Fixed(("0",), refused="devices are only read"),
    "gpu_dev_id": Fixed(refused="use gpu_dev_ids"),
    "fsync_on_close": Fixed(_OFF, refused="use end_fsync"),
    "end_syncfs": Fixed(_OFF, refused="use end_fsync"),
    "unlink_each_loop": Fixed(_OFF, refused="files are removed at the end, with unlink=1"),
    "exitall": Fixed(_OFF, refused="jobs end by their own size or runtime", bare=True),
    "exit_what": Fixed((), "there is no exitall"),
    "exitall_on_error": Fixed(("0", "1"), "an error ends all jobs that run together", bare=True),
    "write_bw_log": Fixed(refused=_LOGS, bare=True),
    "write_lat_log": Fixed(refused=_LOGS, bare=True),
    "write_iops_log": Fixed(refused=_LOGS, bare=True),
    "write_hist_log": Fixed(refused=_LOGS, bare=True),
    "block_error_percentiles": Fixed(_OFF, refused="trims are not measured"),
    "bwavgtime": Fixed(("500",), refused="rates are taken every 500 ms"),
    "iopsavgtime": Fixed(("500",), refused="rates are taken every 500 ms"),
    "stats": Fixed(("1",), refused="each job is reported"),
    "zero_buffers": Fixed(
        _OFF, refused="data is random, for drives compress zeros; leave it out", bare=True
    ),
    "scramble_buffers": Fixed((), "data is random"),
    "buffer_pattern": Fixed(refused="data is random and has tierscope's headers; leave it out"),
    "buffer_compress_chunk": Fixed((), "compressible parts are as large as tierscope makes them"),
    "dedupe_percentage": Fixed(("0",), refused=_DEDUPE),
    "dedupe_global": Fixed(("0",), refused=_DEDUPE),
    "dedupe_mode": Fixed(refused=_DEDUPE),
    "dedupe_working_set_percentage": Fixed(refused=_DEDUPE),
    "significant_figures": Fixed((), "figures have as many digits as they had"),
    "disk_util": Fixed(_OFF, "the counters of drives are in the run file"),
    "gtod_reduce": Fixed(_OFF, _TIMES),
    "disable_lat": Fixed(_OFF, _TIMES),
    "disable_clat": Fixed(_OFF, _TIMES),
    "disable_slat": Fixed(_OFF, _TIMES),
    "disable_bw_measurement": Fixed(_OFF, _TIMES),
    "disable_bw": Fixed(_OFF, _TIMES),
    "gtod_cpu": Fixed((), "each thread reads the clock by itself"),
    "unified_rw_reporting": Fixed(_OFF, refused="reads and writes are reported apart"),
    "continue_on_error": Fixed(_OFF, refused="the first error ends a job"),
    "ignore_error": Fixed(refused="the first error ends a job"),
    "error_dump": Fixed((), "an error is named in a line"),
    "profile": Fixed(refused="there are no profiles of fio's"),
    "cgroup": Fixed(refused="run tierscope in the control group"),
    "uid": Fixed(refused="run tierscope as that user"),
    "gid": Fixed(refused="run tierscope as that user"),
    "unit_base": Fixed((), "rates are printed in bytes"),
    "flow": Fixed(("0",), refused="jobs are not balanced against each other; use rate_iops"),
    "flow_id": Fixed((), "there is no flow"),
    "flow_sleep": Fixed((), "there is no flow"),
    "steadystate": Fixed(refused=_STEADY),
    "ss": Fixed(refused=_STEADY),
    "sqthread_poll_cpu": Fixed(refused="the kernel chooses where its thread runs"),
    "nonvectored": Fixed(("1",), refused="single buffers are read and written"),
    "force_async": Fixed(("0",), refused="the kernel decides what it queues"),
    "userspace_reap": Fixed((), "completions are taken as tierscope takes them", bare=True),
    "log_avg_msec": Fixed((), _NO_LOG),
    "log_hist_msec": Fixed((), _NO_LOG),
    "log_entries": Fixed((), _NO_LOG),
    "log_offset": Fixed((), _NO_LOG),
    "log_max_value": Fixed((), _NO_LOG),
    "log_prio": Fixed((), _NO_LOG),
    "per_job_logs": Fixed((), _NO_LOG),
    **dict.fromkeys(_NVME_NAMES, Fixed(refused=_COMMANDS_OF_DRIVES)),
    **dict.fromkeys(_ZONE_NAMES, Fixed(refused=_ZONES)),
    **dict.fromkeys(_REPLAY_NAMES, Fixed(refused=_REPLAY)),
}  # fmt: skip
"""By name; ``verify_*`` that are not here are refused together."""


def check_fixed(name: str, given: Given) -> None:
    """Raise UserError where a value asks for what is not done."""
    found = FIXED.get(name)
    if found is None or given.value in found.usual or found.nothing:
        return
    raise UserError(f"{given.place}={given.value}: {found.refused}")


def changes_nothing(name: str, given: Given) -> str:
    """Return why a value changes nothing, in a line; empty where nothing is to be said."""
    found = FIXED[name]
    if given.value in found.usual or not found.nothing:
        return ""
    return f"{name}={given.value} changes nothing: {found.nothing}"
