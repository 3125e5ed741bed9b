"""tierscope_alloc.hpp, compiled by each compiler that is here."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tierscope.place.launch import find_library

SOURCE = Path(__file__).with_name("resource_program.cpp")
LIBRARIES = find_library().parent
HEADERS = LIBRARIES.with_name("_include")


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_resource_and_the_owner_do_what_they_promise(
    compiler: str, standard: str, tmp_path: Path
) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed; `tools/bootstrap --clang` installs it")
    program = tmp_path / "program"
    options = [f"-std={standard}", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
               "-Wconversion", "-Werror", f"-I{HEADERS}"]  # fmt: skip
    libraries = [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-ltierscope-alloc"]
    subprocess.run([compiler, *options, SOURCE, *libraries, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
