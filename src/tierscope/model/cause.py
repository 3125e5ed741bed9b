"""Why a measurement was skipped or failed, as a word that code may decide by.

The same words stand in ``engine/errors.h``. The reason beside it is for people: rewording it
changes no behaviour.
"""

from enum import StrEnum


class Cause(StrEnum):
    """Why there is no figure."""

    INTERRUPTED = "interrupted"
    """A signal came before the first row."""
    CPU = "cpu"
    """A CPU does not exist, is offline or may not be used."""
    NODE = "node"
    """A NUMA node does not exist, has no memory or may not be used."""
    MEMORY = "memory"
    """Too little memory is free."""
    PAGES = "pages"
    """Pages of the size asked for cannot be had."""
    KERNEL = "kernel"
    """The kernel lacks a feature or forbids it."""
    ISA = "isa"
    """The CPU or the build lacks an instruction set or an instruction."""
    GPU = "gpu"
    """No such GPU, no driver, or a build without CUDA."""
    PEER = "peer"
    """A GPU cannot reach another one's memory."""
    GPU_FEATURE = "gpu-feature"
    """A GPU lacks a feature, such as bulk copies or reach into pageable memory."""
    TOOL = "tool"
    """A library that only this measurement needs is missing."""
    PERMISSION = "permission"
    """This user may not do it."""
    PREFETCHERS = "prefetchers"
    """Hardware prefetchers cannot be switched."""
    VERIFICATION = "verification"
    """Data that was moved or written is not what it should be."""
    PLACEMENT = "placement"
    """Pages are not where they were asked for."""
    WEIGHTS = "weights"
    """A thread's share of an interleaved array holds no whole round of the weights."""
    CRASH = "crash"
    """The engine died."""
    TIMEOUT = "timeout"
    """The engine took far longer than it was given."""
    PROTOCOL = "protocol"
    """The engine wrote what is no event."""
    GPU_ERROR = "gpu-error"
    """CUDA reported an error."""
    OTHER = "other"
    """Anything else; the reason says what."""
