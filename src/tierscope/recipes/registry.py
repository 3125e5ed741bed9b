"""The table of recipes: named lists of measurements made of kinds, one row each.

Like the table of kinds it imports nothing until a recipe is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tierscope.kinds.plan import Plan
    from tierscope.model.topology import Topology
    from tierscope.plans.request import Request, RequestForm


@dataclass(frozen=True)
class Prepared:
    """What a recipe measures on one machine."""

    plan: "Plan"
    requests: "Sequence[Request]" = ()
    """What the plan was expanded from, for curves that are refined."""
    seconds: float | None = None
    """Time that the whole run is fitted into; None: as long as it takes."""
    refined: bool = True
    """Curves get further points where they bend, where no time is set."""
    notes: tuple[str, ...] = ()
    """What a reader of the plan has to know: what stands in for what, and what is left out."""


class Prepare(Protocol):
    """How a recipe's module makes its plan."""

    def __call__(self, name: str, topology: "Topology", thp: bool) -> Prepared:
        """Return what the recipe of this name measures; raises UserError where it can't."""


@dataclass(frozen=True)
class Recipe:
    """One named list of measurements."""

    name: str
    """After ``tierscope run --profile``."""
    summary: str
    """One line for help."""
    module: str = ""
    """Below ``tierscope.recipes``, with ``prepare``; empty where it needs more than a machine."""
    command: str = ""
    """After ``tierscope``, where it has a command of its own."""
    form_module: str = ""
    """Below ``tierscope.recipes``, with ``REQUEST``, where plans may name it as a kind."""
    aliases: tuple[str, ...] = ()
    """Older names of the command, which stay."""

    def prepare(self, topology: "Topology", thp: bool) -> Prepared:
        """What it measures on this machine; ``thp``: its kernel offers transparent huge pages."""
        make: Prepare = import_module(f"tierscope.recipes.{self.module}").prepare
        return make(self.name, topology, thp)

    @property
    def request(self) -> "RequestForm":
        """Its options and how a request of it expands into specs."""
        found: RequestForm = import_module(f"tierscope.recipes.{self.form_module}").REQUEST
        return found


_ROWS = (
    Recipe("quick", "Each path's bandwidth and latency, within a minute.", "profiles"),
    Recipe("standard", "Also under load, mixed and on GPUs, in about five minutes.", "profiles"),
    Recipe("full", "Every path with every sweep, as long as that takes.", "profiles"),
    Recipe("matrix", "Every initiator against every target.", "matrix", command="matrix"),
    Recipe("core-matrix", "Core-to-core latency of all pairs of cores.", "core_matrix"),
    Recipe("stream", "STREAM: Copy, Scale, Add and Triad.", "stream", command="stream"),
    Recipe("gpu", "From the naive copy to the best one, for each GPU.", "gpu_tour", command="gpu"),
    Recipe(
        "gpu-matrix",
        "Measure copies of every pair of host nodes and GPUs, one pair at a time.",
        "gpu_matrix",
        command="gpu matrix",
        form_module="gpu_matrix",
    ),
    Recipe(
        "gpu-together",
        "Measure concurrent copies among GPUs and the host.",
        "gpu_sets",
        command="gpu together",
        form_module="gpu_sets",
    ),
    Recipe(
        "expand",
        "Measure pages spread over several nodes, by their shares.",
        "expand",
        form_module="expand",
    ),
    Recipe(
        "mess",
        "Measure bandwidth-latency curves for each share of reads, as Mess does.",
        "mess",
        form_module="mess",
    ),
    Recipe(
        "streamer",
        "STREAM on persistent and far memory, by sockets and threads.",
        "streamer",
        command="streamer",
    ),
    Recipe(
        "coherent-gpu",
        "CPUs on a coherent GPU's memory: bandwidth, latency, expansion, operations.",
        "coherent_gpu",
    ),
    Recipe(
        "peak-injection",
        "All CPUs to their own nodes: reads, 3:1, 2:1, 1:1, triad, by the bus.",
        "mlc.injection",
    ),
    Recipe("nvbandwidth", "nvbandwidth's test cases.", "nvbandwidth.plan", command="nvbandwidth"),
)
RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _ROWS}
"""By name, in the order in which they are shown."""
