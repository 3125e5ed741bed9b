"""Copies of every pair of host nodes and GPUs, one pair at a time."""

from collections.abc import Iterator

from tierscope.kinds.gpu_copy import spec as copies
from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.model.topology import Topology
from tierscope.plans.request import Request, RequestForm

_ALL = {"from": "all", "to": "all"}
_OPTIONS = ("engine", "memory", "size", "side", "both-ways", "precision", "budget", "sample")


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[GpuCopySpec]:
    """Yield the copies from every place to every other one."""
    everywhere = request.model_copy(update={"options": request.options | _ALL})
    yield from copies.REQUEST.expand(everywhere, topology, thp)  # type: ignore[misc]


REQUEST = RequestForm(
    options=tuple(option for option in copies.REQUEST.options if option.name in _OPTIONS),
    expand=expand,
    examples=(
        "gpu matrix",
        "gpu matrix --engine ce,sm --side read,write",
        "gpu matrix --both-ways --json",
    ),
)
