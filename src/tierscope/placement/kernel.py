"""The kernel's files below a root that tests replace: read as ``Files`` reads them, and written."""

import os

from tierscope.model.errors import ExitCode, UserError
from tierscope.topology.files import Files


class KernelError(UserError):
    """The kernel refused a write; the text names file, value and reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.SOMETHING_FAILED)


class Kernel(Files):
    """Files of /sys and /proc."""

    def write(self, path: str, value: str) -> None:
        """Write a value in one call, as sysfs wants it; raises KernelError."""
        try:
            descriptor = os.open(self.root + path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(descriptor, value.encode())
            finally:
                os.close(descriptor)
        except PermissionError:
            raise KernelError(f"cannot write {path}: needs root") from None
        except OSError as error:
            raise KernelError(f"the kernel refuses '{value}' in {path}: {error.strerror}") from None
