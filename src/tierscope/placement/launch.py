"""How a program gets the placement that was asked for: by the kernel, or by a preloaded library."""

import os
import sys
from dataclasses import dataclass, field
from functools import reduce
from math import gcd
from pathlib import Path
from typing import Literal

from tierscope.model.errors import UserError
from tierscope.placement.features import has_feature, missing
from tierscope.placement.nodes import format_list
from tierscope.placement.policy import Policy, check_policy, kernel_mode
from tierscope.placement.programs import preload_obstacle
from tierscope.placement.weights import kernel_weights, table_words
from tierscope.topology.files import Files

Mechanism = Literal["kernel", "user"]
SETTING = "TIERSCOPE_PLACE"
"""The variable that tells the preloaded library what to do (alloc/place.c)."""
_LIBRARY = "_lib/libtierscope-place.so"


@dataclass(frozen=True)
class Launch:
    """What a program is started with."""

    policy: Policy | None = None
    """Of its process; None leaves the caller's."""
    setting: str = ""
    """What the preloaded library is told; empty where none is needed."""
    mechanism: Mechanism = "kernel"
    notes: list[str] = field(default_factory=list)
    """What the user has to know before the program starts."""


def decide(
    policy: Policy,
    mechanism: Mechanism | None = None,
    heap_only: bool = False,
    files: Files | None = None,
) -> Launch:
    """Return how to do what was asked; raises UserError where this machine cannot.

    ``mechanism`` is for weights: by default the kernel places by them where its table has them,
    else the library does.
    """
    files = files or Files()
    if mechanism and policy.mode != "weighted":
        raise UserError(f"--mechanism is for weights; policy {policy.mode} is always the kernel's")
    if heap_only and (policy.mode == "local" or policy.balancing):
        what = "--balancing" if policy.balancing else "policy local"
        raise UserError(f"--heap-only does not go with {what}; leave one of them out")
    notes: list[str] = []
    if policy.mode == "weighted" and _by_user(policy, mechanism, files, notes):
        pairs = zip(policy.nodes, policy.weights, strict=True)
        setting = "weights " + ",".join(f"{node}@{weight}" for node, weight in pairs)
        # What the library does not see, code and stacks, stays on these nodes, too.
        rest = None if heap_only else Policy("bind", policy.nodes)
        return Launch(rest, setting, "user", notes)
    check_policy(policy, files)
    if heap_only:
        setting = f"{kernel_mode(policy.mode)} {format_list(policy.nodes)}"
        return Launch(None, setting, "kernel", notes)
    return Launch(policy, notes=notes)


def _by_user(policy: Policy, mechanism: Mechanism | None, files: Files, notes: list[str]) -> bool:
    """Whether the library has to place by weights; adds to ``notes`` what applies, and why."""
    lacking = missing("weighted-interleave", files)
    if not policy.weights:
        if lacking or mechanism == "user":
            raise UserError(
                f"policy {policy}: name the weights, as in --to node:0,2@3:1"
                + (f"; {lacking}" if lacking else "")
            )
        notes.append(f"the weights are the kernel's: {_table_words(policy.nodes, files)}")
        return False
    if mechanism == "user":
        return True
    if lacking:
        if mechanism == "kernel":
            raise UserError(f"policy {policy}: {lacking} (leave --mechanism out)")
        notes.append(lacking)
        return True
    table = kernel_weights(policy.nodes, files)
    if _reduced(table) == _reduced(policy.weights):
        return False
    differ = (
        "the kernel's weights, one table for the whole machine, are "
        f"{_table_words(policy.nodes, files)}; `{apply_command(policy)}` sets those asked for"
    )
    if mechanism == "kernel":
        raise UserError(
            f"policy {policy}: {differ}; without --mechanism, a preloaded library places by them"
        )
    notes.append(f"a preloaded library places memory by these weights, since {differ}")
    return True


def apply_command(policy: Policy) -> str:
    """Return the command that writes a policy's weights into the kernel's table."""
    weights = ":".join(map(str, policy.weights))
    return f"sudo tierscope place weights --use node:{format_list(policy.nodes)}@{weights} --apply"


def _table_words(nodes: tuple[int, ...], files: Files) -> str:
    return table_words(dict(zip(nodes, kernel_weights(nodes, files), strict=True)))


def _reduced(weights: tuple[int, ...]) -> tuple[int, ...]:
    """3:1 of 6:2: rounds are of another length then, shares the same."""
    divisor = reduce(gcd, weights)
    return tuple(weight // divisor for weight in weights)


def preloading(
    launch: Launch, policy: Policy, program: Path, environment: dict[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return the environment with the library in it, where one is needed.

    Raises UserError where the program would not load it, with what to do instead.
    """
    if not launch.setting:
        return environment
    library = find_installed(_LIBRARY)
    if why := preload_obstacle(program, library):
        remedy = _remedy(policy, heap_only=launch.policy is None)
        raise UserError(f"policy {policy} needs a preloaded library, and {why}; {remedy}")
    return with_library(environment, library) | {SETTING.encode(): launch.setting.encode()}


def with_library(environment: dict[bytes, bytes], library: Path) -> dict[bytes, bytes]:
    """Return an environment in which a library is preloaded.

    It is behind others, so that an allocator among them stays the program's.
    """
    earlier = environment.get(b"LD_PRELOAD", b"")
    return environment | {b"LD_PRELOAD": b":".join(filter(None, (earlier, os.fsencode(library))))}


def _remedy(policy: Policy, heap_only: bool) -> str:
    if policy.mode == "weighted" and not has_feature("weighted-interleave"):
        return "use policy interleave, which places one page on each node in turn"
    weights = policy.weights and _reduced(policy.weights)
    if weights and weights != _reduced(kernel_weights(policy.nodes)):
        then = "the kernel then places it" + (" without --heap-only" if heap_only else "")
        return f"`{apply_command(policy)}` makes them the kernel's weights; {then}"
    return "without --heap-only and --mechanism, the kernel places all of its memory"


def find_library() -> Path:
    """Return the library that places memory; raises UserError without one."""
    return find_installed(_LIBRARY)


def find_installed(name: str) -> Path:
    """Return a file or folder that is installed with this package; raises UserError without it."""
    for folder in (Path(__file__).parents[1], *(Path(entry) / "tierscope" for entry in sys.path)):
        if (folder / name).exists():
            return folder / name
    raise UserError(
        f"{Path(name).name} is not installed with this tierscope; build it with 'make build', or "
        "install the wheel again"
    )


def own_environment() -> dict[bytes, bytes]:
    """Return the environment that this process was started with.

    ``os.environ`` has what Python and tierscope set since.
    """
    try:
        text = Path("/proc/self/environ").read_bytes()
    except OSError:
        return dict(os.environb)
    return dict(entry.split(b"=", 1) for entry in text.split(b"\0") if b"=" in entry)
