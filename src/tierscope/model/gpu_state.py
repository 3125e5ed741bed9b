"""What was observed of GPUs while a measurement ran."""

from typing import Literal

from tierscope.model.base import Amount, Count, Model


class GpuState(Model):
    """What a GPU's clocks, power and link did while a measurement ran; [lowest, highest]."""

    gpu: int
    name: str
    address: str | None = None
    """PCI address of the GPU that CUDA used, as CUDA writes it."""
    samples: int
    """Looks at it; 0 where NVML is missing."""
    sm_clock_hz: list[float] | None = None
    memory_clock_hz: list[float] | None = None
    power_w: list[float] | None = None
    temperature_c: list[float] | None = None
    pcie_generation: list[float] | None = None
    pcie_width: list[float] | None = None
    pcie_replays: int | None = None
    """Packets that the PCIe link had to send again meanwhile."""
    throttle: list[str] | None = None
    """Reasons seen that kept its clocks down; empty: none."""


class TraceRow(Model):
    """All records of one name in a trace; of copies and memsets, those of one size."""

    group: Literal["call", "operation", "kernel"]
    """call: of the CUDA runtime, on the host; operation: a copy or memset; kernel."""
    name: str
    count: int
    bytes: float
    total_ns: float
    mean_ns: float
    median_ns: float
    min_ns: float
    max_ns: float
    stddev_ns: float
    each_bytes: float | None = None
    """Of each copy or memset; None of calls and kernels."""


class CopiesOverlap(Model):
    """Whether copies of a trace were under way at the same time, by when each began and ended."""

    copies: Count
    busy_ns: Amount
    """In which at least one was under way,"""
    overlapped_ns: Amount
    """and in which two or more were."""
    most: Count
    """At once."""


class CufileState(Model):
    """How NVIDIA's cuFile was used."""

    version: str
    """Of libcufile: "1.15"."""
    allow_compat_mode: bool
    """Whether operations may go through host memory where no direct way is open."""
    set_by: str
    """Who chose that: "tierscope", or a variable of the environment."""
    log: str
    """cuFile's own log file."""
    driver_open_s: float
    """Seconds that cuFileDriverOpen took, once for the engine; inside no figure."""
    register_s: float
    """Seconds of registering files and buffers; inside no figure."""
    unaligned: int | None = None
    """Operations that did not begin and end at a page; batches are not counted. None where this
    version counts nothing."""


class GpuTraffic(Model):
    """What one GPU moved over PCIe while rows were taken, for whomever."""

    address: str
    """On the PCI bus, as NVML writes it."""
    received: Amount
    """Bytes/s to the GPU,"""
    sent: Amount
    """and from it."""
    method: Literal["GPM", "samples"]
    """GPM: the mean over all of the time; samples: the mean of NVML's samples of 20 ms."""
