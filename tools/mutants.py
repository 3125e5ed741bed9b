"""Do tests notice when code is wrong? `make mutants`: a random sample of mutants, and who survived.

    python tools/mutants.py [--seed N] [--each N] [--jobs N] [--least SHARE] [MODULE...]

A mutant is the package with one change in one place: another number, comparison or operator, a
condition that is negated or lacks a part, a call that is left out. It is caught where one of the
module's tests fails. Of each module so many mutants are made, and its tests are those that are
nearest to it, as `make fast` chooses them, and those of its folder. Mutants run in copies of this
working tree. Prints each survivor as a diff and the share that was caught; the exit status is 1
where that is less than `--least`.

Mutations are cosmic-ray's, one replacement for each operator, without those that fail wherever the
line runs (operands of | in annotations), and three more that people's mistakes look like.
"""

import argparse
import difflib
import os
import queue
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names
from fast import imports

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
from copied_package import put_first  # noqa: E402

FOLDERS = {
    "analysis": ("tests/analysis", "tests/compare"),
    "fleet": ("tests/fleet",),
    "place": ("tests/placement",),
    "runs": ("tests/runs",),
}
"""Packages that are mutated, with folders of tests of theirs."""
FURTHER: dict[str, tuple[str, ...]] = {
    "analysis/change": ("tests/compare/test_compare.py",),
    "fleet/check": ("tests/fleet/test_fleet_gather.py", "tests/fleet/test_fleet_report.py"),
    "fleet/gather": ("tests/fleet/test_together.py",),
    "fleet/host": ("tests/fleet/test_fleet_run.py",),
    "fleet/index": ("tests/fleet/test_fleet_run.py",),
    "fleet/outliers": ("tests/fleet/test_fleet_gather.py",),
    "fleet/rank": ("tests/fleet/test_fleet_run.py",),
    "fleet/rows": ("tests/fleet/test_fleet_gather.py",),
    "fleet/show": ("tests/fleet/test_fleet_gather.py", "tests/fleet/test_fleet_report.py"),
    "place/cgroups": ("tests/placement/test_own_cgroup.py", "tests/placement/test_tiering.py"),
    "place/tier_rules": ("tests/placement/test_tier_commands.py",),
    "runs/history": ("tests/test_history.py",),
    "runs/state": ("tests/runs/test_cut_runs.py",),
}
"""Tests of modules that they do not import."""
# Clusters and browsers on this machine: minutes for what the other tests of their folder run, too.
SLOW = re.compile(
    r"slurm|namespaces|mpich|browser|testbed|/gpu/|_preload|_recipes|conformance|shared_storage"
    r"|/alloc/|/fuzz/|/report/|test_cli"
)
SKIPPED = re.compile(r"TYPE_CHECKING|__name__|^\s*from|^\s*import|^@")
CHOSEN = re.compile(
    r"core/(ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_FloorDiv|Pow_Mul"
    r"|LShift_RShift|RShift_LShift|BitAnd_BitOr)"
    r"|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE"
    r"|GtE_Gt|GtE_Lt|Is_IsNot|IsNot_Is)"
    r"|ReplaceUnaryOperator_Delete_(USub|Not)|AddNot|ReplaceTrueWithFalse|ReplaceFalseWithTrue"
    r"|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceBreakWithContinue|ReplaceContinueWithBreak"
    r"|ExceptionReplacer|NumberReplacer|ZeroIterationForLoop)"
)


