"""``tierscope doctor``: look at the machine, then print what was found."""

import json

from tierscope.cli.flow import restore_prefetchers
from tierscope.cli.forms import Forms, emit
from tierscope.engine.query import capabilities
from tierscope.model.capability import Capabilities
from tierscope.model.errors import UserError
from tierscope.placement.container_checks import container_findings
from tierscope.report.doctor import in_order
from tierscope.topology.checks import link_findings
from tierscope.topology.discover import discover
from tierscope.topology.settings import foreign_load, read_settings
from tierscope.topology.settings_checks import settings_findings

_LOOK_S = 0.5


def examine(forms: Forms) -> None:
    """Print what can be measured and what was found; raises UserError without an engine."""
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

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.doctor import show_doctor

        show_doctor(make_console(), engine, findings, topology.unreadable)

    emit(forms, lambda: json.dumps(found), tables)
    if error:
        raise error
