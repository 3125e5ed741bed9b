"""The table of kinds of measurement: one row each.

A row holds what ``--help`` needs. A kind's modules are imported when they are used, so that
starting up takes no longer as kinds are added.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tierscope.analysis.whatif import WorkOf
    from tierscope.fleet.transport import World
    from tierscope.model.spec import MeasurementSpec
    from tierscope.plans.request import RequestForm
    from tierscope.report.view import View
    from tierscope.runs.measure import Refiner
    from tierscope.runs.measurers import Measurer


MEMORY, DEVICES = "Measure memory", "Measure GPUs, storage, networks"
"""Headings of ``tierscope --help``."""


@dataclass(frozen=True)
class Kind:
    """One way of measuring."""

    name: str
    """In plans and run files."""
    summary: str
    """One line for ``tierscope --help``."""
    command: str = ""
    """After ``tierscope``; the name where empty. Kinds on GPUs are below ``tierscope gpu``."""
    heading: str = MEMORY
    """The heading of ``tierscope --help`` that lists it, unless it is below another command."""
    group: str = ""
    """The group of commands whose ``--help`` lists it; that of ``tierscope`` where empty."""
    refined: bool = False
    """Its measurements ask for further ones; its module ``refine`` chooses them."""
    own_command: bool = False
    """Its command is written by hand, because it does more than to measure and to show."""
    own_measurer: bool = False
    """Its module ``measurer`` measures it, not the engine."""
    in_engine: bool = True
    """The engine measures it, which has a parser of its specs."""
    works: bool = False
    """Its operations wait for memory; its module ``work`` says how often, at most."""
    over_mpi: bool = False
    """It takes several ranks; its module ``served`` answers rank 0's requests on each of them."""

    @property
    def spec(self) -> "type[MeasurementSpec]":
        """The class of its specs."""
        found: type[MeasurementSpec] = self._module("spec").SPEC
        return found

    @property
    def request(self) -> "RequestForm":
        """Its options and how a request expands into specs."""
        found: RequestForm = self._module("spec").REQUEST
        return found

    @property
    def view(self) -> "View":
        """How its measurements are shown."""
        self._module("spec")  # which declares the properties that are shown
        found: View = self._module("show").VIEW
        return found

    @property
    def refine(self) -> "Refiner":
        """Chooses further measurements, of a kind that is ``refined``."""
        found: Refiner = self._module("refine")
        return found

    @property
    def measurer(self) -> "Callable[[], Measurer]":
        """Makes what repetitions its measurements, of a kind with its ``own_measurer``."""
        found: Callable[[], Measurer] = self._module("measurer").Measurer
        return found

    @property
    def work(self) -> "WorkOf":
        """Says what its operations wait for, of a kind that ``works``."""
        found: WorkOf = self._module("work")
        return found

    @property
    def served(self) -> "Callable[[dict[str, Any], World], dict[str, Any]]":
        """Answers rank 0's requests on every rank, of a kind that measures over MPI."""
        found: Callable[[dict[str, Any], World], dict[str, Any]] = self._module("served").serve
        return found

    def _module(self, part: str) -> Any:
        return import_module(f"tierscope.kinds.{self.name.replace('-', '_')}.{part}")


_ROWS = (
    Kind("bandwidth", "Measure the bandwidth of CPUs to memory."),
    Kind("latency", "Measure the idle latency of dependent loads."),
    Kind("loaded-latency", "Measure latency under load: a curve over bandwidth.", refined=True),
    Kind(
        "traffic",
        "Measure concurrent streams of mixed reads and writes.",
        group="memory",
        refined=True,
    ),
    Kind("atomics", "Measure atomic updates, contended or not.", group="memory"),
    Kind("core-latency", "Measure loads of lines that another core's caches hold.", group="memory"),
    Kind("mapping", "Measure mapping, populating and unmapping memory.", group="memory"),
    Kind("persist", "Measure the cost of persistent stores.", group="pmem"),
    Kind(
        "handover",
        "Measure blocks that two processes or hosts hand over in shared memory.",
        group="pmem",
    ),
    Kind(
        "chain",
        "Measure chains of dependent reads, writes, flushes and atomics.",
        group="memory",
        works=True,
    ),
    Kind(
        "ops",
        "Measure operations of databases, each part of a structure on its tier.",
        works=True,
        own_command=True,
    ),
    Kind(
        "gpu-copy",
        "Measure copies among GPUs and host memory.",
        command="gpu copy",
    ),
    Kind(
        "gpu-ranks",
        "Measure copies among GPUs of several MPI ranks.",
        command="gpu ranks",
        own_measurer=True,
        over_mpi=True,
    ),
    Kind("gpu-memory", "Measure the bandwidth of GPUs' own memory.", command="gpu memory"),
    Kind("gpu-latency", "Measure the latency of dependent loads of GPUs.", command="gpu latency"),
    Kind(
        "io",
        "Measure bandwidth, IOPS and latency of files and block devices.",
        heading=DEVICES,
        group="storage",
    ),
    Kind(
        "files",
        "Measure creating, opening, reading, listing and removing small files.",
        heading=DEVICES,
        group="storage",
    ),
    Kind(
        "training",
        "Measure samples of a dataset, read for emulated accelerators.",
        heading=DEVICES,
        group="storage",
    ),
    Kind(
        "checkpoint",
        "Measure how fast a program's state is saved, and restarted from.",
        heading=DEVICES,
        group="storage",
        own_command=True,
    ),
    Kind(
        "model-checkpoint",
        "Measure writing and reading the checkpoints of large models.",
        heading=DEVICES,
        group="storage",
    ),
    Kind(
        "kv-cache",
        "Measure fetching and storing pieces of a language model's cache.",
        heading=DEVICES,
        group="storage",
    ),
    Kind(
        "watch",
        "Watch counters of memory, GPUs, drives and ports over time.",
        heading="Look",
        own_measurer=True,
        in_engine=False,
        own_command=True,
    ),
    Kind(
        "message",
        "Measure messages between hosts over MPI.",
        heading=DEVICES,
        own_measurer=True,
        in_engine=False,
        over_mpi=True,
    ),
    Kind(
        "effect",
        "Compare a program's runs under placements.",
        group="memory",
        own_measurer=True,
        in_engine=False,
    ),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}
"""By name, in the order in which they are shown."""
