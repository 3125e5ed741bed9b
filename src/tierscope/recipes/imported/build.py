"""Runs of what another program measured: what its files tell, and nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from tierscope.model.case import Case
from tierscope.model.imported import Imported
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure, Footer, Header, Measurement, Run
from tierscope.recipes.imported.source import Format, Source
from tierscope.runs.record import version

UNKNOWN = "unknown"
_LONGEST = 48
"""Characters of an id before its number."""


@dataclass
class Found:
    """What an importer found in its files."""

    program: str
    """What measured, with its version, as far as the files tell."""
    host: str = UNKNOWN
    measurements: list[Measurement] = field(default_factory=list)
    cases: list[Case] | None = None

    def add(
        self,
        kind: str,
        name: str,
        path: tuple[str, str],
        pattern: dict[str, Any],
        figure: tuple[str, float],
        figures: Sequence[tuple[str, float]] = (),
        cpus: Sequence[int] = (),
    ) -> str:
        """Add a measurement and return its id, which begins with ``name``.

        ``path`` is initiator and target. Figures are metric and value in the metric's unit.
        """
        metric, value = figure
        words = re.sub(r"[^A-Za-z0-9._:-]+", "-", name)[:_LONGEST].strip("-") or kind
        measurement = Measurement(
            id=f"{words}.{len(self.measurements) + 1}",
            kind=kind,
            initiator=path[0],
            target=path[1],
            cpus=list(cpus),
            pattern={key: value for key, value in pattern.items() if value is not None},
            status="imported",
            metric=metric,
            unit=METRICS[metric].unit,
            estimate=value,
            no_interval="imported",
            figures=[
                Figure(metric=name, unit=METRICS[name].unit, estimate=value, no_interval="imported")
                for name, value in figures
            ],
        )
        self.measurements.append(measurement)
        return measurement.id


def run_of(
    form: Format, found: Found, sources: Sequence[Source], command: list[str], label: str
) -> Run:
    """Return the run; its machine is unknown, but for the host's name where files have it."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    header = Header(
        name=label,
        started=now,
        host=found.host,
        command=command,
        tierscope=version(),
        git_commit="",
        emulated=False,
        engine={},
        machine={
            "product": "",
            "cpu": "unknown CPU",
            "hypervisor": "",
            "packages": 0,
            "cores": 0,
            "cpus": 0,
            "usable_cpus": [],
            "nodes": [],
            "caches": [],
            "gpus": [],
        },
        environment={},
        plan={"measurements": []},
        cases=found.cases,
        imported=Imported(
            format=form, program=found.program, files=[source.file for source in sources]
        ),
    )
    footer = Footer(
        finished=now,
        interrupted=False,
        measured=0,
        skipped=0,
        failed=0,
        imported=len(found.measurements),
    )
    return Run(header=header, measurements=found.measurements, footer=footer)
