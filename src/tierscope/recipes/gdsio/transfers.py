"""gdsio's transfer and memory types, as tierscope names and measures them."""

from dataclasses import dataclass

IO_WORDS = ("READ", "WRITE", "RANDREAD", "RANDWRITE")
"""What the result line calls ``-I`` 0 to 3."""
MEMORIES = ("device", "vmm", "pinned", "plain", "plain")
"""``-m`` 0 to 4. malloc gets buffers of this size from mmap, so that 3 and 4 are the same."""
HOST_MEMORIES = (2, 3, 4)
BATCHES = (6, 7)
"""Transfer types that submit several operations at once."""


@dataclass(frozen=True)
class Transfer:
    """One transfer type."""

    word: str
    """In the result line."""
    name: str
    """What it does, for people."""
    backend: str
    gpu: bool = True
    cufile: bool = False
    direct: bool = True


TRANSFERS: tuple[Transfer, ...] = (
    Transfer("GPUD", "storage to GPU by cuFile", "cufile", cufile=True),
    Transfer("CPUONLY", "storage to host memory", "posix", gpu=False),
    Transfer("CPU_GPU", "storage to host memory to GPU", "staged"),
    Transfer("CPU_ASYNC_GPU", "storage to managed memory, prefetched to the GPU", "staged-managed"),
    Transfer("CPU_CACHED_GPU", "storage to page cache to host memory to GPU", "staged",
        direct=False),
    Transfer("GPUD_ASYNC", "storage to GPU by cuFile on a stream", "cufile-stream", cufile=True),
    Transfer("GPU_BATCH", "storage to GPU by cuFile's batches", "cufile-batch", cufile=True),
    Transfer("GPU_BATCH_STREAM", "storage to GPU by cuFile's batches on a stream",
        "cufile-batch-stream", cufile=True),
)  # fmt: skip
"""By the number that ``-x`` takes."""
