"""A rank: it starts the measuring process of its host and the one that speaks MPI, and outlives
both.

It asks rank 0 for what its host needs: the plan, leave to measure, leave for each visit. On rank 0
it answers all ranks, too. Where rank 0 is silent, a rank goes on alone.
"""

import contextlib
import math
import platform
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tierscope.engine.abandon import end_or_abandon
from tierscope.engine.leftovers import start_cleaning
from tierscope.fleet.contact import Contact
from tierscope.fleet.coordinator import START_S, Coordinator, Order
from tierscope.fleet.host import run_file
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import ClockOffset, InFleet
from tierscope.mpi.launcher import not_started, unbind, without_mpi
from tierscope.mpi.lines import LineProcess, Message

_STOP_S = 10.0
"""That the measuring process gets to end its visit, before it is killed."""
_LAST_S = 5.0
"""That rank 0 waits for the last ranks to ask whether they may leave."""
_TICK_S = 0.02
_SLOW = 10
"""Who waits for anything but a visit asks so many times less often."""
_INTERRUPTED = "it was interrupted"


@dataclass(frozen=True)
class Asked:
    """What was asked of the fleet; the same on every rank."""

    plan: str
    """A profile's name, or the plan file's."""
    text: str | None
    """The plan file's content; None for a profile, and where only rank 0 has the file."""
    time_limit: str | None
    order: Order
    patience_s: float
    directory: Path
    """Absolute."""
    command: list[str]
    dry_run: bool = False
    ranks_as_hosts: bool = False


Watch = Callable[[Coordinator], None]
"""Sees on rank 0, every few milliseconds, how far all are."""


