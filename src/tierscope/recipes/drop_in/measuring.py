"""One spec of the kind io, measured into a run file of its own."""

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Visit
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.report.warnings import warnings_of
from tierscope.runs.measure import Outcome, measure


@dataclass(frozen=True)
class Measured:
    """What came of it."""

    outcome: Outcome
    visits: list[Visit]
    found: Measurement | None
    """None where nothing was measured."""
    errors: list[str]
    """What went wrong, each in a line."""

    @property
    def warnings(self) -> list[str]:
        """What may invalidate totals, which have no interval that could be missing or wide."""
        if self.found is None:
            return []
        return [text for text in warnings_of(self.outcome.run) if "interval" not in text]

    @property
    def exit_code(self) -> ExitCode:
        """As the commands document it; a visit that failed after others did not is an error."""
        if self.errors and self.outcome.exit_code is ExitCode.ALL_MEASURED:
            return ExitCode.SOMETHING_FAILED
        return self.outcome.exit_code


def plan_of(spec: dict[str, Any]) -> Plan:
    """Return the plan of one spec; UserError says what does not fit in it."""
    try:
        return Plan.model_validate({"version": PLAN_VERSION, "measurements": [spec]})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][3:])
        said = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{where}: {said}" if where else said) from None


def measured(
    plan: Plan, label: str, topology: Topology, start_at: datetime | None = None
) -> Measured:
    """Measure a plan of one spec, from ``start_at`` on; raises UserError where nothing could be
    begun."""
    visits: list[Visit] = []
    failures: list[str] = []

    def watch(event: Event | Measurement) -> None:
        if isinstance(event, Visit):
            visits.append(event)
        elif isinstance(event, Failed):
            failures.append(event.reason)

    done = measure(plan, label, topology, sys.argv, None, watch, start_at=start_at)
    found = next((one for one in done.run.measurements if one.status == "measured"), None)
    return Measured(done, visits, found, _errors(done, failures))


def _errors(done: Outcome, failures: list[str]) -> list[str]:
    if done.error is not None:
        return [str(done.error)]
    missing = [
        "; ".join(filter(None, (one.reason, one.remedy)))
        for one in done.run.measurements
        if one.status != "measured"
    ]
    return missing or failures
