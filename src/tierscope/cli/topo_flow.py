"""``tierscope topo``: read a machine, show it, draw it, keep it."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from tierscope.cli.files import write_file
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology


def show(
    endpoints: Sequence[str],
    *,
    source: str | None,
    save: str | None,
    svg: str | None,
    as_json: bool,
    nvlink: bool,
) -> None:
    """Do what ``tierscope topo``'s options ask; UserError of one line where that cannot be."""
    if len(endpoints) not in (0, 2):
        raise UserError("name two endpoints for a path, as in `tierscope topo gpu:0 file:/data`")
    if save and source:
        raise UserError("--save writes this machine's topology; it does not go with --from")
    if source == "":
        raise UserError("--from names no file; a machine's hwloc XML, as in --from other.xml")
    if save:
        from tierscope.engine.query import topology_xml

        write_file(Path(save), topology_xml(), "--save")
    topology = _topology(source)
    if svg:
        from tierscope.report.topology_svg import draw

        write_file(Path(svg), draw(topology), "--svg")
    if endpoints:
        _show_path(topology, endpoints, as_json)
    elif as_json:
        from tierscope.report.topology_json import machine_json

        click.echo(json.dumps(machine_json(topology)))
    elif not (save or svg):
        from tierscope.report.console import make_console
        from tierscope.report.topology_tables import show_machine

        show_machine(make_console(), topology, nvlink=nvlink)


def _topology(source: str | None) -> Topology:
    if source:
        from tierscope.topology.hwloc import read_hwloc

        return read_hwloc(source)
    from tierscope.topology.discover import discover

    return discover()


def _show_path(topology: Topology, endpoints: Sequence[str], as_json: bool) -> None:
    from tierscope.topology.paths import find_path

    initiator, target = map(parse_endpoint, endpoints)
    path = find_path(topology, initiator, target)
    if as_json:
        click.echo(json.dumps(path.model_dump(mode="json")))
        return
    from tierscope.report.console import make_console
    from tierscope.report.topology_tables import show_path

    show_path(make_console(), path)
