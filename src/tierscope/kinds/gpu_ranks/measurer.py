"""What visits copies among ranks: it asks all that take part, and joins what they say."""

import itertools
from collections.abc import Generator, Sequence

from tierscope.engine.visits import longest_visit_s
from tierscope.kinds.gpu_ranks.ranks import KIND
from tierscope.kinds.gpu_ranks.spec import GpuRanksSpec
from tierscope.model.cause import Cause
from tierscope.model.event import Event, EventAdapter, Failed, Skipped, Started, Visit
from tierscope.model.spec import MeasurementSpec
from tierscope.mpi.lines import Message
from tierscope.mpi.ranks import ranks

_MORE_S = 150.0
"""Beyond what an engine gets: ranks that wait for a lost one end first."""
_FORGET_S = 10.0


class Measurer:
    """Visits one measurement after the other; see ``runs.measurers.Measurer``."""

    def __init__(self) -> None:
        self.interrupted = False
        self._given_up = False
        self._specs: dict[str, GpuRanksSpec] = {}
        self._numbers = itertools.count(1)

    def plan(self, specs: Sequence[MeasurementSpec]) -> None:
        """Add measurements whose ids are new."""
        self._specs |= {spec.id: spec for spec in specs if isinstance(spec, GpuRanksSpec)}

    def forget(self, name: str) -> None:
        """Do without a measurement from now on, on every rank."""
        spec = self._specs.pop(name)
        self._ask(spec, {"do": "forget", "name": name}, _FORGET_S)

    def visit(self, name: str, seconds: float, fresh: bool = False) -> Generator[Event, None, None]:
        """Have all ranks that take part make one visit together."""
        yield Started(id=name)
        spec = self._specs[name]
        request = {
            "do": "visit",
            "visit": next(self._numbers),
            "spec": spec.model_dump_json(),
            "seconds": seconds,
            "fresh": fresh,
        }
        yield joined(spec, self._ask(spec, request, longest_visit_s(spec, seconds) + _MORE_S))

    def interrupt(self) -> None:
        """Make no further visit; the second time, leave the one that is under way."""
        self._given_up = self.interrupted
        self.interrupted = True

    def close(self) -> None:
        """Leave the ranks to whoever started MPI."""

    def _ask(self, spec: GpuRanksSpec, request: Message, longest_s: float) -> dict[int, Message]:
        every = spec.taking_part()
        ranks().ask(KIND, dict.fromkeys(every, request))
        return ranks().answers(every, longest_s, lambda: self._given_up)


def joined(spec: GpuRanksSpec, said: dict[int, Message]) -> Visit | Skipped | Failed:
    """Return the leader's visit with the GPUs of all in its evidence, or what went wrong first."""
    for rank, answer in said.items():
        if "failed" in answer:
            return Failed(id=spec.id, cause=Cause.RANK, reason=f"rank {rank}: {answer['failed']}")
    events = {rank: EventAdapter.validate_json(answer["event"]) for rank, answer in said.items()}
    # Who was told that another rank is lost is not the one to blame.
    for told in (False, True):
        for rank, event in events.items():
            if isinstance(event, Skipped | Failed) and said[rank]["lost"] is told:
                where = f"rank {rank} ({spec.hosts[rank]})"
                return event.model_copy(update={"reason": f"{where}: {event.reason}"})
    visits = {rank: event for rank, event in events.items() if isinstance(event, Visit)}
    visit = visits[spec.leader()]
    gpus = [gpu for one in visits.values() for gpu in one.evidence.gpus or ()]
    notes = [note for one in visits.values() for note in one.evidence.notes or ()]
    update = {"gpus": gpus, "notes": list(dict.fromkeys(notes)) or None}
    return visit.model_copy(update={"evidence": visit.evidence.model_copy(update=update)})
