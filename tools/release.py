"""What `make release` checks before, and adds after, building.

release.py check [ROOT]    refuses a tree with changes, and a CHANGELOG without the version's date
release.py finish DIST     writes the SBOM (CycloneDX) and SHA256SUMS beside the packages in DIST
"""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).parent.parent
SBOM = ".dist-info/sboms/tierscope.cdx.json"
"""What each wheel has (tools/licences.py)."""
_HEADING = re.compile(r"^## (\S+) \((.+)\)$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def check(root: Path) -> None:
    """Exit with a message unless what is committed here may be released."""
    version = project(root)["version"]
    asked = ["git", "-C", str(root), "status", "--porcelain"]
    changed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if changed:
        _fail(f"{len(changed.splitlines())} files are changed or new; commit them first", changed)
    heading = _HEADING.search((root / "CHANGELOG.md").read_text())
    found = heading[0] if heading else "no heading"
    if heading is None or heading[1] != version or not _DATE.fullmatch(heading[2]):
        _fail(f"CHANGELOG.md begins with '{found}', not with '## {version} (YYYY-MM-DD)'")


def project(root: Path) -> dict[str, str]:
    """Return the table that names the project, its version and what it needs."""
    table: dict[str, str] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return table


def finish(dist: Path) -> None:
    """Write what goes with the packages: their parts, and a checksum of each file."""
    version = project(ROOT)["version"]
    wheels = sorted(dist.glob("tierscope-*.whl"))
    if not wheels:
        _fail(f"{dist} has no wheel of tierscope; `make wheels` builds them")
    (dist / f"tierscope-{version}.cdx.json").write_text(sbom(version, wheels))
    files = sorted(path for path in dist.iterdir() if path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (dist / "SHA256SUMS").write_text("".join(sums))


def sbom(version: str, wheels: Iterable[Path]) -> str:
    """Return a CycloneDX document of what is in the wheels, and what they need beside them."""
    bom = Bom()
    product = Component(name="tierscope", version=version, type=ComponentType.APPLICATION)
    bom.metadata.component = product
    parts = [*_libraries(wheels), *_python_packages()]
    for part in parts:
        bom.components.add(part)
    bom.register_dependency(product, parts)
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def _libraries(wheels: Iterable[Path]) -> Iterator[Component]:
    """Yield what the wheels carry, as each wheel lists it; jemalloc with its archive's hash."""
    found: dict[str, Component] = {}
    for path in wheels:
        with zipfile.ZipFile(path) as wheel:
            (name,) = (name for name in wheel.namelist() if name.endswith(SBOM))
            listed: Bom = Bom.from_json(json.loads(wheel.read(name)))  # type: ignore[attr-defined]
        found |= {str(part.purl): part for part in listed.components}
    bootstrap = (ROOT / "tools/bootstrap").read_text()
    (digest,) = re.findall(r"^jemalloc_sha256=(\w+)", bootstrap, re.MULTILINE)
    for purl, part in sorted(found.items()):
        if purl.startswith("pkg:generic/jemalloc@"):
            part.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=digest))
        yield part


def _python_packages() -> Iterator[Component]:
    """Yield the packages that pip installs beside the wheel, in the versions tested here."""
    wanted = list(project(ROOT)["dependencies"])
    seen: set[str] = set()
    while wanted:
        requirement = wanted.pop(0)
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in seen or "extra ==" in requirement:
            continue
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system or Python
        seen.add(key)
        yield _component(key, found.version, PackageURL("pypi", None, key, found.version))
        wanted += found.requires or []


def _component(name: str, version: str, purl: PackageURL) -> Component:
    return Component(
        name=name, version=version, type=ComponentType.LIBRARY, purl=purl, bom_ref=str(purl)
    )


def _fail(message: str, more: str = "") -> None:
    sys.exit(f"release: {message}\n{more}".rstrip())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check", *where]:
            check(Path(*where) if where else ROOT)
        case ["finish", dist]:
            finish(Path(dist))
        case _:
            sys.exit(__doc__)
