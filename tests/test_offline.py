"""Archives for machines without a network: what goes in, and what their install script refuses."""

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pip
import pytest

ROOT = Path(__file__).parent.parent
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MACHINE = platform.machine()
TAG = f"manylinux_2_28_{MACHINE}"


@pytest.fixture(scope="module")
def offline() -> ModuleType:
    """``tools/offline.py``."""
    spec = importlib.util.spec_from_file_location("offline", ROOT / "tools/offline.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["offline"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def wheel(folder: Path, name: str, *needs: str, tag: str = "any", python: str = ">=3.8") -> Path:
    """A wheel with one module, and a program of its name that says its version."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-{tag}.whl"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", f"Requires-Python: {python}"]
    lines += [f"Requires-Dist: {need}" for need in needs]
    extras = ("apps", "fleet", "object-store") if any("extra" in need for need in needs) else ()
    lines += [f"Provides-Extra: {extra}" for extra in extras]
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": f'def main() -> None:\n    print("{name} 1.0")\n',
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-{tag}\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in files))
    return path


@pytest.fixture(scope="module")
def pip_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pip that is installed here, as a wheel again."""
    package = Path(pip.__file__).parent
    path = tmp_path_factory.mktemp("pip") / f"pip-{pip.__version__}-py3-none-any.whl"
    info = f"pip-{pip.__version__}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for folder in (package, package.parent / info):
            for file in folder.rglob("*"):
                if "__pycache__" not in file.parts:
                    archive.write(file, file.relative_to(package.parent))
    return path


@pytest.fixture
def folder(tmp_path: Path, offline: ModuleType, pip_wheel: Path) -> Path:
    """What an archive for this machine and this Python holds, with a small tierscope."""
    found = tmp_path / "a folder"
    needs = ("click>=1.0", 'mpi4py>=1.0; extra == "fleet"')
    wheel(found / "wheels", "tierscope", *needs, tag=TAG)
    wheel(found / "wheels", "click")
    wheel(found / "wheels", "mpi4py")
    shutil.copy(pip_wheel, found / "wheels")
    offline.finish(found, PYTHON, MACHINE)
    return found


def install(
    folder: Path, *words: object, path: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the folder's script; programs in ``path`` come before the system's."""
    command = [folder / "install", *map(str, words)]
    environment = {**os.environ, "PATH": f"{path or folder}:{os.environ['PATH']}"}
    environment["PIP_INDEX_URL"] = environment["PIP_CONFIG_FILE"] = "none:"  # must not count
    environment["PIP_NO_COMPILE"] = "1"  # pip itself is most of what is installed here
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def refusal(done: "subprocess.CompletedProcess[str]", code: int = 1) -> str:
    """The one line that a script says which refuses."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("install: ")
    return done.stderr


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path.parent


def test_it_makes_an_environment_and_installs_into_it_again(folder: Path, tmp_path: Path) -> None:
    to = tmp_path / "an environment"
    done = install(folder, "--python", sys.executable, to)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tierscope 1.0 is installed; ")
    again = install(folder, to)
    assert (again.returncode, again.stderr) == (0, "")
    said = subprocess.run([to / "bin/tierscope"], capture_output=True, text=True, check=True)
    assert said.stdout == "tierscope 1.0\n"


def test_a_folder_in_use_is_refused(folder: Path, tmp_path: Path) -> None:
    used = tmp_path / "used"
    program(used / "file", "")
    assert f"{used} is neither empty nor a virtual environment" in refusal(install(folder, used))
    program(used / "bin/python", "")
    assert "is not a virtual environment" in refusal(install(folder, used))
    assert sorted(path.name for path in used.iterdir()) == ["bin", "file"]


def test_a_damaged_wheel_is_refused(folder: Path, tmp_path: Path) -> None:
    with (folder / "wheels/click-1.0-py3-none-any.whl").open("ab") as file:
        file.write(b"x")
    said = refusal(install(folder, "--python", sys.executable, tmp_path / "to"))
    assert "wheels/click-1.0-py3-none-any.whl is damaged or missing" in said
    assert not (tmp_path / "to").exists()


def test_an_incomplete_copy_is_refused(folder: Path, tmp_path: Path) -> None:
    words = ("--python", sys.executable, tmp_path / "to")
    (folder / "wheels/click-1.0-py3-none-any.whl").unlink()
    assert "wheels/click-1.0-py3-none-any.whl is damaged" in refusal(install(folder, *words))
    (folder / "SHA256SUMS").write_text("")
    assert "SHA256SUMS is damaged or missing" in refusal(install(folder, *words))
    (folder / "needs").unlink()
    assert "needs is missing; unpack the whole archive" in refusal(install(folder, *words))


def test_another_machine_is_refused(folder: Path, tmp_path: Path) -> None:
    programs = program(tmp_path / "programs/uname", "echo riscv64")
    said = refusal(install(folder, tmp_path / "to", path=programs))
    assert f"this machine is riscv64, these files are for {MACHINE}" in said


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("echo glibc 2.27", "this system has glibc 2.27; 2.28 or newer is needed"),
        ("echo glibc 1.99", "this system has glibc 1.99; 2.28 or newer is needed"),
        ("exit 1", "this system has no glibc"),
    ],
)
def test_an_older_libc_is_refused(folder: Path, tmp_path: Path, answer: str, reason: str) -> None:
    programs = program(tmp_path / "programs/getconf", answer)
    assert reason in refusal(install(folder, tmp_path / "to", path=programs))


