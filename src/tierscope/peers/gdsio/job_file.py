"""gdsio's command line and its job files (``[global]``, a section a job, KEY=VALUE, ``$ENV``)."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tierscope.model.errors import UserError, did_you_mean
from tierscope.peers.drop_in import (
    REQUIRE_ROW,
    Given,
    Values,
    long_options,
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
_TARGETS = ("file", "directory")
_HELP = "see 'tierscope gdsio --help'"
OWN = (
    ("-h, --help", "print this"),
    ("-v, --version", "print the version"),
    ("--overwrite", "files that are not tierscope's may be overwritten"),
    REQUIRE_ROW,
    ("--json", "one JSON document in place of the result line"),
)
"""Options of tierscope's own, for help."""
_OWN = long_options(OWN)
_SHORT = "hv" + "".join(f"{flag}:" if option.metavar else flag for flag, option in BY_FLAG.items())
GLOBAL_KEYS = tuple(
    key for key, option in BY_KEY.items() if not option.of_job or option.job_overrides
)
JOB_KEYS = tuple(key for key, option in BY_KEY.items() if option.of_job or option.job_overrides)


def read_job_file(name: str, environment: Mapping[str, str] = os.environ) -> Request:
    """Read a job file; UserError names file, line and key."""
    return parse_jobs(read_job_text(name), name, environment)


def parse_jobs(text: str, name: str, environment: Mapping[str, str]) -> Request:
    """Parse a job file's text; ``name`` stands for it in errors."""
    sections: dict[str, JobValues] = {}
    section: JobValues | None = None
    for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
        if not line or line.startswith("#"):
            continue
        place = f"{name}:{number}"
        heading = _SECTION.fullmatch(line)
        if heading:
            section = JobValues(heading[1].strip(), place)
            _check_section(section, sections)
            sections[section.name] = section
            continue
        key, sign, value = (part.strip() for part in line.partition("="))
        if not sign:
            raise UserError(f"{place}: '{line}' is neither [SECTION] nor KEY=VALUE nor # comment")
        if section is None:
            raise UserError(f"{place}: '{key}' is outside any section such as [global]")
        _set(section, key, value, place, environment)
    common = sections.pop("global", JobValues("global", name))
    if not sections:
        raise UserError(f"{name}: no job found; a job begins with [job1]")
    return Request(common.values, list(sections.values()))


def _check_section(section: JobValues, before: Mapping[str, JobValues]) -> None:
    name = section.name
    if not name:
        raise UserError(f"{section.place}: the section has no name; [global], or a job's")
    if name in before:
        raise UserError(f"{section.place}: section [{name}] begins at {before[name].place} already")


def _set(
    section: JobValues, key: str, value: str, place: str, environment: Mapping[str, str]
) -> None:
    """Add a value to a section."""
    allowed = GLOBAL_KEYS if section.name == "global" else JOB_KEYS
    option, where = BY_KEY.get(key), f"{place}: {key}"
    if option is None:
        raise UserError(
            f"{place}: unknown key '{key}'{did_you_mean(key, tuple(BY_KEY))}; "
            f"[{section.name}] takes {', '.join(allowed)}"
        )
    if key not in allowed:
        right = "a job's section" if option.of_job else "[global]"
        raise UserError(f"{place}: '{key}' belongs in {right}, not in [{section.name}]")
    before = section.values.get(option.name)
    if before is not None:
        raise UserError(f"{place}: '{key}' was given before, at {before.place}")
    expanded = _VARIABLE.sub(
        lambda found: variable(found[1] or found[2], where, environment), value
    )
    if not expanded:
        raise UserError(f"{where}: the value is missing")
    section.values[option.name] = parsed(option, expanded, where)


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
    pairs, rest = parse_flags(arguments, _SHORT, [*_OWN.values()], "gdsio", _needs)
    line, found = Line(), []
    for name, text in pairs:
        own = _OWN.get(name.lstrip("-"))
        if own is None:
            option = BY_FLAG[name[1:]]
            given = parsed(option, text, name) if option.metavar else Given(True, name)
            found.append((option, given))
        elif own == "require=":
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
            f"'{rest[0]}' is a job file, but {flags} is given, too; give either a job file or flags"
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
            f"{stray} is before the first -f or -D, and other flags are behind the last: begin "
            "each group with its -f or -D"
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
