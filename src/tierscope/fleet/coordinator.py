"""Rank 0's decisions: which host measures when, how long the others wait for it, how it ended.

Hosts ask, again and again, until they get an answer other than ``wait``. Times are of rank 0's
clock, in seconds. Nothing here measures, sends or writes.
"""

from dataclasses import dataclass
from typing import Any, Literal

from tierscope.model.errors import counted
from tierscope.model.fleet import ClockOffset, FleetHost
from tierscope.runs.schedule import END

Answer = dict[str, Any]
WAIT: Answer = {"wait": True}
START_S = 120.0
"""Timeout of a host's check of the plan, and of its start once it is its turn."""
Turn = tuple[int, ...]
"""Place of a repetition in the order that all hosts share."""
Order = Literal["together", "one-by-one"]


@dataclass
class Member:
    """A rank, as far as rank 0 knows it."""

    host: FleetHost
    doing: Literal["starting", "checked", "measuring", "waiting", "ended"] = "starting"
    left: bool = False
    """It was told to leave."""
    turn: Turn = ()
    """Turn that it waits for or repetitions."""
    repetition: str = ""
    """Id of the measurement that it waits for or repetitions."""
    longest_s: float = 0.0
    """Maximum duration of the repetition."""
    since: float = 0.0
    """Start of its current activity."""
    heard: float = 0.0
    """Time of its latest request."""
    measurements: int = 0
    seconds: float = 0.0
    repetitions: int = 0


