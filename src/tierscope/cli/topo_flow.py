"""``tierscope topo``: read a machine, show it, draw it, keep it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tierscope.cli.files import say_written
from tierscope.cli.forms import Forms, emit
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.runs.output import is_stdout, write_output


class Parts(NamedTuple):
    """What of a machine is shown: all, or drives and their assignment only."""

    nvlink: bool
    """NVLinks count in the affinity."""
    drives: bool
    assign: bool


def show(
    endpoints: Sequence[str],
    *,
    source: str | None,
    fsroot: str | None,
    save: Path | None,
    svg: Path | None,
    forms: Forms,
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
    forms.check({"--save": save, "--svg": svg}, [Path(source)] if source else [])
    aside = forms.printed != "tables" or any(path and is_stdout(path) for path in (save, svg))
    if save:
        from tierscope.engine.query import topology_xml

        write_output(save, topology_xml(), "--save")
        say_written("topology", save, aside)
    topology = _topology(source, fsroot)
    if svg:
        from tierscope.report.topology_svg import draw

        write_output(svg, draw(topology), "--svg")
        say_written("drawing", svg, aside)
    if endpoints:
        _show_path(topology, endpoints, forms)
    elif forms.json or not (save or svg):
        _show_machine(topology, forms, parts)


def _topology(source: str | None, fsroot: str | None) -> Topology:
    if source:
        from tierscope.topology.hwloc import read_hwloc

        return read_hwloc(source)
    from tierscope.topology.discover import discover, discover_copy

    return discover() if fsroot is None else discover_copy(fsroot)


def _show_machine(topology: Topology, forms: Forms, parts: Parts) -> None:
    def in_json() -> str:
        from tierscope.report.topology_json import machine_json

        return json.dumps(machine_json(topology))

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.topology_drives import show_assignment, show_io
        from tierscope.report.topology_tables import show_machine

        console = make_console()
        if parts.drives:
            show_io(console, topology)
        if parts.assign:
            show_assignment(console, topology)
        if not (parts.drives or parts.assign):
            show_machine(console, topology, nvlink=parts.nvlink)

    emit(forms, in_json, tables)


def _show_path(topology: Topology, endpoints: Sequence[str], forms: Forms) -> None:
    from tierscope.topology.paths import find_path

    initiator, target = map(parse_endpoint, endpoints)
    path = find_path(topology, initiator, target)

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.topology_tables import show_path

        show_path(make_console(), path)

    emit(forms, lambda: json.dumps(path.model_dump(mode="json")), tables)
