"""The spec of files: operations on small files of a directory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.io import FilePath
from tierscope.model.spec import Cpus, MeasurementSpec, Region

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache

_SLOWEST_PER_S = 25.0
"""Files that are made or removed a second; a file system that is slower is taken for a hang."""


class FilesPattern(Model):
    """One operation, again and again, each time on the next file."""

    operation: Literal["create", "open", "stat", "read", "list", "unlink"]
    """create: open a new file, write it whole, close it; open: open and close; read: open, read
    the whole file, close; list: open the directory, read all names, close."""
    file_size: Annotated[int, Field(ge=0, le=16 << 20)]
    """Bytes of each file."""
    files: Annotated[int, Field(ge=1, le=10_000_000)]
    """In each directory."""
    directories: Literal["own", "shared"] = "own"
    """own: one for each thread; shared: one for all, of whose files each thread has its share."""
    fsync: Literal["no", "file", "directory"] = "no"
    """What create waits for: nothing, fsync of the file, or of the directory, too. Files to be
    unlinked were made with fsync unless it is no; directory: unlink waits for the directory."""

    @model_validator(mode="after")
    def _check(self) -> "FilesPattern":
        if self.fsync != "no" and self.operation not in ("create", "unlink"):
            raise ValueError("fsync goes with create and unlink")
        return self


class FilesSpec(MeasurementSpec):
    """Operations a second, and the time that each takes."""

    metric: ClassVar[str] = "operations"
    adds_up: ClassVar[bool] = True
    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.CPUS)
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.FILE,)
    recorded: ClassVar[tuple[str, ...]] = ("operation", "file_size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {"threads": int}

    kind: Literal["files"] = "files"
    cpus: Cpus
    """One a thread; a CPU may come several times."""
    directory: FilePath
    """Directories of files are made below it."""
    large: bool = False
    """They may take more than a tenth of the free space and inodes."""
    pattern: FilesPattern

    @model_validator(mode="after")
    def _check(self) -> "FilesSpec":
        if self.pattern.directories == "shared" and self.pattern.files < len(self.cpus):
            raise ValueError("a shared directory needs a file for each thread")
        return self

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """None: the kernel's caches are its own."""
        return []

    def files(self) -> list[str]:
        """The directory."""
        return [self.directory]

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads."""
        return {**self.pattern.model_dump(mode="json"), "threads": len(self.cpus)}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Never: the file system's work is measured, with names and inodes cached by the kernel."""
        return False

    def limit(self, paths: "Paths") -> "Limit | None":  # noqa: ARG002
        """None: no link or data sheet says how many files a file system makes."""
        return None

    def set_up_s(self) -> float:
        """Seconds for making the files, for making or removing them between rows, and for removing
        them."""
        directories = len(self.cpus) if self.pattern.directories == "own" else 1
        return super().set_up_s() + 4 * directories * self.pattern.files / _SLOWEST_PER_S


SPEC = FilesSpec
