"""Further measurements that a run's own figures ask for.

A kind whose row of the registry says ``refined`` has a module ``refine`` that chooses them; each
round of them is added to the plan of the same run.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from tierscope.kinds.plan import Spec
from tierscope.kinds.registry import KINDS
from tierscope.model.run import Measurement, Refinement
from tierscope.model.topology import Topology


class Refiner(Protocol):
    """What a kind's module ``refine`` has."""

    def further_points(
        self,
        specs: Sequence[Spec],
        how: Refinement,
        measurements: Sequence[Measurement],
        topology: Topology | None,
        /,
    ) -> list[Spec]:
        """Return the next round, from all specs of the kind, what they came to, the machine."""

    def further_seconds(self, specs: Sequence[Spec], how: Refinement) -> float:
        """Return the most seconds that all rounds take."""


def further_points(
    specs: Sequence[Spec],
    how: Refinement,
    measurements: Sequence[Measurement],
    topology: Topology | None = None,
) -> list[Spec]:
    """Return the next round of measurements, from all that were planned so far; none ends it."""
    return [
        spec
        for refiner, own in _refiners(specs)
        for spec in refiner.further_points(own, how, measurements, topology)
    ]


def further_seconds(specs: Sequence[Spec], how: Refinement) -> float:
    """Return the most seconds that refinement adds to a plan."""
    return sum(refiner.further_seconds(own, how) for refiner, own in _refiners(specs))


def _refiners(specs: Sequence[Spec]) -> Iterator[tuple[Refiner, list[Spec]]]:
    for name in dict.fromkeys(spec.kind for spec in specs):
        kind = KINDS[name]
        if kind.refined:
            yield kind.refine, [spec for spec in specs if spec.kind == name]
