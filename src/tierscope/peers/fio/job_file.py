"""fio's job files (sections, ``KEY=VALUE``, comments, ``${NAME}``) and its command line."""

import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tierscope.model.errors import UserError
from tierscope.peers.drop_in import (
    REQUIRE_ROW,
    Given,
    errors_at,
    job_text,
    long_options,
    read_job_text,
    required_way,
    variable,
)
from tierscope.peers.fio.options import (
    BY_NAME,
    Fixed,
    Section,
    by_name,
    is_bare,
    is_known,
)
from tierscope.plans.grammar import parse_choice

_SECTION = re.compile(r"\[([^\[\]]+)\]")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_KEYWORDS: dict[str, Callable[[], int]] = {
    "pagesize": lambda: os.sysconf("SC_PAGE_SIZE"),
    "mb_memory": lambda: os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
    "ncpus": lambda: os.cpu_count() or 1,
}
_KEYWORD = re.compile(rf"\$({'|'.join(_KEYWORDS)})\b")
_UNSAFE = re.compile(r"[^\w%+,\-./:@=]", re.ASCII)
"""What a shell takes for more than itself."""
_KEPT = ("filename_format",)
"""Options whose values have names with $ of their own."""
FORMATS = ("normal", "json", "json+")
_HELP = "see 'tierscope fio --help'"
OWN = (
    ("-h, --help", "print this"),
    ("-v, --version", "print the version"),
    ("--output-format=WORDS", f"{', '.join(FORMATS)}: one or several (normal)"),
    ("-o, --output=FILE", "write results there"),
    ("--section=NAME", "only this job of a job file; may be given several times"),
    ("--parse-only", "check everything that can be known without looking at a file"),
    ("--showcmd", "print a job file as a command line"),
    ("--readonly", "refuse jobs that write"),
    ("--overwrite-others", "jobs may write to files that tierscope did not make"),
    REQUIRE_ROW,
)
"""Options of the whole command, for help."""
_OWN = long_options(OWN)
_TERSE = "terse output has mostly fields that are not measured; use json"
_FIXED = by_name(
    Fixed("eta eta-newline eta-interval", "no estimate of the time left is shown", ignored=True),
    Fixed("max-jobs", "256 threads run together at most", ignored=True),
    Fixed("alloc-size", "memory is taken as it is needed", ignored=True),
    Fixed("minimal m append-terse terse-version", _TERSE),
    Fixed("status-interval", "results are printed at the end; 'tierscope show' reads the run "
        "meanwhile"),
    Fixed("client", "tierscope does not start jobs on other hosts; run it there"),
    Fixed("server", "tierscope takes no requests of other hosts"),
    Fixed("daemonize", "run it in the background of your shell"),
    Fixed("bandwidth-log latency-log", "no logs are written; the run file has all samples"),
    Fixed("idle-prof", "the idle time of CPUs is not measured"),
    Fixed("debug", "--debug is fio's own"),
    Fixed("profile", "there are no profiles of fio's"),
    Fixed("trigger trigger-file", "foreign commands are not run"),
    Fixed("cmdhelp enghelp", _HELP),
)  # fmt: skip
"""Other options of the whole command that fio has."""


def parse_jobs(
    text: str, name: str, environment: Mapping[str, str] = os.environ
) -> tuple[list[Section], Section]:
    """Return the jobs of a file and its ``[global]``; UserError names file, line and key.

    ``name`` is the file in errors. A job has the options of ``[global]`` that stand before it.
    """
    jobs: list[Section] = []
    common = Section("global", name)
    section: Section | None = None
    for number, text_line in enumerate(text.split("\n"), start=1):
        place, line = f"{name}:{number}", re.split("[;#]", text_line, maxsplit=1)[0].strip()
        header = _SECTION.fullmatch(line)
        if header and header[1] == "global":
            section = common
        elif header:
            section = common.begun(header[1], place)
            jobs.append(section)
        elif line.startswith("["):
            raise UserError(f"{place}: '{line}' is not a section header such as [job1]")
        elif line and section is None:
            raise UserError(f"{place}: '{line}' is outside any section such as [global]")
        elif line and section is not None:
            key, sign, value = (part.strip() for part in line.partition("="))
            set_option(section, key, value if sign else None, place, environment)
    if not jobs:
        raise UserError(f"{name}: no job found; a job begins with [NAME]")
    return jobs, common


def set_option(
    section: Section,
    key: str,
    value: str | None,
    place: str,
    environment: Mapping[str, str],
) -> None:
    """Add an option to a section, or the error that begins with its place and key."""
    where = f"{place}: {key}"
    name = BY_NAME[key].name if key in BY_NAME else key
    try:
        if value is None and is_known(key) and not is_bare(key):
            raise UserError(f"{where}: the value is missing; write {key}=VALUE")
        text = "1" if value is None else _expanded(key, value, where, environment)
        if not text:
            raise UserError(f"{where}: the value is missing")
    except UserError as error:
        section.errors.append(str(error))
        return
    section.own.pop(name, None)  # It stands where it was given last.
    section.own[name] = Given(text, where)
    if value is None:
        section.bare.add(name)
    else:
        section.bare.discard(name)


