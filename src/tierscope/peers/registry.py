"""The table of peers: other programs whose options, files or output tierscope takes or gives.

A peer is removed by deleting its row and its folder. Like the tables of kinds and suites, this one
imports nothing until a peer is used.
"""

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from tierscope.kinds.registry import MEMORY
from tierscope.suites.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from tierscope.model.run import Run
    from tierscope.report.run_view import RunView


OTHER_TOOLS = "Other tools"
"""A heading of ``tierscope --help``."""


@dataclass(frozen=True)
class Command:
    """A command of the folder's module ``command``, by its name with ``_`` for ``-``."""

    name: str
    """The word after ``tierscope``."""
    summary: str
    heading: str = OTHER_TOOLS
    """The heading of ``tierscope --help-all`` that lists it."""
    group: str = "peers"
    """The group of commands whose ``--help`` lists it."""


@dataclass(frozen=True)
class Program:
    """A program of the peer's that a command takes the place of: its options, files and output."""

    name: str
    """Its name on PATH."""
    command: str
    """The words after ``tierscope``."""


@dataclass(frozen=True)
class Importer:
    """Files that ``tierscope import`` reads; the folder's module ``importer`` has ``recognises``
    and ``read``."""

    program: str
    """The program that writes the files."""
    files: str
    """Their name in errors."""
    names_nodes: bool = False
    """The files name CPUs and memory of each figure, so --from and --to are refused."""
    clocked: bool = False
    """Times in the files may be cycles of a clock, given by --clock."""
    examples: tuple[str, ...] = ()
    """Arguments behind ``tierscope import``."""


@dataclass(frozen=True)
class Export:
    """An option of ``tierscope export`` with the peer's name; the folder's module ``output`` has
    ``export``."""

    metavar: str
    help: str
    alone: bool = False
    """It writes several files by itself; others write one run's state into one file."""


@dataclass(frozen=True)
class Peer:
    """One program, or a family of them."""

    name: str
    """Name of the folder."""
    commands: tuple[Command, ...] = ()
    programs: tuple[Program, ...] = ()
    suites: tuple[Suite, ...] = ()
    importer: Importer | None = None
    export: Export | None = None
    assignment: Export | None = None
    """An option of ``tierscope topo --assign`` with the peer's name; the module ``assigned`` has
    ``assigned_jobs``, which returns a job file's text and its number of jobs."""
    owns: "Callable[[Run], bool]" = lambda _run: False
    """Recognises runs of the peer; the module ``output`` has ``run_view``, which shows them."""
    reads_plans: bool = False
    """``tierscope run`` measures its files: the module ``command`` has ``RUN_OPTIONS``, ``reads``
    and ``measure``."""

    def module(self, name: str) -> ModuleType:
        """Import one of the folder's modules."""
        return import_module(f"tierscope.peers.{self.name}.{name}")


