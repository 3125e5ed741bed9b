"""fio's command line: job files, or jobs that each begin with ``--name``."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tierscope.model.errors import UserError
from tierscope.recipes.drop_in.given import Given
from tierscope.recipes.drop_in.job_text import job_text, read_job_text
from tierscope.recipes.fio.job_file import chosen, parse_jobs, set_option
from tierscope.recipes.fio.options import Section, is_bare

FORMATS = ("normal", "json", "json+")
WAYS = ("p2p", "nvfs", "gpudirect", "odirect")
_HELP = "see 'tierscope fio --help'"
_SWITCHES = ("help", "version", "parse-only", "showcmd", "readonly", "overwrite-others")
_VALUES = ("output", "output-format", "section", "require")
_SHORT = {"h": "help", "v": "version", "o": "output"}
_NOTHING = {
    "eta": "no estimate of the time left is shown",
    "eta-newline": "no estimate of the time left is shown",
    "eta-interval": "no estimate of the time left is shown",
    "max-jobs": "256 threads run together at most",
    "alloc-size": "memory is taken as it is needed",
}
_TERSE = "terse output has mostly fields that are not measured; use json"
_REFUSED = {
    "minimal": _TERSE, "m": _TERSE, "append-terse": _TERSE, "terse-version": _TERSE,
    "status-interval": "results are printed at the end; 'tierscope show' reads the run meanwhile",
    "client": "other hosts are not told to measure; run tierscope there",
    "server": "it takes no requests of other hosts",
    "daemonize": "run it by your shell's own means",
    "bandwidth-log": "no logs are written; the run file has all rows",
    "latency-log": "no logs are written; the run file has all rows",
    "idle-prof": "the idle time of CPUs is not measured",
    "debug": "--debug is fio's own",
    "profile": "there are no profiles of fio's",
    "trigger": "foreign commands are not run",
    "trigger-file": "foreign commands are not run",
    "cmdhelp": f"{_HELP}",
    "enghelp": f"{_HELP}",
}  # fmt: skip


@dataclass
class Line:
    """A parsed command line."""

    jobs: list[Section] = field(default_factory=list)
    common: dict[str, Given] = field(default_factory=dict)
    """Options of [global], or before the first ``--name``."""
    switches: set[str] = field(default_factory=set)
    formats: tuple[str, ...] = ("normal",)
    output: str = ""
    """A file; empty: standard output."""
    require: str = ""
    remarks: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)


def parse_line(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Line:
    """Parse fio's arguments; UserError names what is wrong, and where."""
    line = Line()
    words = iter(arguments)
    rest: list[str] = []
    pending = next(words, None)
    while pending is not None:
        word, pending = pending, next(words, None)
        if word == "--":
            rest += [*([] if pending is None else [pending]), *words]
            break
        if word == "-" or not word.startswith("-"):
            rest.append(word)
            continue
        key, sign, value = word.lstrip("-").partition("=")
        text: str | None = value if sign else None
        if text is None and _needs_value(key) and pending is not None and pending[:2] != "--":
            text, pending = pending, next(words, None)
        _take(line, word, key, text, environment)
    line.files = rest
    if not line.switches & {"help", "version"}:
        _finish(line, environment)
    return line


def _needs_value(key: str) -> bool:
    name = _SHORT.get(key, key)
    return name not in _SWITCHES and name not in _REFUSED and not is_bare(key)


def _take(
    line: Line, word: str, key: str, text: str | None, environment: Mapping[str, str]
) -> None:
    name = _SHORT.get(key, key)
    if name in _REFUSED:
        raise UserError(f"{word}: {_REFUSED[name]}")
    if name in _NOTHING:
        line.remarks.append(f"--{name} changes nothing: {_NOTHING[name]}")
    elif name in _SWITCHES:
        line.switches.add(name)
    elif name in _VALUES:
        if not text:
            raise UserError(f"--{name} needs a value; {_HELP}")
        _own[name](line, text)
    elif name == "overwrite" and text is None:
        raise UserError(
            "--overwrite is fio's own and needs a value; --overwrite-others lets jobs write to "
            "files that tierscope did not make"
        )
    elif name == "name":
        if not text:
            raise UserError("--name needs the name of a job")
        line.jobs.append(Section(text, f"--name={text}", dict(line.common)))
    else:
        place = line.jobs[-1].place if line.jobs else "command line"
        options = line.jobs[-1].own if line.jobs else line.common
        set_option(options, name, text, place, environment)


def _output(line: Line, text: str) -> None:
    line.output = text


def _formats(line: Line, text: str) -> None:
    line.formats = tuple(dict.fromkeys(text.split(",")))
    for one in line.formats:
        if one == "terse":
            raise UserError(f"--output-format=terse: {_TERSE}")
        if one not in FORMATS:
            raise UserError(f"--output-format: '{one}' is not one of {', '.join(FORMATS)}")


def _section(line: Line, text: str) -> None:
    line.sections.append(text)


def _require(line: Line, text: str) -> None:
    if text not in WAYS:
        raise UserError(f"--require: '{text}' is not one of {', '.join(WAYS)}")
    line.require = text


_own: dict[str, Callable[[Line, str], None]] = {
    "output": _output, "output-format": _formats, "section": _section, "require": _require,
}  # fmt: skip


def _finish(line: Line, environment: Mapping[str, str]) -> None:
    """Read job files, and check that there are jobs."""
    if line.files and (line.jobs or line.common):
        given = "jobs" if line.jobs else "options of jobs"
        raise UserError(
            f"'{line.files[0]}' stands beside {given} on the command line; give job files alone"
        )
    for number, name in enumerate(line.files):
        jobs, common = parse_jobs(_text(name), "stdin" if name == "-" else name, environment)
        line.common |= common
        if number:  # jobs of a further file begin when all before them have ended
            jobs[0].own.setdefault("stonewall", Given("1", jobs[0].place))
        line.jobs += jobs
    if not line.jobs:
        raise UserError(f"there is no job: name a job file, or begin one by --name=JOB; {_HELP}")
    line.jobs = chosen(line.jobs, line.sections)


def _text(name: str) -> str:
    return job_text(sys.stdin.buffer, "stdin") if name == "-" else read_job_text(name)


def shown(line: Line) -> Iterator[str]:
    """Yield the words of a command line that says the same (``--showcmd``)."""
    yield "fio"
    for job in line.jobs:
        yield f"--name={job.name}"
        for name, given in job.texts.items():
            yield f"--{name}={given.value}"
