"""The measuring process of a rank: checks the plan, waits at the barrier, measures, writes its run.

It knows nothing of MPI. Its rank speaks with it in lines of JSON; where the rank ends, so does it,
with what it has measured.
"""

import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from tierscope.engine.process import HOST, capabilities
from tierscope.engine.repetitions import longest_repetition_s
from tierscope.engine.targets import clean, known_path
from tierscope.fleet.transport import Message, ParentLines
from tierscope.kinds.plan import Plan, Spec
from tierscope.machine.settings import read_settings
from tierscope.model.errors import UserError
from tierscope.model.fleet import FleetPlace, HostState, InFleet
from tierscope.model.run import Refinement, Run
from tierscope.model.topology import Topology
from tierscope.plans.fit import longest_seconds
from tierscope.runs.measure import Outcome, carry_on, wait_until
from tierscope.runs.record import make_header
from tierscope.runs.schedule import (
    END,
    Further,
    RepetitionStep,
    SharedStep,
    Step,
    in_rounds,
    in_step,
)
from tierscope.runs.state import RunState
from tierscope.runs.store import SUFFIX
from tierscope.runs.write import RunWriter


class Prepared(NamedTuple):
    """A host's plan, and what it needs to carry it out."""

    plan: Plan
    topology: Topology
    refinement: Refinement | None


def run_file(host: str) -> Path:
    """Return a host's run file, relative to the fleet's folder."""
    return Path("hosts") / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', host)}{SUFFIX}"


def serve(prepare: Callable[[Message], Prepared]) -> None:
    """Carry out the rank's orders over standard input and output until all is measured."""
    rank = _Rank()
    order = rank.hear()
    if order is None:
        return
    try:
        prepared = prepare(order)
        capabilities()
    except UserError as error:
        rank.tell({"cannot": str(error)})
        return
    specs = prepared.plan.measurements
    found = {"measurements": len(specs), "seconds": round(sum(longest_seconds(specs)), 1)}
    rank.tell({"checked": found, "folders": _folders(specs)})
    orders = rank.hear()
    if orders is None or "measure" not in orders:
        return
    try:
        outcome = _measure(prepared, orders["measure"], rank)
    except UserError as error:
        rank.tell({"ended": {"state": "failed", "reason": str(error)}})
        return
    rank.tell({"ended": _ending(outcome)})


class _Rank(ParentLines):
    """The rank that started this process."""

    def hear(self) -> Message | None:
        """Return the next order; None where the rank ended or orders to stop."""
        orders = self.read(None)
        while not orders and not self.ended:
            orders = self.read(None)
        return None if self.ended or any("stop" in order for order in orders) else orders[0]


def _measure(prepared: Prepared, order: Message, rank: _Rank) -> Outcome:
    """Measure into the host's run file; raises UserError where measuring could not begin."""
    part = InFleet.model_validate(order["fleet"])
    plan = _plan_of(prepared.plan, part, order)
    topology = prepared.topology.model_copy(update={"host": order["host"]})
    path = Path(order["directory"]) / run_file(order["host"])
    started = datetime.now().astimezone()
    settings = read_settings(topology)
    header = make_header(
        path.stem, started, order["command"], plan, topology, settings, capabilities(),
        prepared.refinement if part.order == "one-by-one" else None,
    )  # fmt: skip
    header = header.model_copy(update={"fleet": part})
    try:
        writer = RunWriter.create(path, header)
    except FileExistsError:
        raise UserError(f"'{path}' is there already; name another folder with --out") from None
    os.environ[HOST] = path.stem
    state = RunState(plan.measurements)

    def schedule(_: RunState, seed: str, further: Further) -> Iterator[Step]:
        if part.order == "together":
            return _together(in_step(state, order["seed"]), state, rank)
        return _with_barriers(in_rounds(state, seed, further), state, rank)

    try:
        return carry_on(header, writer, state, topology, lambda _: None, schedule=schedule)
    finally:
        _remove_own(state)


def _plan_of(plan: Plan, part: InFleet, order: Message) -> Plan:
    """Return this host's plan; alone or one by one, it shares no files with others."""
    if part.order != "together" or part.alone:
        return plan
    place = FleetPlace(order["number"], order["hosts"], order["seed"])
    try:
        specs = [spec.in_fleet(place) for spec in plan.measurements]
    except ValidationError as error:
        raise UserError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
    return plan.model_copy(update={"measurements": specs})


def _remove_own(state: RunState) -> None:
    """Remove this host's files that a killed engine left."""
    for folder in _folders(state.specs.values()):
        with suppress(UserError):
            clean(folder)


def _folders(specs: Iterable[Spec]) -> list[str]:
    """Return the directories in which files are made."""
    found = []
    for path in dict.fromkeys(path for spec in specs for path in spec.files()):
        with suppress(UserError):
            if known_path(path).kind == "directory":
                found.append(path)
    return found


def _together(steps: Iterator[Step], state: RunState, rank: _Rank) -> Iterator[Step]:
    """Yield shared steps, and wait until every host has finished: another one may still use a file
    that this one made and is going to remove."""
    yield from _with_barriers(steps, state, rank)
    if not state.open():
        rank.tell(
            {"barrier": {"turn": END, "repetition": next(reversed(state.specs)), "longest_s": 0.0}}
        )
        rank.hear()


def _with_barriers(steps: Iterator[Step], state: RunState, rank: _Rank) -> Iterator[Step]:
    """Yield steps; before each repetition, wait for the rank's permission and for its start
    time."""
    for step in steps:
        if isinstance(step, RepetitionStep):
            turn = step.turn if isinstance(step, SharedStep) else ()
            longest_s = longest_repetition_s(state.specs[step.name], step.seconds)
            rank.tell({"barrier": {"turn": turn, "repetition": step.name, "longest_s": longest_s}})
            answer = rank.hear()
            if answer is None:
                signal.raise_signal(signal.SIGINT)  # the run file is to say that it was cut
                return
            if answer["go"] is not None:
                wait_until(answer["go"], lambda: False)
        yield step


def _ending(outcome: Outcome) -> Message:
    """Return the state of a run that ended, as the index has it."""
    state, reason = state_of(outcome.run)
    if outcome.error:
        state, reason = "failed" if state == "failed" else "partial", str(outcome.error)
    return {"state": state, "reason": reason}


def state_of(run: Run) -> tuple[HostState, str]:
    """Return a host's state and its reason, from its run alone."""
    failed = [m for m in run.measurements if m.status == "failed"]
    some = any(m.has_figure for m in run.measurements)
    if run.footer is not None and run.footer.interrupted:
        return "partial" if some else "failed", "its run was interrupted"
    if not some:
        reasons = [m.reason for m in run.measurements if m.reason]
        return "failed", reasons[0] if reasons else "its run has no figure"
    if run.footer is None:
        return "partial", "its run file ends before its run did"
    if failed:
        counts = f"{len(failed)} of {len(run.measurements)} failed"
        return "partial", f"{counts}: {failed[0].id}: {failed[0].reason}"
    return "measured", ""
