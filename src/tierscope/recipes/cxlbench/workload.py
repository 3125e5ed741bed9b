"""CXL-Bench's workload files as they are written: benchmarks with their matrix and arguments."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.text import shown
from tierscope.plans.yaml_file import Place, compose, read_text, scalar
from tierscope.recipes.cxlbench.keys import KEYS, NEWER

_SECTIONS = ("matrix", "args", "parallel_benchmark")
_SUFFIXES = (".yaml", ".yml")
_OURS = "measurements"
_PARTS = 2


@dataclass(frozen=True)
class Part:
    """A matrix and what all of its cases have in common."""

    name: str
    args: dict[str, Any]
    """Values by the key's name, without aliases."""
    matrix: dict[str, list[Any]]
    """In the file's order; the last one varies fastest. It goes before ``args``."""
    newer: bool
    """The file uses names of the newer branches."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: one part, or two that run at the same time."""

    file: str
    line: int
    name: str
    parts: tuple[Part, ...]

    @property
    def parallel(self) -> bool:
        """Whether two parts run at the same time."""
        return len(self.parts) > 1


@dataclass
class Workload:
    """Benchmarks of one or several files."""

    benchmarks: list[Benchmark] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What is read in another way than it may be meant, each with file and line."""


def read_source(path: Path) -> str | None:
    """Return a file's text, read once, as a pipe can be; None of a folder. Raises UserError."""
    folder = os.path.isdir(path)  # noqa: PTH112 - no error for a name that is too long
    return None if folder else read_text(path, "plan")


def is_workload(text: str | None, path: Path) -> bool:
    """Whether what ``read_source`` found is CXL-Bench's: a folder, or YAML whose top is a mapping
    without ``measurements``. Raises UserError for what is no YAML."""
    from ruamel.yaml.nodes import MappingNode

    if text is None:
        return True
    root = compose(text, shown(path))
    return isinstance(root, MappingNode) and not _is_ours(root)


def read_folder(path: Path) -> Workload:
    """Read all ``*.yaml`` below a folder; raises UserError with file and line."""
    found = Workload()
    files = sorted(
        Path(folder) / name
        for folder, _, names in os.walk(path)
        for name in names
        if name.endswith(_SUFFIXES)
    )
    if not files:
        raise UserError(f"{shown(path)}: the folder has no *.yaml, which workloads are")
    for file in files:
        parse_workload(read_text(file, "workload"), shown(file), found)
    return found


def parse_workload(text: str, path: str, into: Workload | None = None) -> Workload:
    """Parse a file's text; ``path`` names it in errors and cases. Raises UserError."""
    from ruamel.yaml.nodes import MappingNode

    found = Workload() if into is None else into
    root = compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: the file is empty; a workload has benchmarks by name")
    place = Place(path)
    if not isinstance(root, MappingNode) or not root.value:
        raise place.error(root, "a workload has to be a mapping of benchmarks by name")
    if _is_ours(root):
        raise place.error(root, f"a plan of tierscope's ({_OURS}) stands among workloads")
    names: dict[str, int] = {}
    for key_node, body in root.value:
        name, line = scalar(place, key_node, "name of a benchmark"), _line(key_node)
        if name in names:
            found.remarks.append(
                f"{path}:{line}: benchmark '{name}' stands in line {names[name]}, too; both are run"
            )
        names[name] = line
        parts = _parts(place, name, body, found)
        found.benchmarks.append(Benchmark(path, line, name, parts))
    return found


