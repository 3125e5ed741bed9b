"""A job of fio's: its values, checked against each other."""

import math
import random
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError
from tierscope.model.io import SYNCHRONOUS
from tierscope.peers.drop_in import absolute, is_device, refuse_device
from tierscope.peers.fio.options import BY_NAME, Engine, Section, parsed
from tierscope.peers.fio.values import Blocks, Work


class Job:
    """One section of a job file, or one ``--name``; UserError names the place of a conflict."""

    def __init__(self, section: Section) -> None:
        self.values, remarks = parsed(section)
        """Given ones by name."""
        self.name = str(section.own["name"].value) if "name" in section.own else section.name
        self.place = section.place
        self.own = {name: str(text.value) for name, text in section.own.items()}
        """The texts of its own options."""
        self.work: Work = self.of("rw")
        self.engine: Engine = self.of("ioengine")
        self.backend = self._backend()
        self.direct = self._direct()
        self._check_submission()
        self.blocks = self._blocks()
        """Sizes in bytes with weights."""
        self.reads_percent = self._reads_percent()
        self.depth: int = 1 if self.backend in SYNCHRONOUS else self.of("iodepth")
        self.remarks = (*remarks, *self._remarks())
        self.directory = ""
        """Absolute."""
        self.path = ""
        """The absolute path of its only file; empty: each clone has files in the directory."""
        self._find_files()
        self.size = self._size()
        """Bytes of data of a clone over all its files; None: the size of the file."""
        self.amount = self._amount()
        """Bytes that a clone moves; None: its size, ``loops`` times."""
        self._check_times()
        self.rate = self._rate()
        """Operations a second of a clone; 0: unlimited."""

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
        return is_device(self.path)

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
    def verify(self) -> bool:
        """Whether data is checked."""
        return self.of("verify") not in ("0", "none")

    @property
    def largest(self) -> int:
        """Bytes of its largest operation."""
        return max(size for size, _weight in self.blocks)

    @property
    def mean_block(self) -> float:
        """Mean bytes of its operations."""
        weights = sum(weight for _size, weight in self.blocks)
        return sum(size * weight for size, weight in self.blocks) / weights

    @property
    def seed(self) -> int:
        """The seed of offsets; random in each run where ``randrepeat`` is off."""
        if not self.of("randrepeat") and "randseed" not in self.values:
            return random.SystemRandom().getrandbits(60)
        return int(self.of("randseed"))

    def _backend(self) -> str:
        engine = self.engine.name
        for name in ("gpu_dev_ids", "cuda_io"):
            if name in self.values and engine != "libcufile":
                raise self.fail(name, f"needs ioengine=libcufile, not {engine}")
        for name in ("fixedbufs", "registerfiles", "sqthread_poll", "hipri"):
            if self.of(name) and engine != "io_uring":
                raise self.fail(name, f"needs ioengine=io_uring, not {engine}")
        if self.of("fixedbufs") != self.of("registerfiles"):
            raise self.fail(
                "fixedbufs" if self.of("fixedbufs") else "registerfiles",
                "buffers and files are registered together; give fixedbufs=1 and registerfiles=1",
            )
        if engine == "libcufile" and self.of("cuda_io") == "posix":
            return "staged"
        return self.engine.backend

    def _direct(self) -> bool:
        direct, buffered = self.values.get("direct"), self.values.get("buffered")
        if direct is not None and buffered is not None and direct.value == buffered.value:
            raise UserError(f"{buffered.place}: contradicts {direct.place}")
        found = direct.value if direct is not None else not self.of("buffered")
        if self.backend == "mmap" and found:
            raise self.fail("direct", "ioengine=mmap goes through the page cache; leave it out")
        if self.backend == "cufile" and not found:
            raise self.fail("direct", "cuda_io=cufile goes past the page cache; give direct=1")
        if self.of("hipri") and not found:
            raise self.fail("hipri", "polling for completions needs direct=1")
        return bool(found)

    def _check_submission(self) -> None:
        rated = "rate" in self.values or "rate_iops" in self.values
        if self.of("io_submit_mode") == "offload" and (self.backend in SYNCHRONOUS or not rated):
            raise self.fail(
                "io_submit_mode", "offload needs a rate and ioengine=libaio or io_uring; leave it "
                "out",
            )  # fmt: skip

    def _blocks(self) -> tuple[tuple[int, int], ...]:
        name = next((name for name in ("bssplit", "bsrange") if name in self.values), "bs")
        found: Blocks = self.of(name)
        if self.work.operation == "mix" and found.reads != found.writes:
            raise self.fail(name, "reads and writes of a mix need the same sizes; give one value")
        blocks = found.writes if self.work.operation == "write" else found.reads
        if reduce(math.gcd, (size for size, _weight in blocks)) % 512:
            raise self.fail(name, "block sizes have to be multiples of 512 bytes")
        return blocks

    def _reads_percent(self) -> int:
        reads, writes = self.values.get("rwmixread"), self.values.get("rwmixwrite")
        if writes is None:
            return int(self.of("rwmixread"))
        if reads is not None and reads.value + writes.value != 100:
            raise UserError(f"{writes.place}: with {reads.place} it does not add up to 100")
        return int(100 - writes.value)

    def _size(self) -> int | None:
        size: int | None = self.of("size")
        if "filesize" not in self.values:
            return size
        files: int = self.of("filesize") * self.of("nrfiles")
        return files if size is None else min(size, files)

    def _amount(self) -> int | None:
        loops = int(self.of("loops"))
        if "number_ios" in self.values:
            if len(self.blocks) > 1:
                raise self.fail("number_ios", "with several block sizes, give io_size in bytes")
            return int(self.of("number_ios")) * self.blocks[0][0] * loops
        return int(self.of("io_size")) * loops if self.of("io_size") else None

    def _check_times(self) -> None:
        time_based = self.of("time_based")
        if time_based and not self.of("runtime"):
            raise self.fail("time_based", "needs a runtime")
        if self.of("ramp_time") and not time_based:
            raise self.fail("ramp_time", "needs time_based=1 and runtime")
        if time_based and self.of("end_fsync"):
            raise self.fail("end_fsync", "needs an amount (size, io_size), not time_based")

    def _rate(self) -> float:
        name = "rate_iops" if "rate_iops" in self.values else "rate"
        if name not in self.values:
            return 0.0
        reads, writes = self.of(name)
        if self.work.operation == "mix":
            raise self.fail(name, "in a mix, reads and writes have separate rates; give two jobs")
        rate = float(writes if self.work.operation == "write" else reads)
        if name == "rate_iops":
            return rate
        return rate / self.mean_block

    def _find_files(self) -> None:
        count, random_order = self.of("nrfiles"), self.work.random
        if self.of("openfiles") is not None and self.of("openfiles") < count:
            raise self.fail("openfiles", f"all {count} files are open; leave it out")
        fits = ("random", "roundrobin") if random_order else ("sequential",)
        if count > 1 and self.of("file_service_type") not in fits:
            raise self.fail(
                "file_service_type" if "file_service_type" in self.values else "nrfiles",
                f"{'random' if random_order else 'sequential'} I/O over several files goes with "
                f"file_service_type={' or '.join(fits)}",
            )
        paths = self.of("filename") or ()
        if len(paths) > 1 or (paths and count > 1):
            raise self.fail("filename", "a job takes one file by name; give each file its own job")
        self.directory = absolute(self.of("directory"), self.where("directory"))
        if paths:
            self.path = absolute(str(Path(self.directory, paths[0])), self.where("filename"))
        if self.is_device and self.work.operation != "read":
            raise refuse_device(self.path, self.where("filename"))

    def _remarks(self) -> Iterator[str]:
        """Yield remarks on options that change nothing or work differently."""
        if self.engine.remark:
            yield f"ioengine={self.engine.name} {self.engine.remark}"
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
        if self.verify:
            yield f"verify={self.of('verify')}: blocks have tierscope's own checksum (XXH3)"
        if self.of("nrfiles") > 1 and self.work.random:
            yield f"nrfiles={self.of('nrfiles')}: files are chosen at random, not in turn"