class _Factor(Operator):
    """Multiply a number that is not whole by 1.25, since one more would be far off."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type == "number" and not node.value.isdigit() and "x" not in node.value:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002
        value = 1.25 * float(node.value)
        return parso.python.tree.Number(f"{node.prefix}{value!r}", node.start_pos)

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class _Operand(Operator):
    """Leave out an operand of `and` or `or`."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type in ("and_test", "or_test"):
            for operand in node.children[::2]:
                yield operand.start_pos, operand.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        prefix = node.get_first_leaf().prefix
        children = node.children
        node.children = children[2:] if index == 0 else _without(children, 2 * index)
        node.get_first_leaf().prefix = prefix
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class _Call(Operator):
    """Leave out a statement that is a call."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type == "simple_stmt" and node.children[0].type == "atom_expr":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002
        prefix = node.get_first_leaf().prefix
        node.children[0] = parso.python.tree.Keyword("None", node.start_pos, prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def _without(children: list[Any], at: int) -> list[Any]:
    return children[: at - 1] + children[at + 1 :]


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    module: Path
    """Relative to the root."""
    code: str
    diff: str


def sample(module: Path, count: int, seed: str) -> tuple[list[Mutant], int]:
    """Return some mutants of a module, and how many there are."""
    code = (ROOT / module).read_text()
    lines = code.splitlines()
    nodes = [*ast_nodes(get_ast(code))]
    operators = [
        get_operator(name)() for name in sorted(operator_names()) if CHOSEN.fullmatch(name)
    ]
    every = []
    for operator in (*operators, _Factor(), _Operand(), _Call()):
        of_whole = type(operator).__name__ == "NumberReplacer"
        places = [at for node in nodes for at in operator.mutation_positions(node)]
        for number, ((line, start), (_, end)) in enumerate(places):
            text = lines[line - 1]
            # Strict zips assert; they never fail where the code is right.
            if SKIPPED.search(text) or text[:start].endswith("strict="):
                continue
            if not of_whole or text[start:end].isdigit():
                every.append((operator, number))
    random.Random(f"{seed} {module}").shuffle(every)  # noqa: S311  a choice, no secret
    found: dict[str, Mutant] = {}
    for operator, number in every:
        if len(found) == count:
            break
        try:
            mutated = mutate_code(code, operator, number)
        except AttributeError:  # of cosmic-ray, at exceptions whose names have dots
            continue
        if mutated and mutated != code and _compiles(mutated):
            diff = difflib.unified_diff(
                lines, mutated.splitlines(), str(module), "mutant", lineterm="", n=0
            )
            found.setdefault(mutated, Mutant(module, mutated, "\n".join(diff)))
    return [*found.values()], len(every)


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def related_tests(module: Path) -> list[str]:
    """Return the test files that import a module, else have its name, else those of its folder."""
    folders = [Path(folder) for folder in FOLDERS[module.parts[2]]]
    name = ".".join(module.relative_to("src").with_suffix("").parts)
    tests = [
        path for path in sorted(Path("tests").rglob("test_*.py")) if not SLOW.search(str(path))
    ]
    own = [path for path in tests if name in imports(path)]
    own = own or [path for path in tests if path.stem == f"test_{module.stem}"]
    of_folder = [path for path in tests if path.parent in folders]
    further = [Path(path) for path in FURTHER.get(f"{module.parts[2]}/{module.stem}", ())]
    return [str(path) for path in dict.fromkeys([*own, *further] or of_folder)]


class Copy:
    """A copy of the working tree, in which mutants are tried one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        for name in listed.splitlines():
            if Path(name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(name, folder / name)
        source = folder / "src"
        put_first(source)
        installed = Path(
            subprocess.run(
                [sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                check=True, capture_output=True, text=True,
            ).stdout.strip()
        )  # fmt: skip
        for part in ("_bin", "_lib", "_include"):
            (source / "tierscope" / part).symlink_to(installed / "tierscope" / part)
        for kept in ("build", ".venv"):
            (folder / kept).symlink_to(ROOT / kept)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "MAKEFLAGS"},
            "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1",
        }  # fmt: skip

    def fails(self, tests: list[str], limit_s: float, chosen: str = "") -> bool:
        """Return whether a test fails, or they take longer."""
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
            "-m", "not gpu and not testbed and not soak", *shlex.split(chosen), *tests,
        ]  # fmt: skip
        with subprocess.Popen(
            command, cwd=self.folder, env=self.environment, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as child:  # fmt: skip
            try:
                self.output, _ = child.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                self.output = "timeout"
                return True
            return child.returncode != 0

    def survives(self, mutant: Mutant, tests: list[str], limit_s: float, chosen: str) -> bool:
        """Return whether no test of a mutant's module notices it."""
        place = self.folder / mutant.module
        original = place.read_text()
        place.write_text(mutant.code)
        try:
            return not self.fails(tests, limit_s, chosen)
        finally:
            place.write_text(original)


class Trial:
    """Mutants of several modules, in several copies at once."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.caught: Counter[Path] = Counter()
        self.tried: Counter[Path] = Counter()
        self.broken: list[Path] = []
        self.survivors: list[Mutant] = []
        self.modules: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for module in args.modules:
            self.modules.put(module)

    def work(self, copy: Copy) -> None:
        """Try modules until none is left."""
        while True:
            try:
                module = self.modules.get_nowait()
            except queue.Empty:
                return
            self.module(module, copy)

    def module(self, module: Path, copy: Copy) -> None:
        """Try a sample of a module's mutants."""
        tests = related_tests(module)
        began = time.monotonic()
        if copy.fails(tests, 1200, self.args.pytest):
            print(
                f"{module}: its tests fail without a mutation:\n{copy.output[-3000:]}", flush=True
            )
            self.broken.append(module)
            return
        seconds = time.monotonic() - began
        chosen, every = sample(module, self.args.each, self.args.seed)
        for mutant in chosen:
            self.tried[module] += 1
            if copy.survives(mutant, tests, 4 * seconds + 20, self.args.pytest):
                self.survivors.append(mutant)
                print(f"survived: {mutant.diff}\n", flush=True)
            else:
                self.caught[module] += 1
        print(
            f"{module}: {self.caught[module]} of {self.tried[module]} caught, of {every}; "
            f"{len(tests)} test files take {seconds:.0f} s",
            flush=True,
        )


def main() -> int:
    """Try mutants; see the module's description."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default=f"{time.time():.0f}", help="repeats a sample")
    parser.add_argument("--each", type=int, default=10, help="mutants of each module")
    # A test that uses a name of the whole machine would fail beside a second copy of it.
    parser.add_argument("--jobs", type=int, default=1, help="copies at once")
    parser.add_argument("--least", type=float, default=0.0, help="share to be caught")
    parser.add_argument("--pytest", default="", help="further options of pytest, as -k")
    parser.add_argument("modules", nargs="*", type=Path, help="files; all of the four packages")
    args = parser.parse_args()
    os.chdir(ROOT)
    args.modules = args.modules or [
        path
        for folder in FOLDERS
        for path in sorted(Path("src/tierscope", folder).glob("*.py"))
        if path.name != "__init__.py"
    ]
    trial = Trial(args)
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        copies = [Copy(Path(place, str(number))) for number in range(args.jobs)]
        workers = [threading.Thread(target=trial.work, args=(one,)) for one in copies]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    tried, caught = sum(trial.tried.values()), sum(trial.caught.values())
    for folder in FOLDERS:
        own = [module for module in trial.tried if module.parts[2] == folder]
        if own:
            of = sum(trial.tried[one] for one in own)
            print(f"{folder}: {sum(trial.caught[one] for one in own)} of {of} caught")
    share = caught / tried if tried else 0.0
    print(f"all: {caught} of {tried} caught, {share:.0%} (seed {args.seed})")
    return int(bool(trial.broken) or share < args.least)


if __name__ == "__main__":
    sys.exit(main())
