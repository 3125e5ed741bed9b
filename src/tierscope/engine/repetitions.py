"""A living engine: measurements are added and repeated one at a time, whatever happens to it.

A crash, a hang or a line that is not an event costs the repetition that was under way: it is
reported as failed, and the engine is started again for the next one."""

import contextlib
import signal
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from tierscope.engine.prefetchers import PrefetcherSwitch, prefetcher_switch
from tierscope.engine.process import REFUSED, BrokenError, EngineProcess, engine_environment
from tierscope.engine.targets import PathSilentError, silent_target, targets_before, with_targets
from tierscope.kinds.plan import Spec
from tierscope.machine.prefetchers import PrefetcherError
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Finished, Repetition, Skipped, Started
from tierscope.model.spec import Prefetchers

_START_S = 60.0
"""Longest silence before a repetition starts."""
_INTERRUPT_S = 10.0
"""Time that an interrupted engine gets, beside one sample, before it is killed."""
_BUDGETS = 10
_SAMPLES = 50
"""Samples that a repetition may take beyond its time, in series of a fixed number of samples."""


class LivingEngine:
    """Makes repetitions by one engine process at a time."""

    def __init__(
        self,
        named: Path | None = None,
        switch: PrefetcherSwitch | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._named = named
        self._environment = environment
        self._switch = switch or PrefetcherSwitch()
        self.interrupted = False
        """A signal came: no further repetition is made."""
        self._specs: dict[str, Spec] = {}
        """All measurements that may be repeated yet, by id."""
        self._unsent: list[Spec] = []
        """Measurements that the process does not know yet."""
        self._process: EngineProcess | None = None
        self._current: Spec | None = None
        self._unproven = False
        """The process was told of measurements and has not answered since."""

    def plan(self, specs: Sequence[Spec]) -> None:
        """Add measurements whose ids are new."""
        self._specs |= {spec.id: spec for spec in specs}
        self._unsent += specs

    def start(self) -> None:
        """Have a process read the plan by the time of the first repetition."""
        if self._specs:
            self._ready_process()

    def forget(self, name: str) -> None:
        """Do without a measurement from now on; a new process is not told of it."""
        spec = self._specs.pop(name)
        if spec in self._unsent:
            self._unsent.remove(spec)

    def repetition(
        self, name: str, seconds: float, fresh: bool = False
    ) -> Generator[Event, None, None]:
        """Yield the events of one repetition; the last is its Repetition, Skipped or Failed.

        Nothing follows ``Started`` where an interruption left nothing. SIGINT and SIGTERM let the
        engine end its sample, so that what was measured is kept; a second one kills it. Closing the
        iterator kills the engine. Raises UserError where the engine is missing, refuses the plan,
        or dies twice before it starts a repetition.
        """
        spec = self._current = self._specs[name]
        try:
            targets = targets_before(spec)
        except PathSilentError as error:
            yield Failed(id=name, cause=Cause.TIMEOUT, reason=str(error))
            return
        for event in self._with_switches(spec, seconds, fresh):
            if isinstance(event, Repetition) and targets.facts:
                yield with_targets(event, targets)
            elif isinstance(event, Failed) and event.cause is Cause.TIMEOUT:
                silent = silent_target(spec)
                reason = f"{event.reason}; {silent}" if silent else event.reason
                yield event.model_copy(update={"reason": reason})
            else:
                yield event

    def _with_switches(
        self, spec: Spec, seconds: float, fresh: bool
    ) -> Generator[Event, None, None]:
        """Yield the events of one repetition, with hardware prefetchers switched as it asks for."""
        name, wanted = spec.id, spec.wanted_prefetchers()
        if wanted is None:
            yield from self._repetition(spec, seconds, fresh)
            return
        try:
            self._switch.switch(spec.thread_cpus(), wanted)
        except PrefetcherError as error:
            yield Skipped(id=name, cause=error.cause, reason=str(error), remedy=error.remedy)
            return
        for event in self._repetition(spec, seconds, fresh):
            if isinstance(event, Repetition):
                yield self._with_prefetchers(event, spec.thread_cpus(), wanted)
            else:
                yield event

    def _with_prefetchers(
        self, repetition: Repetition, cpus: list[int], wanted: Prefetchers
    ) -> Repetition | Failed:
        """Add the prefetchers' state to the evidence; fail where it is not what was asked for."""
        state = self._switch.observe(cpus)
        if wanted != "as-found" and state != self._switch.state_of(wanted):
            reason = f"prefetchers were switched {wanted} for the repetition and are now {state}"
            return Failed(id=repetition.id, cause=Cause.PREFETCHERS, reason=reason)
        evidence = repetition.evidence.model_copy(update={"prefetchers": state})
        return repetition.model_copy(update={"evidence": evidence})

    def _repetition(self, spec: Spec, seconds: float, fresh: bool) -> Generator[Event, None, None]:
        """Yield the events of one repetition by the engine."""
        name, stillborn = spec.id, 0
        while not self.interrupted:
            started = done = False
            try:
                for event in self._events(spec, seconds, fresh):
                    started = True
                    yield event
                done = True
                return
            except BrokenError as broken:
                if self.interrupted:
                    return
                if started:
                    yield Failed(id=name, cause=broken.cause, reason=str(broken))
                    return
                stillborn += self._process is None or not self._process.spoke
                if stillborn == 2:
                    raise UserError(
                        f"the engine died twice without starting a measurement: {broken}",
                        ExitCode.NOTHING_MEASURED,
                    ) from None
            finally:
                if not done:
                    self._end_process(kill=True)

    def tell(self, answer: dict[str, Any]) -> None:
        """Answer the ``Exchange`` that ``repetition`` yielded last."""
        if self._process is not None:
            self._process.answer(answer)

    def close(self) -> None:
        """Let the engine leave in order."""
        self._end_process(kill=False)

    def interrupt(self) -> None:
        """Let the engine end its sample and make no further repetition; the second time, kill
        it."""
        process, again = self._process, self.interrupted
        self.interrupted = True
        if process is not None:
            process.signal(signal.SIGKILL if again else signal.SIGINT)
            grace = _INTERRUPT_S + (self._current.sampling.sample_s if self._current else 0)
            process.give_up_at = min(process.give_up_at, time.monotonic() + grace)

    def _events(self, spec: Spec, seconds: float, fresh: bool) -> Iterator[Event]:
        """Yield one repetition's events; raises BrokenError where the process breaks."""
        process = self._ready_process()
        process.repetition(spec.id, seconds, fresh)
        for event in process.events():
            if isinstance(event, Finished):
                self.interrupted = self.interrupted or event.interrupted
                raise BrokenError(Cause.CRASH, "the engine finished without measuring it")
            if event.id != spec.id:
                raise BrokenError(Cause.PROTOCOL, f"the engine spoke of '{event.id}' out of turn")
            if isinstance(event, Repetition):
                _check_own_keys(spec, event)
            if isinstance(event, Started) and not self.interrupted:
                process.give_up_at = time.monotonic() + longest_repetition_s(spec, seconds)
            self._unproven = False
            self._note_interruption(event)
            yield event
            if isinstance(event, Repetition | Skipped | Failed):
                return
        code, how = process.ending()
        if code == REFUSED and self._unproven:
            raise UserError(f"the engine refuses the plan: {process.said()}")
        raise BrokenError(Cause.CRASH, how)

    def _ready_process(self) -> EngineProcess:
        """Return a process that knows all measurements, with time to answer."""
        if self._process is None:
            self._process = EngineProcess(self._named, self._environment)
            self._unsent = list(self._specs.values())
            self._unproven = False
        process = self._process
        if self.interrupted:  # before there was a process to tell
            process.signal(signal.SIGINT)
        else:
            process.give_up_at = time.monotonic() + _START_S
        self._unproven = self._unproven or bool(self._unsent)
        if self._unsent:
            process.plan(self._unsent)
            self._unsent = []
        return process

    def _note_interruption(self, event: Event) -> None:
        cut = isinstance(event, Repetition) and event.interrupted
        before = isinstance(event, Skipped) and event.cause is Cause.INTERRUPTED
        self.interrupted = self.interrupted or cut or before

    def _end_process(self, kill: bool) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close(kill)


def _check_own_keys(spec: Spec, repetition: Repetition) -> None:
    """Raise BrokenError where evidence has keys that are neither shared nor the kind's own."""
    try:
        repetition.evidence.check_own(spec.own_evidence)
    except ValueError as error:
        raise BrokenError(Cause.PROTOCOL, f"the engine's repetition is wrong: {error}") from None


class Engines:
    """Makes repetitions by an engine for each setting of cuFile; what ``living_engine`` gives."""

    def __init__(self, named: Path | None, switch: PrefetcherSwitch, log: Path | None) -> None:
        self._named = named
        self._switch = switch
        self._log = log
        self._by_setting: dict[str, LivingEngine] = {}
        self._by_name: dict[str, LivingEngine] = {}
        self._resources = contextlib.ExitStack()
        self._interrupted = False

    @property
    def interrupted(self) -> bool:
        """A signal came: no further repetition is made."""
        return self._interrupted or any(one.interrupted for one in self._by_setting.values())

    def plan(self, specs: Sequence[Spec]) -> None:
        """Add measurements whose ids are new."""
        for spec in specs:
            self._by_name[spec.id] = self._engine(spec.cufile_setting())
            self._by_name[spec.id].plan([spec])

    def start(self) -> None:
        """Have all engines read their plans by the time of the first repetition."""
        for engine in self._by_setting.values():
            engine.start()

    def forget(self, name: str) -> None:
        """Do without a measurement from now on."""
        self._by_name.pop(name).forget(name)

    def repetition(
        self, name: str, seconds: float, fresh: bool = False
    ) -> Generator[Event, None, None]:
        """Yield the events of one repetition, as ``LivingEngine.repetition`` does."""
        if not self.interrupted:
            yield from self._by_name[name].repetition(name, seconds, fresh)

    def interrupt(self) -> None:
        """Interrupt all engines; the second time, kill them."""
        self._interrupted = True
        for engine in self._by_setting.values():
            engine.interrupt()

    def close(self) -> None:
        """Let all engines leave in order."""
        self._resources.close()

    def _engine(self, setting: str) -> LivingEngine:
        if setting not in self._by_setting:
            environment = self._environment(setting)
            engine = LivingEngine(self._named, self._switch, environment)
            self._by_setting[setting] = self._resources.enter_context(contextlib.closing(engine))
        return self._by_setting[setting]

    def _environment(self, setting: str) -> dict[str, str]:
        from tierscope.engine.cufile import environment_with, log_at

        enter = self._resources.enter_context
        found = enter(environment_with(setting)) if setting else engine_environment()
        if self._log is None:
            return found
        number = f"-{len(self._by_setting) + 1}" if self._by_setting else ""
        return found | enter(log_at(self._log.with_suffix(f".cufile{number}.log")))


@contextlib.contextmanager
def living_engine(
    named: Path | None = None,
    switch: PrefetcherSwitch | None = None,
    beside: Path | None = None,
) -> Iterator[Engines]:
    """Give engines that are started when they are needed and ended with the block.

    ``named`` is its executable, by default what ``find_engine`` finds. ``switch`` is shared by
    those of one process that take turns; without one, prefetchers are restored with the block.
    Raises UserError where they cannot be restored. Logs of cuFile go beside the file ``beside``.

    Meanwhile SIGINT and SIGTERM go to them instead of being raised in the middle of a record.
    """
    with contextlib.ExitStack() as stack:
        if switch is None:
            switch = stack.enter_context(prefetcher_switch())
        engines = stack.enter_context(contextlib.closing(Engines(named, switch, beside)))
        stack.enter_context(signals_to(engines))
        yield engines


class Interruptible(Protocol):
    """Target of an interrupting signal."""

    def interrupt(self) -> None:
        """End what is under way; called from the signal's handler."""


@contextlib.contextmanager
def signals_to(measurer: Interruptible) -> Iterator[None]:
    """Let SIGINT and SIGTERM interrupt a measurer instead of being raised anywhere.

    The block changes nothing outside of the main thread, which alone may handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        measurer.interrupt()

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def longest_repetition_s(spec: Spec, seconds: float) -> float:
    """Return seconds after which a repetition without an outcome is taken to hang."""
    return _START_S + spec.set_up_s() + _BUDGETS * seconds + _SAMPLES * spec.sampling.sample_s
