"""Writes the licence and version of each library that a wheel carries: CMake calls it.

licences.py OUT VERSION JEMALLOC_VERSION --sysroot FOLDER   of what tools/sysroot made
licences.py OUT VERSION JEMALLOC_VERSION FILE...            of the packages that have these files
licences.py check WHEEL                                     refuses a wheel that lacks one

OUT gets licenses/parts/LIBRARY.txt and sboms/tierscope.cdx.json (CycloneDX), for the wheel's
dist-info (PEP 639, PEP 770). jemalloc's text comes from its build. Needs Python alone, since pip
builds wheels where nothing else is.
"""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Library:
    """What a library's licence is (SPDX), and how Debian's packages of it are called."""

    licence: str
    packages: tuple[str, ...]


LIBRARIES = {
    "fmt": Library("MIT", ("fmtlib", "libfmt-dev")),
    "highway": Library("Apache-2.0", ("highway", "libhwy-dev")),
    "hwloc": Library("BSD-3-Clause", ("hwloc", "libhwloc-dev")),
    "libaio": Library("LGPL-2.1-or-later", ("libaio-dev",)),
    "libnuma": Library("LGPL-2.1-only", ("libnuma-dev",)),
    "libstdc++": Library("GPL-3.0-or-later WITH GCC-exception-3.1", ("libstdc++-12",)),
    "liburing": Library("MIT", ("liburing-dev",)),
    "nlohmann-json": Library("MIT", ("nlohmann-json3-dev",)),
    "xxhash": Library("BSD-2-Clause", ("libxxhash-dev",)),
}
_JEMALLOC = "BSD-2-Clause"
_OF_PICTURES = {"Vega": "BSD-3-Clause", "Vega-Lite": "BSD-3-Clause", "Liberation Sans": "OFL-1.1"}
_TEXTS = Path("src/tierscope/report/pictures/assets/LICENCES.txt")
_HEADING = re.compile(r"^(\S+) (?:is|are) (.+) ([\d.]+):$", re.MULTILINE)
"""In ``_TEXTS``: the files, what they are, its version."""
Found = dict[str, tuple[str, str, Path]]
"""Package, version and file of the licence, by library."""


def of_sysroot(folder: Path) -> Found:
    """Return what tools/sysroot lists."""
    lines = (folder / "packages.txt").read_text().splitlines()
    versions = dict(line.split(" ", 1) for line in lines)
    found = {}
    for name, library in LIBRARIES.items():
        for package in library.packages:
            if package in versions:
                text = folder / f"{'libstdc++' if name == 'libstdc++' else package}.txt"
                found[name] = (package, versions[package], text)
    return found


def of_files(files: list[str]) -> Found:
    """Return the packages of this machine that have these files."""
    found = {}
    for file in files:
        package = _answer("dpkg-query", "-S", file).partition(":")[0]
        names = [name for name, one in LIBRARIES.items() if package in one.packages]
        if not names:
            continue
        version = _answer("dpkg-query", "-W", "-f", "${Version}", package)
        found[names[0]] = (package, version, Path("/usr/share/doc", package, "copyright"))
    return found


def of_pictures() -> Iterator[tuple[str, str, str, str]]:
    """Yield name, package URL, licence and its text of what pictures are drawn with."""
    _, *sections = _HEADING.split(_TEXTS.read_text())
    for files, title, version, text in zip(*[iter(sections)] * 4, strict=True):
        name = title.lower().replace(" ", "-")
        kind = "npm" if files.endswith(".js") else "generic"
        yield name, f"pkg:{kind}/{name}@{version}", _OF_PICTURES[title], text.strip() + "\n"


def _answer(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""  # not a Debian: the wheel then says what it carries, and has no texts
    return done.stdout.strip()


def component(name: str, version: str, licence: str, purl: str) -> dict[str, object]:
    """Return a library as CycloneDX has it."""
    said: dict[str, object] = {"type": "library", "bom-ref": purl, "name": name, "purl": purl}
    if version:
        said["version"] = version
    key = {"expression": licence} if " " in licence else {"license": {"id": licence}}
    return {**said, "licenses": [key]}


def main(out: Path, version: str, jemalloc: str, found: Found) -> None:
    """Write the licences and the list."""
    texts, lists = out / "licenses/parts", out / "sboms"
    shutil.rmtree(out, ignore_errors=True)
    texts.mkdir(parents=True)
    lists.mkdir()
    parts = [
        component("jemalloc", jemalloc, _JEMALLOC, f"pkg:generic/jemalloc@{jemalloc}"),
    ]
    for name, (package, version_of, text) in found.items():
        purl = f"pkg:deb/debian/{package.replace('+', '%2B')}@{version_of.replace('+', '%2B')}"
        parts.append(component(name, version_of, LIBRARIES[name].licence, purl))
        shutil.copyfile(text, texts / f"{name}.txt")
    expected = set(LIBRARIES) - {"libstdc++"}
    for name in sorted(expected - set(found)):
        print(
            f"no licence text of {name} was found here; do not pass the wheel on", file=sys.stderr
        )
        parts.append(component(name, "", LIBRARIES[name].licence, f"pkg:generic/{name}"))
    for name, purl, licence, text in of_pictures():
        parts.append(component(name, purl.rpartition("@")[2], licence, purl))
        (texts / f"{name}.txt").write_text(text)
    product = {"type": "application", "bom-ref": "tierscope", "name": "tierscope"}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**product, "version": version}},
        "components": sorted(parts, key=lambda part: str(part["name"])),
        "dependencies": [
            {"ref": "tierscope", "dependsOn": sorted(str(part["bom-ref"]) for part in parts)}
        ],
    }
    (lists / "tierscope.cdx.json").write_text(json.dumps(document, indent=1) + "\n")


def lacking(wheel: Path) -> list[str]:
    """Return the libraries of a wheel without version or licence."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (listed,) = (name for name in names if name.endswith(".dist-info/sboms/tierscope.cdx.json"))
        parts = json.loads(archive.read(listed))["components"]
        texts = {
            Path(name).stem: archive.read(name) for name in names if "/licenses/parts/" in name
        }
    without = {part["name"] for part in parts if not part.get("version")}
    return sorted(without | {part["name"] for part in parts if not texts.get(part["name"])})


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"]:
        if _lacks := lacking(Path(sys.argv[2])):
            sys.exit(f"licences: {sys.argv[2]} has no licence or version of {', '.join(_lacks)}")
        sys.exit()
    _out, _version, _jemalloc, *_rest = sys.argv[1:]
    _sysroot = _rest[:1] == ["--sysroot"]
    main(
        Path(_out), _version, _jemalloc, of_sysroot(Path(_rest[1])) if _sysroot else of_files(_rest)
    )
