"""Requests for the bandwidth of GPUs' own memory."""

import itertools
from collections.abc import Iterator

from tierscope.kinds.gpu_memory.spec import GpuMemorySpec, GpuOperation
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked, choices, sizes
from tierscope.plans.gpu import gpus_of, named, of_gpu
from tierscope.plans.machine import GIB
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

OPERATIONS: tuple[str, ...] = GpuOperation.__args__  # type: ignore[attr-defined]


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[GpuMemorySpec]:
    """Yield bandwidths of the GPUs' own memory, over operations and working sets."""
    operations = choices(request, "op", OPERATIONS) or [
        operation for operation in OPERATIONS if operation != "random"
    ]
    access_sizes = sizes(request, "access-size") or [32]
    for gpu, operation, access, size in itertools.product(
        gpus_of(request, topology, GpuMemorySpec),
        operations,
        access_sizes,
        sizes(request, "size") or [GIB],
    ):
        if operation != "random" and access != access_sizes[0]:
            continue
        parts = [f"gpu{gpu}", operation, grammar.format_size(size)]
        parts += [f"a{access}"] if operation == "random" else []
        fields = {
            **of_gpu(request, topology, gpu),
            "id": named(request, *parts),
            "target": f"gpu:{gpu}",
            "pattern": {"operation": operation, "size": size, "access_size": access},
        }
        yield checked(request, "size", GpuMemorySpec.model_validate, fields)


REQUEST = RequestForm(
    options=(
        options.GPU_FROM,
        Option("op", "LIST", ", ".join(OPERATIONS), "all but random"),
        Option("size", "SIZES", "Bytes of each array, as in 1m..4g", "1g"),
        Option("access-size", "SIZES", "Bytes that one random access reads", "32"),
        options.TRACE,
        *options.GPU_SAMPLING,
    ),
    expand=expand,
    help="""\
Small arrays show the L2 cache.""",
    examples=(
        "gpu memory",
        "gpu memory --op read --size 1m..4g",
        "gpu memory --op random --access-size 32..128 --from gpu:0",
    ),
)
