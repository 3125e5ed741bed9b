"""A rank of a fleet, which outlives its host's measuring process and its process that speaks MPI.

It asks rank 0 for the plan, for permission to measure, and for permission for each repetition. On
rank 0 it also answers all ranks. If rank 0 is silent, a rank goes on alone."""

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

from tierscope.engine.process import end_or_abandon
from tierscope.engine.targets import start_cleaning
from tierscope.fleet.coordinator import START_S, Coordinator, Order
from tierscope.fleet.host import run_file
from tierscope.fleet.transport import Contact, LineProcess, Message
from tierscope.machine.launcher import unbind, without_mpi
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import ClockOffset, InFleet

_STOP_S = 10.0
"""Time for the measuring process to end its repetition before it is killed."""
_LAST_S = 5.0
"""Time that rank 0 waits for the last ranks to ask whether they may leave."""
_TICK_S = 0.02
_SLOW = 10
"""Requests other than for a repetition are repeated this many times less often."""
_INTERRUPTED = "it was interrupted"
Watch = Callable[[Coordinator], None]
"""Called on rank 0 every few milliseconds."""


@dataclass(frozen=True)
class Args:
    """Arguments of ``fleet run``; the same on every rank."""

    plan: str
    """Name of a profile or of the plan file."""
    text: str | None
    """Content of the plan file; None for a profile, and where only rank 0 has the file."""
    time_limit: str | None
    order: Order
    patience_s: float
    directory: Path
    """Absolute."""
    command: list[str]
    dry_run: bool = False
    ranks_as_hosts: bool = False


