"""What keeps two runs, or two measurements, from being compared: machine, link, settings."""

from typing import Any

from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run

_SETTINGS = (
    "kernel", "governor", "frequency-driver", "turbo", "smt", "thp", "numa-balancing",
)  # fmt: skip
_VISIBLE_TO_ROOT = ("prefetchers",)
"""Settings that differ only where both runs could read them."""
ALLOWABLE = (
    "host",
    "machine",
    *_SETTINGS,
    *_VISIBLE_TO_ROOT,
    "link",
    "isa",
    "emulated",
    "imported",
)
"""What ``--allow`` takes."""
_MACHINE = ("cpu", "architecture", "hypervisor", "packages", "cores", "cpus")


def check_allowed(words: list[str]) -> None:
    """Raise UserError for a word that names no obstacle."""
    from tierscope.model.errors import did_you_mean

    for word in words:
        if word not in ALLOWABLE:
            raise UserError(
                f"--allow: '{word}' is not one of {', '.join(ALLOWABLE)}"
                f"{did_you_mean(word, ALLOWABLE)}"
            )


def run_obstacles(base: Run, new: Run, allow: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return what keeps two runs from being compared at all, and what was allowed to differ."""
    found = _differing(base, new)
    obstacles = [text for word, text in found if word not in allow]
    remarks = [text for word, text in found if word in allow]
    return obstacles, remarks


def _differing(base: Run, new: Run) -> list[tuple[str, str]]:
    found = []
    for which, run in (("base", base), ("new", new)):
        if run.header.emulated:
            found.append(
                ("emulated", f"emulated: the {which} run's machine, so its figures mean nothing")
            )
        if run.header.imported:
            text = f"{run.header.imported.program} measured the {which} run; its machine"
            found.append(("imported", f"imported: {text} and settings are not known"))
    old, fresh = base.header, new.header
    if old.imported or fresh.imported:
        return found
    if old.host != fresh.host:
        found.append(("host", _text("host", old.host, fresh.host)))
    for key in _MACHINE:
        values = old.machine.get(key), fresh.machine.get(key)
        if values[0] != values[1]:
            found.append(("machine", _text(f"machine: {key}", *values)))
    nodes = _nodes(old.machine), _nodes(fresh.machine)
    if nodes[0] != nodes[1]:
        found.append(("machine", _text("machine: nodes", *nodes)))
    gpus = _gpus(old.machine), _gpus(fresh.machine)
    if gpus[0] != gpus[1]:
        found.append(("machine", _text("machine: GPUs", *gpus)))
    for key in (*_SETTINGS, *_VISIBLE_TO_ROOT):
        values = old.environment.get(key), fresh.environment.get(key)
        if values[0] != values[1] and (key in _SETTINGS or None not in values):
            found.append((key, _text(key, *values)))
    return found


def _text(name: str, base: Any, new: Any) -> str:
    said = ["absent" if value in (None, "") else str(value) for value in (base, new)]
    return f"{name}: {said[0]} in the base run, {said[1]} in the new run"


def _nodes(machine: dict[str, Any]) -> str:
    """Return the nodes in words; memory in whole GiB, since firmware reserves varying amounts."""
    return ", ".join(
        f"{node['node']} {node['kind']} {round(node['total_bytes'] / 2**30)} GiB"
        for node in machine.get("nodes", [])
    )


def _gpus(machine: dict[str, Any]) -> str:
    return ", ".join(str(gpu.get("name", "")) for gpu in machine.get("gpus", []))


def _rate(m: Measurement) -> str:
    """Return what tells a path's link from others: its rate, in whole MB/s."""
    return f"{m.limit.value / 1e6:.0f}" if m.limit else ""


def measurement_obstacle(base: Measurement, new: Measurement, allow: frozenset[str]) -> str:
    """Return what keeps two measured figures of one identity from being compared, or nothing."""
    if _rate(base) != _rate(new) and "link" not in allow:
        links = (m.limit.link if m.limit else None for m in (base, new))
        return _text("link", *links)
    ran = [m.evidence.isa if m.evidence else None for m in (base, new)]
    if ran[0] != ran[1] and "isa" not in allow:
        return _text("isa", *ran)
    return ""
