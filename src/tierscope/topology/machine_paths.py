"""The paths of one machine, as specs ask for them to find their limits."""

from collections.abc import Sequence

from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.path import Path
from tierscope.model.run import Limit
from tierscope.model.topology import Cache, Gpu, Topology
from tierscope.topology.paths import find_path


class MachinePaths:
    """``model.path.Paths`` of a topology; each path is found once."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._found: dict[tuple[str, str], Path | None] = {}

    @property
    def caches(self) -> Sequence[Cache]:
        """The CPUs' caches."""
        return self._topology.caches

    @property
    def virtual(self) -> bool:
        """Whether it is a virtual machine."""
        return bool(self._topology.virtual)

    def gpu(self, index: int) -> Gpu | None:
        """One GPU; None where there is none of that number."""
        return self._topology.gpu(index)

    def path(self, initiator: str, target: str) -> Path | None:
        """The way between two endpoints; None where the machine has not both."""
        key = (initiator, target)
        if key not in self._found:
            self._found[key] = self._find(initiator, target)
        return self._found[key]

    def limit(self, initiator: str, target: str) -> Limit | None:
        """The way's limit; None where no link's rate is known.

        An endpoint that the machine has not gives None too: a result is never lost over its limit.
        """
        path = self.path(initiator, target)
        return path.limit if path else None

    def _find(self, initiator: str, target: str) -> Path | None:
        try:
            return find_path(self._topology, parse_endpoint(initiator), parse_endpoint(target))
        except UserError:
            return None
