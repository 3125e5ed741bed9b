"""The spec of files: operations on small files of a directory."""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from tierscope.model.base import Count, Model
from tierscope.model.directory import DirectorySpec
from tierscope.model.evidence import OwnEvidence
from tierscope.model.property import IN_BYTES, OPERATION, MadeBy, Property, declared
from tierscope.model.rules import Check, Prunes, Ruled, Ruling
from tierscope.model.spec import Cpus
from tierscope.model.storage import ThreadUse
from tierscope.model.threads import Threads
from tierscope.model.topology import Topology
from tierscope.plans import options
from tierscope.plans.axes import sampling
from tierscope.plans.issuers import issuers, storage_targets, storage_threads
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of, values_of

_SAMPLE_S = 0.05
_FILES = 1000
"""Default number in a directory; a request for more may take over a tenth of the free space."""
_SLOWEST_PER_S = 25.0
"""Files that are made or removed a second; a file system that is slower is taken for a hang."""


Operation = Literal["create", "open", "stat", "read", "list", "unlink"]
"""create: open a new file, write it whole, close it; open: open and close; read: open, read the
whole file, close; list: open the directory, read all names, close."""


class FilesPattern(Ruled):
    """One operation, again and again, each time on the next file."""

    operation: Annotated[
        Operation, OPERATION.but(default=",".join(get_args(Operation)), default_help="all of them")
    ]
    file_size: Annotated[
        int,
        IN_BYTES,
        Field(ge=0, le=16 << 20),
        Property(
            "Bytes of each file, as in 0,4k,64k, at most 16m",
            default="4k",
            words="files of {}",
            id="{}",
        ),
    ]
    files: Annotated[
        int,
        Field(ge=1, le=10_000_000),
        Property("Files in each directory", default=f"{_FILES}", words="{} a directory", id="n{}"),
    ]
    directories: Annotated[
        Literal["own", "shared"],
        Property(
            "own: one for each thread; shared: one for all, each thread with its share of the "
            "files",
            words="{} directories",
        ),
    ] = "own"
    fsync: Annotated[
        Literal["no", "file", "directory"],
        Property(
            "no; file: create waits until the file is on the drive, unlink finds it there; "
            "directory: both wait for the directory, too",
            words="fsync {}",
            id="fsync-{}",
            essential=False,
        ),
    ] = "no"
    """Durability of create: nothing, fsync of the file, or of the directory, too. Files to be
    unlinked were made with fsync unless it is no; directory: unlink waits for the directory."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Prunes("fsync", unless={"operation": ("create", "unlink")}),
    )


class FilesThread(ThreadUse):
    """One thread, where each uses each of its files once."""

    operations: Count


class SmallFiles(Model):
    """Small files of a repetition."""

    directories: Count
    """Directories that were made for them."""
    files: Count
    """In all of these together."""
    operations: Count
    caches: Literal["warm"]
    """warm: the kernel had names, inodes and data of the files, which were made in the same
    repetition, in its caches."""
    set_up_s: float
    """Seconds of making directories and files before the first sample; inside no figure."""
    threads: list[FilesThread] | None = None
    """With ``own_ends``."""


class FilesEvidence(OwnEvidence):
    """Keys of evidence of small files."""

    small_files: SmallFiles | None = None


class FilesSpec(Threads, DirectorySpec):
    """Operations a second, and the time that each takes.

    The file system's work is measured, with names and inodes in the kernel's caches; no link or
    data sheet limits it.
    """

    metric: ClassVar[str] = "operations"
    own_evidence: ClassVar[type[OwnEvidence]] = FilesEvidence
    recorded: ClassVar[tuple[str, ...]] = ("operation", "file_size", "threads")

    kind: Literal["files"] = "files"
    cpus: Annotated[Cpus, MadeBy("threads")]
    """One a thread, and a CPU may come several times; with ``cpu_sets``, all CPUs of the sets."""
    large: bool = False
    """They may take more than a tenth of the free space and inodes."""
    pattern: FilesPattern
    own_ends: bool = False
    """Each thread uses each of its files once, and ends then; a repetition is one sample. Each
    thread has figures of its own."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "pattern.files",
            "are fewer than threads, each of which needs one in a shared directory",
            lambda spec: (
                spec.pattern.directories == "own" or spec.pattern.files >= spec.thread_count
            ),
            ("pattern.directories", "cpus", "cpu_sets"),
        ),
    )

    @property
    def one_repetition(self) -> bool:
        """As ``own_ends`` says."""
        return self.own_ends

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads."""
        pattern = self.pattern.model_dump(mode="json")
        return {**pattern, "threads": self.thread_count, **self.pinned_as()}

    def set_up_s(self) -> float:
        """Seconds for making the files, making or removing them between samples, and removing
        them at the end."""
        directories = self.thread_count if self.pattern.directories == "own" else 1
        return super().set_up_s() + 4 * directories * self.pattern.files / _SLOWEST_PER_S


SPEC = FilesSpec


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[FilesSpec]:
    """Yield a measurement for each combination of the options' values."""
    there = storage_targets(request, FilesSpec)
    for issuer, target in itertools.product(issuers(request, topology, FilesSpec), there):
        cpus = issuer.cpus
        for threads in storage_threads(request, issuer):
            directories = values_of(request, declared(FilesPattern)["directories"])
            axes = {"directories": directories if threads > 1 else ["own"]}
            for values in combinations(request, FilesPattern, axes):
                fields = {
                    "initiator": str(issuer.initiator),
                    "target": str(target),
                    "sampling": {"sample_s": _SAMPLE_S, **sampling(request)},
                    "cpus": [cpus[i % len(cpus)] for i in range(threads)],
                    "directory": target.path,
                    "large": values["files"] > _FILES,
                    "pattern": values,
                }
                parts = [str(issuer.initiator), str(target), values["operation"], f"t{threads}"]
                parts += id_parts(FilesPattern, values, "operation")
                yield spec_of(request, FilesSpec, fields, parts)


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(FilesSpec, "the current directory").but(help="Directories: file:/data"),
        *options_of(FilesPattern),
        options.THREADS.but(help="Number of threads, more than CPUs if you like", default="1"),
        options.PIN,
        options.PRECISION,
        options.BUDGET,
        options.SAMPLE.but(default="50ms"),
    ),
    expand=expand,
    help="""\
Files are made in a new directory below the one that is named, and removed; nothing else is written.
The kernel has their names and inodes in its caches: figures are those of a warm cache.""",
    examples=(
        "files --to file:/tmp",
        "files --to file:/tmp --op create,unlink --file-size 0,4k,64k --fsync no,file,directory",
        "files --to file:/tmp --threads 1..all*2 --directories own,shared --json",
    ),
)
