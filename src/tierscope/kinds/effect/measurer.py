"""Runs programs under their placements; a visit is one run."""

import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import cast

from tierscope.kinds.effect import gc_log
from tierscope.kinds.effect.placing import UnplaceableError, not_held
from tierscope.kinds.effect.program import ProgramError, Ran, Run
from tierscope.kinds.effect.spec import EffectSpec
from tierscope.kinds.effect.tiers import RightsError
from tierscope.kinds.plan import Spec
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.event import (
    Column,
    Distribution,
    Event,
    Evidence,
    Failed,
    Series,
    Skipped,
    Started,
    Visit,
)
from tierscope.model.histogram import Histogram, bucket_of
from tierscope.model.program import ProgramEvidence, ProgramRun


class Measurer:
    """Visits the measurements of programs."""

    def __init__(self) -> None:
        self.interrupted = False
        """A signal came: no further run is made."""
        self._specs: dict[str, EffectSpec] = {}
        self._warm: set[str] = set()
        """Commands that were run once already, so that files are cached as for further runs."""
        self._run: Run | None = None

    def plan(self, specs: Sequence[Spec]) -> None:
        """Add measurements whose ids are new."""
        self._specs |= {spec.id: cast("EffectSpec", spec) for spec in specs}

    def forget(self, name: str) -> None:
        """Do without a measurement from now on."""
        del self._specs[name]

    def visit(
        self,
        name: str,
        seconds: float,  # noqa: ARG002  a program takes the time that it takes
        fresh: bool = False,  # noqa: ARG002  each run has its own pages
    ) -> Generator[Event, None, None]:
        """Yield the events of one run; the first one of a command is made twice."""
        spec = self._specs[name]
        yield Started(id=name)
        missing = next((one for one in (spec.program, spec.client) if _is_missing(one)), None)
        if missing:
            yield Skipped(
                id=name,
                cause=Cause.TOOL,
                reason=f"{missing[0]} is not installed",
                remedy=f"install the package {spec.package}" if spec.package else "",
            )
            return
        outcome = None
        try:
            if spec.pattern.command not in self._warm:
                self._visit(spec)
                self._warm.add(spec.pattern.command)
            if not self.interrupted:
                outcome = self._visit(spec)
        except UserError as error:
            yield Skipped(id=name, cause=Cause.KERNEL, reason=str(error))
        except RightsError as error:
            yield Skipped(id=name, cause=Cause.PERMISSION, reason=str(error))
        except UnplaceableError as error:
            yield Skipped(id=name, cause=Cause.PLACEMENT, reason=str(error))
        except ProgramError as error:
            if not self.interrupted:
                yield Failed(id=name, cause=error.cause, reason=str(error))
        if outcome and not self.interrupted:
            yield outcome

    def interrupt(self) -> None:
        """End the run that is under way and make no further one; a second time, at once."""
        self.interrupted = True
        if self._run:
            self._run.interrupt()

    def close(self) -> None:
        """Nothing is held between runs."""

    def _visit(self, spec: EffectSpec) -> Visit:
        with tempfile.TemporaryDirectory(prefix="tierscope-effect-") as folder:
            scratch = Path(folder)
            environment = {**os.environ, **spec.settings.environment}
            if spec.gc_log:
                environment = gc_log.with_gc_log(environment, scratch)
            self._run = Run(spec, scratch, environment)
            try:
                ran = self._run.finish()
            finally:
                self._run = None
                saved = _saved(spec, scratch)
            pauses = _pauses(spec, scratch)
        return _visit_of(spec, ran, pauses, saved)


def _visit_of(spec: EffectSpec, ran: Ran, pauses: list[float] | None, saved: str | None) -> Visit:
    columns = list(_columns(spec, ran, pauses))
    values = {
        column.part or column.metric: value
        for column in columns
        if (value := column.values[0]) is not None
    }
    if pauses:
        values["gc_pause_max"] = max(pauses)
    pages = {str(node): size for node, size in ran.bytes_by_node.items()}
    run = ProgramRun(
        values=values,
        bytes_by_node=pages or None,
        mechanism=ran.placed.mechanism,
        weights=list(ran.placed.weights) or None,
        output=saved,
        migrated_bytes=ran.migrated,
    )
    notes = [*ran.placed.notes, *ran.notes]
    stray = not_held(ran.placed, ran.bytes_by_node, ran.threads)
    if stray and not spec.settings.tier:  # tiering is there to move it
        notes.append(stray)
    counted = [Distribution(metric="gc_pause", rows=[_histogram(pauses)])] if pauses else None
    series = Series(
        name="runs",
        starts=[0.0],
        durations=[ran.seconds],
        columns=columns,
        distributions=counted,
    )
    return Visit(
        id=spec.id,
        seconds=ran.seconds,
        fresh=True,
        interrupted=False,
        series=[series],
        evidence=Evidence(program=ProgramEvidence(runs=[run]), notes=notes or None),
        began_s=ran.began_s,
    )


def _columns(spec: EffectSpec, ran: Ran, pauses: list[float] | None) -> Iterator[Column]:
    """Yield a column for each figure, the headline first. Of a program with a client, the time
    until the client ended is none."""
    if spec.headline() == "run_time":
        yield Column(metric="run_time", values=[ran.seconds * 1e9])
    for one in spec.reported:
        found = re.findall(one.pattern, ran.output, re.MULTILINE)
        if not found:
            raise ProgramError(
                Cause.PROGRAM, f"nothing that it printed is '{one.name}', '{one.pattern}'"
            )
        yield Column(
            metric=one.metric, part=one.name, values=[_number(one.name, found[-1], one.factor)]
        )
    if pauses is not None:
        yield Column(metric="gc_time", values=[sum(pauses) or None])


def _number(name: str, found: str | tuple[str, ...], factor: float) -> float:
    text = found if isinstance(found, str) else found[0]
    try:
        value = float(text.replace(",", "")) * factor
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1e30:
        raise ProgramError(Cause.PROGRAM, f"what it printed as '{name}' is '{text}', no number")
    return value


def _pauses(spec: EffectSpec, scratch: Path) -> list[float] | None:
    """Return the collector's pauses in ns; None where nobody asked."""
    if not spec.gc_log:
        return None
    log = gc_log.logs_in(scratch)
    if not log:
        raise ProgramError(
            Cause.PROGRAM, "it wrote no log of a garbage collector: it is no JVM since JDK 9"
        )
    return gc_log.pauses(log)


def _histogram(pauses: Sequence[float]) -> Histogram:
    buckets = Counter(bucket_of(round(pause)) for pause in pauses)
    return [number for bucket in sorted(buckets) for number in (bucket, buckets[bucket])]


def _saved(spec: EffectSpec, scratch: Path) -> str | None:
    """Keep what was printed where that was asked for; return the files' name without suffix."""
    if not spec.save:
        return None
    number = 1
    while Path(spec.save, f"{spec.id}.{number}.program.out").exists():
        number += 1
    name = f"{spec.save}/{spec.id}.{number}"
    for path in (*scratch.glob("*.out"), *scratch.glob("*.err"), *scratch.glob("gc-*.log")):
        shutil.copyfile(path, f"{name}.{path.name}")
    return name


def _is_missing(words: Sequence[str]) -> bool:
    return bool(words) and shutil.which(words[0]) is None
