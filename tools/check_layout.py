#!/usr/bin/env python3
"""Check the size of modules and functions, and that only kinds/ decides by kind.

Prints one line for each offender and exits with 1 where there is one. Limits: 350 lines a module
(tests and generated files excepted), 60 lines a function, in Python and in C++.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAX_MODULE_LINES = 350
MAX_FUNCTION_LINES = 60
KINDS = ROOT / "src/tierscope/kinds"
KIND_FREE = ("src/tierscope/analysis/", "src/tierscope/report/", "src/tierscope/runs/")
"""Where no kind is named at all."""
KIND_NAMES_ELSEWHERE = frozenset({"bandwidth", "latency", "streams", "mapping", "files", "message"})
"""Names of kinds that are metrics or ordinary words, too: looked for in comparisons only."""
READS_OLD_FILES = "src/tierscope/runs/version1.py"


def kind_names() -> frozenset[str]:
    """Kinds as plans name them, by their folders."""
    return frozenset(folder.parent.name.replace("_", "-") for folder in KINDS.glob("*/spec.py"))


def check_size(path: str, lines: int) -> Iterator[str]:
    """Too long a module."""
    if lines > MAX_MODULE_LINES and "/tests/" not in path and not path.startswith("tests/"):
        yield f"{path}: {lines} lines; a module has at most {MAX_MODULE_LINES}"


def check_function(path: str, name: str, first: int, last: int) -> Iterator[str]:
    """Too long a function."""
    lines, allowed = last - first + 1, MAX_FUNCTION_LINES
    if lines > allowed:
        yield f"{path}:{first}: {name} has {lines} lines; a function has at most {allowed}"


def check_python(path: str, text: str, kinds: frozenset[str]) -> Iterator[str]:
    """Sizes, and decisions by kind."""
    yield from check_size(path, text.count("\n"))
    decides = path.startswith("src/tierscope/") and not path.startswith("src/tierscope/kinds/")
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from check_function(path, node.name, node.lineno, node.end_lineno or node.lineno)
        if not decides or path == READS_OLD_FILES:
            continue
        at = f"{path}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Call) and _asks_for_spec(node):
            yield f"{at}: isinstance over specs; let the spec answer for itself"
        if isinstance(node, ast.Compare) and _compares_kind(node, kinds):
            yield f"{at}: compares a kind; let its spec, request or view decide"
        if path.startswith(KIND_FREE) and _names_kind(node, kinds - KIND_NAMES_ELSEWHERE):
            yield f"{at}: names a kind; let its view decide"


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


def check_cpp(path: str, text: str) -> Iterator[str]:
    """Sizes."""
    yield from check_size(path, text.count("\n"))
    for name, first, last in cpp_functions(text):
        yield from check_function(path, name, first, last)


_NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL
)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_HEADER = re.compile(r"^(?:\s*template\s*<[^;{}]*>)?[^=(]*?(operator[^(]+|[\w:~]+)\s*\(")
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()=]*$", re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    """Blanks of the same length and the same lines."""
    return re.sub(r"[^\n]", " ", match[0])


def cpp_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, first and last line of each function outside of functions, by counting braces."""
    code = _PREPROCESSOR.sub(_blank, _NOT_CODE.sub(_blank, text))
    scopes: list[tuple[str, int] | None] = []  # a function's name and first line, or another scope
    inside, begin = 0, 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match[0] == "{":
            before = code[begin:at]
            header = None if inside or _SCOPE.search(before) else _HEADER.match(before)
            if header or inside:
                inside += 1
            start = begin + len(before) - len(before.lstrip())
            scopes.append((header[1], code.count("\n", 0, start) + 1) if header else None)
        elif match[0] == "}" and scopes:
            function = scopes.pop()
            inside -= bool(inside)
            if function:
                # A brace of a constructor's initializers, not its body: its header goes on.
                if code[at + 1 :].lstrip()[:1] in (",", "{"):
                    continue
                yield function[0], function[1], code.count("\n", 0, at) + 1
        if not inside:
            begin = at + 1


def main() -> int:
    """Check every tracked file."""
    patterns = ("*.py", "testbed/run", "*.h", "*.cpp", "*.cu", "*.cuh", "*.c")
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kinds = kind_names()
    found: list[str] = []
    for path in listed.stdout.splitlines():
        file = ROOT / path
        if file.is_file():
            python = path.endswith(".py") or path == "testbed/run"
            text = file.read_text()
            found += check_python(path, text, kinds) if python else check_cpp(path, text)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
