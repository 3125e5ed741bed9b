"""How much of a program's memory landed on the nodes that its policy names."""

from dataclasses import dataclass

from tierscope.placement.look import Look
from tierscope.placement.policy import Policy

_HUGE = 2 << 20
_PAGE = 4096


@dataclass(frozen=True)
class Landing:
    """Bytes by node at the moment when a program was largest, beside what was asked."""

    look: Look
    share: dict[int, float]
    """Of the anonymous memory, by node."""
    asked: dict[int, float] | None
    """The share that the policy asks for; None where it leaves that open."""
    tolerance: float
    """How far shares may be off by rounds of interleaving that were begun and not finished."""
    off_nodes: float
    """The share on nodes that the policy does not name."""
    approximated: tuple[str, ...]
    """What the kernel does not let anybody count exactly."""

    @property
    def as_asked(self) -> bool | None:
        """Whether memory is where it should be; None where the policy leaves that open."""
        if self.asked is None:
            return None
        nodes = {*self.share, *self.asked}
        off = (abs(self.share.get(n, 0.0) - self.asked.get(n, 0.0)) for n in nodes)
        return max(off, default=0.0) <= self.tolerance


@dataclass(frozen=True)
class Watched:
    """A program that was watched to its end."""

    command: tuple[str, ...]
    policy: Policy | None
    mechanism: str
    """``kernel`` or ``user``: who placed by weights."""
    weights: tuple[int, ...]
    """Those that applied, of ``weighted``."""
    exit_status: int
    looks: tuple[Look, ...]

    @property
    def largest(self) -> Look | None:
        """The look at which it had most memory; None where it ended before one."""
        return max(self.looks, key=lambda one: one.anonymous_bytes, default=None)


def landing(watched: Watched) -> Landing | None:
    """Judge the largest of the looks; None where there is no policy or no memory.

    A thread counts its rounds by itself, a step for each folio
    (page, or huge page) that it gets first; so each thread may have begun a round of folios that it
    has not finished, and shares may be off by as much.
    """
    look, policy = watched.largest, watched.policy
    if policy is None or look is None or not look.anonymous_bytes:
        return None
    total = look.anonymous_bytes
    share = {node: count / total for node, count in look.bytes_by_node.items()}
    off_nodes = sum(part for node, part in share.items() if node not in policy.nodes)
    steps = {
        "interleave": (1,) * len(policy.nodes),
        "weighted": watched.weights,
    }.get(policy.mode)
    if steps is None:
        alone = {policy.nodes[0]: 1.0} if policy.mode == "bind" and len(policy.nodes) == 1 else None
        return Landing(look, share, alone, 0.0, off_nodes, ())
    rounds = sum(steps)
    asked = {node: step / rounds for node, step in zip(policy.nodes, steps, strict=True)}
    threads = max(one.threads for one in watched.looks)
    # A thread is off by at most a whole round, in base pages and, where it has any, in huge ones;
    # the preloaded library's units may be as large as those.
    folio = _PAGE + (_HUGE if look.huge_bytes or watched.mechanism == "user" else 0)
    tolerance = min(1.0, threads * rounds * folio / total)
    return Landing(look, share, asked, tolerance, off_nodes, _approximated(look))


def _approximated(look: Look) -> tuple[str, ...]:
    notes = ["threads are those that were there at a look; each counts its rounds by itself"]
    if look.huge_bytes:
        notes.append(
            "a huge page is one step of a round, as a base page is; the kernel does not say how "
            "many there are on each node"
        )
    return tuple(notes)
