"""A file to import: its content, which program wrote it, and errors that say where they are."""

import csv
import hashlib
import json
import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NoReturn

from tierscope.model.errors import UserError
from tierscope.model.imported import ImportedFile

Format = Literal["cxlbench", "mess", "mlc"]
CALLED: dict[Format, str] = {
    "cxlbench": "CXL-Bench's JSON",
    "mess": "Mess's curves",
    "mlc": "MLC's text",
}
_MAX = 1e30
"""Above any figure there is, in any unit."""
_MLC = re.compile(
    r"Intel\(R\) Memory Latency Checker|^Measuring \w|^\s*Numa node|^Each iteration took|^Inject\s"
    r"|^ALL Reads|-> ?L2 HIT",
    re.MULTILINE,
)
_POINT = re.compile(r"\s*[0-9][0-9.eE+-]*[\s,]+[0-9][0-9.eE+-]*\s*")
BANDWIDTH, LATENCY = "bandwidth_mean", "latency_mean"
"""Columns of every CSV of Mess."""


@dataclass(frozen=True)
class Source:
    """A file's name, as errors call it, and its content."""

    name: str
    content: bytes

    @property
    def file(self) -> ImportedFile:
        """What a run keeps of it."""
        return ImportedFile(name=self.name, sha256=hashlib.sha256(self.content).hexdigest())

    @cached_property
    def text(self) -> str:
        """The content as text; what is no UTF-8, and NUL, becomes the replacement character."""
        text = self.content.decode("utf-8-sig", "replace")
        return text.replace("\0", "\ufffd")  # the csv module of Python 3.10 takes no NUL

    @cached_property
    def json(self) -> Any:
        """The content as JSON; raises UserError, with the line, where it is none."""
        try:
            return json.loads(self.text, parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            self.fail(f"not JSON: {error.msg}", f":{error.lineno}")
        except RecursionError:
            self.fail("not JSON that any program wrote: it is nested too deeply")
        except ValueError as error:
            self.fail(str(error))

    def fail(self, problem: str, where: str = "") -> NoReturn:
        """Raise UserError with the file's name and the place in it."""
        raise UserError(f"{self.name}{where}: {problem}")

    @cached_property
    def format(self) -> Format | None:
        """Whose file it is, by its beginning; None where nobody's."""
        start = self.text.lstrip()[:1]
        if start in ("[", "{"):
            try:
                found = self.json
            except UserError:
                return None
            if isinstance(found, list):
                return "cxlbench" if found and _has(found[0], "bm_name") else None
            return "mess" if _is_curves(found) else None
        if _MLC.search(self.text):
            return "mlc"
        lines = [line for line in self.text.splitlines()[:100] if line.strip()]
        lines = [line for line in lines if not line.lstrip().startswith("#")]
        if lines and {BANDWIDTH, LATENCY} <= _columns(lines[0]):
            return "mess"
        return "mess" if lines and all(map(_POINT.fullmatch, lines[:2])) else None

    def check(self, wanted: Format) -> None:
        """Raise UserError where it is another program's file."""
        if not self.content.strip():
            self.fail("the file is empty")
        if self.format is not None and self.format != wanted:
            self.fail(f"this is {CALLED[self.format]}; tierscope import {self.format} {self.name}")


def _columns(heading: str) -> set[str]:
    try:
        return set(next(csv.reader([heading]), []))
    except csv.Error:
        return set()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no figure")


def _has(value: Any, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _is_curves(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(key.isdigit() for key in value)


@dataclass(frozen=True)
class Entry:
    """An object of a JSON file and its place there."""

    source: Source
    values: dict[str, Any]
    where: str
    """``[3].benchmarks[0].results``."""

    @classmethod
    def of(cls, source: Source, value: Any, where: str) -> "Entry":
        """Make one; raises UserError where the value is no object."""
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
            self.fail(key, f"{value} is no figure above 0")
        return float(value)

    def count(self, key: str, default: int | None = None) -> int:
        """Return a number of things or bytes."""
        value = self.values.get(key, default)
        if type(value) is not int or not 0 <= value < 1 << 63:
            self.fail(key, "missing" if value is None else "not a number of things or bytes")
        return value

    def counts(self, key: str) -> list[int]:
        """Return a list of numbers; empty where it is absent."""
        values = self.values.get(key, [])
        plain = isinstance(values, list) and all(type(one) is int for one in values)
        if not plain or not all(0 <= one < 1 << 16 for one in values):
            self.fail(key, "not a list of numbers from 0 to 65535")
        return list(values)