def _expanded(key: str, text: str, where: str, environment: Mapping[str, str]) -> str:
    expanded = _VARIABLE.sub(lambda found: variable(found[1], where, environment), text)
    if key in _KEPT:
        return expanded
    return _KEYWORD.sub(lambda found: str(_KEYWORDS[found[1]]()), expanded)


@dataclass
class Line:
    """A parsed command line."""

    jobs: list[Section] = field(default_factory=list)
    common: Section = field(default_factory=lambda: Section("global", "command line"))
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
    """Parse fio's arguments; UserError names the fault and its place."""
    line = Line()
    words = deque(arguments)
    while words:
        word = words.popleft()
        if word == "--":
            line.files += words
            break
        if word == "-" or not word.startswith("-"):
            line.files.append(word)
            continue
        key, sign, value = word.lstrip("-").partition("=")
        text = value if sign else None
        if text is None and _needs_value(key) and words and not words[0].startswith("--"):
            text = words.popleft()
        _take(line, word, key, text, environment)
    if not line.switches & {"help", "version"}:
        _finish(line, environment)
    return line


def _needs_value(key: str) -> bool:
    if key in _OWN:
        return _OWN[key].endswith("=")
    return _FIXED[key].ignored if key in _FIXED else not is_bare(key)


def _take(
    line: Line, word: str, key: str, text: str | None, environment: Mapping[str, str]
) -> None:
    name, takes_value, _ = _OWN.get(key, key).partition("=")
    fixed = _FIXED.get(name)
    if fixed and not fixed.ignored:
        raise UserError(f"{word}: {fixed.why}")
    if fixed:
        line.remarks.append(f"--{name} changes nothing: {fixed.why}")
    elif takes_value:
        _take_own(line, name, text)
    elif key in _OWN:
        line.switches.add(name)
    elif name == "overwrite" and text is None:
        raise UserError(
            "--overwrite is fio's own and needs a value; --overwrite-others lets jobs write to "
            "files that tierscope did not make"
        )
    elif name == "name":
        if not text:
            raise UserError("--name needs the name of a job")
        line.jobs.append(line.common.begun(text, f"--name={text}"))
    else:
        section = line.jobs[-1] if line.jobs else line.common
        set_option(section, name, text, section.place, environment)


def _take_own(line: Line, name: str, text: str | None) -> None:
    """Take an option of the whole command that has a value."""
    if not text:
        raise UserError(f"--{name} needs a value; {_HELP}")
    if name == "output":
        line.output = text
    elif name == "output-format":
        line.formats = _formats(text)
    elif name == "section":
        line.sections.append(text)
    else:
        line.require = required_way(text)


def _formats(text: str) -> tuple[str, ...]:
    with errors_at("--output-format"):
        if "terse" in text.split(","):
            raise UserError(_TERSE)
        return tuple(dict.fromkeys(parse_choice(one, FORMATS) for one in text.split(",")))


def _finish(line: Line, environment: Mapping[str, str]) -> None:
    """Read job files, and check that there are jobs."""
    if line.files and (line.jobs or line.common.own):
        given = "jobs" if line.jobs else "options of jobs"
        raise UserError(
            f"'{line.files[0]}' is a job file, but {given} are given, too; give job files alone"
        )
    for number, name in enumerate(line.files):
        text = job_text(sys.stdin.buffer, "stdin") if name == "-" else read_job_text(name)
        jobs, common = parse_jobs(text, "stdin" if name == "-" else name, environment)
        line.common.own |= common.own
        line.common.bare |= common.bare
        if number:  # jobs of a further file begin when all before them have ended
            jobs[0].own.setdefault("stonewall", Given("1", jobs[0].place))
        line.jobs += jobs
    if not line.jobs:
        raise UserError(f"no job found: name a job file, or start one with --name=JOB; {_HELP}")
    line.jobs = chosen(line.jobs, line.sections)


def chosen(jobs: Sequence[Section], names: Sequence[str]) -> list[Section]:
    """Return the jobs of these names (``--section``); all without names."""
    known = [job.name for job in jobs]
    for name in names:
        if name not in known:
            raise UserError(f"--section: there is no job [{name}]; there are {', '.join(known)}")
    return [job for job in jobs if not names or job.name in names]


def shown(line: Line) -> Iterator[str]:
    """Yield the words of an equivalent command line (``--showcmd``), quoted for a shell.

    Options of [global] come first, as fio prints them, where all jobs have the same.
    """
    yield "fio"
    shared = all(job.common == line.common.own for job in line.jobs)
    if shared:
        yield from _words(line.common, line.common.own)
    for job in line.jobs:
        yield f"--name={_quoted(job.name)}"
        yield from _words(job, job.own if shared else job.texts)


def _words(section: Section, options: Mapping[str, Given]) -> Iterator[str]:
    for name, given in options.items():
        yield f"--{name}" if name in section.bare else f"--{name}={_quoted(given.value)}"


def _quoted(value: str) -> str:
    """Return a value as fio quotes it, and as a shell gives it back."""
    if not _UNSAFE.search(value):
        return value
    return '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'
