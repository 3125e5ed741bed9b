"""Measurers: the engine, or a kind's own in its place.

A kind whose row of the registry says ``own_measurer`` has a module ``measurer``. Its repetitions
give the engine's events, so schedule, run file, estimates and resumption are the same."""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from tierscope.engine.prefetchers import PrefetcherSwitch
from tierscope.engine.repetitions import Engines, living_engine, signals_to
from tierscope.kinds.plan import Spec
from tierscope.kinds.registry import KINDS
from tierscope.model.event import Event


class Measurer(Protocol):
    """Repeats measurements; survives failures of what it starts."""

    @property
    def interrupted(self) -> bool:
        """A signal came: no further repetition is made."""

    def plan(self, specs: Sequence[Spec]) -> None:
        """Add measurements whose ids are new."""

    def forget(self, name: str) -> None:
        """Do without a measurement from now on."""

    def repetition(
        self, name: str, seconds: float, fresh: bool = False
    ) -> Generator[Event, None, None]:
        """Yield Started, Progress as there is any, and Repetition, Skipped or Failed.

        Nothing follows Started where an interruption left nothing. Closing the iterator ends the
        repetition. Raises UserError where nothing can be measured at all.
        """

    def interrupt(self) -> None:
        """End the repetition that is under way and make no further one; a second time, at once.

        Called from a signal's handler.
        """

    def close(self) -> None:
        """Release what is held."""


class Measurers:
    """Has each measurement made by its kind's own measurer, or by the engine."""

    def __init__(self, engine: Engines) -> None:
        self._engine = engine
        self._own: dict[str, Measurer] = {}
        """By kind."""
        self._of: dict[str, Measurer] = {}
        """By measurement."""
        self._resources = contextlib.ExitStack()
        self._interrupted = False

    @property
    def interrupted(self) -> bool:
        """A signal came: no further repetition is made."""
        every = (self._engine, *self._own.values())
        return self._interrupted or any(one.interrupted for one in every)

    def plan(self, specs: Sequence[Spec]) -> None:
        """Add measurements whose ids are new."""
        for spec in specs:
            self._of[spec.id] = self._measurer(spec.kind)
            self._of[spec.id].plan([spec])

    def start(self) -> None:
        """Start the engine, so that the first repetition begins when it is to, as all others do."""
        self._engine.start()

    def forget(self, name: str) -> None:
        """Do without a measurement from now on."""
        self._of.pop(name).forget(name)

    def repetition(
        self, name: str, seconds: float, fresh: bool = False
    ) -> Generator[Event, None, None]:
        """Yield the events of one repetition, as ``Measurer.repetition`` does."""
        if not self.interrupted:
            yield from self._of[name].repetition(name, seconds, fresh)

    def interrupt(self) -> None:
        """Interrupt all; the second time, at once."""
        self._interrupted = True
        for one in (self._engine, *self._own.values()):
            one.interrupt()

    def close(self) -> None:
        """Release what kinds' own measurers hold."""
        self._resources.close()

    def _measurer(self, kind: str) -> Measurer:
        if not KINDS[kind].own_measurer:
            return self._engine
        if kind not in self._own:
            own = KINDS[kind].measurer()
            self._own[kind] = self._resources.enter_context(contextlib.closing(own))
        return self._own[kind]


@contextlib.contextmanager
def living_measurers(
    engine: Path | None = None,
    switch: PrefetcherSwitch | None = None,
    beside: Path | None = None,
) -> Iterator[Measurers]:
    """Give measurers that start when they are needed and end with the block.

    Parameters are as for ``living_engine``. Meanwhile SIGINT and SIGTERM go to all of them.
    """
    with (
        living_engine(engine, switch, beside) as engines,
        contextlib.closing(Measurers(engines)) as measurers,
        signals_to(measurers),
    ):
        yield measurers
