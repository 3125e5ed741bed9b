"""Memory policies: one list of modes for all commands, and a thread's own policy.

A thread's policy is inherited by the threads and processes that it starts and survives ``exec``,
that of set-user-ID programs too (mm/mempolicy.c; mempolicy(7)).
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from tierscope.machine.files import Files
from tierscope.model.endpoint import MAX_WEIGHT
from tierscope.model.errors import UserError, did_you_mean
from tierscope.place import kernel
from tierscope.place.features import missing
from tierscope.place.nodes import Selection, check_nodes, select_nodes

Mode = Literal["local", "bind", "preferred", "preferred-many", "interleave", "weighted"]
MODES: tuple[Mode, ...] = get_args(Mode)
_KERNEL: dict[Mode, int] = {
    "local": kernel.LOCAL,
    "bind": kernel.BIND,
    "preferred": kernel.PREFERRED,
    "preferred-many": kernel.PREFERRED_MANY,
    "interleave": kernel.INTERLEAVE,
    "weighted": kernel.WEIGHTED,
}
_BALANCED = ("bind", "preferred-many")


@dataclass(frozen=True)
class Policy:
    """Where new pages go. Raises UserError where its parts do not fit together."""

    mode: Mode
    nodes: tuple[int, ...] = ()
    """One for ``preferred``, none for ``local``, one or more for the others."""
    weights: tuple[int, ...] = ()
    """One weight per node (1..255) for ``weighted``; empty: the kernel's table."""
    balancing: bool = False
    """NUMA balancing may move pages among the nodes (``bind`` and ``preferred-many`` only)."""

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise UserError(f"policy {self.mode}: {problem}")

    def _problem(self) -> str:
        if self.mode not in MODES:
            return f"there is none; choose among {', '.join(MODES)}"
        if self.mode == "local" and self.nodes:
            return "it takes no nodes, since each page goes to the node of the CPU that touches it"
        if self.mode != "local" and not self.nodes:
            return "name the nodes, as in --to node:0"
        if self.mode == "preferred" and len(self.nodes) > 1:
            return "it takes one node; preferred-many takes several"
        if self.weights and self.mode != "weighted":
            return "it takes no weights; weighted does"
        if self.weights and len(self.weights) != len(self.nodes):
            return f"give one weight for each of the {len(self.nodes)} nodes"
        if not all(1 <= weight <= MAX_WEIGHT for weight in self.weights):
            return f"weights are from 1 to {MAX_WEIGHT}"
        if self.balancing and self.mode not in _BALANCED:
            return f"--balancing goes with {' and '.join(_BALANCED)} only"
        return ""

    def __str__(self) -> str:
        if not self.nodes:
            return self.mode
        weights = f"@{':'.join(map(str, self.weights))}" if self.weights else ""
        nodes = ",".join(map(str, self.nodes))
        return f"{self.mode} node:{nodes}{weights}{', balancing' if self.balancing else ''}"


def make_policy(
    mode: str | None, to: str | None, balancing: bool = False, files: Files | None = None
) -> Policy:
    """Return the policy that ``--policy``, ``--to`` and ``--balancing`` ask for.

    Without a mode: ``weighted`` where there are weights, else ``bind``; ``local`` without nodes.
    Raises UserError, also where this machine lacks a node.
    """
    selected = select_nodes(to, files) if to else Selection(())
    if mode is None:
        mode = ("weighted" if selected.weights else "bind") if to else "local"
    if mode not in MODES:
        raise UserError(
            f"--policy '{mode}' is none; choose among {', '.join(MODES)}{did_you_mean(mode, MODES)}"
        )
    policy = Policy(mode, selected.nodes, selected.weights, balancing)
    check_nodes(policy.nodes, files)
    return policy


def set_policy(policy: Policy) -> None:
    """Set the calling thread's policy; raises UserError that explains why it cannot be.

    Weights are the kernel's, machine-wide, whatever ``policy.weights`` says.
    """
    check_policy(policy)
    flags = kernel.BALANCING if policy.balancing else 0
    try:
        kernel.set_mempolicy(_KERNEL[policy.mode] | flags, policy.nodes)
    except OSError as error:
        raise UserError(f"policy {policy}: {_explained(error)}") from None


def check_policy(policy: Policy, files: Files | None = None) -> None:
    """Raise UserError where this machine cannot follow a policy as asked.

    The kernel would drop nodes without memory or outside the cpuset from the policy in silence,
    as long as one is left.
    """
    files = files or Files()
    check_nodes(policy.nodes, files)
    for lacking in (missing(name, files) for name in _features(policy)):
        if lacking:
            raise UserError(f"policy {policy}: {lacking}")


def own_policy() -> Policy:
    """Return the calling thread's policy; ``local`` where none is set. Raises UserError."""
    try:
        mode, flags, nodes = kernel.get_mempolicy()
    except OSError as error:
        raise UserError(f"this thread's memory policy is unknown: {_explained(error)}") from None
    names = {number: name for name, number in _KERNEL.items()}
    if mode == kernel.PREFERRED and not nodes:  # how older kernels report MPOL_LOCAL
        mode = kernel.LOCAL
    name = names.get(mode, "local")
    if name == "local":
        nodes = ()
    return Policy(name, nodes, balancing=bool(flags & kernel.BALANCING))


def kernel_mode(mode: Mode) -> int:
    """Return the kernel's number of a mode, as in <linux/mempolicy.h>."""
    return _KERNEL[mode]


@contextlib.contextmanager
def policy_set(policy: Policy) -> Iterator[None]:
    """Set the calling thread's policy, and put back the one before."""
    try:
        mode, flags, nodes = kernel.get_mempolicy()
    except OSError as error:
        raise UserError(f"policy {policy}: {_explained(error)}") from None
    set_policy(policy)
    try:
        yield
    finally:
        kernel.set_mempolicy(mode | flags, nodes)


def _features(policy: Policy) -> list[str]:
    found = []
    if policy.mode == "weighted":
        found.append("weighted-interleave")
    if policy.mode == "preferred-many":
        found.append("preferred-many")
    if policy.balancing:
        found.append("balancing" if policy.mode == "bind" else "balancing-preferred-many")
    return found


def _explained(error: OSError) -> str:
    """Say what a refusal of set_mempolicy or get_mempolicy means."""
    reasons = {
        errno.EPERM: "the kernel does not permit it; in a container, allow set_mempolicy and "
        "mbind in its seccomp profile, for example with `docker run --cap-add SYS_NICE`",
        errno.ENOSYS: "this kernel was built without NUMA, or a seccomp profile hides its calls",
        errno.EINVAL: "the kernel takes no such mode, flag or node",
    }
    return reasons.get(error.errno or 0, os.strerror(error.errno or 0))
