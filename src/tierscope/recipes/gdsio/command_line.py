"""gdsio's command line: flags as getopt reads them, in groups of one ``-f`` or ``-D`` each."""

import getopt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tierscope.model.errors import UserError, did_you_mean
from tierscope.recipes.drop_in.given import Given
from tierscope.recipes.gdsio.job_file import read_job_file
from tierscope.recipes.gdsio.options import (
    BY_FLAG,
    JobValues,
    Option,
    Request,
    parsed,
)

WAYS = ("p2p", "nvfs", "gpudirect", "odirect")
_SHORT = "hv" + "".join(f"{flag}:" if option.metavar else flag for flag, option in BY_FLAG.items())
_LONG = ("help", "version", "json", "overwrite", "require=")
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
    try:
        pairs, rest = getopt.gnu_getopt([*arguments], _SHORT, _LONG)
    except getopt.GetoptError as error:
        raise UserError(_said(error)) from None
    line, found = Line(), []
    for name, text in pairs:
        if not _own(line, name, text):
            option = BY_FLAG[name[1:]]
            found.append((option, _value(option, name, text)))
    if not (line.help or line.version):
        line.request = _request(found, rest)
    return line


def _own(line: Line, name: str, text: str) -> bool:
    """Take note of one of tierscope's own options; return whether it is one."""
    if name in ("-h", "--help"):
        line.help = True
    elif name in ("-v", "--version"):
        line.version = True
    elif name == "--json":
        line.json = True
    elif name == "--overwrite":
        line.overwrite = True
    elif name == "--require":
        if text not in WAYS:
            raise UserError(f"--require: '{text}' is not one of {', '.join(WAYS)}")
        line.require = text
    else:
        return False
    return True


def _value(option: Option, name: str, text: str) -> Given:
    return parsed(option, text, name) if option.metavar else Given(True, name)


def _said(error: getopt.GetoptError) -> str:
    """Say in our words what getopt did not understand."""
    name = f"-{error.opt}" if len(error.opt) == 1 else f"--{error.opt}"
    if "requires argument" in error.msg:
        option = BY_FLAG.get(error.opt)
        kind = f" {option.metavar}, {option.what.partition(';')[0]}" if option else " a value"
        return f"{name} needs{kind}"
    if "must not have an argument" in error.msg:
        return f"{name} takes no value"
    if "not a unique prefix" in error.msg:
        return f"{name} is short for several options; {_HELP}"
    return f"unknown option {name}{did_you_mean(name, tuple(f'--{one}' for one in _LONG))}; {_HELP}"


def _request(found: list[tuple[Option, Given]], rest: list[str]) -> Request:
    if rest:
        return _of_job_file(found, rest)
    jobs = _groups([pair for pair in found if pair[0].of_job])
    values = {option.name: given for option, given in found if not option.of_job}
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
