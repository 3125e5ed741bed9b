"""What is known of each measurement of a run while it goes on."""

from collections.abc import Iterable
from typing import Any

from tierscope.kinds.plan import Spec
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Skipped, Visit
from tierscope.model.run import Header, Measurement


class Book:
    """Plans, visits and measurements by id, in the order of the plan."""

    def __init__(self, specs: Iterable[Spec]) -> None:
        self.specs: dict[str, Spec] = {}
        self.visits: dict[str, list[Visit]] = {}
        self.ended: dict[str, Skipped | Failed] = {}
        """Why there is no further visit of a measurement, other than that it is done."""
        self.measurements: dict[str, Measurement] = {}
        self.add(specs)

    def add(self, specs: Iterable[Spec]) -> None:
        """Plan further measurements."""
        for spec in specs:
            self.specs[spec.id] = spec
            self.visits[spec.id] = []

    def begun(self) -> list[str]:
        """Return the ids of what has visits, or ended without, and is not concluded."""
        return [
            name
            for name in self.specs
            if name not in self.measurements and (self.visits[name] or name in self.ended)
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
