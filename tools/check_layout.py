#!/usr/bin/env python3
"""Check that only kinds/ decides by kind: elsewhere a spec, or how a kind is shown, answers.

Prints one line for each offender and exits with 1 where there is one.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = ROOT / "src/tierscope/kinds"
KIND_FREE = ("src/tierscope/analysis/", "src/tierscope/report/", "src/tierscope/runs/")
"""Where no kind is named at all."""
KIND_NAMES_ELSEWHERE = frozenset({"bandwidth", "latency", "mapping", "traffic", "files", "message"})
"""Names of kinds that are metrics or ordinary words, too: looked for in comparisons only."""


def kind_names() -> frozenset[str]:
    """Kinds as plans name them, by their folders."""
    return frozenset(folder.parent.name.replace("_", "-") for folder in KINDS.glob("*/spec.py"))


def check_python(path: str, text: str, kinds: frozenset[str]) -> Iterator[str]:
    """Decisions by kind."""
    decides = path.startswith("src/tierscope/") and not path.startswith("src/tierscope/kinds/")
    for node in ast.walk(ast.parse(text, path)):
        if not decides:
            continue
        at = f"{path}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Call) and _asks_for_spec(node):
            yield f"{at}: isinstance over specs; let the spec answer for itself"
        if isinstance(node, ast.Compare) and _compares_kind(node, kinds):
            yield f"{at}: compares a kind; let its spec, or how it is shown, decide"
        if path.startswith(KIND_FREE) and _names_kind(node, kinds - KIND_NAMES_ELSEWHERE):
            yield f"{at}: names a kind; let how it is shown decide"


def _asks_for_spec(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Name) or call.func.id != "isinstance" or len(call.args) < 2:
        return False
    names = [node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)]
    names += [node.attr for node in ast.walk(call.args[1]) if isinstance(node, ast.Attribute)]
    return any(name.endswith("Spec") for name in names)


def _compares_kind(compare: ast.Compare, kinds: frozenset[str]) -> bool:
    sides = [compare.left, *compare.comparators]
    named = any(
        isinstance(side, ast.Attribute | ast.Name)
        and (side.attr if isinstance(side, ast.Attribute) else side.id) == "kind"
        for side in sides
    )
    return named and any(_names_kind(node, kinds) for side in sides for node in ast.walk(side))


def _names_kind(node: ast.AST, kinds: frozenset[str]) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in kinds


def main() -> int:
    """Check every tracked module of the package."""
    listed = subprocess.run(
        ["git", "ls-files", "src/*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kinds = kind_names()
    found = [
        line
        for path in listed.stdout.splitlines()
        if (ROOT / path).is_file()
        for line in check_python(path, (ROOT / path).read_text(), kinds)
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
