"""What HMSDK's module for Python does: it opens the library of LIBCEMALLOC_DIR by ctypes."""

import ctypes
import os
from enum import Enum
from pathlib import Path

_library = ctypes.CDLL(str(Path(os.environ["LIBCEMALLOC_DIR"]) / "libcemalloc.so"))
MemoryMode = Enum("MemoryMode", {"HOST": 0, "CXL": 1})


def SetCxlMemory() -> int:  # noqa: N802 - HMSDK's name
    return int(_library.SetCxlMemory())


def SetHostMemory() -> int:  # noqa: N802
    return int(_library.SetHostMemory())


def GetMemoryMode() -> MemoryMode:  # noqa: N802
    return MemoryMode(_library.GetMemoryMode())


_library.EnableExplicitIndicator()