class Coordinator:
    """Answers the ranks' requests, and drops ranks that do not come back."""

    def __init__(
        self, size: int, order: Order, patience_s: float, lead_s: float, now: float, dry: bool
    ) -> None:
        self._order = order
        self._patience_s = patience_s
        self._lead_s = lead_s
        """Time between opening a barrier and the repetition, in which every host asks again."""
        self._dry = dry
        self.members = [
            Member(FleetHost(host=f"rank-{rank}", rank=rank, state="waiting"), since=now, heard=now)
            for rank in range(size)
        ]
        self._turn: Turn = ()
        """Turn whose barrier was opened last."""
        self._opened = now
        """Start of the repetition behind that barrier."""
        self._first: Member | None = None
        """Host whose turn it is, one by one."""
        self._measuring: list[int] = []
        """Ranks of the hosts that can measure; empty until the first one begins."""
        self._due = now
        """Time from which hosts that were checked have to begin."""
        self._in_order = True
        """No rank was lost before the first one left."""

    def answer(self, rank: int, request: dict[str, Any], now: float) -> Answer:
        """Answer a request of a rank: checked, barrier or ended."""
        member = self.members[rank]
        member.heard = now
        ((what, said),) = request.items()
        if what == "ended":
            return self._ended(member, said)
        if member.host.state == "lost":
            return {"drop": member.host.reason}
        if what == "busy":
            return WAIT
        if what == "clock":
            return self._clock(member, ClockOffset.model_validate(said))
        return {"checked": self._checked, "barrier": self._barrier}[what](member, said, now)

    def watch(self, now: float) -> list[Member]:
        """Drop timed-out ranks, open the barrier once all are back, and return the lost ranks."""
        active = self._active()
        if active and active[0] is not self._first:
            self._first = active[0]
            if self._order == "one-by-one":
                self._due = now
        missing = [one for one in active if self._is_missing(one)]
        lost = [one for one in missing if self._is_lost(one, now)]
        for one in lost:
            doing = (
                f"its repetition of {one.repetition}" if one.repetition else "its check of the plan"
            )
            reason = f"it did not come back from {doing} in time"
            one.host = one.host.model_copy(update={"state": "lost", "reason": reason})
            if one.doing == "starting":  # those that were checked waited for it
                self._due = now
        if self._order == "together" and len(missing) == len(lost):
            self._open(now)
        return lost

    def awaits(self, now: float, quiet_s: float) -> bool:
        """Whether a rank that was not told to leave may still ask.

        A rank that has finished asks often; after ``quiet_s`` of silence it is gone. A lost rank
        may still be running: it asks now and then, and reports its host's state once it has ended
        the process that hangs.
        """
        lost_s = max(quiet_s, self._patience_s)
        return any(
            now - one.heard <= (lost_s if one.host.state == "lost" else quiet_s)
            for one in self.members
            if not one.left
        )

    @property
    def any_lost(self) -> bool:
        """Whether a rank is gone, or silent."""
        return any(one.host.state == "lost" for one in self.members)

    @property
    def all_over(self) -> bool:
        """Whether no host measures any more."""
        return not self._active()

    def _shared(self, member: Member) -> Answer | None:
        """Refuse all ranks of the job where two are on one host."""
        seen: dict[str, int | None] = {}
        for one in self.members:
            host, rank = one.host.host, one.host.rank
            if host in seen:
                member.doing, member.left = "ended", True
                return {"refuse": f"ranks {seen[host]} and {rank} are both on host {host}"}
            seen[host] = rank
        return None

    def said(self) -> str:
        """Return the progress of all hosts in one line."""
        states = [one.host.state for one in self.members]
        repetitions = max((one.repetitions for one in self.members), default=0)
        lost = f", {states.count('lost')} lost" if "lost" in states else ""
        over = sum(one.doing == "ended" for one in self.members)
        made = counted(repetitions, "repetition")
        return f"{counted(len(states), 'host')}, {over} through{lost}; {made}"

    def _active(self) -> list[Member]:
        return [one for one in self.members if one.doing != "ended" and one.host.state != "lost"]

    def _is_missing(self, member: Member) -> bool:
        """Whether the other hosts or rank 0 wait for it."""
        if member.doing == "waiting":  # the barrier is open, and it has not asked since
            return member.turn == self._turn
        if member.doing == "checked":
            others = any(one.doing == "starting" for one in self._active())
            return not others and (self._order == "together" or member is self._first)
        return True

    def _is_lost(self, member: Member, now: float) -> bool:
        if member.doing == "starting":
            return now - member.since > 2 * START_S
        if member.doing == "checked":
            return now - max(self._due, member.since) > START_S
        back = [
            one.since
            for one in self._active()
            if one.doing == "waiting" and one.turn != self._turn and one.since > self._opened
        ]
        if back and self._order == "together":
            return now - min(back) > self._patience_s
        began = max(self._opened, member.since)
        longest_s = member.longest_s if member.repetition else START_S
        return now - began > longest_s + self._patience_s

    def _open(self, now: float) -> None:
        """Open the barrier to the earliest repetition that any host waits for."""
        turns = [one.turn for one in self._active() if one.doing == "waiting"]
        if turns:
            self._turn = min(turns)
            self._opened = now + self._lead_s

    def _checked(self, member: Member, found: dict[str, Any], now: float) -> Answer:
        if member.doing == "starting":
            member.doing, member.since = "checked", now
            member.measurements, member.seconds = found["measurements"], found["seconds"]
            member.host = member.host.model_copy(update={"host": found["host"]})
            self._due = now
        if any(one.doing == "starting" for one in self._active()):
            return WAIT
        if refused := self._shared(member):
            return refused
        if self._dry:
            planned = counted(member.measurements, "measurement")
            reason = f"{planned}, {member.seconds:.0f} s at most"
            member.host = member.host.model_copy(update={"reason": reason})
            return self._leave(member)
        if self._order == "one-by-one" and self._active()[0] is not member:
            return WAIT
        member.doing, member.since = "measuring", now
        member.host = member.host.model_copy(update={"state": "measuring"})
        if not self._measuring:
            self._measuring = [one.host.rank or 0 for one in self._active()]
        number = self._measuring.index(member.host.rank or 0)
        return {"measure": {"number": number, "hosts": len(self._measuring)}}

    def _clock(self, member: Member, clock: ClockOffset) -> Answer:
        """Take note of a host's clock, before its first repetition and after its last one."""
        when = "clock_after" if member.host.clock else "clock"
        member.host = member.host.model_copy(update={when: clock})
        return {"noted": True}

    def _barrier(self, member: Member, barrier: dict[str, Any], now: float) -> Answer:
        if member.doing == "measuring":
            member.doing, member.since = "waiting", now
            member.turn, member.repetition = tuple(barrier["turn"]), barrier["repetition"]
            member.longest_s = barrier["longest_s"]
        if self._order == "together" and member.turn != self._turn:
            return WAIT
        member.doing, member.since = "measuring", now
        member.repetitions += member.turn != END
        return {"go": self._opened if self._order == "together" else None}

    def _ended(self, member: Member, end: dict[str, Any]) -> Answer:
        if member.doing != "ended":
            member.doing = "ended"
            if member.host.state == "lost":  # it was dropped and is still running
                end = {**end, "reason": member.host.reason}
                end["state"] = "partial" if end["state"] == "measured" else end["state"]
            member.host = member.host.model_copy(update=end)
        if refused := self._shared(member):
            return refused
        return self._leave(member) if self.all_over else WAIT

    def _leave(self, member: Member) -> Answer:
        """Let a rank leave; MPI ends in order for all ranks or for none, since it waits for all."""
        member.doing, member.left = "ended", True
        self._in_order = self._in_order and not self.any_lost
        return {"leave": self._in_order}
