"""gdsio's job files: ``[global]``, ``[job...]``, KEY=VALUE, ``#`` comments, ``$ENV``."""

import os
import re
from collections.abc import Mapping

from tierscope.model.errors import UserError, did_you_mean
from tierscope.recipes.drop_in.given import Given
from tierscope.recipes.drop_in.job_text import read_job_text
from tierscope.recipes.gdsio.options import (
    BY_KEY,
    JobValues,
    Option,
    Request,
    Values,
    parsed,
)

_SECTION = re.compile(r"\[([^\[\]]*)\]")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
GLOBAL_KEYS = tuple(
    key for key, option in BY_KEY.items() if not option.of_job or option.job_overrides
)
JOB_KEYS = tuple(key for key, option in BY_KEY.items() if option.of_job or option.job_overrides)


def read_job_file(name: str, environment: Mapping[str, str] = os.environ) -> Request:
    """Read a job file; UserError names file, line and key."""
    return parse_jobs(read_job_text(name), name, environment)


def parse_jobs(text: str, name: str, environment: Mapping[str, str]) -> Request:
    """Parse a job file's text; ``name`` is what errors call it."""
    reader = _Reader(name, environment)
    for number, line in enumerate(text.split("\n"), start=1):
        reader.take(number, line.strip())
    return reader.request()


class _Reader:
    """Takes lines one by one."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self._name = name
        self._environment = environment
        self._globals: Values = {}
        self._jobs: list[JobValues] = []
        self._lines: dict[str, int] = {}
        """Where each section begins."""
        self._section: JobValues | None = None
        """The one that is being read; its name is ``global`` or a job's."""

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if not line or line.startswith("#"):
            return
        place = f"{self._name}:{number}"
        section = _SECTION.fullmatch(line)
        if section:
            self._begin(section[1].strip(), number, place)
            return
        key, sign, value = (part.strip() for part in line.partition("="))
        if not sign:
            raise UserError(f"{place}: '{line}' is neither [SECTION] nor KEY=VALUE nor # comment")
        if self._section is None:
            raise UserError(f"{place}: '{key}' stands before the first section, [global] or [job1]")
        self._set(self._section, key, value, place)

    def request(self) -> Request:
        """Return what was read, once there is no further line."""
        if not self._jobs:
            raise UserError(f"{self._name}: there is no job; a job begins with [job1]")
        return Request(self._globals, self._jobs)

    def _begin(self, section: str, number: int, place: str) -> None:
        if section != "global" and not section.startswith("job"):
            nearest = did_you_mean(section, ("global", "job1"))
            raise UserError(
                f"{place}: section [{section}] is neither [global] nor [job...]{nearest}"
            )
        if section in self._lines:
            raise UserError(
                f"{place}: section [{section}] begins on line {self._lines[section]} already"
            )
        self._lines[section] = number
        self._section = JobValues(section, place)
        if section == "global":
            self._section.values = self._globals
        else:
            self._jobs.append(self._section)

    def _set(self, section: JobValues, key: str, value: str, place: str) -> None:
        allowed = GLOBAL_KEYS if section.name == "global" else JOB_KEYS
        option = BY_KEY.get(key)
        if option is None:
            raise UserError(
                f"{place}: unknown key '{key}'{did_you_mean(key, tuple(BY_KEY))}; "
                f"[{section.name}] takes {', '.join(allowed)}"
            )
        if key not in allowed:
            right = "a [job...] section" if option.of_job else "[global]"
            raise UserError(f"{place}: '{key}' belongs in {right}, not in [{section.name}]")
        before = section.values.get(option.name)
        if before is not None and before.place.endswith(f": {key}"):
            raise UserError(f"{place}: '{key}' was given before, at {before.place}")
        section.values[option.name] = self._value(option, key, value, place)

    def _value(self, option: Option, key: str, value: str, place: str) -> Given:
        where = f"{place}: {key}"
        expanded = _VARIABLE.sub(lambda found: self._variable(found[1] or found[2], where), value)
        if not expanded:
            raise UserError(f"{where}: the value is missing")
        return parsed(option, expanded, where)

    def _variable(self, variable: str, where: str) -> str:
        found = self._environment.get(variable)
        if found is None:
            raise UserError(f"{where}: the environment has no variable '{variable}'")
        return found
