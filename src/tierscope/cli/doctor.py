"""``tierscope doctor``: what can be measured here, and what distorts figures."""

import os
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.measure import restore_prefetchers
from tierscope.cli.output import Output
from tierscope.model.errors import UserError

if TYPE_CHECKING:
    from tierscope.machine.cufile_audit import Config
    from tierscope.machine.cufile_way import Place
    from tierscope.machine.storage_checks import Machine
    from tierscope.model.capability import Capabilities
    from tierscope.model.cufile import CufileAudit, Way
    from tierscope.model.finding import Finding

_LOOK_S = 0.5


@options.command()
@click.option(
    "--storage",
    metavar="[PATH]",
    is_flag=False,
    flag_value=".",
    help="Check direct transfers between storage and GPUs: cufile.json, ACS, IOMMU, BAR1, "
    "nvidia-fs, P2PDMA, RDMA, and the way that files at PATH would take",
)
@click.option(
    "--cufile-json",
    metavar="FILE",
    help="With --storage: the cufile.json to check  [default: as cuFile finds it]",
)
@click.option(
    "--fsroot",
    metavar="DIR",
    help="With --storage: copy of another machine's /sys, /proc, /etc and /run",
)
@options.json_option
@click.pass_context
def doctor(
    context: click.Context,
    storage: str | None,
    cufile_json: str | None,
    fsroot: str | None,
    output: Output,
) -> None:
    """Say what can be measured here, what cannot and why, and which settings distort figures.

    Exit status: 0, whatever was found; 2 where there is no engine, or cufile.json or the path
    cannot be read.

    \b
    Examples:
      tierscope doctor
      tierscope doctor --json
      tierscope doctor --storage /data
      tierscope doctor --storage --cufile-json my_cufile.json
    """
    if storage is None:
        options.refuse_given(context, "it goes with --storage", "cufile_json", "fsroot")
        examine(output)
        return
    examine_storage(storage, cufile_json, fsroot, output)


def examine(output: Output) -> None:
    """Print what can be measured and what was found; raises UserError without an engine."""
    from tierscope.engine.process import capabilities
    from tierscope.machine.checks import link_findings
    from tierscope.machine.discover import discover
    from tierscope.machine.settings import foreign_load, read_settings, settings_findings
    from tierscope.place.container_checks import container_findings
    from tierscope.report.doctor import in_order, show_doctor

    restore_prefetchers()
    topology = discover()
    load = foreign_load(_LOOK_S)  # first, before anything of ours makes load
    settings = read_settings(topology)
    findings = in_order(
        container_findings(topology)
        + settings_findings(topology, settings, load)
        + link_findings(topology)
    )
    engine: Capabilities | None = None
    error: UserError | None = None
    try:
        engine = capabilities()
    except UserError as caught:
        error = caught
    found = {
        "engine": engine.model_dump(mode="json") if engine else None,
        "settings": settings,
        "findings": [finding.model_dump(mode="json") for finding in findings],
        "unreadable": topology.unreadable,
    }

    output.emit(found, lambda console: show_doctor(console, engine, findings, topology.unreadable))
    if error:
        raise error


def examine_storage(path: str, named: str | None, fsroot: str | None, output: Output) -> None:
    """Print what helps or hinders direct transfers between files at a path and a GPU.

    Raises UserError, after all else was printed, where cufile.json cannot be read or the path
    cannot be looked at.
    """
    from tierscope.machine.cufile_audit import Config, audit, find_cufile, p2p_keys, read_cufile
    from tierscope.machine.cufile_way import place_findings, way_of
    from tierscope.machine.discover import discover, discover_copy
    from tierscope.machine.files import Files
    from tierscope.machine.storage_checks import Machine, storage_checks

    output.check()
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
    _emit(output, audited, findings, way)
    if errors:
        raise errors[0]


def _place(path: str, machine: "Machine", config: "Config") -> "Place":
    from tierscope.machine.cufile_way import Place
    from tierscope.machine.storage_facts import path_in_copy, storage_facts

    if machine.files.live:
        from tierscope.engine.targets import path_facts

        facts = path_facts(os.path.abspath(path))  # noqa: PTH100
    else:
        facts = path_in_copy(path, machine.files)
    return Place(storage_facts(facts, machine.files), machine, config)


def _emit(
    output: Output, audited: "CufileAudit | None", findings: "list[Finding]", way: "Way | None"
) -> None:
    from tierscope.report.doctor import show_storage

    found = {
        "cufile": audited.model_dump(mode="json") if audited else None,
        "findings": [finding.model_dump(mode="json") for finding in findings],
        "way": way.model_dump(mode="json") if way else None,
    }

    output.emit(found, lambda console: show_storage(console, audited, findings, way))