@pytest.mark.parametrize("answer", ["glibc 2.28", "glibc 2.31.9000", "glibc 3.0"])
def test_a_newer_libc_will_do(folder: Path, tmp_path: Path, answer: str) -> None:
    programs = program(tmp_path / "programs/getconf", f"echo {answer}")
    said = refusal(install(folder, "--python", "no-such-python", tmp_path / "to", path=programs))
    assert "no-such-python does not start" in said


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("echo CPython 3.9 64", "CPython 3.9"),
        (f"echo PyPy {PYTHON} 64", f"PyPy {PYTHON}"),
        (f"echo CPython {PYTHON} 32", f"CPython {PYTHON} of 32 bits"),
    ],
)
def test_another_python_is_refused(folder: Path, tmp_path: Path, answer: str, found: str) -> None:
    programs = program(tmp_path / f"programs/python{PYTHON}", answer)
    said = refusal(install(folder, tmp_path / "to", path=programs))
    assert f"programs/python{PYTHON} is {found}; CPython {PYTHON} is needed: --python" in said


def test_wrong_words_are_refused(folder: Path, tmp_path: Path) -> None:
    assert "name the FOLDER" in refusal(install(folder), 2)
    assert "unknown option '--to'" in refusal(install(folder, "--to", tmp_path), 2)
    assert "one FOLDER only" in refusal(install(folder, tmp_path / "a", tmp_path / "b"), 2)
    assert "--python needs a program" in refusal(install(folder, "--python"), 2)


def test_help_is_what_the_script_begins_with(folder: Path) -> None:
    done = install(folder, "--help")
    assert done.returncode == 0
    assert "./install [--python PROGRAM] FOLDER" in done.stdout
    assert "set -eu" not in done.stdout


def test_needs_come_from_the_wheels_tags(folder: Path) -> None:
    text = (folder / "needs").read_text()
    assert text == f"python={PYTHON}\nmachine={MACHINE}\nglibc=2.28\n"


def test_a_wheel_runs_with_the_oldest_libc_of_its_tags(offline: ModuleType, tmp_path: Path) -> None:
    tags = "manylinux_2_17_x86_64.manylinux2014_x86_64.manylinux_2_28_x86_64"
    assert offline.read(wheel(tmp_path, "old", tag=tags)).glibc == 17
    assert offline.read(wheel(tmp_path, "new", tag="manylinux_2_28_aarch64")).glibc == 28
    assert offline.read(wheel(tmp_path, "pure")).glibc == 0


@pytest.mark.parametrize(
    ("need", "python", "reason"),
    [
        ("rich>=13", "3.10", "tierscope needs rich>=13, and .* has none"),
        ("click>=8.4", "3.10", "tierscope needs click>=8.4, and .* has 1.0"),
        ('tomli; python_version < "3.11"', "3.10", "tierscope needs tomli"),
        ('mpi4py; extra == "fleet"', "3.10", "tierscope needs mpi4py"),
        ("click", "3.7", "needs Python >=3.8, not 3.7"),
    ],
)
def test_a_folder_that_lacks_something_is_refused(
    offline: ModuleType, tmp_path: Path, need: str, python: str, reason: str
) -> None:
    wheel(tmp_path, "tierscope", need)
    wheel(tmp_path, "click")
    with pytest.raises(SystemExit, match=reason):
        offline.check(tmp_path, python, "x86_64")


def test_what_another_python_needs_is_not_asked_for(offline: ModuleType, tmp_path: Path) -> None:
    wheel(tmp_path, "tierscope", 'tomli; python_version < "3.11"', 'pytest; extra == "test"')
    assert list(offline.check(tmp_path, "3.11", "x86_64")) == ["tierscope"]


def test_an_archive_is_its_folder(folder: Path, offline: ModuleType, tmp_path: Path) -> None:
    offline.pack(folder, tmp_path / "all.tar")
    to = tmp_path / "unpacked"
    to.mkdir()
    subprocess.run(["tar", "-C", to, "-xf", tmp_path / "all.tar"], check=True)
    for line in (to / folder.name / "SHA256SUMS").read_text().splitlines():
        checksum, name = line.split("  ")
        content = (to / folder.name / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == checksum
    assert os.access(to / folder.name / "install", os.X_OK)


def test_no_wheel_no_archive(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "tools/offline.py", tmp_path, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"offline: no portable wheel is in {tmp_path}; `make wheels`")
