"""Options of fio that are honoured; ``fixed`` has those that are not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tierscope.model.errors import UserError, did_you_mean
from tierscope.recipes.drop_in.given import Given, path
from tierscope.recipes.fio import values
from tierscope.recipes.fio.engines import engine
from tierscope.recipes.fio.fixed import FIXED, changes_nothing
from tierscope.recipes.fio.values import Numbers

Parse = Callable[[str, Numbers], Any]


@dataclass(frozen=True)
class Option:
    """One option; its text is turned into what ``parse`` returns."""

    name: str
    metavar: str
    what: str
    """One line for help."""
    parse: Parse
    aliases: tuple[str, ...] = ()
    bare: bool = False
    """Given alone, it is 1."""


@dataclass
class Section:
    """A job as it was given: ``[global]`` and what precedes ``--name`` at first, then its own."""

    name: str
    place: str
    common: dict[str, Given] = field(default_factory=dict)
    """Texts, by the names of options, of [global]."""
    own: dict[str, Given] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, Given]:
        """All of them; its own count."""
        return {**self.common, **self.own}


def _text(text: str, _numbers: Numbers) -> str:
    return text


def _plain(parse: Callable[[str], Any]) -> Parse:
    return lambda text, _numbers: parse(text)


def _whole(low: int, high: int) -> Parse:
    def parse(text: str, numbers: Numbers) -> int:
        value = numbers.amount(text)
        if not low <= value <= high:
            raise UserError(f"'{text}' is not a whole number from {low} to {high}")
        return value

    return parse


def _choice(*allowed: str) -> Parse:
    def parse(text: str, _numbers: Numbers) -> str:
        if text not in allowed:
            raise UserError(f"'{text}' is not one of {', '.join(allowed)}")
        return text

    return parse


_SWITCH = _plain(values.switch)
_COUNT = _whole(0, 1 << 30)

OPTIONS: tuple[Option, ...] = (
    Option("name", "TEXT", "name of a job; on the command line it begins one", _text),
    Option("description", "TEXT", "kept with the job", _text),
    Option("ioengine", "ENGINE", "psync, sync, pvsync, pvsync2, libaio, io_uring, mmap, libcufile",
        _plain(engine)),
    Option("rw", "WORD", "read, write, randread, randwrite, rw, randrw", _plain(values.work),
        ("readwrite",)),
    Option("rwmixread", "PERCENT", "reads of a mix (50)", _whole(0, 100)),
    Option("rwmixwrite", "PERCENT", "writes of a mix", _whole(0, 100)),
    Option("bs", "SIZE", "of an operation (4k); of reads and writes: 4k,8k",
        lambda text, numbers: numbers.blocks(text), ("blocksize",)),
    Option("bsrange", "MIN-MAX", "multiples of MIN, equally often",
        lambda text, numbers: numbers.range(text), ("blocksize_range",)),
    Option("bssplit", "SHARES", "4k/10:64k/90", lambda text, numbers: numbers.split(text)),
    Option("blockalign", "SIZE", "random offsets are multiples of it",
        lambda text, numbers: numbers.block(text.partition(",")[0]), ("ba",)),
    Option("size", "SIZE", "data of a job over all its files; 100%: all of them",
        lambda text, numbers: numbers.size(text)),
    Option("io_size", "SIZE", "bytes to move (size)", lambda text, numbers: numbers.plain(text),
        ("io_limit",)),
    Option("number_ios", "COUNT", "operations to make, in place of io_size", _whole(1, 1 << 40)),
    Option("loops", "COUNT", "times size (1)", _whole(1, 1 << 30)),
    Option("filesize", "SIZE", "of each file", lambda text, numbers: numbers.plain(text)),
    Option("offset", "SIZE", "where the data begins",
        lambda text, numbers: numbers.plain("0" if text == "0%" else text), ("fileoffset",)),
    Option("offset_increment", "SIZE", "added for each further clone of a job",
        lambda text, numbers: numbers.plain(text)),
    Option("filename", "FILE", "that all clones of a job share", _plain(values.names)),
    Option("directory", "DIR", "for files JOB.CLONE.FILE (the current one)", _plain(path)),
    Option("filename_format", "TEXT", "of names, with $jobname, $jobnum, $filenum", _text),
    Option("nrfiles", "COUNT", "files of each clone (1)", _whole(1, 65536), ("nr_files",)),
    Option("openfiles", "COUNT", "as many as nrfiles", _whole(1, 65536)),
    Option("file_service_type", "WORD", "sequential; of random I/O also random, roundrobin",
        _choice("sequential", "random", "roundrobin")),
    Option("iodepth", "COUNT", "operations of each clone in flight (1)", _whole(1, 4096)),
    Option("iodepth_batch", "COUNT", "most operations of a system call (1)", _whole(1, 4096),
        ("iodepth_batch_submit",)),
    Option("numjobs", "COUNT", "clones of a job, each a thread (1)", _whole(1, 256)),
    Option("group_reporting", "0|1", "one result for each group", _SWITCH, bare=True),
    Option("new_group", "0|1", "the job begins a group", _SWITCH, bare=True),
    Option("stonewall", "0|1", "the job begins when all before it have ended", _SWITCH,
        ("wait_for_previous",), bare=True),
    Option("wait_for", "JOB", "the same, of a job that runs alone", _text),
    Option("runtime", "TIME", "longest time", _plain(values.seconds), ("timeout",)),
    Option("time_based", "0|1", "go on for all of runtime", _SWITCH, bare=True),
    Option("ramp_time", "TIME", "of operations before they count", _plain(values.seconds)),
    Option("startdelay", "TIME", "before jobs that run together begin", _plain(values.seconds)),
    Option("direct", "0|1", "O_DIRECT: past the page cache (0)", _SWITCH),
    Option("buffered", "0|1", "the opposite of direct", _SWITCH),
    Option("invalidate", "0|1", "empty the page cache of tierscope's files first (1)", _SWITCH),
    Option("pre_read", "0|1", "fill the page cache first", _SWITCH),
    Option("fsync", "COUNT", "fsync after each so many writes", _COUNT),
    Option("fdatasync", "COUNT", "fdatasync after each so many writes", _COUNT),
    Option("end_fsync", "0|1", "fsync at the end", _SWITCH),
    Option("randrepeat", "0|1", "the same offsets in each run (1)", _SWITCH, ("allrandrepeat",)),
    Option("randseed", "NUMBER", "of offsets and data", _whole(0, (1 << 60))),
    Option("random_distribution", "WORD", "random or zipf:THETA", _plain(values.zipf)),
    Option("rate", "SIZE", "bytes a second of each clone",
        lambda text, numbers: numbers.rates(text)),
    Option("rate_iops", "COUNT", "operations a second of each clone",
        lambda text, numbers: numbers.rates(text)),
    Option("rate_process", "WORD", "linear or poisson", _choice("linear", "poisson")),
    Option("io_submit_mode", "WORD", "inline; with a rate, offload means the same",
        _choice("inline", "offload")),
    Option("verify", "METHOD", "check data, by tierscope's own headers", _text),
    Option("refill_buffers", "0|1", "new data for each write", _SWITCH, bare=True),
    Option("buffer_compress_percentage", "PERCENT", "of data to write", _whole(0, 100)),
    Option("fixedbufs", "0|1", "with registerfiles: registered with io_uring", _SWITCH, bare=True),
    Option("registerfiles", "0|1", "with fixedbufs", _SWITCH, bare=True),
    Option("sqthread_poll", "0|1", "io_uring: a kernel thread takes submissions", _SWITCH,
        bare=True),
    Option("hipri", "0|1", "io_uring: poll for completions", _SWITCH, bare=True),
    Option("cpus_allowed", "LIST", "CPUs, which threads take in turn", _plain(values.whole_list)),
    Option("cpumask", "MASK", "the same as a mask", _plain(values.mask)),
    Option("cpus_allowed_policy", "WORD", "shared or split: a thread is on one CPU either way",
        _choice("shared", "split")),
    Option("numa_cpu_nodes", "LIST", "nodes whose CPUs threads take", _plain(values.whole_list)),
    Option("numa_mem_policy", "POLICY", "of buffers: bind:0, interleave:0-1, prefer:0, local",
        _plain(values.policy)),
    Option("gpu_dev_ids", "LIST", "libcufile: GPUs, which clones take in turn",
        _plain(values.colons)),
    Option("cuda_io", "WORD", "libcufile: cufile or posix", _choice("cufile", "posix")),
    Option("unlink", "0|1", "remove files that were made", _SWITCH),
    Option("allow_file_create", "0|1", "make files that are missing (1)", _SWITCH),
    Option("clat_percentiles", "0|1", "percentiles of completion (1)", _SWITCH),
    Option("lat_percentiles", "0|1", "percentiles of the whole time", _SWITCH),
    Option("slat_percentiles", "0|1", "percentiles of submission", _SWITCH),
    Option("percentile_list", "LIST", "50:99:99.9", _plain(values.percentiles)),
    Option("kb_base", "1024|1000", "what k is (1024)", _choice("1024", "1000")),
)  # fmt: skip

BY_NAME = {name: option for option in OPTIONS for name in (option.name, *option.aliases)}
_KNOWN = (*BY_NAME, *FIXED)


def is_bare(name: str) -> bool:
    """Return whether an option may be given without a value."""
    known = BY_NAME.get(name)
    return known.bare if known else name in FIXED and FIXED[name].bare


def check_known(key: str, place: str) -> None:
    """Raise UserError for what is no option of fio's that tierscope knows."""
    if key in _KNOWN:
        return
    if key == "include":
        raise UserError(f"{place}: other files are not read; put their lines here")
    if key.startswith("verify_"):
        raise UserError(f"{place}: how data is checked is tierscope's own; leave it out")
    raise UserError(
        f"{place}: no option that tierscope knows{did_you_mean(key, _KNOWN)}; "
        "'tierscope fio --help' lists them"
    )


def parsed(section: Section) -> tuple[dict[str, Given], list[str]]:
    """Return a job's values by name, and what changes nothing; UserError begins with the place."""
    texts = section.texts
    base = texts.get("kb_base")
    numbers = Numbers(1000 if base is not None and base.value == "1000" else 1024)
    found: dict[str, Given] = {}
    remarks = []
    for name, text in texts.items():
        option = BY_NAME.get(name)
        if option is None:
            remarks.append(changes_nothing(name, text))
            continue
        try:
            found[name] = Given(option.parse(text.value, numbers), text.place)
        except UserError as error:
            raise UserError(f"{text.place}: {error}") from None
    return found, [remark for remark in remarks if remark]
