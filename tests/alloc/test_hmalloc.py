"""libhmalloc.so under programs as HMSDK documents them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tierscope.peers.hmsdk import hmctl
from tierscope.place.launch import find_library

SOURCE = Path(__file__).with_name("hmalloc_program.c")
LIBRARIES = find_library().parent
HEADERS = LIBRARIES.with_name("_include")
NAMES = {"hmalloc", "hfree", "hcalloc", "hrealloc", "haligned_alloc", "hposix_memalign", "hmmap",
         "hmunmap", "hmalloc_usable_size"}  # fmt: skip
ON = {"HMALLOC_JEMALLOC": "1"}
POLICIES = {mode: {**ON, "HMALLOC_MPOL_MODE": mode, "HMALLOC_NODEMASK": "1"} for mode in "12356"}


def build(folder: Path, libraries: Path, compiler: str = "cc") -> Path:
    """Link the program with the libhmalloc.so of a folder; it is looked for when it starts."""
    program = folder / f"program-{compiler}"
    options = ["-O1", "-Wall", "-Werror", "-pthread", "-I", HEADERS]
    subprocess.run(
        [compiler, *options, SOURCE, "-L", libraries, "-lhmalloc", "-o", program], check=True
    )
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("linked"), LIBRARIES)


def run(
    program: Path, *words: str, environment: dict[str, str] | None = None, status: int = 0
) -> str:
    """Start the program, and return what it says on stderr."""
    done = subprocess.run(
        [program, *(words or ["claims"])],
        env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES), **(environment or {})},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return done.stderr


def test_the_library_has_hmsdks_name_and_exports_its_functions_only() -> None:
    library = LIBRARIES / "libhmalloc.so"
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True)
    assert "Library soname: [libhmalloc.so]" in dynamic.stdout
    assert "jemalloc" not in dynamic.stdout, "the program's malloc is not replaced"
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    assert {line.split()[-1] for line in symbols.stdout.splitlines()} == NAMES


def test_without_hmctl_it_is_malloc(program: Path) -> None:
    assert run(program) == ""
    assert run(program, environment=ON) == "", "hmctl without a policy"
    assert run(program, environment={**POLICIES["2"], "HMALLOC_JEMALLOC": "0"}) == ""


@pytest.mark.parametrize("mode", [*POLICIES])
def test_under_hmctl_all_functions_do_what_they_promise(program: Path, mode: str) -> None:
    said = run(program, environment=POLICIES[mode])
    assert said == "" or (mode == "6" and "has no weighted interleave (Linux 6.9)" in said)


def test_hmctl_sets_what_the_library_reads(program: Path) -> None:
    variables = hmctl.variables({"--membind": "0"})
    assert run(program, "pages", "1", environment=variables) == ""
    assert variables == POLICIES["2"]


def test_a_program_linked_with_another_library_of_the_name_runs_unchanged(tmp_path: Path) -> None:
    """One whose functions all abort stands for HMSDK's: it must not be used when it runs."""
    stub = tmp_path / "stub.c"
    stub.write_text("void abort(void);\n" + "".join(f"void {name}(void) {{ abort(); }}\n"
                                                    for name in sorted(NAMES)))  # fmt: skip
    subprocess.run(
        ["cc", "-w", "-fno-builtin", "-shared", "-fPIC", stub, "-Wl,-soname,libhmalloc.so",
         "-o", tmp_path / "libhmalloc.so"], check=True,
    )  # fmt: skip
    program = build(tmp_path, tmp_path)
    aborted = run(program, environment={"LD_LIBRARY_PATH": str(tmp_path)}, status=-6)
    assert aborted == ""
    for environment in ({}, POLICIES["2"]):
        assert run(program, environment=environment) == ""


def test_the_header_is_cpp_too(tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text("#include <hmalloc.h>\nint main() { hfree(hcalloc(3, 5)); }\n")
    command = ["c++", "-Wall", "-Werror", "-I", HEADERS, source, "-L", LIBRARIES, "-lhmalloc"]
    subprocess.run([*command, "-o", tmp_path / "program"], check=True)
    assert run(tmp_path / "program", environment=POLICIES["3"]) == ""


def test_the_documents_commands_build_and_run_a_program(tmp_path: Path) -> None:
    document = (Path(__file__).parents[2] / "docs/allocator.md").read_text()
    (built,) = re.findall(r"`(cc program\.c [^`]*--hmalloc[^`]*)`", document)
    (started,) = re.findall(r"^(LD_LIBRARY_PATH=.* hmctl .*)$", document, re.MULTILINE)
    for source, name in ((SOURCE, "program.c"), (SOURCE.with_name("pages.h"), "pages.h")):
        (tmp_path / name).write_text(source.read_text())
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for command in (built, started.replace("-m 2", "-m 0") + " pages 1"):
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=os.environ | {"PATH": path},
            capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(("hmalloc 0:255\n", "hmalloc 0:256\n"))


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("HMALLOC_MPOL_MODE", "4", r"it takes 1 \(preferred\), 2 \(bind\), 3 \(interleave\)"),
        ("HMALLOC_MPOL_MODE", "two", "it takes 1"),
        ("HMALLOC_MPOL_MODE", "", "it takes 1"),
        ("HMALLOC_MPOL_MODE", "-1", "it takes 1"),
        ("HMALLOC_NODEMASK", "", "it takes a decimal number whose bits are nodes"),
        ("HMALLOC_NODEMASK", "0", "it takes a decimal number whose bits are nodes"),
        ("HMALLOC_NODEMASK", "-2147483648", "it takes a decimal number whose bits are nodes"),
        ("HMALLOC_NODEMASK", "0,2", "it takes a decimal number whose bits are nodes"),
        ("HMALLOC_NODEMASK", str(1 << 1024), "it takes a decimal number whose bits are nodes"),
        ("HMALLOC_NODEMASK", str(1 << 1023), "one of these nodes does not exist or has no memory"),
        ("HMALLOC_NODEMASK", str(1 << 64 | 1), "one of these nodes does not exist"),
    ],
)
def test_a_wrong_environment_is_said_in_a_line_and_memory_is_mallocs(
    program: Path, variable: str, value: str, complaint: str
) -> None:
    wrong = {**POLICIES["2"], variable: value}
    said = run(program, environment=wrong)
    assert re.fullmatch(
        rf"libhmalloc: {variable}={re.escape(value[:64])}: .*{complaint}.*; memory is not placed\n",
        said,
    )
    strict = run(program, environment={**wrong, "TIERSCOPE_ALLOC": "strict"}, status=1)
    assert strict == said.replace("; memory is not placed", "")


def test_a_variable_that_is_missing_is_named(program: Path) -> None:
    for missing in ("HMALLOC_MPOL_MODE", "HMALLOC_NODEMASK"):
        environment = {name: value for name, value in POLICIES["2"].items() if name != missing}
        assert f"{missing} is not set" in run(program, environment=environment)


def test_statistics_are_printed_at_exit_if_asked_for(program: Path) -> None:
    environment = {**POLICIES["2"], "TIERSCOPE_ALLOC": "statistics"}
    assert "hmalloc" in run(program, "pages", "1", environment=environment)
