"""A job of fio's: its values, checked against each other."""

import math
import random
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError
from tierscope.model.io import CHANGING_SPACE, GPU_BACKENDS, MAPPED, SYNCHRONOUS
from tierscope.peers.drop_in import absolute, is_device, refuse_device
from tierscope.peers.fio.options import BY_NAME, Engine, RefusedError, Section, parsed
from tierscope.peers.fio.values import Blocks, PriorityShare, Work

BOTTOMLESS = ("/dev/null", "/dev/zero")
_OF_FILE_ENGINES = frozenset({
    "name", "description", "ioengine", "rw", "bs", "size", "filesize", "directory", "nrfiles",
    "openfiles", "numjobs", "group_reporting", "new_group", "stonewall", "wait_for", "unlink",
    "create_on_open", "cpus_allowed", "cpumask", "cpus_allowed_policy", "numa_cpu_nodes",
    "clat_percentiles", "lat_percentiles", "percentile_list", "disk_util", "kb_base",
})  # fmt: skip
"""Options that jobs of engines with an ``operation`` honour."""
_NOT_OF_FILE_ENGINES = frozenset({
    "filename", "filename_format", "io_size", "number_ios", "loops", "runtime", "time_based",
    "ramp_time", "startdelay", "rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime",
    "latency_target", "steadystate", "flow", "exitall", "verify", "fill_device", "prioclass",
    "prio", "write_bw_log", "write_iops_log", "write_lat_log", "allow_file_create", "pre_read",
})  # fmt: skip
"""Options that would change what they measure; all others are about data, of which they move
none."""
_MOST_FILE_BYTES = 16 << 20
_FALLOC = {"read": "fallocate-keep", "write": "fallocate", "trim": "punch-hole"}
"""Backends of ioengine=falloc by what its operations are called."""
_CLASSES = ("none", "realtime", "best-effort", "idle")
REAL_TIME, BEST_EFFORT = 1, 2
LOGS = ("write_bw_log", "write_iops_log", "write_lat_log")
Sizes = tuple[tuple[int, int], ...]
"""Block sizes with weights."""


def priority_of(io_class: int, level: int) -> dict[str, Any]:
    """Return a priority as plans have it."""
    return {"io_class": _CLASSES[io_class], "level": level}


def _mean(sizes: Sizes) -> float:
    return sum(size * weight for size, weight in sizes) / sum(weight for _, weight in sizes)


