"""The examples of docs/allocator.md: built by the command at their beginning, and run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/alloc"
DOCUMENT = (ROOT / "docs/allocator.md").read_text()
PATHS = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
BUILT = {
    "c/hash_join.c": ("cc", "50000 matches, sum 2475000", ["0", "0", "50000"]),
    "cpp/value_cache.cpp": ("c++", "values kept", ["0", "0", "4"]),
    "rust/log_store.rs": ("rustc", "50000 lines; line 25000 on node 0", ["0", "50000"]),
}


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=os.environ | {"PATH": PATHS},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("example", BUILT)
def test_an_example_is_built_as_it_says_and_runs(example: str, tmp_path: Path) -> None:
    compiler, printed, words = BUILT[example]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed; `tools/bootstrap --rust` installs rustc")
    source = Path(shutil.copy(EXAMPLES / example, tmp_path))
    built = re.search(rf"^//!? +({re.escape(compiler)} .*)$", source.read_text(), re.MULTILINE)
    assert built is not None
    assert built[1] in DOCUMENT, "the document shows the same command"
    done = shell(built[1], tmp_path)
    assert done.stderr == "", "no warnings"
    said = shell(" ".join([f"./{source.stem}", *words]), tmp_path).stdout
    assert printed in said
    assert "node 0" in said


def test_a_program_without_its_arena_says_why(tmp_path: Path) -> None:
    source = Path(shutil.copy(EXAMPLES / "c/hash_join.c", tmp_path))
    shell(f"cc {source.name} $(tierscope alloc flags)", tmp_path)
    done = subprocess.run([tmp_path / "a.out", "0", "1023"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "1023: No such device\n")


def test_the_python_example_runs(tmp_path: Path) -> None:
    said = shell(f"python3 {EXAMPLES}/python/document_store.py 0 8", tmp_path).stdout
    assert said.startswith("2000 documents\nnode 0: ")


def test_the_documents_python_runs() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    names: dict[str, object] = {}
    exec(shown.replace('"2"', '"0"').replace("8 <<", "1 <<"), names)
    prices = names["prices"]
    assert isinstance(prices, memoryview)
    assert (len(prices), prices[7]) == (131072, 0.0)


def test_the_documents_c_compiles(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```c\n(.*?)```", DOCUMENT, re.DOTALL)
    include, _, body = shown.partition("\n")
    text = f"{include}\nstruct row {{ int a; }};\nvoid show(size_t count) {{{body}}}\n"
    (tmp_path / "shown.c").write_text(text)
    shell("cc -Wall -Werror -c shown.c $(tierscope alloc flags)", tmp_path)
