"""``tierscope topo``: read a machine, show it, draw it, keep it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tierscope.cli import options
from tierscope.cli.output import Output
from tierscope.model.errors import UserError, counted
from tierscope.peers.registry import ASSIGNMENTS, PEERS
from tierscope.runs.output import write_output

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.model.topology import Topology


@options.command()
@click.argument("endpoints", metavar="[INITIATOR TARGET]", nargs=-1)
@click.option("--input", "-i", "source", metavar="FILE.xml", help="hwloc XML of another machine")
@click.option("--fsroot", metavar="DIR", help="Copy of another machine's /sys and /proc")
@options.file_option("--save", "Write this machine as hwloc XML", metavar="FILE.xml")
@options.file_option("--svg", "Draw the machine", metavar="FILE.svg")
@click.option("--pcie", is_flag=True, help="Affinity over PCIe alone, as nvidia-smi topo -mp")
@click.option("--drives", is_flag=True, help="GPUs, drives and NICs only, and what they share")
@click.option(
    "--assign",
    is_flag=True,
    help="A drive and a NIC for each GPU that share the fewest uplinks with others'",
)
@options.peer_options(ASSIGNMENTS)
@options.moved_option("--from", "a machine's file is --input, as in lstopo")
@options.stated_options
@options.json_option
def topo(
    endpoints: tuple[str, ...],
    source: str | None,
    fsroot: str | None,
    save: Path | None,
    svg: Path | None,
    pcie: bool,
    drives: bool,
    assign: bool,
    output: Output,
    **of_peers: Path | None,
) -> None:
    """Show the machine's parts, the links between them, and the limit of every link.

    With two endpoints, show the path between them only.

    \b
    Examples:
      tierscope topo
      tierscope topo gpu:0 file:/data
      tierscope topo --drives --assign
      tierscope topo --assign --gdsio jobs.gdsio
      tierscope topo --svg machine.svg
      tierscope topo --input other.xml --json
      tierscope topo --fsroot machine/
    """
    jobs = {name: path for name, path in of_peers.items() if path is not None}
    if jobs and not assign:
        raise UserError(f"--{min(jobs)} writes what --assign finds; give --assign, too")
    _show(endpoints, source, fsroot, save, svg, output, Parts(not pcie, drives, assign, jobs))


class Parts(NamedTuple):
    """Parts of the machine to show: all, or drives and their assignment only."""

    nvlink: bool
    """NVLinks count in the affinity."""
    drives: bool
    assign: bool
    jobs: Mapping[str, Path]
    """Files of jobs to write for the assignment, by peer."""


def _show(
    endpoints: Sequence[str],
    source: str | None,
    fsroot: str | None,
    save: Path | None,
    svg: Path | None,
    output: Output,
    parts: Parts,
) -> None:
    """Do what ``tierscope topo``'s options ask; UserError of one line where that cannot be."""
    if len(endpoints) not in (0, 2):
        raise UserError("name two endpoints for a path, as in `tierscope topo gpu:0 file:/data`")
    if endpoints and (parts.drives or parts.assign):
        raise UserError("--drives and --assign are of the whole machine; give no endpoints")
    if fsroot and (save or source):
        raise UserError(
            "--fsroot reads a copy of /sys and /proc; not together with --save or --input"
        )
    if save and source:
        raise UserError("--save writes this machine's topology; it does not go with --input")
    if source == "":
        raise UserError("--input names no file; a machine's hwloc XML, as in --input other.xml")
    jobs = {f"--{peer}": path for peer, path in parts.jobs.items()}
    output = output.beside({"--save": save, "--svg": svg, **jobs})
    output.check([Path(source)] if source else [])
    if save:
        from tierscope.engine.process import topology_xml

        write_output(save, topology_xml(), "--save")
        output.say_written("topology", save)
    topology = _topology(source, fsroot)
    if svg:
        from tierscope.report.drawing import draw

        write_output(svg, draw(topology), "--svg")
        output.say_written("drawing", svg)
    _write_jobs(topology, parts.jobs, output)
    if endpoints:
        _show_path(topology, endpoints, output)
    elif output.json or not (save or svg):
        _show_machine(topology, output, parts)


def _write_jobs(topology: "Topology", files: Mapping[str, Path], output: Output) -> None:
    for peer, path in files.items():
        with options.blaming(f"--{peer}"):
            text, count = PEERS[peer].module("assigned").assigned_jobs(topology)
        write_output(path, text, f"--{peer}")
        output.say_written(counted(count, "job"), path)


def _topology(source: str | None, fsroot: str | None) -> "Topology":
    if source:
        from tierscope.machine.hwloc import read_hwloc

        return read_hwloc(source)
    from tierscope.machine.discover import discover, discover_copy

    return discover() if fsroot is None else discover_copy(fsroot)


def _show_machine(topology: "Topology", output: Output, parts: Parts) -> None:
    def in_json() -> str:
        from tierscope.report.topology import machine_json

        return json.dumps(machine_json(topology))

    def tables(console: "Console") -> None:
        from tierscope.report.topology import show_assignment, show_io, show_machine

        if parts.drives:
            show_io(console, topology)
        if parts.assign:
            show_assignment(console, topology)
        if not (parts.drives or parts.assign):
            show_machine(console, topology, nvlink=parts.nvlink)

    output.emit(in_json, tables)


def _show_path(topology: "Topology", endpoints: Sequence[str], output: Output) -> None:
    from tierscope.machine.paths import find_path
    from tierscope.model.endpoint import parse_endpoint

    initiator, target = map(parse_endpoint, endpoints)
    path = find_path(topology, initiator, target)

    def tables(console: "Console") -> None:
        from tierscope.report.topology import show_path

        show_path(console, path)

    output.emit(path.model_dump(mode="json"), tables)