_ROWS = (
    Peer(
        "cxlbench",
        importer=Importer(
            "CXL-Bench",
            "CXL-Bench's JSON",
            names_nodes=True,
            examples=("cxlbench results/workloads-2024-07-13.json",),
        ),
        export=Export("FILE", "One run of CXL-Bench's cases, as CXL-Bench's JSON"),
        owns=lambda run: bool(run.header.cases) and not run.header.imported,
        reads_plans=True,
    ),
    Peer(
        "mess",
        suites=(
            Suite(
                "mess",
                "Measure bandwidth-latency curves for each share of reads, as Mess does.",
                group="peers",
                form_module="peers.mess.plan",
            ),
        ),
        importer=Importer(
            "Mess",
            "Mess's curves",
            clocked=True,
            examples=(
                "mess memory_curves.json --from node:0 --to node:0",
                "mess results.csv --clock 2.1ghz",
            ),
        ),
        export=Export(
            "DIR",
            "One run's curves as the Mess simulator reads them, MB/s and ns",
            alone=True,
        ),
    ),
    Peer(
        "streamer",
        (
            Command(
                "streamer",
                "Carry out the STREAMer study of persistent and CXL memory.",
                heading=MEMORY,
                group="pmem",
            ),
        ),
        suites=(
            Suite(
                "streamer",
                "STREAM on persistent and far memory, by sockets and threads.",
                "peers.streamer.plan",
                command="streamer",
            ),
        ),
        owns=lambda run: any(one.id.startswith("streamer.") for one in run.measurements),
    ),
    Peer(
        "mlc",
        (Command("mlc", "Measure memory with the options and text of Intel's MLC."),),
        (Program("mlc", "mlc"),),
        suites=(
            Suite(
                "peak-injection",
                "All CPUs to their own nodes: reads, 3:1, 2:1, 1:1, triad, by the bus.",
                "peers.mlc.plan",
            ),
        ),
        importer=Importer("MLC", "MLC's text", examples=("mlc mlc.txt --out mlc.jsonl",)),
    ),
    Peer(
        "nvbandwidth",
        (Command("nvbandwidth", "Run nvbandwidth's test cases, with its output."),),
        (Program("nvbandwidth", "nvbandwidth"),),
        suites=(
            Suite(
                "nvbandwidth",
                "nvbandwidth's test cases.",
                "peers.nvbandwidth.plan",
                command="nvbandwidth",
            ),
        ),
    ),
    Peer(
        "gdsio",
        (Command("gdsio", "Measure storage with gdsio's flags, job files and output."),),
        (Program("gdsio", "gdsio"),),
        assignment=Export("FILE", "With --assign: a gdsio job file, each GPU with its drive"),
    ),
    Peer(
        "fio",
        (Command("fio", "Measure storage with fio's job files, options and output."),),
        (Program("fio", "fio"),),
    ),
    Peer(
        "gds_stats",
        (Command("gds-stats", "Show what a process moved through cuFile."),),
        (Program("gds_stats", "gds-stats"),),
    ),
    Peer(
        "hmsdk",
        (
            Command("hmsdk", "Run HMSDK's programs, with their options and files."),
            Command("hmctl", "Start a program with hmctl's options and environment."),
        ),
        (
            Program("hmctl", "hmctl"),
            Program("gen_migpol.py", "hmsdk gen_migpol"),
            # HMSDK 3.0 has it as another name of gen_migpol.py.
            Program("gen_config.py", "hmsdk gen_migpol"),
            Program("bwactl.py", "hmsdk bwactl"),
            Program("bwprof", "hmsdk bwprof"),
        ),
    ),
)
PEERS: dict[str, Peer] = {peer.name: peer for peer in _ROWS}
"""Peers by folder, in display order."""
PROGRAMS = {program.name: program.command for peer in _ROWS for program in peer.programs}
"""What ``tierscope peers install`` writes: names on PATH, and the words after ``tierscope``."""
IMPORTERS = {peer.name: peer.importer for peer in _ROWS if peer.importer}
"""Files that ``tierscope import`` reads, by its argument."""
EXPORTS = {peer.name: peer.export for peer in _ROWS if peer.export}
"""Options of ``tierscope export``."""
ASSIGNMENTS = {peer.name: peer.assignment for peer in _ROWS if peer.assignment}
"""Options of ``tierscope topo --assign``."""


def imported_programs() -> str:
    """Return the programs whose results can be imported: ``CXL-Bench, Mess or MLC``."""
    programs = [importer.program for importer in IMPORTERS.values()]
    return " or ".join(filter(None, (", ".join(programs[:-1]), *programs[-1:])))


def run_view(run: "Run") -> "RunView | None":
    """Return the view of a run of a peer; None for other runs."""
    peer = next((peer for peer in _ROWS if peer.owns(run)), None)
    found: RunView | None = peer.module("output").run_view(run) if peer else None
    return found


def plan_readers() -> list[ModuleType]:
    """Return the modules that read plans of other programs, see ``Peer.reads_plans``."""
    return [peer.module("command") for peer in _ROWS if peer.reads_plans]
