"""Measurements with the ends and the properties that people name them by.

A GPU's copies are recorded as they were asked for: the GPU that issues them, the memory it
reaches, and the transfers in full. People speak of where bytes come from and go to, by which engine
and from what kind of host memory; that is what is shown, compared and checked.
"""

from collections.abc import Iterable
from typing import Any

from tierscope.model.endpoint import format_ranges
from tierscope.model.run import Measurement, Run

_SUM = "sum of "


def flat_run(run: Run) -> Run:
    """Return a run whose measurements are all flat."""
    return run.model_copy(update={"measurements": [flat(m) for m in run.measurements]})


def flat(measurement: Measurement) -> Measurement:
    """Return a measurement with source and destination as ends and a pattern of plain values."""
    pattern: dict[str, Any] = dict(measurement.pattern)
    transfers = pattern.pop("transfers", None)
    place = pattern.get("memory")
    if isinstance(place, dict):
        pattern["memory"] = place.get("memory", "")
    if not isinstance(transfers, list) or not transfers:
        return measurement.model_copy(update={"pattern": pattern})
    counted = [one for one in transfers if one["reported"]] or transfers
    pattern |= _properties(transfers, counted)
    ways = [str(one["name"]).partition(" -> ") for one in counted]
    if "way" in pattern:
        ways = ways[:1]
    ends = {
        "initiator": _together(source for source, _, _ in ways),
        "target": _together(destination for _, _, destination in ways),
    }
    return measurement.model_copy(update={"pattern": pattern, **ends})


def _together(ends: Iterable[str]) -> str:
    """Name several ends as one: ``node:0 gpu:0-3``."""
    found = dict.fromkeys(ends)
    gpus = {end for end in found if end.startswith("gpu:") and end[len("gpu:") :].isdecimal()}
    names = [end for end in found if end not in gpus]
    if gpus:
        numbers = sorted(int(end.removeprefix("gpu:")) for end in gpus)
        names.append(f"gpu:{format_ranges(tuple(numbers))}")
    return " ".join(names)


def _properties(transfers: list[dict[str, Any]], counted: list[dict[str, Any]]) -> dict[str, Any]:
    """Say how a copy went; the figure is that of ``counted``, all of them together."""
    first = counted[0]
    ends = [end for one in transfers for end in (one["source"], one["destination"])]
    kinds = dict.fromkeys(str(end["memory"]) for end in ends if "memory" in end)
    found: dict[str, Any] = {
        "engine": ", ".join(dict.fromkeys(str(one["engine"]) for one in transfers)),
        "memory": ", ".join(kinds),
        "streams": first["streams"],
    }
    others = [one for one in transfers if one is not first]
    if len(others) == 1 and others[0]["source"] == first["destination"]:
        found["way"] = "both ways summed" if len(counted) == 2 else "beside the way back"
    elif len(counted) > 1:
        found["transfers"] = f"{_SUM}{_names(counted)}"
    elif others:
        found["transfers"] = f"beside {_names(others)}"
    elif _between_gpus(first):
        reads = first["gpu"] == first["destination"]["gpu"]
        found["issued"] = "by a read" if reads else "by a write"
    return found


def _names(transfers: list[dict[str, Any]]) -> str:
    return ", ".join(str(one["name"]).replace("->", "→") for one in transfers)


def shared(measurement: Measurement) -> bool:
    """Whether other transfers ran at the same time, so that a figure is no path's by itself."""
    return "way" in measurement.pattern or "transfers" in measurement.pattern


def is_sum(measurement: Measurement) -> bool:
    """Whether it sums up several transfers, and its ends name all of theirs."""
    return str(measurement.pattern.get("transfers", "")).startswith(_SUM)


def _between_gpus(transfer: dict[str, Any]) -> bool:
    """Whether a transfer goes from one GPU to another one."""
    source, destination = transfer["source"], transfer["destination"]
    return bool(source["where"] == destination["where"] == "gpu" and source != destination)
