"""How a program gets its placement's policy, as under ``place exec``, and whether it held."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tierscope.analysis.landing import Watched, landing
from tierscope.kinds.effect.spec import Settings
from tierscope.model.errors import UserError
from tierscope.placement.launch import Mechanism, decide, preloading
from tierscope.placement.look import Look
from tierscope.placement.nodes import format_list
from tierscope.placement.policy import Policy
from tierscope.placement.weights import kernel_weights

NOT_HELD = "in at least one run, memory was"
"""How the note of a placement that did not hold begins."""
_STRAY = 0.01
"""Share of the memory on other nodes that is not worth a note."""


class UnplaceableError(Exception):
    """The program cannot follow a policy that this machine could follow."""


@dataclass(frozen=True)
class Placed:
    """What a program is started with under its placement."""

    asked: Policy | None = None
    policy: Policy | None = None
    """Of its process; None leaves tierscope's."""
    environment: dict[bytes, bytes] | None = None
    executable: Path | None = None
    """The file that was found to load the library; None where none is preloaded."""
    mechanism: Mechanism | None = None
    """None without a policy."""
    weights: tuple[int, ...] = ()
    """Of ``weighted``, those that apply."""
    notes: tuple[str, ...] = ()


def placed(settings: Settings, program: str, environment: dict[str, str]) -> Placed:
    """Return how to start a program.

    Raises UserError where this machine cannot place it as asked, UnplaceableError where the program
    would ignore the library that has to do it.
    """
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
    if settings.mode is None:
        return Placed(environment=encoded)
    nodes, weights = tuple(settings.nodes), tuple(settings.weights)
    asked = Policy(settings.mode, nodes, weights, settings.balancing)
    launch = decide(asked)
    if asked.mode == "weighted" and launch.mechanism == "kernel":
        weights = kernel_weights(nodes)
    executable = None
    # A program that is not there is refused by exec, with the reason.
    if launch.setting and (found := shutil.which(program, path=environment.get("PATH"))):
        executable = Path(found).absolute()
        try:
            encoded = preloading(launch, asked, executable, encoded)
        except UserError as error:
            raise UnplaceableError(str(error)) from None
    return Placed(
        asked, launch.policy, encoded, executable, launch.mechanism, weights, tuple(launch.notes)
    )


def not_held(how: Placed, bytes_by_node: dict[int, int], threads: int) -> str:
    """Say that memory was not where the placement asks; empty where it was, or nobody knows."""
    total = sum(bytes_by_node.values())
    # Huge pages are not looked at, which would take as long again: there may be some.
    look = Look(0.0, bytes_by_node, {}, 1, threads, huge_bytes=total)
    mechanism = how.mechanism or "kernel"
    found = landing(Watched((), how.asked, mechanism, how.weights, 0, (look,)))
    if how.asked is None or not how.asked.nodes or found is None:
        return ""
    nodes = format_list(how.asked.nodes)
    if found.off_nodes > _STRAY:
        return f"{NOT_HELD} also on other nodes than {nodes}"
    if len(how.asked.nodes) > 1 and found.as_asked is False:
        ratio = ":".join(map(str, how.weights or (1,) * len(how.asked.nodes)))
        return f"{NOT_HELD} not shared {ratio} among nodes {nodes}"
    return ""