class Rank:
    """This process's part in the fleet."""

    def __init__(self, asked: Asked, measuring: Sequence[str], watch: Watch, seed: str) -> None:
        self._asked = asked
        self._watch = watch
        self._seed = seed
        unbind()
        self._host = LineProcess(measuring, without_mpi())
        self._said: list[Message] = []
        """By the measuring process, not yet looked at."""
        self._contact = Contact(max(START_S, asked.patience_s))  # all hosts load programs now
        self.coordinator: Coordinator | None = None
        """On rank 0."""
        self._name = platform.node()
        self._folders: list[str] = []
        """In which the measuring process makes files."""
        self._visits = 0
        self._look = math.inf
        """When to see next whether this host was given up; infinite while rank 0 is asked."""
        self._interrupted = False

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it."""
        return self._interrupted

    def run(self) -> bool:
        """Take part until all hosts are through; return whether rank 0 was there to the end.

        Raises UserError where this rank cannot take part.
        """
        in_order = False
        with self._signals():
            try:
                self._start()
                in_order = self._take_part()
            finally:
                self._host.process.kill()  # it has ended, but where this rank broke
                self._contact.close(in_order)
        return not self._contact.alone

    def _start(self) -> None:
        """Wait for MPI, which waits for all ranks."""
        asked, contact = self._asked, self._contact
        deadline = time.time() + START_S
        while contact.rank < 0:
            if self._interrupted:
                raise UserError(_INTERRUPTED, ExitCode.INTERRUPTED)
            if contact.process.ended:
                raise not_started()
            if time.time() > deadline:
                raise UserError(
                    f"MPI did not start within {START_S:g} s; see whether mpirun or srun can start "
                    "any program on every host",
                    ExitCode.NOTHING_MEASURED,
                )
            self._turn()
        if asked.ranks_as_hosts:
            self._name += f"-{contact.rank}"
        if contact.rank == 0:
            lead_s = 2 * contact.interval_s + 0.05
            now = time.time()
            self.coordinator = Coordinator(
                contact.size, asked.order, asked.patience_s, lead_s, now, asked.dry_run
            )
            contact.start_serving(self._serve)

    def _serve(self, rank: int, request: Message) -> Message:
        """Answer a rank, on rank 0."""
        assert self.coordinator is not None
        if "plan" in request:
            plan = {"plan": self._asked.plan, "text": self._asked.text}
            return {**plan, "time_limit": self._asked.time_limit, "seed": self._seed}
        return self.coordinator.answer(rank, request, time.time())

    def _take_part(self) -> bool:
        """Return whether all ranks leave in order."""
        plan = self._ask({"plan": {}})
        if "drop" in plan:
            return False
        if "alone" in plan:
            raise UserError("rank 0 does not answer", ExitCode.NOTHING_MEASURED)
        self._host.tell(plan)
        found = self._heard(START_S)
        answer: Message = {}
        if "checked" in found:
            self._folders = found["folders"]
            answer = self._ask({"checked": {**found["checked"], "host": self._name}})
            found = self._measured(answer, plan["seed"])
        if "refuse" in answer:
            self._wait_for_the_last()
            raise UserError(
                f"{answer['refuse']}; start one rank a host: mpirun --map-by ppr:1:node, "
                "srun --ntasks-per-node=1; for trials, --ranks-as-hosts"
            )
        if "leave" not in answer:
            answer = self._ask({"ended": self._end(found)})
        self._wait_for_the_last()
        return bool(answer.get("leave", False))

    def _measured(self, answer: Message, seed: str) -> Message:
        """Have the host measured, where it may; return what its measuring process said last."""
        if "measure" not in answer and "alone" not in answer:
            return {"ended": {"state": "failed", "reason": answer.get("drop", "")}}
        asked = self._asked
        self._contact.patience_s = asked.patience_s
        clock = self._clock()  # rank 0 is at rest now, which makes round trips short
        part = InFleet(
            rank=self._contact.rank, order=asked.order, alone="alone" in answer, clock=clock
        )
        order = {"fleet": part.model_dump(), "host": self._name, "seed": seed}
        order |= answer.get("measure", {})
        order |= {"directory": str(asked.directory), "command": asked.command}
        self._host.tell({"measure": order})
        found = self._heard(START_S)
        while "gate" in found:
            answer = self._ask(found)
            if "drop" in answer:
                return self._stopped(answer["drop"])
            at = answer.get("go")
            if at is not None and clock:
                at += clock.offset_ns / 1e9
            self._host.tell({"go": at})
            self._visits += 1
            wait_s = max(0.0, at - time.time()) if at is not None else 0.0
            found = self._heard(wait_s + found["gate"]["longest_s"] + asked.patience_s)
        return found

    def _clock(self) -> ClockOffset | None:
        """Estimate how far this host's clock is ahead of rank 0's, and tell rank 0."""
        clock = self._contact.clock(self._turn)
        if clock:
            self._ask({"clock": clock.model_dump()})
        return clock

    def _end(self, found: Message) -> Message:
        """Return what became of the host, for rank 0."""
        if "cannot" in found:
            end = {"state": "cannot", "reason": found["cannot"]}
        else:
            end = dict(found["ended"])
        path = run_file(self._name)
        end["run"] = str(path) if (self._asked.directory / path).exists() else ""
        if end["run"] and not self._interrupted:
            self._clock()
        return {**end, "host": self._name}

    def _ask(self, request: Message) -> Message:
        """Return the answer of rank 0 to a request, which waits for nobody but others."""
        pause_s = self._contact.interval_s * (1 if "gate" in request else _SLOW)
        while True:
            self._contact.send(request)
            while (answer := self._contact.answer()) is None:
                self._turn()
                if self._interrupted:
                    return {"drop": _INTERRUPTED}
            if "wait" not in answer:
                return answer
            until = time.time() + pause_s
            while time.time() < until:
                self._turn()
            if self._interrupted:
                return {"drop": _INTERRUPTED}

    def _given_up(self) -> str:
        """Return why rank 0 gave this host up, if it did; ask it now and then, which shows that
        this rank lives."""
        if self._look == math.inf:
            answer = self._contact.answer()
            if answer is not None:
                self._look = time.time() + self._asked.patience_s / 8
                return str(answer.get("drop", ""))
        elif time.time() > self._look:
            self._contact.send({"busy": {}})
            self._look = math.inf
        return ""

    def _heard(self, longest_s: float) -> Message:
        """Return what the measuring process says next; end it where that takes too long."""
        deadline = time.time() + longest_s
        self._look = time.time() + self._asked.patience_s / 8
        while not self._said:
            self._turn()
            if self._host.ended and not self._said:
                return self._died()
            if self._interrupted:
                return self._stopped(_INTERRUPTED)
            if time.time() > deadline:
                return self._stopped(f"its measuring process said nothing for {longest_s:.0f} s")
            if why := self._given_up():
                return self._stopped(why)
        return self._said.pop(0)

    def _stopped(self, why: str) -> Message:
        """Have the measuring process end its visit and close its run; kill it where it does not."""
        self._host.tell({"stop": True})
        self._host.process.send_signal(signal.SIGINT)
        deadline = time.time() + _STOP_S
        while not self._host.ended and time.time() < deadline:
            self._turn()
            self._given_up()
        if not self._host.ended:
            end_or_abandon(self._host.process)
        return self._failed(why)

    def _died(self) -> Message:
        try:
            code = self._host.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            return self._stopped("its measuring process closed its output")
        how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        return self._failed(f"its measuring process {how}")

    def _failed(self, why: str) -> Message:
        self._remove_left()
        return {"ended": {"state": "partial" if self._visits else "failed", "reason": why}}

    def _remove_left(self) -> None:
        """Remove what the measuring process, and an engine that died with it, left of its files."""
        host = run_file(self._name).stem
        cleaners = [start_cleaning(folder, host) for folder in self._folders]
        deadline = time.time() + _STOP_S
        while any(one.poll() is None for one in cleaners) and time.time() < deadline:
            self._turn()

    def _turn(self) -> None:
        """Let a moment pass in which the children are listened to, and rank 0 does its work."""
        children = (self._contact.process, self._host)
        ready, _, _ = select.select([c for c in children if not c.ended], [], [], _TICK_S)
        if self._contact.process in ready:
            self._contact.read()
        if self._host in ready:
            self._said += self._host.read()
        if self.coordinator:
            self.coordinator.watch(time.time())
            self._watch(self.coordinator)

    def _wait_for_the_last(self) -> None:
        """On rank 0, let the others say what became of them, and ask whether they may leave."""
        quiet_s = _LAST_S + 2 * _SLOW * self._contact.interval_s
        deadline = time.time() + quiet_s
        while self.coordinator and self.coordinator.awaits(time.time(), quiet_s):
            self._turn()
            if self._interrupted and time.time() > deadline:
                return

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the visit in order, and the rank with it."""

        def interrupt(_number: int, _frame: FrameType | None) -> None:
            self._interrupted = True

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, interrupt) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
