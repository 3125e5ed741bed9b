"""The requests that fill a matrix of initiators and targets."""

from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.grammar import parse_number, split_words
from tierscope.plans.request import Request
from tierscope.recipes.registry import Prepared

MATRIX_POINTS = 16
"""Maximum of loaded points of a pair; a bandwidth asked for is usually met within three or four."""
_MAX_GB = 1e5

_LATENCY = ("from", "to", "size", "pages", "precision", "budget")
_BANDWIDTH = (*_LATENCY, "op", "threads")
_LOADED = (*_LATENCY, "mix")


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the matrix of all nodes, without loaded latency."""
    requests = matrix_requests({}, loaded=False)
    return Prepared(expand(requests, topology, thp), requests)


def matrix_requests(given: dict[str, str], loaded: bool) -> list[Request]:
    """Return requests for idle latency, peak bandwidth and, if asked for, loaded latency."""
    if "mix" in given and not loaded:
        raise UserError("--mix: the mix of a load goes with --at, the bandwidth of that load")
    if "," in given.get("mix", ""):
        raise UserError("--mix: a matrix takes one mix; `tierscope loaded-latency` takes several")
    defaults = {"from": "node:*", "to": "node:*", "op": "read,write,copy", "threads": "1..all*2"}
    options = {**defaults, **given}
    kinds = {"latency": _LATENCY, "bandwidth": _BANDWIDTH}
    if loaded:
        kinds["loaded-latency"] = _LOADED
    return [
        Request.model_validate(
            {
                "kind": kind,
                "options": {name: options[name] for name in names if name in options},
            }
        )
        for kind, names in kinds.items()
    ]


def parse_rates(text: str) -> list[float]:
    """Parse ``10,50``, GB/s, into bytes/s."""
    try:
        return [parse_number(word, 0, _MAX_GB) * 1e9 for word in split_words(text)]
    except UserError as error:
        raise UserError(f"--at: {error}") from None
