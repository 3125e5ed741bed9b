"""Suites that are a request of their own name, all of whose options keep their defaults."""

from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.suites.suite import Prepared


def prepare(name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the measurements of a request without options."""
    requests = [Request(kind=name, options={})]
    return Prepared(expand(requests, topology, thp), requests)
