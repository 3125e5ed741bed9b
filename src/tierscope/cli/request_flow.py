"""From a command's options to a measured request."""

from tierscope.cli.flow import carry_out, planned, refinement_of, serves
from tierscope.cli.gpu_flow import gpu_topology
from tierscope.cli.options import Output
from tierscope.plans.rated import with_ratings_of
from tierscope.plans.request import Request
from tierscope.topology.discover import discover


def measure_request(word: str, given: dict[str, str], output: Output, needs_gpu: bool) -> int:
    """Measure one request made of a command's options; ``word`` is a kind's or a recipe's name."""
    if serves([word]):
        return 0
    requests = [Request(kind=word, options=given)]
    topology = gpu_topology(output.dry_run) if needs_gpu else discover()
    topology = with_ratings_of(topology, requests)
    plan = planned(requests, topology)
    return carry_out(word, plan, topology, output, refinement_of(requests))
