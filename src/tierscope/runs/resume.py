"""Resume a run that was cut short, and conclude what its repetitions give."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.engine.process import capabilities
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.machine.paths import MachinePaths
from tierscope.model.base import RECORDED
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.run import Header, Measurement
from tierscope.model.topology import Topology
from tierscope.runs.measure import Outcome, Watch, carry_on
from tierscope.runs.read import Contents, read_contents
from tierscope.runs.record import Bounds, measurement_of, summarize
from tierscope.runs.state import RunState, was_cut
from tierscope.runs.write import RunWriter


def concluded(contents: Contents) -> Iterator[Measurement]:
    """Yield the measurements of a file's repetitions that have none after them."""
    topology = contents.header.topology
    paths = MachinePaths(topology) if topology else None
    for planned in contents.planned:
        if planned.get("id") not in contents.open:
            continue
        try:
            (spec,) = specs_of([planned], contents.path, RECORDED)
        except UserError as error:
            yield _unknown(planned, str(error))
            continue
        repetitions = [record.repetition for record in contents.repetitions_of(spec.id)]
        bounds = Bounds.of(spec, paths) if paths else Bounds()
        yield measurement_of(spec, repetitions, None, bounds, cut=True)


def _unknown(planned: dict[str, Any], reason: str) -> Measurement:
    """Return the measurement of a spec that only later versions know."""
    kind, initiator, target = (str(planned.get(k, "")) for k in ("kind", "initiator", "target"))
    return Measurement(
        id=str(planned["id"]), kind=kind, initiator=initiator, target=target, cpus=[], pattern={},
        status="skipped", cause=Cause.OTHER, reason=reason,
        remedy="show it by the tierscope that wrote it",
    )  # fmt: skip


def specs_of(
    planned: Sequence[dict[str, Any]], path: str, context: str | None = None
) -> list[Spec]:
    """Return specs of a run file's plan; raises UserError where this tierscope has none such.

    Unknown keys are left aside where ``context`` is ``RECORDED``, and refused else: nothing is
    measured that this tierscope does not know.
    """
    if not planned:
        return []
    try:
        content = json.dumps({"version": PLAN_VERSION, "measurements": planned})
        return Plan.model_validate_json(content, context=context).measurements
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(
            f"run '{path}' has a plan that this tierscope cannot read ({where}: {first['msg']})"
        ) from None


class NothingToResumeError(UserError):
    """The run is complete."""


@dataclass(frozen=True)
class Resumable:
    """A run that can go on."""

    path: Path
    header: Header
    state: RunState
    length: int
    """Bytes of the file up to the end of its last whole record."""
    last: int | None
    """As of ``Contents``."""

    @property
    def pending(self) -> list[Spec]:
        """Measurements still to be made or continued."""
        state = self.state
        return [spec for name, spec in state.specs.items() if name not in state.measurements]


def resumable(path: Path) -> Resumable:
    """Return a run that can go on.

    Raises NothingToResumeError where it is complete, UserError where the file cannot be read.
    """
    contents = read_contents(path)
    if contents.header.imported is not None:
        raise UserError(f"run '{path}' is imported: tierscope measured nothing that could go on")
    if contents.footer is not None and not contents.footer.interrupted:
        raise NothingToResumeError(f"run '{path}' is complete: there is nothing to resume")
    state = RunState(specs_of(contents.planned, str(path)))
    for name in state.specs:
        for record in contents.repetitions_of(name):
            state.add_repetition(record.repetition)
    state.measurements = {
        name: measurement
        for name, measurement in contents.measurements.items()
        if name in state.specs and name not in contents.open and not was_cut(measurement)
    }
    return Resumable(path, contents.header, state, contents.length, contents.last)


def resume(run: Resumable, topology: Topology, watch: Watch) -> Outcome:
    """Measure what a run lacks, on the machine that it began on; see ``measure`` for the outcome.

    What was measured counts: a measurement goes on with the rest of its budget. Raises UserError
    where the machine is another one, or another process goes on with the run.
    """
    check_machine(run.path, run.header, topology, "resume it")
    if run.header.topology is not None:  # data sheets as they were when the run began
        topology = topology.model_copy(update={"ratings": run.header.topology.ratings})
    capabilities()
    writer = RunWriter.resume(run.path, run.length, run.last)
    return carry_on(run.header, writer, run.state, topology, watch)


def check_machine(path: Path, header: Header, topology: Topology, what_to_do: str) -> None:
    """Refuse another machine, or one that has changed: its figures do not belong to this run."""
    if header.host != topology.host:
        raise UserError(
            f"run '{path}' is of host {header.host}, this is {topology.host}; {what_to_do} there"
        )
    now = summarize(topology)
    for what in ("cpu", "packages", "cores", "usable_cpus", "gpus"):
        if header.machine.get(what) != now[what]:
            raise UserError(
                f"run '{path}' began on a machine with other {what.replace('_', ' ')}: "
                f"{header.machine.get(what)} then, {now[what]} now; make a new run"
            )
