"""Makes archives that install tierscope on a machine without a network: `make offline`.

offline.py DIST BUILD [PYTHON...]

For each wheel of tierscope in DIST and each version of Python (3.10 and so on) it collects what the
wheel needs from the package index, and pip, into a folder of BUILD, each with a hash of
tools/lock.txt, adds checksums and packaging/install-offline, and writes the folder to DIST as a
tar.
Where the folder lacks something that the wheel needs, it exits with an error.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
EXTRAS = ("apps", "fleet", "object-store")
"""What is optional of tierscope, and in the archives: clusters have no network."""
GLIBC = 28
"""Minor version of the newest glibc that a dependency may need, as tierscope's own wheel does."""


@dataclass(frozen=True)
class Wheel:
    """What a wheel says of itself."""

    version: Version
    needs: tuple[Requirement, ...]
    python: SpecifierSet
    glibc: int
    """Minor version of the oldest glibc 2 that it runs with; 0: of every one."""


def read(path: Path) -> Wheel:
    """Read a wheel's metadata and tags."""
    _, version, _, tags = parse_wheel_filename(path.name)
    with zipfile.ZipFile(path) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(archive.read(name))
    return Wheel(
        version,
        tuple(Requirement(text) for text in metadata.get_all("Requires-Dist", [])),
        SpecifierSet(metadata.get("Requires-Python", "")),
        min(_glibc(tag.platform) for tag in tags),
    )


def _glibc(platform: str) -> int:
    if platform.startswith("manylinux2014_"):
        return 17
    return int(platform.split("_")[2]) if platform.startswith("manylinux_2_") else 0


def check(folder: Path, python: str, machine: str) -> dict[NormalizedName, Wheel]:
    """Return the wheels of a folder by name; exits where one lacks what it needs there.

    pip sees to this itself, but for the Python that it runs with, not the one that is asked for.
    """
    wheels = {parse_wheel_filename(path.name)[0]: read(path) for path in folder.glob("*.whl")}
    there = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_machine": machine,
        "implementation_version": f"{python}.0",
    }
    for name, wheel in wheels.items():
        if not wheel.python.contains(f"{python}.99"):
            _fail(f"{name} needs Python {wheel.python}, not {python}")
        for need in wheel.needs:
            extras = ("", *EXTRAS) if name == "tierscope" else ("",)
            asked = [{**there, "extra": extra} for extra in extras]
            if need.marker and not any(need.marker.evaluate(one) for one in asked):
                continue
            found = wheels.get(canonicalize_name(need.name))
            if found is None or found.version not in need.specifier:
                _fail(f"{name} needs {need}, and {folder} has {found.version if found else 'none'}")
    return wheels


def collect(wheel: Path, python: str, machine: str, folder: Path) -> None:
    """Fill a folder with a wheel and what it needs, and how to install it."""
    shutil.rmtree(folder, ignore_errors=True)
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC, 16, -1)]
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
    command += ["--only-binary=:all:", "--python-version", python, "--dest", str(wheels)]
    older = (f"manylinux2014_{machine}", f"manylinux_2_5_{machine}")
    command += [f"--platform={name}" for name in (*platforms, *older)]
    own = wheels / wheel.name
    shutil.copy(wheel, own)
    asked = folder / "asked.txt"
    lines = [f"tierscope[{','.join(EXTRAS)}] @ {own.resolve().as_uri()} --hash=sha256:{_sum(own)}"]
    # pip takes requirements' markers for the Python that it runs with.
    constraints = [f"{one.name}{one.specifier} {hashes}" for one, hashes in locked(python, machine)]
    (folder / "locked.txt").write_text("\n".join(constraints))
    asked.write_text("\n".join([*lines, *(one for one in constraints if one.startswith("pip=="))]))
    command += ["--require-hashes", "--constraint", str(folder / "locked.txt")]
    subprocess.run([*command, "--requirement", str(asked)], check=True)
    for made in (asked, folder / "locked.txt"):
        made.unlink()
    finish(folder, python, machine)


def locked(python: str, machine: str) -> Iterator[tuple[Requirement, str]]:
    """Yield what tools/lock.txt has for a Python and a machine, with the options for its hashes."""
    there = {
        "python_version": python, "python_full_version": f"{python}.0",
        "platform_machine": machine, "sys_platform": "linux", "os_name": "posix",
    }  # fmt: skip
    lines = (ROOT / "tools/lock.txt").read_text().replace("\\\n", " ").splitlines()
    for line in lines:
        if line.startswith("#"):
            continue
        text, _, hashes = line.partition("--hash")
        one = Requirement(text)
        if one.marker is None or one.marker.evaluate(there):
            yield one, f"--hash{hashes}"


def finish(folder: Path, python: str, machine: str) -> None:
    """Check a folder's wheels, and add what belongs beside them."""
    wheels = check(folder / "wheels", python, machine)
    glibc = max(wheel.glibc for wheel in wheels.values())
    (folder / "needs").write_text(f"python={python}\nmachine={machine}\nglibc=2.{glibc}\n")
    (folder / "requirements.txt").write_text(
        "".join(
            f"{parse_wheel_filename(path.name)[0]}=={parse_wheel_filename(path.name)[1]} "
            f"--hash=sha256:{_sum(path)}\n"
            for path in sorted((folder / "wheels").glob("*.whl"))
            if not path.name.startswith("pip-")
        )
    )
    shutil.copy(ROOT / "packaging/install-offline", folder / "install")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [f"{_sum(path)}  {path.relative_to(folder)}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(sums))


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pack(folder: Path, archive: Path) -> None:
    """Write a folder as a tar. Wheels are compressed already; owners and times are nobody's."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = "root"
        return entry

    with tarfile.open(archive, "w") as tar:
        tar.add(folder, folder.name, filter=plain)


def _fail(message: str) -> None:
    sys.exit(f"offline: {message}")


def main(dist: Path, build: Path, pythons: tuple[str, ...]) -> None:
    """Write an archive for each wheel and each Python."""
    wheels = sorted(dist.glob("tierscope-*manylinux*.whl"))
    if not wheels:
        _fail(f"no portable wheel is in {dist}; `make wheels` builds them")
    for wheel in wheels:
        platform = next(iter(parse_wheel_filename(wheel.name)[3])).platform
        machine = platform.split("_", 3)[3]
        for python in pythons:
            name = f"tierscope-{read(wheel).version}-python{python}-{machine}"
            collect(wheel, python, machine, build / name)
            pack(build / name, dist / f"{name}.tar")
            print(f"{dist / name}.tar: {(dist / f'{name}.tar').stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), tuple(sys.argv[3:]) or PYTHONS)
