"""The measuring process of a rank: it checks the plan, waits at the gate, measures, writes its run.

It knows nothing of MPI. Its rank speaks with it in lines of JSON; where the rank ends, so does it,
with what it has measured.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tierscope.engine.query import capabilities
from tierscope.engine.visits import longest_visit_s
from tierscope.kinds.plan import Plan
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.model.fleet import InFleet
from tierscope.model.run import Refinement, Run
from tierscope.model.topology import Topology
from tierscope.mpi.lines import Message
from tierscope.plans.fit import longest_seconds
from tierscope.runs.book import Book
from tierscope.runs.in_step import SharedStep, in_step
from tierscope.runs.measure import Outcome, carry_on
from tierscope.runs.moment import wait_until
from tierscope.runs.record import make_header
from tierscope.runs.schedule import Further, Step, VisitStep, in_rounds
from tierscope.runs.store import SUFFIX
from tierscope.runs.write import RunWriter
from tierscope.topology.settings import read_settings


class Prepared(NamedTuple):
    """What a host is to measure."""

    plan: Plan
    topology: Topology
    refinement: Refinement | None


def run_file(host: str) -> Path:
    """Return a host's run file, relative to the fleet's folder."""
    return Path("hosts") / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', host)}{SUFFIX}"


def serve(prepare: Callable[[Message], Prepared]) -> None:
    """Do what the rank orders, on standard input and output, until all is measured."""
    rank = _Rank()
    order = rank.hear()
    if order is None:
        return
    try:
        prepared = prepare(order)
        capabilities()
    except UserError as error:
        rank.say({"cannot": str(error)})
        return
    specs = prepared.plan.measurements
    found = {"measurements": len(specs), "seconds": round(sum(longest_seconds(specs)), 1)}
    rank.say({"checked": found})
    orders = rank.hear()
    if orders is None or "measure" not in orders:
        return
    try:
        outcome = _measure(prepared, orders["measure"], rank)
    except UserError as error:
        rank.say({"ended": {"state": "failed", "reason": str(error)}})
        return
    rank.say({"ended": ending(outcome)})


class _Rank:
    """The other end of standard input and output; what else is printed goes to standard error."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def hear(self) -> Message | None:
        """Return the next order; None where the rank ended, or says to stop."""
        line = sys.stdin.readline()
        if not line.endswith("\n"):
            return None
        found: Message = json.loads(line)
        return None if "stop" in found else found

    def say(self, message: Message) -> None:
        """Tell the rank; where it ended, what follows is read as its end."""
        try:
            self._out.write(json.dumps(message) + "\n")
            self._out.flush()
        except OSError:
            return


def _measure(prepared: Prepared, order: Message, rank: _Rank) -> Outcome:
    """Measure into the host's run file; raises UserError where nothing could be begun."""
    part = InFleet.model_validate(order["fleet"])
    topology = prepared.topology.model_copy(update={"host": order["host"]})
    path = Path(order["directory"]) / run_file(order["host"])
    started = datetime.now().astimezone()
    settings = read_settings(topology)
    header = make_header(
        path.stem, started, order["command"], prepared.plan, topology, settings, capabilities(),
        prepared.refinement if part.order == "one-by-one" else None,
    )  # fmt: skip
    header = header.model_copy(update={"fleet": part})
    try:
        writer = RunWriter.create(path, header)
    except FileExistsError:
        raise UserError(f"'{path}' is there already; name another folder with --out") from None
    book = Book(prepared.plan.measurements)

    def schedule(_: Book, seed: str, further: Further) -> Iterator[Step]:
        if part.order == "together":
            return _gated(in_step(book, order["seed"]), book, rank)
        return _gated(in_rounds(book, seed, further), book, rank)

    return carry_on(header, writer, book, topology, lambda _: None, schedule=schedule)


def _gated(steps: Iterator[Step], book: Book, rank: _Rank) -> Iterator[Step]:
    """Yield steps; before each visit, wait until the rank says that it may begin, and when."""
    for step in steps:
        if isinstance(step, VisitStep):
            turn = step.turn if isinstance(step, SharedStep) else ()
            longest_s = longest_visit_s(book.specs[step.name], step.seconds)
            rank.say({"gate": {"turn": turn, "visit": step.name, "longest_s": longest_s}})
            answer = rank.hear()
            if answer is None:
                signal.raise_signal(signal.SIGINT)  # the run file is to say that it was cut
                return
            if answer["go"] is not None:
                wait_until(answer["go"], lambda: False)
        yield step


def ending(outcome: Outcome) -> Message:
    """Return what a run that ended comes to, as a state of the index."""
    run, code = outcome.run, outcome.exit_code
    if code is ExitCode.ALL_MEASURED:
        return {"state": "measured", "reason": ""}
    some = any(one.status == "measured" for one in run.measurements)
    return {"state": "partial" if some else "failed", "reason": _why(outcome.error, run)}


def _why(error: UserError | None, run: Run) -> str:
    if error:
        return str(error)
    if run.footer is not None and run.footer.interrupted:
        return "it was interrupted"
    wrong = [one for one in run.measurements if one.status == "failed"] or run.measurements
    if not wrong:
        return "it has no measurement"
    more = f"; {counted(len(wrong) - 1, 'more measurement')} too" if len(wrong) > 1 else ""
    return f"{wrong[0].id} {wrong[0].status}: {wrong[0].reason}{more}"