def _is_ours(root: Any) -> bool:
    return any(getattr(key, "value", None) == _OURS for key, _ in root.value)


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _parts(place: Place, name: str, body: Any, found: Workload) -> tuple[Part, ...]:
    what = f"benchmark '{name}'"
    sections = _sections(place, body, what, _SECTIONS, found)
    if "parallel_benchmark" not in sections:
        return (_part(place, name, sections, found),)
    if len(sections) > 1:
        raise place.error(body, f"{what}: matrix and args stand inside parallel_benchmark's parts")
    within = sections["parallel_benchmark"]
    pairs = _pairs(place, within, f"parallel_benchmark of {what}")
    names = [scalar(place, key, "name of a part") for key, _ in pairs]
    if len(pairs) != _PARTS or len(set(names)) != _PARTS:
        raise place.error(
            within, f"{what}: parallel_benchmark has {len(pairs)} parts; it takes two, named apart"
        )
    parts = []
    for part_name, (_, part_body) in zip(names, pairs, strict=True):
        of = f"part '{part_name}' of {what}"
        made = _sections(place, part_body, of, ("matrix", "args"), found)
        parts.append(_part(place, part_name, made, found))
    return tuple(parts)


def _sections(
    place: Place, body: Any, what: str, allowed: tuple[str, ...], found: Workload
) -> dict[str, Any]:
    from ruamel.yaml.nodes import MappingNode

    if not isinstance(body, MappingNode) or not body.value:
        raise place.error(
            body,
            f"{what} has to be a mapping with {', '.join(allowed)}, as in CXL-Bench's workloads; "
            f"a plan of tierscope's has the key '{_OURS}'",
        )
    sections: dict[str, Any] = {}
    for key_node, value in body.value:
        key = scalar(place, key_node, "key")
        if key not in allowed:
            raise place.unknown_key(key_node, what, allowed)
        if key in sections:
            found.remarks.append(
                f"{place.path}:{_line(key_node)}: '{key}' of {what} is given twice; the first "
                "counts, as in CXL-Bench"
            )
            continue
        sections[key] = value
    return sections


def _pairs(place: Place, node: Any, what: str) -> list[tuple[Any, Any]]:
    """A mapping's keys and values; nothing of one that is empty."""
    from ruamel.yaml.nodes import MappingNode, ScalarNode

    if isinstance(node, ScalarNode) and not node.value:
        return []
    if not isinstance(node, MappingNode):
        raise place.error(node, f"{what} has to be a mapping")
    return list(node.value)


def _part(place: Place, name: str, sections: dict[str, Any], found: Workload) -> Part:
    args: dict[str, Any] = {}
    matrix: dict[str, list[Any]] = {}
    written: set[str] = set()
    if "args" in sections:
        for key, word, node, first in _keys(place, sections["args"], "args"):
            if first is not None:
                raise place.error(
                    node[0], f"key '{word}' is given in line {first} already; CXL-Bench refuses it"
                )
            written.add(word)
            args[key] = KEYS[word].read(place, node[1], word)
    if "matrix" in sections:
        for key, word, node, first in _keys(place, sections["matrix"], "matrix"):
            if first is not None:
                found.remarks.append(
                    f"{place.path}:{_line(node[0])}: key '{word}' of the matrix is given in line "
                    f"{first}, too; the last one counts (CXL-Bench repeats its cases for each "
                    "value of the first)"
                )
            written.add(word)
            matrix[key] = _values(place, node[1], word)
    return Part(name, args, matrix, newer=bool(written & NEWER))


def _keys(place: Place, node: Any, section: str) -> Any:
    """Yield name, word, nodes and the line where the key stood before, if it did."""
    lines: dict[str, int] = {}
    for key_node, value in _pairs(place, node, f"'{section}'"):
        word = scalar(place, key_node, "key")
        if word not in KEYS:
            raise place.error(
                key_node,
                f"unknown key '{word}' in '{section}'{did_you_mean(word, tuple(KEYS))}; "
                "docs/cxl-bench.md lists the keys of CXL-Bench",
            )
        name = KEYS[word].name
        yield name, word, (key_node, value), lines.get(name)
        lines[name] = _line(key_node)


def _values(place: Place, node: Any, word: str) -> list[Any]:
    from ruamel.yaml.nodes import SequenceNode

    if not isinstance(node, SequenceNode) or not node.value:
        raise place.error(
            node, f"key '{word}' of a matrix has to be a list with at least one value"
        )
    return [KEYS[word].read(place, item, word) for item in node.value]
