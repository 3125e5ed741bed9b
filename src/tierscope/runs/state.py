"""The state of a run that goes on: repetitions and outcome of each measurement."""

import math
from collections.abc import Iterable
from statistics import fmean
from typing import Any

from tierscope.kinds.plan import Spec
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.run import Header, Measurement
from tierscope.plans.fit import again_seconds, longest_seconds


class RunState:
    """Plans, repetitions and measurements by id, in the order of the plan."""

    def __init__(self, specs: Iterable[Spec]) -> None:
        self.specs: dict[str, Spec] = {}
        self.repetitions: dict[str, list[Repetition]] = {}
        self.ended: dict[str, Skipped | Failed] = {}
        """Why there is no further repetition of a measurement, other than that it is done."""
        self.measurements: dict[str, Measurement] = {}
        self.allowed: dict[str, float] = {}
        """Seconds that each measurement may take, with its set-up."""
        self._set_ups: dict[str, list[tuple[bool, float]]] = {}
        """Of each repetition, whether it had new pages, and the seconds it took beside its
        samples."""
        self._set_up_s: dict[str, float] = {}
        """What ``set_up_s`` returns, kept because the schedule asks for it several times before
        each repetition."""
        self._left_s = 0.0
        """What all may still take, summed up as repetitions come: it is asked for before every
        repetition."""
        self.add(specs)

    def add(self, specs: Iterable[Spec]) -> None:
        """Plan further measurements."""
        added = list(specs)
        for spec, seconds in zip(added, longest_seconds(added), strict=True):
            self.specs[spec.id] = spec
            self.repetitions[spec.id] = []
            self.allowed[spec.id] = seconds
            self._set_ups[spec.id] = []
            self._set_up_s[spec.id] = 0.0
            self._left_s += 0.0 if spec.scheduled_apart else seconds

    def add_repetition(self, repetition: Repetition, took_s: float = 0.0) -> None:
        """Take note of a repetition; ``took_s`` is its time on the clock, its set-up included.

        Files are made once, however long that takes: it leaves the samples their time.
        """
        self.repetitions[repetition.id].append(repetition)
        spec = self.specs[repetition.id]
        beside = max(took_s - repetition.seconds, 0.0)
        first = not self._set_ups[repetition.id]
        self._set_ups[repetition.id].append((repetition.fresh or first, beside))
        self._set_up_s[repetition.id] = self._quickest_set_up_s(repetition.id)
        if first and spec.files():
            beside = min(beside, self.allowed[repetition.id] - spec.sampling.budget_s)
        self._left_s -= 0.0 if spec.scheduled_apart else repetition.seconds + beside

    def open(self) -> list[str]:
        """Return the ids of what is not concluded, in the order of the plan."""
        return [name for name in self.specs if name not in self.measurements]

    def own_s(self, name: str) -> float:
        """Return a measurement's seconds without what its first repetition had to set up once: its
        budget, and what was allowed for set-up and not taken."""
        set_ups = self._set_ups[name]
        once = set_ups[0][1] - self.set_up_s(name) if set_ups else math.inf
        return max(self.specs[name].sampling.budget_s, self.allowed[name] - max(0.0, once))

    def left_s(self) -> float:
        """Return what the run's measurements may still take, all together; what is scheduled
        apart left out."""
        without = (
            self.allowed[name]
            for name in self.measurements
            if not self._set_ups[name] and not self.specs[name].scheduled_apart
        )
        return self._left_s - sum(without)

    def set_up_s(self, name: str) -> float:
        """Return what a repetition takes beside its samples, by the quickest one that kept its
        pages.

        The first one populated them, so that it says at most how long others take.
        """
        return self._set_up_s[name]

    def _quickest_set_up_s(self, name: str) -> float:
        set_ups = self._set_ups[name]
        kept = [taken for fresh, taken in set_ups if not fresh]
        return min(kept) if kept else min(set_ups[0][1], again_seconds(self.specs[name]))

    def populate_s(self, name: str) -> float:
        """Return what a repetition with new pages takes more than others, on average: where
        measurements share pages, one of them populates them.

        The first repetition did more than populate, so it counts only where it is the only one."""
        new = [taken for fresh, taken in self._set_ups[name] if fresh]
        least = 0.0 if len(new) > 1 else self.specs[name].least_populate_s()
        return max(least, fmean(new[1:] or new) - self.set_up_s(name))

    def sets(self, name: str) -> int:
        """Return how many sets of pages a measurement's repetitions had."""
        return sum(fresh for fresh, _ in self._set_ups[name])

    def skip(self, name: str, reason: str) -> None:
        """Take note that a measurement cannot be made any more."""
        self.ended[name] = Skipped(id=name, cause=Cause.STORAGE, reason=reason)

    def begun(self) -> list[str]:
        """Return the ids of what has repetitions, or ended without, and is not concluded."""
        return [
            name
            for name in self.specs
            if name not in self.measurements and (self.repetitions[name] or name in self.ended)
        ]

    def added(self, header: Header) -> list[dict[str, Any]]:
        """Return what was planned after the run began, as plans have it."""
        first = {spec["id"] for spec in header.plan.get("measurements", [])}
        added = [spec for name, spec in self.specs.items() if name not in first]
        return [spec.model_dump(mode="json") for spec in added]

    def in_order(self) -> list[Measurement]:
        """Return what was concluded, in the order of the plan."""
        return [self.measurements[name] for name in self.specs if name in self.measurements]


def was_cut(measurement: Measurement) -> bool:
    """Return whether a measurement ended before its time, so that it can be continued."""
    return measurement.stop == "interrupted" or measurement.cause is Cause.INTERRUPTED