class Job:
    """One section of a job file, or one ``--name``; UserError names the place of a conflict."""

    def __init__(self, section: Section) -> None:
        self.values, remarks = parsed(section)
        """Given ones by name."""
        self.name = str(section.own["name"].value) if "name" in section.own else section.name
        self.place = section.place
        self._bare = section.bare
        self.own = {name: str(text.value) for name, text in section.own.items()}
        """The texts of its own options."""
        self.work: Work = self.of("rw")
        self.reads_percent = self._reads_percent()
        self.engine: Engine = self.of("ioengine")
        self._check_file_engine()
        self.backend = self._backend()
        self.non_temporal = False
        """ioengine=libpmem: stores bypass the caches."""
        self.direct = self._direct()
        self._check_submission()
        self.blocks, self.write_blocks = self._blocks()
        """Sizes in bytes with weights; of the writes of a mix, where they differ, too."""
        self.depth: int = self.of("iodepth") if self._asynchronous else 1
        self.remarks = (*remarks, *self._remarks())
        self.directory = ""
        """Absolute."""
        self.path = ""
        """The absolute path of its only file; empty: each clone has files in the directory."""
        self._find_files()
        self.stream, self.streams = 0, 1
        """Number of its first clone's data with duplicates, and of all that share a set."""
        self.size = self._size()
        """Bytes of data of a clone over all its files; None: the size of the file."""
        self._check_small_files()
        self._check_duplicates()
        self.amount = self._amount()
        """Bytes that a clone moves; None: its size, ``loops`` times."""
        self._check_times()
        self.rate, self.write_rate = self._rates()
        """Operations a second of a clone, and the writes of them in a mix; 0: unlimited."""
        self._check_pace()
        self.priority, self.command_priorities = self._priorities()
        """Class and level of its threads, 0 where they are not changed, and of single operations,
        as plans have them."""
        self._check_zones()

    def of(self, name: str) -> Any:
        """Return a value, or its default."""
        found = self.values.get(name)
        return BY_NAME[name].default_value() if found is None else found.value

    def where(self, name: str) -> str:
        """Return the place of a value; of the job where the value is not given."""
        found = self.values.get(name)
        return self.place if found is None else found.place

    def fail(self, name: str, text: str) -> UserError:
        """Return an error that begins with the place of a value."""
        return UserError(f"{self.where(name)}: {text}")

    @property
    def is_device(self) -> bool:
        """Whether the path is a device, by its name alone."""
        return is_device(self.path) and not self.is_bottomless

    @property
    def is_bottomless(self) -> bool:
        """Whether its file is as large as anybody likes, and keeps nothing."""
        return self.path in BOTTOMLESS

    @property
    def operation(self) -> str:
        """read, write, trim or mix."""
        if self.work.operation == "mix" and self.reads_percent in (0, 100):
            return "read" if self.reads_percent else "write"
        return self.work.operation

    @property
    def writes(self) -> bool:
        """Whether anything is written, or files are made and removed."""
        return self.operation != "read" or self.changes_space or bool(self.engine.operation)

    def does(self, direction: str) -> bool:
        """Whether some of its operations are reads, writes or trims."""
        mixed = self.operation == "mix" and direction in ("read", "write")
        return mixed or self.operation == direction

    @property
    def priorities(self) -> list[tuple[int, int]]:
        """Classes and levels that its operations may have, its threads' at first; empty: all have
        the threads'."""
        single = [
            (_CLASSES.index(one["io_class"]), int(one["level"])) for one in self.command_priorities
        ]
        return list(dict.fromkeys([self.priority, *single])) if single else []

    @property
    def changes_space(self) -> bool:
        """Whether its operations change which blocks a file has, whatever they are called."""
        return self.backend in CHANGING_SPACE

    @property
    def pattern_operation(self) -> str:
        """read, write or mix, as the engine has it."""
        return "write" if self.changes_space else self.operation

    @property
    def verify(self) -> bool:
        """Whether data is checked."""
        return self.of("verify") not in ("0", "none")

    @property
    def largest(self) -> int:
        """Bytes of its largest operation."""
        return max(size for size, _weight in (*self.blocks, *self.write_blocks))

    @property
    def mean_block(self) -> float:
        """Mean bytes of its operations."""
        mean = _mean(self.blocks)
        if not self.write_blocks:
            return mean
        reads = self.reads_percent / 100
        return reads * mean + (1 - reads) * _mean(self.write_blocks)

    @property
    def fill(self) -> str | None:
        """Bytes that written data repeats, as hexadecimal digits; None: it is random."""
        if self.of("zero_buffers"):
            return "00"
        found: str | None = self.of("verify_pattern") if self.verify else self.of("buffer_pattern")
        return found

    @property
    def time_based(self) -> bool:
        """Whether it goes on for all of its runtime; without one it does not, as in fio."""
        return bool(self.of("time_based") and self.of("runtime"))

    @property
    def limit_s(self) -> float:
        """Seconds after which it ends, whatever is left; 0: none."""
        return float(self.of("runtime"))

    @property
    def drains(self) -> bool:
        """Whether each write waits until it persists, as ``sync`` says."""
        return self.engine.name == "dev-dax" or self.of("sync") not in ("0", "none")

    def log(self, name: str) -> str | None:
        """Return the beginning of the names of a log's files; None without one."""
        return self.name if name in self._bare else self.of(name)

    @property
    def log_s(self) -> float:
        """Seconds of each average."""
        return float(self.of("log_avg_msec") or self.of("bwavgtime"))

    @property
    def seed(self) -> int:
        """The seed of offsets; random in each run where ``randrepeat`` is off."""
        if not self.of("randrepeat") and "randseed" not in self.values:
            return random.SystemRandom().getrandbits(60)
        return int(self.of("randseed"))

    @property
    def _asynchronous(self) -> bool:
        return not self.engine.operation and self.backend not in SYNCHRONOUS

    def _check_file_engine(self) -> None:
        """Check what a job may have by whether its engine has an ``operation``."""
        name = self.engine.name
        if not self.engine.operation:
            if self.of("create_on_open"):
                raise self.fail("create_on_open", "files are made before anything is timed")
            return
        lines = [
            f"{given.place}: ioengine={name} uses each file once, and takes no {option}"
            for option, given in self.values.items()
            if option in _NOT_OF_FILE_ENGINES and given.value != BY_NAME[option].default_value()
        ]
        if lines:
            raise RefusedError(lines)
        if self.operation == "mix":
            raise self.fail(
                "rw", f"ioengine={name} takes read or write, which only name its figures"
            )

    def _check_small_files(self) -> None:
        if not self.engine.operation or self.engine.operation == "create":
            return
        if not self.size:
            raise self.fail("filesize", f"ioengine={self.engine.name} needs the size of its files")
        if self.size // self.of("nrfiles") > _MOST_FILE_BYTES:
            raise self.fail("filesize", f"ioengine={self.engine.name} takes files of at most 16m")

    def _backend(self) -> str:
        engine = self.engine.name
        for name in ("gpu_dev_ids", "cuda_io"):
            if name in self.values and engine != "libcufile":
                raise self.fail(name, f"needs ioengine=libcufile, not {engine}")
        for name in ("fixedbufs", "registerfiles", "sqthread_poll", "hipri"):
            if self.of(name) and engine != "io_uring":
                raise self.fail(name, f"needs ioengine=io_uring, not {engine}")
        if self.operation == "trim" and engine != "falloc":
            raise self.fail(
                "rw", f"trims discard data: {self.work.word} goes with ioengine=falloc, which has "
                "tierscope's own files give up blocks",
            )  # fmt: skip
        if engine == "ftruncate" and self.operation != "write":
            raise self.fail("rw", "ioengine=ftruncate takes write and randwrite")
        if engine == "falloc" and self.operation == "mix":
            raise self.fail("rw", "ioengine=falloc takes reads, writes or trims; give each a job")
        if engine in ("ftruncate", "falloc") and self.verify:
            raise self.fail("verify", f"ioengine={engine} writes no data; leave it out")
        if engine == "falloc":
            return _FALLOC[self.operation]
        if self.drains and self.engine.backend != "pmem":
            raise self.fail("sync", "files are not opened with O_SYNC; use fsync=1 or fdatasync=1")
        if engine == "libcufile" and self.of("cuda_io") == "posix":
            return "staged"
        return self.engine.backend

    def _direct(self) -> bool:
        # The one that comes last counts, as in fio.
        last = next((name for name in reversed(self.values) if name in ("direct", "buffered")), "")
        found = self.of("direct") if last == "direct" else not self.of("buffered")
        if self.backend == "null":
            return False
        if self.backend == "pmem":
            self.non_temporal = bool(found) or self.engine.name == "dev-dax"
            return False
        if self.backend == "mmap" and found:
            raise self.fail("direct", "ioengine=mmap goes through the page cache; leave it out")
        if self.backend == "cufile" and not found:
            raise self.fail("direct", "cuda_io=cufile goes past the page cache; give direct=1")
        if self.of("hipri") and not found:
            raise self.fail("hipri", "polling for completions needs direct=1")
        return bool(found)

    def _check_submission(self) -> None:
        rated = "rate" in self.values or "rate_iops" in self.values
        if self.of("io_submit_mode") == "offload" and not (self._asynchronous and rated):
            raise self.fail(
                "io_submit_mode", "offload needs a rate and ioengine=libaio or io_uring; leave it "
                "out",
            )  # fmt: skip

    def _blocks(self) -> tuple[Sizes, Sizes]:
        name = next((name for name in ("bssplit", "bsrange") if name in self.values), "bs")
        found: Blocks = self.of(name)
        for blocks in (found.reads, found.writes, found.trims):
            if reduce(math.gcd, (size for size, _weight in blocks)) % 512:
                raise self.fail(name, "block sizes have to be multiples of 512 bytes")
        if self.work.operation == "mix":
            return found.reads, found.writes if found.writes != found.reads else ()
        own = {"read": found.reads, "write": found.writes, "trim": found.trims}
        return own[self.work.operation], ()

    def _reads_percent(self) -> int:
        reads, writes = self.values.get("rwmixread"), self.values.get("rwmixwrite")
        if writes is None:
            return int(self.of("rwmixread"))
        if reads is not None and reads.value + writes.value != 100:
            raise UserError(f"{writes.place}: with {reads.place} it does not add up to 100")
        return int(100 - writes.value)

    def _size(self) -> int | None:
        if self.of("fill_device"):
            return None
        size: int | None = self.of("size")
        if "filesize" not in self.values:
            return size
        files: int = self.of("filesize") * self.of("nrfiles")
        return files if size is None else min(size, files)

    def _amount(self) -> int | None:
        loops = int(self.of("loops"))
        if "number_ios" in self.values:
            if len(self.blocks) > 1 or self.write_blocks:
                raise self.fail("number_ios", "with several block sizes, give io_size in bytes")
            return int(self.of("number_ios")) * self.blocks[0][0] * loops
        return int(self.of("io_size")) * loops if self.of("io_size") else None

    def _check_times(self) -> None:
        time_based = self.time_based
        if self.of("ramp_time") and not time_based:
            raise self.fail("ramp_time", "needs time_based=1 and runtime")
        if time_based and self.of("end_fsync"):
            raise self.fail("end_fsync", "needs an amount (size, io_size), not time_based")

    def _rates(self) -> tuple[float, float]:
        name = "rate_iops" if "rate_iops" in self.values else "rate"
        if name not in self.values:
            return 0.0, 0.0
        reads, writes, trims = map(float, self.of(name))
        if name == "rate":
            reads /= _mean(self.blocks)
            writes /= _mean(self.write_blocks or self.blocks)
            trims /= _mean(self.blocks)
        if self.operation != "mix":
            return {"read": reads, "write": writes, "trim": trims}[self.operation], 0.0
        if bool(reads) != bool(writes):
            raise self.fail(name, "limits reads and writes of a mix, or neither; give both")
        return reads + writes, writes

    def _check_duplicates(self) -> None:
        percent, of_set = self.of("dedupe_percentage"), self.of("dedupe_mode") == "working_set"
        if self.of("dedupe_global") and not of_set:
            raise self.fail("dedupe_global", "needs dedupe_mode=working_set")
        if not percent or not self.does("write"):
            return
        given = {name: self.of(name) for name in ("buffer_pattern", "zero_buffers")}
        for name, value in {"verify": self.verify, **given}.items():
            if value:
                raise self.fail(
                    name,
                    "goes without dedupe_percentage: equal blocks do not say where they belong",
                )
        if self.backend in (*MAPPED, *GPU_BACKENDS):
            raise self.fail("dedupe_percentage", f"does not go with ioengine={self.engine.name}")
        own = self.of("dedupe_working_set_percentage")
        if of_set and percent + own > 100:
            raise self.fail(
                "dedupe_percentage", f"{percent}, and {own} for the set of unique blocks "
                "(dedupe_working_set_percentage), are more than 100",
            )  # fmt: skip
        if of_set and self.size is None:
            raise self.fail("dedupe_mode", "a set of blocks is a part of size; give size")

    def duplicates(self, number: int) -> dict[str, Any]:
        """Return the duplicates in the data of a clone, as plans have them; empty: none."""
        percent = self.of("dedupe_percentage")
        if not percent or not self.does("write"):
            return {}
        found = {"percent": percent, "stream": self.stream + number, "streams": self.streams}
        if self.of("dedupe_mode") == "repeat":
            return found
        unit = math.gcd(*(size for size, _weight in self.write_blocks or self.blocks))
        share = self.of("dedupe_working_set_percentage")
        return {**found, "working_set": max(1, (self.size or 0) * share // 100 // unit)}

    def _priorities(self) -> tuple[tuple[int, int], list[dict[str, Any]]]:
        named, level = self.of("prioclass"), self.of("prio")
        own = (0, 0) if not named and level is None else (named or BEST_EFFORT, level or 0)
        split, percents = self.of("cmdprio_bssplit"), self.of("cmdprio_percentage")
        if split and any(percents):
            raise self.fail("cmdprio_bssplit", "goes without cmdprio_percentage")
        shares = split or [
            [PriorityShare(None, percent, None)] if percent else [] for percent in percents
        ]
        found = [
            self._command_priority(number, share)
            for number, direction in enumerate(("read", "write"))
            for share in shares[number]
            if self.does(direction)
        ]
        if found and self.backend not in ("libaio", "io_uring"):
            name = "cmdprio_bssplit" if split else "cmdprio_percentage"
            raise self.fail(name, f"needs ioengine=libaio or io_uring, not {self.engine.name}")
        return own, found

    def _command_priority(self, number: int, share: PriorityShare) -> dict[str, Any]:
        """Return the priority of a share of the reads (0) or writes (1), as plans have it."""
        usual = (self.of("cmdprio_class")[number] or REAL_TIME, self.of("cmdprio")[number])
        return {
            "of": ("reads", "writes")[number],
            **({"bytes": share.bytes} if share.bytes else {}),
            "percent": share.percent,
            **priority_of(*(share.named or usual)),
        }

    def _check_pace(self) -> None:
        if self.of("thinktime_spin") > self.of("thinktime"):
            raise self.fail("thinktime_spin", "is a part of thinktime, and longer than it")
        if self.of("latency_target") and not self.of("latency_window"):
            raise self.fail("latency_target", "needs a latency_window, for which a depth is tried")
        if self.of("latency_target") and self.of("numjobs") > 1 and self.of("group_reporting"):
            raise self.fail(
                "latency_target", "each clone finds its own depth; leave group_reporting out"
            )
        if "steadystate" in self.values and not self.of("steadystate_duration"):
            raise self.fail("steadystate", "needs a steadystate_duration (ss_dur)")

    def _check_zones(self) -> None:
        if self.of("zonemode") != "strided":
            if "zonesize" in self.values:
                raise self.fail(
                    "zonesize", "needs zonemode=strided; zoned devices are not measured"
                )
            return
        size, reach = self.of("zonesize"), self.of("zonerange") or self.of("zonesize")
        if not size or size > reach or size < self.largest:
            raise self.fail(
                "zonesize", f"needs {self.largest} bytes (an operation) to zonerange={reach}"
            )

    def _find_files(self) -> None:
        count = self.of("nrfiles")
        all_open = not self.engine.operation
        if all_open and self.of("openfiles") is not None and self.of("openfiles") < count:
            raise self.fail("openfiles", f"all {count} files are open; leave it out")
        if count > 1 and self.of("file_service_type") == "random" and not self.work.random:
            raise self.fail(
                "file_service_type", "sequential I/O takes files one after another (sequential) "
                "or by turns (roundrobin)",
            )  # fmt: skip
        paths = self.of("filename") or ()
        if len(paths) > 1 or (paths and count > 1):
            raise self.fail("filename", "a job takes one file by name; give each file its own job")
        if self.backend == "null":
            paths = ("/dev/null",)
        self.directory = absolute(self.of("directory"), self.where("directory"))
        if paths:
            self.path = absolute(str(Path(self.directory, paths[0])), self.where("filename"))
        if self.is_device and self.work.operation != "read":
            raise refuse_device(self.path, self.where("filename"))

    def _remarks(self) -> Iterator[str]:
        """Yield remarks on options that change nothing or work differently."""
        if self.engine.remark:
            yield f"ioengine={self.engine.name} {self.engine.remark}"
        if self.engine.operation:
            others = [name for name in self.values if name not in _OF_FILE_ENGINES]
            if others:
                yield f"{', '.join(others)}: no data is moved by ioengine={self.engine.name}"
            return
        reads = self.work.operation == "read"
        single = f"ioengine={self.engine.name} has one operation in flight"
        without_effect = {
            "iodepth": single if self.of("iodepth") > self.depth else "",
            **dict.fromkeys(("fsync", "fdatasync", "end_fsync", "refill_buffers"),
                            "nothing is written" if reads else ""),
            "blockalign": "" if self.work.random else "I/O is sequential",
        }  # fmt: skip
        for name, why in without_effect.items():
            if why and self.of(name):
                yield f"{name}={self.of(name):g} changes nothing: {why}"
        if self.of("fill_device") and "size" in self.values:
            yield f"size={self.of('size')} changes nothing: fill_device says how much there is"
        if self.of("time_based") and not self.time_based:
            yield "time_based changes nothing: there is no runtime"
        logged = any(self.log(name) for name in LOGS)
        if logged and not self.of("log_avg_msec"):
            yield f"logs have averages of {self.log_s * 1000:g} ms, not a line for each operation"
        if self.verify:
            yield f"verify={self.of('verify')}: blocks have tierscope's own checksum (XXH3)"
        if self.fill:
            yield "data repeats the pattern between tierscope's headers, 112 bytes of each 4096"
