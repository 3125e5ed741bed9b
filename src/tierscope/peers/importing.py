"""Files to import: content, recognition of the program, errors with a place, and the run."""

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, NoReturn

from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError
from tierscope.model.metric import METRICS
from tierscope.model.run import (
    Case,
    Figure,
    Footer,
    Header,
    Imported,
    ImportedFile,
    Measurement,
    Run,
)
from tierscope.peers.registry import IMPORTERS, PEERS
from tierscope.runs.record import version

_MAX = 1e30
"""Larger than any figure, in any unit."""
UNKNOWN = "unknown"
_LONGEST = 48
"""Characters of an id before its number."""


@dataclass(frozen=True)
class Source:
    """A file: its name for errors, and its content."""

    name: str
    content: bytes

    @property
    def file(self) -> ImportedFile:
        """Name and digest, which the run keeps."""
        return ImportedFile(name=self.name, sha256=hashlib.sha256(self.content).hexdigest())

    @cached_property
    def text(self) -> str:
        """The content as text; invalid UTF-8 and NUL become the replacement character."""
        text = self.content.decode("utf-8-sig", "replace")
        return text.replace("\0", "\ufffd")  # the csv module of Python 3.10 takes no NUL

    @cached_property
    def json(self) -> Any:
        """The content as JSON; raises UserError, with the line, for other text."""
        try:
            return json.loads(self.text, parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            self.fail(f"not JSON: {error.msg}", f":{error.lineno}")
        except RecursionError:
            self.fail("the JSON is nested too deeply")
        except ValueError as error:
            self.fail(str(error))

    def fail(self, problem: str, where: str = "") -> NoReturn:
        """Raise UserError with the file's name and the place in it."""
        raise UserError(f"{self.name}{where}: {problem}")

    @property
    def begins_as_json(self) -> bool:
        """Whether it may be an object or a list of JSON."""
        return self.text.lstrip().startswith(("[", "{"))

    @property
    def document(self) -> Any:
        """The content as JSON; None for other text."""
        try:
            return self.json if self.begins_as_json else None
        except UserError:
            return None

    @cached_property
    def format(self) -> str | None:
        """The peer that recognises the file; None where none does."""
        known = (name for name in IMPORTERS if PEERS[name].module("importer").recognises(self))
        return next(known, None)

    def check(self, wanted: str) -> None:
        """Raise UserError where it is another program's file."""
        if not self.content.strip():
            self.fail("the file is empty")
        if self.format is not None and self.format != wanted:
            files = IMPORTERS[self.format].files
            self.fail(f"this is {files}; tierscope import {self.format} {self.name}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


@dataclass(frozen=True)
class Entry:
    """An object of a JSON file and its place there."""

    source: Source
    values: dict[str, Any]
    where: str
    """``[3].benchmarks[0].results``."""

    @classmethod
    def of(cls, source: Source, value: Any, where: str) -> "Entry":
        """Make one; raises UserError where the value is not an object."""
        if not isinstance(value, dict):
            source.fail("not an object", f": {where}")
        return cls(source, value, where)

    def fail(self, key: str, problem: str) -> NoReturn:
        """Raise UserError for one of its keys."""
        self.source.fail(problem, f": {self.where}.{key}")

    def below(self, key: str) -> "Entry":
        """Return the object under a key."""
        if key not in self.values:
            self.fail(key, "missing")
        return Entry.of(self.source, self.values[key], f"{self.where}.{key}")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            self.fail(key, "missing" if value is None else "not a text")
        return value

    def number(self, key: str) -> float:
        """Return a number above 0, as every figure is."""
        value = self.values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.fail(key, "missing" if value is None else "not a number")
        if not 1 / _MAX < value < _MAX or not math.isfinite(value):
            self.fail(key, f"{value} is not a number above 0")
        return float(value)

    def count(self, key: str, default: int | None = None) -> int:
        """Return a count or a number of bytes."""
        value = self.values.get(key, default)
        if type(value) is not int or not 0 <= value < 1 << 63:
            self.fail(key, "missing" if value is None else "not a whole number, 0 or more")
        return value

    def counts(self, key: str) -> list[int]:
        """Return a list of numbers; empty where it is absent."""
        values = self.values.get(key, [])
        plain = isinstance(values, list) and all(type(one) is int for one in values)
        if not plain or not all(0 <= one < 1 << 16 for one in values):
            self.fail(key, "not a list of numbers from 0 to 65535")
        return list(values)


@dataclass
class Found:
    """The measurements that an importer found in its files."""

    program: str
    """The program that measured, with its version where the files name it."""
    host: str = UNKNOWN
    measurements: list[Measurement] = field(default_factory=list)
    cases: list[Case] | None = None

    def add(
        self,
        kind: str,
        name: str,
        path: tuple[str, str],
        pattern: dict[str, Any],
        figure: tuple[str, float],
        figures: Sequence[tuple[str, float]] = (),
        cpus: Sequence[int] = (),
    ) -> str:
        """Add a measurement and return its id, which begins with ``name``.

        ``path`` is initiator and target. Figures are metric and value in the metric's unit.
        """
        words = re.sub(r"[^A-Za-z0-9._:-]+", "-", name)[:_LONGEST].strip("-") or kind
        measurement = Measurement(
            id=f"{words}.{len(self.measurements) + 1}",
            kind=kind,
            initiator=path[0],
            target=path[1],
            cpus=list(cpus),
            pattern={key: value for key, value in pattern.items() if value is not None},
            status="imported",
            figures=[
                Figure(
                    metric=metric,
                    unit=METRICS[metric].unit,
                    estimate=value,
                    no_interval="imported",
                    compared=KINDS[kind].spec.compares(metric, figure[0]),
                )
                for metric, value in (figure, *figures)
            ],
        )
        self.measurements.append(measurement)
        return measurement.id


def run_of(
    form: str, found: Found, sources: Sequence[Source], command: list[str], label: str
) -> Run:
    """Return the run; of its machine only the name of the host may be known."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    header = Header(
        name=label,
        started=now,
        host=found.host,
        command=command,
        tierscope=version(),
        git_commit="",
        emulated=False,
        engine={},
        machine={
            "product": "",
            "cpu": "unknown CPU",
            "hypervisor": "",
            "packages": 0,
            "cores": 0,
            "cpus": 0,
            "usable_cpus": [],
            "nodes": [],
            "caches": [],
            "gpus": [],
        },
        environment={},
        plan={"measurements": []},
        cases=found.cases,
        imported=Imported(
            format=form, program=found.program, files=[source.file for source in sources]
        ),
    )
    footer = Footer(
        finished=now,
        interrupted=False,
        measured=0,
        skipped=0,
        failed=0,
        imported=len(found.measurements),
    )
    return Run(header=header, measurements=found.measurements, footer=footer)
