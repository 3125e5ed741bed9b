"""A suite: a named list of measurements made of kinds. It imports nothing until it is used."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from tierscope.kinds.registry import MEMORY

if TYPE_CHECKING:
    from tierscope.kinds.plan import Plan
    from tierscope.model.topology import Topology
    from tierscope.plans.request import Request, RequestForm


@dataclass(frozen=True)
class Prepared:
    """The measurements of a suite on one machine."""

    plan: "Plan"
    requests: "Sequence[Request]" = ()
    """Requests of the plan, for curves that are refined."""
    seconds: float | None = None
    """Time that the whole run is fitted into; None: as long as it takes."""
    refined: bool = True
    """Curves get further points where they bend, where no time is set."""
    notes: tuple[str, ...] = ()
    """Notes on the plan: substitutions and omissions."""


class Prepare(Protocol):
    """How a suite's module makes its plan."""

    def __call__(self, name: str, topology: "Topology", thp: bool) -> Prepared:
        """Return what the suite of this name measures; raises UserError where it can't."""


@dataclass(frozen=True)
class Suite:
    """One named list of measurements."""

    name: str
    """After ``tierscope run --profile``."""
    summary: str
    """One line for help."""
    module: str = "suites.without_options"
    """Below ``tierscope``, with ``prepare``."""
    command: str = ""
    """After ``tierscope``, where it has a command of its own."""
    heading: str = MEMORY
    """The heading of ``tierscope --help`` that lists its command."""
    group: str = ""
    """The group of commands whose ``--help`` lists it; that of ``tierscope`` where empty."""
    form_module: str = ""
    """Below ``tierscope``, with ``REQUEST``, where plans may name it as a kind."""
    beside_module: str = ""
    """Below ``tierscope``, with ``beside``, where its runs are shown beside published figures."""

    def prepare(self, topology: "Topology", thp: bool) -> Prepared:
        """Return its measurements here; ``thp``: the kernel offers transparent huge pages."""
        make: Prepare = import_module(f"tierscope.{self.module}").prepare
        return make(self.name, topology, thp)

    @property
    def request(self) -> "RequestForm":
        """Its options and how a request of it expands into specs."""
        found: RequestForm = import_module(f"tierscope.{self.form_module}").REQUEST
        return found
