"""Lists of hosts as Slurm writes them, ``node[001-003,7],login1``, and files of groups of hosts.

As in slurm.conf(5): brackets hold numbers and ranges; a range counts with as many digits as its
first number has; a name may have several brackets.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from tierscope.model.errors import UserError, did_you_mean, shown
from tierscope.plans.yaml_file import Place, compose, read_text, scalar

_MOST = 1_000_000
"""Maximum number of hosts in one list."""
_WORD = r"(?:[^\[\],\s]|\[[^\[\]]*\])+"
_LIST = re.compile(rf"\s*{_WORD}(?:\s*,\s*{_WORD})*\s*")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)")
_WHAT = "file of groups"
_KEYS = ("SwitchName", "Switches", "Nodes", "LinkSpeed", "BlockName", "BlockSizes")
_NAMES = {key.lower(): key for key in _KEYS}
_GROUPS_WORD = re.compile(r"([^\s=]+)=(\S+)")


def expand(text: str) -> list[str]:
    """Return the hosts of a list, in its order; raises UserError for a malformed one."""
    if not _LIST.fullmatch(text):
        raise UserError(f"'{text}' is not a list of hosts; write it as node[001-016,20],login1")
    found: list[str] = []
    for word in re.findall(_WORD, text):
        found += _expand_word(word)
        if len(found) > _MOST:
            raise UserError(f"'{text}' has more than {_MOST} hosts")
    return found


def _expand_word(word: str) -> Iterator[str]:
    parts = [
        _numbers(match[1]) if match[1] is not None else [match[2]] for match in _PART.finditer(word)
    ]
    if math.prod(map(len, parts)) > _MOST:
        raise UserError(f"'{word}' has more than {_MOST} hosts")
    return map("".join, product(*parts))


def _numbers(text: str) -> list[str]:
    found: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item.strip())
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        numbers = range(int(first), int(last) + 1)
        if not numbers:
            raise UserError(f"'[{text}]' is not a range of numbers; write it as [001-016,20]")
        if len(numbers) > _MOST:
            raise UserError(f"'[{text}]' has more than {_MOST} numbers")
        found += [str(number).zfill(len(first)) for number in numbers]
    return found


def compress(hosts: Iterable[str]) -> str:
    """Return hosts as one list, each once; ``expand`` gives them back."""
    numbered: dict[tuple[str, str], set[str]] = {}
    for host in hosts:
        match = _NUMBERED.fullmatch(host)
        key = (match[1], match[3]) if match else (host, "")
        numbered.setdefault(key, set()).add(match[2] if match else "")
    words = []
    for (prefix, suffix), numbers in sorted(numbered.items()):
        if "" in numbers:
            words.append(prefix)
        in_order = sorted(numbers - {""}, key=lambda text: (int(text), len(text)))
        listed = ",".join(_ranges(in_order))
        if listed.isdigit():
            words.append(f"{prefix}{listed}{suffix}")
        elif listed:
            words.append(f"{prefix}[{listed}]{suffix}")
    return ",".join(words)


def _ranges(numbers: list[str]) -> list[str]:
    """Join consecutive numbers to ranges, whose numbers have the first one's width."""
    found: list[list[str]] = []
    for number in numbers:
        last = found[-1] if found else None
        if last and number == str(int(last[-1]) + 1).zfill(len(last[0])):
            last.append(number)
        else:
            found.append([number])
    return [one[0] if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in found]


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
    rest = _GROUPS_WORD.sub("", line).strip()
    if rest:
        raise UserError(f"'{rest}' is not KEY=VALUE, as in SwitchName=s1 Nodes=node[1-16]")
    found: dict[str, str] = {}
    for word in _GROUPS_WORD.finditer(line):
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
    from yaml import MappingNode

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
