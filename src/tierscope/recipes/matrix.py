"""The matrix of initiators and targets: idle latency, peak bandwidth, latency under load."""

from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans import options
from tierscope.plans.expand import expand
from tierscope.plans.options import Option
from tierscope.plans.request import Request
from tierscope.recipes.registry import Prepared

OPTIONS = (
    options.FROM.but(help="Initiators", default="node:*"),
    options.TO.but(help="Targets", default="node:*"),
    Option("op", "LIST", "Operations whose bandwidth is measured", "read,write,copy"),
    options.THREADS.but(help="Thread counts to search for the peak", default="1..all*2"),
    Option("at", "GB/S", "Also latency under loads of these bandwidths, as in 10,50", "none"),
    options.MIX.but(help="Reads:writes of the load for --at"),
    options.SIZE,
    options.PAGES,
    options.PRECISION,
    options.BUDGET,
)

_POINTS = "16"
"""Most loaded points of a pair; a bandwidth asked for is usually met within three or four."""
_DEFAULTS = {"from": "node:*", "to": "node:*", "op": "read,write,copy", "threads": "1..all*2"}
_LATENCY = ("from", "to", "size", "pages", "precision", "budget")
_BANDWIDTH = (*_LATENCY, "op", "threads")
_LOADED = (*_LATENCY, "mix", "at", "points")


def requests(given: dict[str, str]) -> list[Request]:
    """Return requests for idle latency, peak bandwidth and, with ``at``, latency under load."""
    if "mix" in given and "at" not in given:
        raise UserError("--mix: the mix of a load goes with --at, the bandwidth of that load")
    if "," in given.get("mix", ""):
        raise UserError("--mix: a matrix takes one mix; `tierscope loaded-latency` takes several")
    values = _DEFAULTS | given
    found = [_request("latency", _LATENCY, values), _request("bandwidth", _BANDWIDTH, values)]
    if "at" in given:
        found.append(_request("loaded-latency", _LOADED, values | {"points": _POINTS}))
    return found


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the matrix as ``tierscope matrix`` makes it without options."""
    made = requests({})
    return Prepared(expand(made, topology, thp), made)


def _request(kind: str, names: tuple[str, ...], values: dict[str, str]) -> Request:
    taken = {name: values[name] for name in names if name in values}
    return Request(kind=kind, options=taken)
