"""Checks of GPUs for `tierscope doctor`: power caps."""

from collections.abc import Iterator

from tierscope.model.finding import Finding
from tierscope.model.topology import Gpu, Topology
from tierscope.topology.files import Files

_ROUNDING_W = 1.0
"""Watts by which caps may differ and mean the same."""


def gpu_findings(topology: Topology, _files: Files) -> Iterator[Finding]:
    """Yield a finding for each GPU whose cap is below what its board allows or begins with."""
    known = [gpu for gpu in topology.gpus if gpu.power_limit_w is not None]
    capped = [finding for gpu in known if (finding := _cap(gpu)) is not None]
    yield from capped
    if known and not capped:
        caps = dict.fromkeys(f"{gpu.power_limit_w:.0f} W" for gpu in known)
        yield Finding(
            severity="good", subject="GPU power caps", found=f"{', '.join(caps)}, the most there is"
        )


def _cap(gpu: Gpu) -> Finding | None:
    """A cap below the board's default is a choice of somebody; one below its most is as shipped."""
    limit, most = gpu.power_limit_w or 0.0, gpu.power_max_w or 0.0
    default = gpu.power_default_w or 0.0
    if limit >= max(most, default) - _ROUNDING_W:
        return None
    target = max(most, default)
    lowered = limit < default - _ROUNDING_W
    wanted = default if lowered else most
    by_default = f", {default:.0f} W by default" if default else ""
    return Finding(
        severity="problem" if lowered else "note",
        subject=f"power cap of gpu:{gpu.index}",
        found=f"{limit:.0f} W of {target:.0f} W ({limit / target:.0%}){by_default}",
        meaning="where its work would take more, the GPU lowers its clocks: up to "
        f"{1 - limit / target:.0%} less power for kernels; the evidence of a measurement names the "
        "power cap where it did",
        remedy=f"sudo nvidia-smi -i {gpu.address or gpu.index} -pl {wanted:.0f}"
        + (f" (its default; {most:.0f} is the most)" if most > wanted else ""),
    )
