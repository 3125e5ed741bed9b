"""Requests for the latency of GPUs' dependent loads."""

import itertools
from collections.abc import Iterator

from tierscope.kinds.gpu_latency.spec import GpuLatencySpec
from tierscope.model.gpu import HostPlace
from tierscope.model.topology import Topology
from tierscope.model.transfers import endpoint_of
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked, choices, sizes
from tierscope.plans.gpu import flag, gpus_of, named, of_gpu, places
from tierscope.plans.machine import GIB, MIB
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[GpuLatencySpec]:
    """Yield latencies from GPUs to memory, over places and working sets."""
    for gpu, place, engine, order, stride, size in itertools.product(
        gpus_of(request, topology, GpuLatencySpec),
        places(request, topology, "to", GpuLatencySpec, "gpu:*,node:*"),
        choices(request, "engine", ("sm", "tma")) or ["sm"],
        choices(request, "order", ("random", "linear")) or ["random"],
        sizes(request, "stride") or [128],
        sizes(request, "size") or [0],
    ):
        # Where no size is asked for: past every L2, and little of what a host has.
        size = size or (64 * MIB if isinstance(place, HostPlace) else GIB)
        target = endpoint_of(place)
        every_sm = flag(request, "every-sm")
        parts = [f"gpu{gpu}", engine, target, grammar.format_size(size), f"s{stride}"]
        parts += [order] if order != "random" else []
        parts += ["every-sm"] if every_sm else []
        fields = {
            **of_gpu(request, topology, gpu),
            "id": named(request, *parts),
            "target": target,
            "memory": place,
            "engine": engine,
            "per_sm": flag(request, "per-sm") and engine == "sm",
            "every_sm": every_sm and engine == "sm",
            "pattern": {"size": size, "stride": stride, "order": order},
        }
        option = "stride" if "stride" in request.options else "size"
        yield checked(request, option, GpuLatencySpec.model_validate, fields)


REQUEST = RequestForm(
    options=(
        options.GPU_FROM,
        Option("to", "PLACES", "Memory: node:0, gpu:1, node:*, gpu:*, all", "gpu:*,node:*"),
        Option("engine", "LIST", "sm (loads), tma (bulk copies of 16 bytes)", "sm"),
        options.HOST_MEMORY,
        options.HOST_PAGES,
        Option("size", "SIZES", "Working set, as in 16k..1g", "1g; 64m of host memory"),
        options.STRIDE.but(help="Bytes from one chased slot to the next", default="128"),
        Option("order", "LIST", "random (one cycle), linear", "random"),
        Option("per-sm", "", "Also percentiles over the GPU's multiprocessors", flag=True),
        Option("every-sm", "", "The mean over all multiprocessors, not one of them", flag=True),
        options.TRACE,
        *options.GPU_SAMPLING,
    ),
    expand=expand,
    help="""\
A working set decides what serves the loads: L1, L2, or memory of the GPU, a peer or the host.""",
    examples=(
        "gpu latency",
        "gpu latency --from gpu:0 --to gpu:0 --size 16k..1g",
        "gpu latency --to gpu:0 --size 4m --per-sm",
    ),
)
