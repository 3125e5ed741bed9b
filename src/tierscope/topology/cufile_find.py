"""Find cufile.json as cuFile does, and look through it."""

from collections.abc import Mapping

from tierscope.model.cufile import CufileAudit
from tierscope.model.errors import UserError
from tierscope.model.finding import Finding
from tierscope.topology.cufile_audit import Config, settings_of
from tierscope.topology.cufile_conflicts import conflicts
from tierscope.topology.cufile_json import USUAL, VARIABLE, CufileJson, parse, read_text
from tierscope.topology.files import Files

_NOTHING = CufileJson("", {}, {})


def find_cufile(
    files: Files, environment: Mapping[str, str], named: str | None = None
) -> tuple[str, str]:
    """Return the file that cuFile reads, empty where there is none, and how it was found.

    The first of: ``named`` (an option), the environment variable, /etc/cufile.json.
    """
    if named:
        return named, "named by --cufile-json"
    if environment.get(VARIABLE):
        return environment[VARIABLE], f"named by {VARIABLE}"
    usual = f"{files.root}{USUAL}"
    return (usual, "the usual place") if files.exists(USUAL) else ("", "")


def read_cufile(name: str, named_by: str = "") -> CufileJson:
    """Return a file, parsed; without a name an empty one. Raises UserError."""
    if not name:
        return _NOTHING
    try:
        text = read_text(name)
    except UserError as error:
        raise UserError(f"{error} ({named_by})" if named_by else str(error)) from None
    return parse(text, name)


def audit(
    parsed: CufileJson, named_by: str, files: Files, environment: Mapping[str, str]
) -> tuple[CufileAudit, Config]:
    """Look through a file: each key by itself, all together, and beside the machine."""
    settings, findings, config = settings_of(parsed, environment)
    findings += conflicts(config, files)
    if not parsed.name:
        findings.insert(0, _none())
    found = CufileAudit(file=parsed.name, named_by=named_by, settings=settings, findings=findings)
    return found, config


def _none() -> Finding:
    return Finding(
        severity="note",
        subject="cufile.json",
        found=f"neither {VARIABLE} nor {USUAL} is there",
        meaning="cuFile uses what is built in; each release has its own values",
        remedy="copy the one of your release, e.g. /usr/local/cuda/gds/cufile.json, to /etc",
    )