class Rank:
    """This process's part in the fleet."""

    def __init__(self, args: Args, measuring: Sequence[str], watch: Watch, seed: str) -> None:
        self._args = args
        self._watch = watch
        self._seed = seed
        unbind()
        self._host = LineProcess(measuring, without_mpi())
        self._said: list[Message] = []
        """Messages of the measuring process that were not handled yet."""
        self._contact = Contact(max(START_S, args.patience_s), self._serve)
        self.coordinator: Coordinator | None = None
        """On rank 0."""
        self._name = platform.node()
        self._folders: list[str] = []
        """Folders in which the measuring process makes files."""
        self._repetitions = 0
        self._look = math.inf
        """When to ask next whether rank 0 dropped this host; infinite while an answer is due."""
        self._interrupted = False

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it."""
        return self._interrupted

    def run(self) -> None:
        """Take part until all hosts have finished, or until rank 0 no longer answers.

        Raises UserError where this rank cannot take part.
        """
        in_order = False
        with self._signals():
            try:
                self._start()
                in_order = self._take_part()
            finally:
                self._host.process.kill()  # it has ended, but where this rank broke
                self._contact.leave(in_order)

    def _start(self) -> None:
        """Wait for MPI, which waits for all ranks."""

        def turn() -> None:
            self._turn()
            if self._interrupted:
                raise UserError(_INTERRUPTED, ExitCode.INTERRUPTED)

        self._contact.wait_until(lambda: self._contact.rank >= 0, turn)
        if self._args.ranks_as_hosts:
            self._name += f"-{self._contact.rank}"

    def _serve(self, rank: int, request: Message) -> Message:
        """Answer a rank, on rank 0, which other ranks may ask first."""
        args, now = self._args, time.time()
        if self.coordinator is None:
            lead_s = 2 * self._contact.interval_s + 0.05
            self.coordinator = Coordinator(
                self._contact.size, args.order, args.patience_s, lead_s, now, args.dry_run
            )
        if "plan" in request:
            plan = {"plan": args.plan, "text": args.text, "time_limit": args.time_limit}
            return {**plan, "seed": self._seed}
        return self.coordinator.answer(rank, request, now)

    def _take_part(self) -> bool:
        """Return whether all ranks leave MPI in order."""
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
        """Have the host measured if rank 0 permits it; return the measuring process's end."""
        if "measure" not in answer and "alone" not in answer:
            return {"ended": {"state": "failed", "reason": answer.get("drop", "")}}
        args = self._args
        self._contact.patience_s = args.patience_s
        clock = self._clock()  # rank 0 is at rest now, which makes round trips short
        part = InFleet(
            rank=self._contact.rank, order=args.order, alone="alone" in answer, clock=clock
        )
        order = {"fleet": part.model_dump(), "host": self._name, "seed": seed}
        order |= answer.get("measure", {})
        order |= {"directory": str(args.directory), "command": args.command}
        self._host.tell({"measure": order})
        found = self._heard(START_S)
        while "barrier" in found:
            answer = self._ask(found)
            if "drop" in answer:
                return self._stopped(answer["drop"])
            at = answer.get("go")
            if at is not None and clock:
                at += clock.offset_ns / 1e9
            self._host.tell({"go": at})
            self._repetitions += 1
            wait_s = max(0.0, at - time.time()) if at is not None else 0.0
            found = self._heard(wait_s + found["barrier"]["longest_s"] + args.patience_s)
        return found

    def _clock(self) -> ClockOffset | None:
        """Estimate how far this host's clock is ahead of rank 0's, and tell rank 0."""
        clock = self._contact.clock(self._turn)
        if clock:
            self._ask({"clock": clock.model_dump()})
        return clock

    def _end(self, found: Message) -> Message:
        """Return how the host ended, for rank 0."""
        if "cannot" in found:
            end = {"state": "cannot", "reason": found["cannot"]}
        else:
            end = dict(found["ended"])
        path = run_file(self._name)
        end["run"] = str(path) if (self._args.directory / path).exists() else ""
        if end["run"] and not self._interrupted:
            self._clock()
        return {**end, "host": self._name}

    def _ask(self, request: Message) -> Message:
        """Return rank 0's answer, for which a request is repeated."""
        pause_s = self._contact.interval_s * (1 if "barrier" in request else _SLOW)
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

    def _dropped(self) -> str:
        """Return why rank 0 dropped this host, if it did; asking now and then shows that this rank
        is running."""
        if self._look == math.inf:
            answer = self._contact.answer()
            if answer is not None:
                self._look = time.time() + self._args.patience_s / 8
                return str(answer.get("drop", ""))
        elif time.time() > self._look:
            self._contact.send({"busy": {}})
            self._look = math.inf
        return ""

    def _heard(self, longest_s: float) -> Message:
        """Return the measuring process's next message; end the process after ``longest_s``."""
        deadline = time.time() + longest_s
        self._look = time.time() + self._args.patience_s / 8
        while not self._said:
            self._turn()
            if self._host.ended and not self._said:
                return self._died()
            if self._interrupted:
                return self._stopped(_INTERRUPTED)
            if time.time() > deadline:
                return self._stopped(f"its measuring process said nothing for {longest_s:.0f} s")
            if why := self._dropped():
                return self._stopped(why)
        return self._said.pop(0)

    def _stopped(self, why: str) -> Message:
        """Have the measuring process end its repetition and close its run; kill it if it does
        not."""
        self._host.tell({"stop": True})
        self._host.process.send_signal(signal.SIGINT)
        deadline = time.time() + _STOP_S
        while not self._host.ended and time.time() < deadline:
            self._turn()
            self._dropped()
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
        return {"ended": {"state": "partial" if self._repetitions else "failed", "reason": why}}

    def _remove_left(self) -> None:
        """Remove files that the measuring process and its engine left."""
        host = run_file(self._name).stem
        cleaners = [start_cleaning(folder, host) for folder in self._folders]
        deadline = time.time() + _STOP_S
        while any(one.poll() is None for one in cleaners) and time.time() < deadline:
            self._turn()

    def _turn(self) -> None:
        """Listen to the children for a moment, and on rank 0 watch the fleet."""
        children = (self._contact, self._host)
        select.select([one for one in children if not one.ended], [], [], _TICK_S)
        self._contact.listen()
        self._said += self._host.read()
        if self.coordinator:
            self.coordinator.watch(time.time())
            self._watch(self.coordinator)

    def _wait_for_the_last(self) -> None:
        """On rank 0, wait until the others have reported and asked whether they may leave."""
        quiet_s = _LAST_S + 2 * _SLOW * self._contact.interval_s
        deadline = time.time() + quiet_s
        while self.coordinator and self.coordinator.awaits(time.time(), quiet_s):
            self._turn()
            if self._interrupted and time.time() > deadline:
                return

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the repetition in order, and the rank with it."""

        def interrupt(_number: int, _frame: FrameType | None) -> None:
            self._interrupted = True

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, interrupt) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
