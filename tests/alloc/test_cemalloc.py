"""libcemalloc.so under programs as HMSDK 1.1 and 2.0 document them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cemalloc_programs import (
    JAVA,
    LIBRARIES,
    LIBRARY,
    SOURCES,
    Programs,
    environment,
    pages_by_cemalloc,
    run_indicator,
    started,
)

CXL = {"CE_ALLOC": "CE_ALLOC_CXL", "CE_CXL_NODE": "0"}
SHARES = {"CE_ALLOC": "CE_ALLOC_USERDEFINED", "CE_INTERLEAVE_NODE": "0*2"}
NAMES = {"cxl_malloc", "cxl_mmap", "cxl_calloc", "cxl_realloc", "cxl_posix_memalign",
         "cxl_memalign", "cxl_valloc", "cxl_aligned_alloc", "cxl_free", "cxl_malloc_usable_size",
         "EnableExplicitIndicator", "SetCxlMemory", "SetHostMemory", "GetMemoryMode"}  # fmt: skip
REPLACED = {"malloc", "free", "calloc", "realloc", "posix_memalign", "memalign", "valloc",
            "aligned_alloc", "malloc_usable_size", "mmap", "mmap64"}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("cemalloc"))


def test_the_library_has_the_names_of_hmsdks(programs: Programs) -> None:
    dynamic = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True)
    assert "Library soname: [libcemalloc.so.1.1]" in dynamic.stdout
    assert "STATIC_TLS" not in dynamic.stdout, "ctypes opens it"
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1] for line in symbols.stdout.splitlines()}
    assert exported >= NAMES | REPLACED
    assert {name for name in exported if not name.islower() or "cxl" in name} == NAMES
    needed = subprocess.run(
        ["readelf", "-d", programs.explicit], capture_output=True, text=True, check=True
    )
    assert "[libcemalloc.so.1.1]" in needed.stdout, "as a program that HMSDK's was linked with"


@pytest.mark.parametrize("placement", [CXL, SHARES], ids=["cxl", "shares"])
def test_a_program_takes_memory_by_cxl_functions(
    programs: Programs, placement: dict[str, str]
) -> None:
    settings = environment("CE_EXPLICIT", **placement, TIERSCOPE_ALLOC="statistics")
    found, said = pages_by_cemalloc([programs.explicit], settings)
    assert found.keys() == {"cxl_malloc", "cxl_realloc", "cxl_memalign", "cxl_mmap", "malloc"}
    assert all(pages.keys() == {0} for pages in found.values())
    # Three blocks of 4 MiB, and a mapping: malloc's block is not of the arena.
    assert re.search(r"arena cemalloc: .* 12\.\d MiB in blocks, 4\.0 MiB mapped", said), said
    assert said.count("CE_MODE is not CE_EXPLICIT_INDICATOR") == 2


def test_a_program_that_knows_nothing_of_it_is_placed_as_a_whole(programs: Programs) -> None:
    settings = environment("CE_IMPLICIT", **CXL, TIERSCOPE_ALLOC="statistics", LD_PRELOAD=LIBRARY)
    found, said = pages_by_cemalloc([programs.implicit], settings)
    assert found.keys() == {"malloc", "realloc", "memalign", "new", "mmap", "thread"}
    blocks = re.search(r"arena cemalloc: .* (\d+)\.\d MiB in blocks, 4\.0 MiB mapped", said)
    assert blocks, said
    assert int(blocks[1]) >= 20


def test_a_program_that_is_linked_with_it_has_its_malloc(programs: Programs) -> None:
    settings = environment("CE_IMPLICIT", **SHARES)
    found, said = pages_by_cemalloc([programs.shares], settings)
    assert (found.keys(), said) == ({"large", "cxl_malloc"}, "")


@pytest.mark.parametrize("mode", ["CE_EXPLICIT_INDICATOR", "CE_IMPLICIT"])
def test_a_thread_of_python_says_where_its_memory_goes(mode: str) -> None:
    """Under CE_IMPLICIT HMSDK's library ignores the indicator that the module enables."""
    found, said = run_indicator(environment(mode, **CXL, LD_PRELOAD=LIBRARY))
    assert (found.keys(), said) == ({"host", "cxl", "later"}, "")


def test_a_library_that_was_not_preloaded_says_that_malloc_is_not_its_own() -> None:
    _, said = run_indicator(environment("CE_EXPLICIT_INDICATOR", **CXL), status=1)
    assert "malloc stays the program's, which this library was not preloaded into" in said
    assert f"start it with LD_PRELOAD={LIBRARIES}" in said


@pytest.mark.skipif(not shutil.which("javac"), reason="a Java development kit is not installed")
def test_a_thread_of_java_says_where_its_memory_goes(tmp_path: Path) -> None:
    subprocess.run(["javac", "-d", tmp_path, "-sourcepath", JAVA, JAVA / "Indicator.java"],
                   check=True)  # fmt: skip
    settings = environment(
        "CE_EXPLICIT_INDICATOR", **CXL, TIERSCOPE_ALLOC="statistics", LD_PRELOAD=LIBRARY
    )
    done = started(["java", "-cp", tmp_path, "Indicator"], settings)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert re.search(r"arena cemalloc: .* 16\.\d MiB in blocks", done.stderr), done.stderr


