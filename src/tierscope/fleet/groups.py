"""Which group each host is in, from a file: Slurm's topology.conf, CSV or YAML.

topology.conf(5) of Slurm has a switch a line, ``SwitchName=s1 Nodes=node[1-16]``; a group is a leaf
switch, one that has nodes. With its block plugin, a group is a block (``BlockName=b1 Nodes=...``).
CSV has ``host,group`` a line, YAML ``host: group``; hosts may be lists, as in node[01-16].
"""

import csv
import io
import re
from pathlib import Path

from tierscope.fleet.nodelist import expand
from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.text import shown
from tierscope.plans.yaml_file import Place, compose, read_text, scalar

_WHAT = "file of groups"
_KEYS = ("SwitchName", "Switches", "Nodes", "LinkSpeed", "BlockName", "BlockSizes")
_NAMES = {key.lower(): key for key in _KEYS}
_WORD = re.compile(r"([^\s=]+)=(\S+)")


def read_groups(path: Path) -> dict[str, str]:
    """Return the group of each host; raises UserError with file and line."""
    text = read_text(path, _WHAT)
    name = shown(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        found = parse_csv(text, name)
    elif suffix in (".yaml", ".yml"):
        found = parse_yaml(text, name)
    else:
        found = parse_topology_conf(text, name)
    if not found:
        raise UserError(f"{name}: the file names no host")
    return found


def parse_topology_conf(text: str, path: str) -> dict[str, str]:
    """Return the leaf switch, or block, of each host of Slurm's topology.conf."""
    groups: dict[str, str] = {}
    start, whole = 1, ""
    for number, line in enumerate(text.splitlines(), start=1):
        part = line.partition("#")[0].rstrip()
        start = start if whole else number
        whole += part.removesuffix("\\")
        if part.endswith("\\"):
            continue
        try:
            _add(groups, *_leaf(whole))
        except UserError as error:
            raise UserError(f"{path}:{start}: {error}") from None
        whole = ""
    if whole.strip():
        raise UserError(f"{path}:{start}: the file ends in a line that is to go on")
    return groups


def _leaf(line: str) -> tuple[str, str]:
    """Return the switch or block of a line, and its nodes; empty where it has none."""
    rest = _WORD.sub("", line).strip()
    if rest:
        raise UserError(f"'{rest}' is not KEY=VALUE, as in SwitchName=s1 Nodes=node[1-16]")
    found: dict[str, str] = {}
    for word in _WORD.finditer(line):
        key = _NAMES.get(word[1].lower())
        if key is None:
            raise UserError(
                f"unknown key '{word[1]}'{did_you_mean(word[1], _KEYS)}; allowed: "
                f"{', '.join(_KEYS)}"
            )
        found[key] = word[2]
    name = found.get("SwitchName") or found.get("BlockName") or ""
    if "Nodes" in found and not name:
        raise UserError("Nodes needs SwitchName or BlockName in the same line")
    return name, found.get("Nodes", "")


def parse_csv(text: str, path: str) -> dict[str, str]:
    """Return the group of each host of ``host,group`` lines; a heading may stand first."""
    groups: dict[str, str] = {}
    rows = csv.reader(io.StringIO(text), skipinitialspace=True)
    try:
        for row in rows:
            if not any(cell.strip() for cell in row) or row[0].lstrip().startswith("#"):
                continue
            if len(row) != 2 or not row[1].strip():
                raise UserError(f"a line has to be HOST,GROUP, not {len(row)} values")
            if not groups and [cell.strip().lower() for cell in row] == ["host", "group"]:
                continue
            _add(groups, row[1].strip(), row[0].strip())
    except (UserError, csv.Error) as error:
        raise UserError(f"{path}:{rows.line_num}: {error}") from None
    return groups


def parse_yaml(text: str, path: str) -> dict[str, str]:
    """Return the group of each host of a mapping ``host: group``."""
    from ruamel.yaml.nodes import MappingNode

    root = compose(text, path)
    place = Place(path)
    if not isinstance(root, MappingNode):
        raise UserError(f"{path}:1: the file has to be a mapping, HOST: GROUP a line")
    groups: dict[str, str] = {}
    for key, value in root.value:
        group, hosts = scalar(place, value, "group"), scalar(place, key, "host")
        try:
            _add(groups, group, hosts)
        except UserError as error:
            where = (
                "" if str(error).startswith(f"{path}:") else f"{path}:{key.start_mark.line + 1}: "
            )
            raise UserError(f"{where}{error}") from None
    return groups


def _add(groups: dict[str, str], group: str, hosts: str) -> None:
    for host in expand(hosts) if hosts else ():
        if groups.setdefault(host, group) != group:
            raise UserError(f"host '{host}' is in '{groups[host]}' and in '{group}'")
