"""``tierscope topo``: read a machine, show it, draw it, keep it."""

import json
from pathlib import Path as FilePath

from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.report.console import make_console
from tierscope.report.topology_json import machine_json, path_json
from tierscope.runs.replace import replace_file
from tierscope.topology import discover
from tierscope.topology.hwloc import read_hwloc
from tierscope.topology.paths import find_path


def show(
    endpoints: list[str],
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
    if save:
        from tierscope.engine import topology_xml

        write(save, topology_xml())
    if source == "":
        raise UserError("--from names no file; a machine's hwloc XML, as in --from other.xml")
    topology = read_hwloc(source) if source else discover()
    path = find_path(topology, *map(parse_endpoint, endpoints)) if endpoints else None
    if svg:
        from tierscope.report.topology_svg import draw

        write(svg, draw(topology))
    if as_json:
        print(json.dumps(path_json(path) if path else machine_json(topology)))
    elif path is not None:
        from tierscope.report.topology_tables import show_path

        show_path(make_console(), path)
    elif not (save or svg):
        from tierscope.report.topology_tables import show_machine

        show_machine(make_console(), topology, nvlink=nvlink)


def write(path: str, text: str) -> None:
    """Write a file; UserError where that fails."""
    try:
        replace_file(FilePath(path), text)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
