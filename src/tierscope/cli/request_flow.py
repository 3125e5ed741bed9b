"""From a command's options to a measured request."""

from tierscope.cli.flow import carry_out_refined, planned
from tierscope.cli.gpu_flow import gpu_topology
from tierscope.cli.options import Output
from tierscope.model.topology import Topology
from tierscope.plans.request import Request
from tierscope.topology.discover import discover


def measure_request(kind: str, given: dict[str, str], output: Output) -> int:
    """Measure one request made of a command's options."""
    return _measure(kind, given, discover(), output)


def measure_gpu_request(kind: str, given: dict[str, str], output: Output) -> int:
    """Measure one request that needs a GPU."""
    return _measure(kind, given, gpu_topology(), output)


def _measure(kind: str, given: dict[str, str], topology: Topology, output: Output) -> int:
    requests = [Request.model_validate({"kind": kind, "options": given})]
    return carry_out_refined(kind, planned(requests, topology), requests, topology, output)
