"""Measurements of files that are made below a directory, and removed."""

from typing import ClassVar

from tierscope.model.endpoint import EndpointKind
from tierscope.model.io import FilePath
from tierscope.model.spec import Cpus, MeasurementSpec, Region


class DirectorySpec(MeasurementSpec):
    """The base of measurements of files below a directory."""

    adds_up: ClassVar[bool] = True
    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.CPUS)
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.FILE,)

    cpus: Cpus
    """CPUs that each thread may run on."""
    directory: FilePath
    """What is made is below it."""

    def thread_cpus(self) -> list[int]:
        """As the spec says."""
        return self.cpus

    def regions(self) -> list[Region]:
        """None: a thread has one buffer, wherever the kernel places it."""
        return []

    def files(self) -> list[str]:
        """The directory."""
        return [self.directory]
