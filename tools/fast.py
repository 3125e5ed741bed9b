"""Check what a change touches, in about a minute: `make fast`, or `make fast BASE=main`.

The change is what differs from the commit BASE (by default the last one), new files included. It
is formatted, linted and type-checked, and the tests nearest to it run: changed tests, tests named
after a changed file or its folder, and tests that import a changed module or include a changed
header. What has not ended in time is stopped and named. `make test` runs all tests.
"""

import ast
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_SECONDS = 60
_BIN = Path(sys.executable).parent


def _changed(base: str) -> list[Path]:
    listed = [
        ["git", "diff", "--name-only", "--diff-filter=d", base],
        ["git", "ls-files", "--others", "--exclude-standard"],
    ]
    names = [
        subprocess.run(each, check=True, capture_output=True, text=True).stdout for each in listed
    ]
    return [Path(name) for name in "".join(names).splitlines() if Path(name).is_file()]


def imports(test: Path) -> set[str]:
    """Return the modules that a test names; of `from a import b`, both a and a.b."""
    found = set()
    for node in ast.walk(ast.parse(test.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _python_tests(changed: Iterable[Path]) -> list[Path]:
    """Return the test files, those that changed first, then those of the same name."""
    tests = [*Path("tests").rglob("test_*.py")]
    own = [path for path in changed if path in tests]
    sources = [path for path in changed if path.is_relative_to("src") and path.suffix == ".py"]
    modules = {".".join(path.relative_to("src").with_suffix("").parts) for path in sources}
    modules |= {module.removesuffix(".__init__") for module in modules}
    names = {f"test_{name}" for path in sources for name in (path.stem, path.parent.name)}
    named = [test for test in tests if test.stem in names]
    importing = [test for test in tests if imports(test) & modules]
    return [*dict.fromkeys([*own, *named, *importing])]


def _engine_tests(changed: Iterable[Path]) -> list[Path]:
    """Return the engine's test sources that changed or include a header of what changed.

    `access/kernel_simd.cpp` is a part of what `access/kernel.h` declares.
    """
    tests = [*Path("engine/tests").rglob("*_test.cpp")]
    sources = [path.relative_to("engine") for path in changed if path.is_relative_to("engine")]
    found = [path for path in changed if path in tests]
    for test in tests:
        headers = [Path(name) for name in re.findall(r'#include "(.*)\.h"', test.read_text())]
        if any(
            source.parent == header.parent and re.match(rf"{header.name}([_-]|$)", source.stem)
            for source in sources
            for header in headers
        ):
            found.append(test)
    return [*dict.fromkeys(found)]


def _ends_well(command: list[str | Path], until: float) -> bool:
    """Run a command; stop it at that time as Ctrl-C does."""
    print("+", *command[:6], "..." if len(command) > 6 else "", flush=True)
    with subprocess.Popen(command, start_new_session=True) as child:
        try:
            return child.wait(max(1, until - time.monotonic())) == 0
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGINT)
            print(f"stopped after {_SECONDS} s; `make test` runs everything", file=sys.stderr)
            return child.wait() == 0


def main(base: str) -> int:
    """Check the change since a commit; the exit status is 0 where nothing was found wrong."""
    until = time.monotonic() + _SECONDS
    changed = _changed(base)
    if not changed:
        print(f"nothing has changed since {base}; another commit: make fast BASE=COMMIT")
        return 0
    python = [path for path in changed if path.suffix == ".py"]
    cpp = [path for path in changed if path.suffix in {".h", ".c", ".cpp", ".cu", ".cuh"}]
    commands: list[list[str | Path]] = []
    if python:
        commands += [
            [_BIN / "ruff", "check", *python],
            [_BIN / "ruff", "format", "--check", *python],
        ]
    if cpp:
        commands.append([_BIN / "clang-format", "--dry-run", "--Werror", *cpp])
    engine_tests = _engine_tests(changed)
    if engine_tests:
        commands.append(
            ["make", "--no-print-directory", "test", f"TEST={' '.join(map(str, engine_tests))}"]
        )
    types = subprocess.Popen([_BIN / "mypy"]) if python else None
    python_tests = _python_tests(changed)
    if python_tests:
        options = ["-n", "2", "--dist", "worksteal", "-m", "not gpu and not testbed and not soak"]
        commands.append([_BIN / "python", "-m", "pytest", *options, *python_tests])
    well = [_ends_well(command, until) for command in commands]
    return int(not all(well) or (types is not None and types.wait() != 0))


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or ["HEAD"])))
