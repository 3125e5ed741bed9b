"""gdsio's job files (``[global]``, ``[job...]``, KEY=VALUE, ``$ENV``) and its command line."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tierscope.model.errors import UserError, did_you_mean
from tierscope.peers.drop_in import (
    Given,
    Values,
    parse_flags,
    read_job_text,
    required_way,
    variable,
)
from tierscope.peers.gdsio.options import (
    BY_FLAG,
    BY_KEY,
    JobValues,
    Option,
    Request,
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
    """Parse a job file's text; ``name`` stands for it in errors."""
    reader = _Reader(name, environment)
    for number, line in enumerate(text.split("\n"), start=1):
        reader.take(number, line.strip())
    return reader.request()


class _Reader:
    """Takes lines one by one."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self._name = name
        self._environment = environment
        self._globals = Values()
        self._jobs: list[JobValues] = []
        self._lines: dict[str, int] = {}
        """First line of each section."""
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
        expanded = _VARIABLE.sub(
            lambda found: variable(found[1] or found[2], where, self._environment), value
        )
        if not expanded:
            raise UserError(f"{where}: the value is missing")
        return parsed(option, expanded, where)


_SHORT = "hv" + "".join(f"{flag}:" if option.metavar else flag for flag, option in BY_FLAG.items())
_LONG = ("help", "version", "json", "overwrite", "require=")
_OWN = {"-h": "help", "-v": "version"} | {f"--{one.rstrip('=')}": one.rstrip("=") for one in _LONG}
"""Fields of ``Line`` by tierscope's own options."""
_TARGETS = ("file", "directory")
_HELP = "see 'tierscope gdsio --help'"


@dataclass
class Line:
    """A parsed command line: what to measure, and tierscope's own options."""

    request: Request | None = None
    """None where only help or the version was asked for."""
    help: bool = False
    version: bool = False
    json: bool = False
    overwrite: bool = False
    require: str | None = None


def parse_line(arguments: Sequence[str]) -> Line:
    """Parse gdsio's arguments; UserError names the flag and what it allows."""
    pairs, rest = parse_flags(arguments, _SHORT, _LONG, "gdsio", _needs)
    line, found = Line(), []
    for name, text in pairs:
        own = _OWN.get(name)
        if own is None:
            option = BY_FLAG[name[1:]]
            given = parsed(option, text, name) if option.metavar else Given(True, name)
            found.append((option, given))
        elif own == "require":
            line.require = required_way(text)
        else:
            setattr(line, own, True)
    if not (line.help or line.version):
        line.request = _request(found, rest)
    return line


def _needs(name: str) -> str:
    option = BY_FLAG.get(name)
    return f"{option.metavar}, {option.what.partition(';')[0]}" if option else "a value"


def _request(found: list[tuple[Option, Given]], rest: list[str]) -> Request:
    if rest:
        return _of_job_file(found, rest)
    jobs = _groups([pair for pair in found if pair[0].of_job])
    values = Values({option.name: given for option, given in found if not option.of_job})
    return Request(values, jobs)


def _of_job_file(found: list[tuple[Option, Given]], rest: list[str]) -> Request:
    if len(rest) > 1:
        raise UserError(
            f"unexpected arguments {', '.join(rest)}: one job file, or flags; each group of flags "
            "begins with -f FILE or -D DIR"
        )
    if found:
        flags = " ".join(given.place for _option, given in found)
        raise UserError(
            f"'{rest[0]}' stands beside {flags}: a job file is given alone, and flags without one"
        )
    return read_job_file(rest[0])


def _groups(found: list[tuple[Option, Given]]) -> list[JobValues]:
    """Divide the flags of jobs: each belongs to the ``-f`` or ``-D`` before it.

    Where all of them stand before the last ``-f`` or ``-D``, each belongs to the one behind it.
    """
    starts = [number for number, (option, _given) in enumerate(found) if option.name in _TARGETS]
    if not starts:
        raise UserError(f"what to read or write is missing: -f FILE, -D DIR or a job file; {_HELP}")
    if starts[0] == 0 or len(starts) == 1:
        begins = [0, *starts[1:], len(found)]
    elif starts[-1] == len(found) - 1:
        begins = [0, *(start + 1 for start in starts)]
    else:
        stray = found[0][1].place
        raise UserError(
            f"{stray} stands before the first -f or -D, and others behind the last: begin each "
            "group with its -f or -D"
        )
    spans = enumerate(pairwise(begins), start=1)
    return [_job(number, found[one:end]) for number, (one, end) in spans]


def _job(number: int, found: list[tuple[Option, Given]]) -> JobValues:
    target = next(given for option, given in found if option.name in _TARGETS)
    job = JobValues(f"job{number}", f"{target.place} {target.value}")
    for option, given in found:
        if option.name in job.values:
            raise UserError(f"{given.place} is given twice for {job.place}")
        job.values[option.name] = given
    return job