def test_the_documents_commands_build_and_run_a_program(tmp_path: Path) -> None:
    document = (Path(__file__).parents[2] / "docs/allocator.md").read_text()
    (built,) = re.findall(r"`(cc program\.c [^`]*--cemalloc[^`]*)`", document)
    lines = re.findall(r"^(?:export CE_|CE_MODE=).*$", document, re.MULTILINE)
    assert len(lines) == 3
    (tmp_path / "program.c").write_text((SOURCES / "shares.c").read_text())
    (tmp_path / "pages.h").write_text((SOURCES.parent / "pages.h").read_text())
    text = "\n".join(["set -e", built, "cp program linked_program", *lines]).replace(",1*1", "")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", text], cwd=tmp_path, env=os.environ | {"PATH": path},
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("large 0:") == done.stdout.count("cxl_malloc 0:") == 2


def test_what_is_not_set_is_said_and_memory_is_mallocs(programs: Programs) -> None:
    _, said = pages_by_cemalloc([programs.shares], {"LD_LIBRARY_PATH": str(LIBRARIES)})
    assert said.splitlines() == [
        "libcemalloc: CE_MODE is not set: CE_IMPLICIT",
        "libcemalloc: CE_ALLOC is not set: CE_ALLOC_HOST",
    ]


WRONG = [
    ({"CE_MODE": "implicit"}, "CE_MODE=implicit: it takes CE_IMPLICIT, CE_EXPLICIT or"),
    ({"CE_ALLOC": "CE_ALLOC_NONE"}, "CE_ALLOC=CE_ALLOC_NONE: it takes CE_ALLOC_HOST"),
    ({"CE_ALLOC": "CE_ALLOC_CXL"}, "CE_CXL_NODE is not set: it takes the number of a node"),
    ({**CXL, "CE_CXL_NODE": ""}, "CE_CXL_NODE=: it takes the number of a node"),
    ({**CXL, "CE_CXL_NODE": "1x"}, "CE_CXL_NODE=1x: it takes the number of a node"),
    ({**CXL, "CE_CXL_NODE": "-1"}, "CE_CXL_NODE=-1: it takes the number of a node"),
    ({**CXL, "CE_CXL_NODE": "1023"}, "CE_CXL_NODE=1023: one of these nodes does not exist"),
    ({**CXL, "CE_CXL_NODE": "1024"}, "CE_CXL_NODE=1024: it takes the number of a node"),
    ({"CE_ALLOC": "CE_ALLOC_USERDEFINED"}, "CE_INTERLEAVE_NODE is not set: it takes nodes with"),
    *(
        ({**SHARES, "CE_INTERLEAVE_NODE": text}, f"CE_INTERLEAVE_NODE={text}: it takes nodes with")
        for text in ("", "0*", "*2", "0*2,", ",0", "0*x", "0:2", "0*0", "0*1,0*2", "0*999,1*1")
    ),
    ({**SHARES, "CE_INTERLEAVE_NODE": "0*2,1023*1"}, "CE_INTERLEAVE_NODE=0*2,1023*1: one of these"),
]


@pytest.mark.parametrize(("wrong", "why"), WRONG)
def test_a_wrong_environment_ends_the_program_before_it_begins(
    programs: Programs, wrong: dict[str, str], why: str
) -> None:
    done = started([programs.shares], environment("CE_EXPLICIT") | wrong)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()[-1:]
    assert line.startswith(f"libcemalloc: {why}")


@pytest.mark.parametrize("text", ["0", "0*1", "0*255", "0*600"])
def test_weights_are_a_ratio(programs: Programs, text: str) -> None:
    settings = environment("CE_EXPLICIT", **SHARES | {"CE_INTERLEAVE_NODE": text})
    assert pages_by_cemalloc([programs.shares], settings)[1] == ""


def test_weights_of_the_kernel_are_named_where_they_are_used(programs: Programs) -> None:
    settings = environment("CE_IMPLICIT", CE_ALLOC="CE_ALLOC_BWAWARE")
    done = started([programs.shares], settings)
    if Path("/sys/kernel/mm/mempolicy/weighted_interleave").exists():
        said = r"libcemalloc: CE_ALLOC_BWAWARE: by the kernel's weights(, node \d+: \d+)+\n"
        assert (done.returncode, bool(re.fullmatch(said, done.stderr))) == (0, True), done.stderr
        return
    assert done.returncode == 1
    assert "CE_ALLOC=CE_ALLOC_BWAWARE: this kernel has no weights (Linux 6.9 has)" in done.stderr
    done = started([programs.shares], settings | {"CE_INTERLEAVE_NODE": "0*2"})
    assert done.returncode == 0
    assert "by those of CE_INTERLEAVE_NODE, in user space" in done.stderr
