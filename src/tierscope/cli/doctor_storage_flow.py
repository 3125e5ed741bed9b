"""``tierscope doctor --storage``: cufile.json, the machine, and the way that data would take."""

import json
import os

from tierscope.cli.forms import Forms, emit
from tierscope.model.cufile import CufileAudit, Way
from tierscope.model.errors import UserError
from tierscope.model.finding import Finding
from tierscope.topology.cufile_audit import Config
from tierscope.topology.cufile_conflicts import p2p_keys
from tierscope.topology.cufile_find import audit, find_cufile, read_cufile
from tierscope.topology.cufile_way import Place, place_findings, way_of
from tierscope.topology.discover import discover, discover_copy
from tierscope.topology.files import Files
from tierscope.topology.storage_checks import Machine, storage_checks
from tierscope.topology.storage_facts import path_in_copy, storage_facts


def examine_storage(path: str, named: str | None, fsroot: str | None, forms: Forms) -> None:
    """Print what helps or hinders direct transfers between files at a path and a GPU.

    Raises UserError, after all else was printed, where cufile.json cannot be read or the path
    cannot be looked at.
    """
    forms.check()
    files = Files(fsroot or "/")
    topology = discover_copy(fsroot) if fsroot else discover()
    environment = {} if fsroot else dict(os.environ)
    errors: list[UserError] = []
    audited: CufileAudit | None = None
    config = Config({}, environment)
    try:
        name, named_by = find_cufile(files, environment, named)
        audited, config = audit(read_cufile(name, named_by), named_by, files, environment)
    except UserError as error:
        errors.append(error)
    machine = Machine(topology, files, p2p_wanted=bool(p2p_keys(config)))
    findings = storage_checks(machine)
    way: Way | None = None
    try:
        place = _place(path, machine, config)
        findings += place_findings(place)
        way = way_of(place)
    except UserError as error:
        errors.append(error)
    _emit(forms, audited, findings, way)
    if errors:
        raise errors[0]


def _place(path: str, machine: Machine, config: Config) -> Place:
    if machine.files.live:
        from tierscope.engine.paths import path_facts

        facts = path_facts(os.path.abspath(path))  # noqa: PTH100
    else:
        facts = path_in_copy(path, machine.files)
    return Place(storage_facts(facts, machine.files), machine, config)


def _emit(
    forms: Forms, audited: CufileAudit | None, findings: list[Finding], way: Way | None
) -> None:
    found = {
        "cufile": audited.model_dump(mode="json") if audited else None,
        "findings": [finding.model_dump(mode="json") for finding in findings],
        "way": way.model_dump(mode="json") if way else None,
    }

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.doctor_storage import show_storage

        show_storage(make_console(), audited, findings, way)

    emit(forms, lambda: json.dumps(found), tables)
