"""Hardware counters of memory traffic, which the engine opens and reads: one line for a line."""

import contextlib
import os
import select
import subprocess
from typing import TypeVar

from pydantic import ValidationError

from tierscope.engine.process import find_engine
from tierscope.model.base import Model
from tierscope.model.errors import UserError

_ANSWER_S = 5.0
_EXIT_S = 2.0
_LONGEST_LINE = 1 << 24
_Answer = TypeVar("_Answer", bound=Model)


class CounterSource(Model):
    """Counters of one kind, and whether they can be read here."""

    name: str
    """"memory controllers", "CXL devices", "resctrl"."""
    available: bool
    detail: str
    reason: str
    remedy: str


class TrafficCount(Model):
    """Value of one counter so far."""

    source: str
    """The name of its ``CounterSource``."""
    counter: str
    """``uncore_imc_3/cas_count_read``, ``/batch/mon_L3_00/mbm_total_bytes``."""
    cpu: int
    """One that is near to it; -1 where nobody knows."""
    bytes: float
    seconds: float
    """The counter's own time."""


class _Sources(Model):
    sources: list[CounterSource]


class _Counts(Model):
    counts: list[TrafficCount]


class TrafficProcess:
    """A running ``tierscope-engine traffic``."""

    def __init__(self) -> None:
        """Start it; raises UserError where there is no engine or it does not answer."""
        engine = find_engine()
        try:
            self._process = subprocess.Popen(
                [engine, "traffic"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C ends it through us only
            )
        except OSError as error:
            raise UserError(f"{engine} does not start: {error.strerror}") from None
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        self.sources = self._answer(_Sources).sources
        """All kinds of counters that it looked for."""

    def counts(self) -> list[TrafficCount]:
        """Return what the counters counted so far; raises UserError where it does not answer."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            os.write(self._process.stdin.fileno(), b"\n")
        return self._answer(_Counts).counts

    def close(self) -> None:
        """End it."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _answer(self, form: type[_Answer]) -> _Answer:
        line = b""
        while not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
            ready, _, _ = select.select([self._output], [], [], _ANSWER_S)
            part = os.read(self._output, 1 << 16) if ready else b""
            if not part:
                why = "ended" if ready else f"did not answer in {_ANSWER_S:g} s"
                raise UserError(f"'{find_engine()} traffic' {why}; rebuild it with 'make build'")
            line += part
        try:
            return form.model_validate_json(line)
        except ValidationError:
            raise UserError(
                f"'{find_engine()} traffic' does not answer like an engine of this tierscope; "
                "rebuild it with 'make build'"
            ) from None
