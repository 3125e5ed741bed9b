"""What people call a copy: where its bytes come from and go to, and how they are moved.

A plan names the GPU that issues each transfer and the memory that it reaches. People speak of
source and destination, of the engine, and of the kind of host memory; this is what run files
record, and what is shown, compared and checked.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from tierscope.model.endpoint import format_ranges
from tierscope.model.gpu import GpuPlace, HostPlace, MemoryPlace, Transfer

SUM = "sum of "
"""Begins the property ``transfers`` where the figure is that of several transfers together."""
BOTH_WAYS = "both ways summed"
"""The property ``way`` where the figure is that of both directions together."""


def endpoint_of(place: MemoryPlace) -> str:
    """Return the endpoint that holds a place: ``node:0`` or ``gpu:1``."""
    if isinstance(place, GpuPlace):
        return f"gpu:{place.gpu}"
    return "node:" + ",".join(str(share.node) for share in place.placement.nodes)


def issuer_and_memory(one: Transfer) -> tuple[str, str]:
    """Return the GPU that issues a transfer, and the memory that it reaches, as endpoints."""
    source, destination = endpoint_of(one.source), endpoint_of(one.destination)
    issuer = f"gpu:{one.gpu}"
    return issuer, destination if source == issuer else source


def endpoints(transfers: Sequence[Transfer]) -> tuple[str, str]:
    """Return where the counted bytes come from and go to: ``node:0``, ``gpu:0-3``.

    Of two directions at once it is the first transfer's.
    """
    counted = _counted(transfers)
    if _opposite(transfers) is not None:
        counted = counted[:1]
    return (
        _joined(endpoint_of(one.source) for one in counted),
        _joined(endpoint_of(one.destination) for one in counted),
    )


def properties(transfers: Sequence[Transfer]) -> dict[str, Any]:
    """Return how the bytes are moved, as plain values; the figure is that of all counted ones."""
    counted = _counted(transfers)
    first = counted[0]
    found: dict[str, Any] = {
        "engine": ", ".join(dict.fromkeys(one.engine for one in transfers)),
        "memory": ", ".join(dict.fromkeys(place.memory for place in host_places(transfers))),
        "streams": first.streams,
    }
    pages = dict.fromkeys(place.pages for place in host_places(transfers) if place.pages != "base")
    if pages:
        found["pages"] = ", ".join(pages)
    others = [one for one in transfers if one is not first]
    if _opposite(transfers) is not None:
        found["way"] = BOTH_WAYS if len(counted) == 2 else "beside the way back"
    elif len(counted) > 1:
        found["transfers"] = f"{SUM}{_names(counted)}"
    elif others:
        found["transfers"] = f"beside {_names(others)}"
    elif between_gpus(first):
        found["issued"] = "by a read" if reads(first) else "by a write"
    return found


def host_places(transfers: Iterable[Transfer]) -> list[HostPlace]:
    """Return the ends of transfers that are host memory."""
    places = [place for one in transfers for place in (one.source, one.destination)]
    return [place for place in places if isinstance(place, HostPlace)]


def between_gpus(one: Transfer) -> bool:
    """Return whether a transfer goes from one GPU to another one."""
    ends = (one.source, one.destination)
    return all(isinstance(end, GpuPlace) for end in ends) and one.source != one.destination


def reads(one: Transfer) -> bool:
    """Return whether the GPU that issues a transfer is its destination."""
    return isinstance(one.destination, GpuPlace) and one.destination.gpu == one.gpu


def _counted(transfers: Sequence[Transfer]) -> list[Transfer]:
    return [one for one in transfers if one.reported] or list(transfers)


def _opposite(transfers: Sequence[Transfer]) -> Transfer | None:
    """Return the transfer that goes back where the first counted one comes from, if no other is."""
    first = _counted(transfers)[0]
    others = [one for one in transfers if one is not first]
    back = len(others) == 1 and others[0].source == first.destination
    return others[0] if back else None


def _joined(names: Iterable[str]) -> str:
    """Name several endpoints as one: ``node:0 gpu:0-3``."""
    found = dict.fromkeys(names)
    gpus = {name for name in found if name.startswith("gpu:")}
    parts = [name for name in found if name not in gpus]
    if gpus:
        numbers = sorted(int(name.removeprefix("gpu:")) for name in gpus)
        parts.append(f"gpu:{format_ranges(tuple(numbers))}")
    return " ".join(parts)


def _names(transfers: Sequence[Transfer]) -> str:
    return ", ".join(
        f"{endpoint_of(one.source)} → {endpoint_of(one.destination)}" for one in transfers
    )
