"""Shared parts of peers with a command line: values, help, job files, measuring."""

import getopt
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, get_args

import click
from pydantic import ValidationError

from tierscope.engine.targets import PathError, PathSilentError, leftovers
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.errors import ExitCode, UserError, did_you_mean, is_text
from tierscope.model.event import Event, Failed, Repetition
from tierscope.model.evidence import LackingCounters
from tierscope.model.given_file import open_given
from tierscope.model.io import Way
from tierscope.model.run import Measurement
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Topology
from tierscope.plans.gpu import gpu_numbered, home_node, host_nodes
from tierscope.plans.grammar import parse_choice
from tierscope.report.summary import warnings_of
from tierscope.runs.measure import Outcome, measure

Rows = Iterable[tuple[str, str]]
"""Options as help shows them, and their meanings."""
START_AT = "begin measuring then, as in 18:30:00 or 2026-05-04T18:30:00Z"
START_AT_ROW = ("--start-at=TIME", START_AT)
REQUIRE_ROW = (
    "--require=WAY",
    "fail unless all data goes by p2p, nvfs, gpudirect (either) or odirect",
)
STATUS = (
    "Exit status: 0 measured, 1 something failed or data is wrong, 2 the request was wrong, "
    "3 nothing could be measured, 4 the command itself failed, 130 interrupted."
)
_WIDTH = 98
_INDENT = 20
_LARGEST_FILE = 1 << 20
"""Bytes of a job file; larger ones are other files, given by mistake."""
_LONGEST_PATH = 3800
"""Bytes; the kernel takes 4095, of which the names of a directory's files are a part."""
NEVER = 1e-9
"""A precision that no interval reaches, so that time or amount alone ends a measurement."""


@dataclass(frozen=True)
class Given:
    """A value and its place for errors: ``-x``, or ``jobs.gdsio:5: xfer_type``."""

    value: Any
    place: str


class Values(dict[str, Given]):
    """Values by the names of options."""

    def of(self, name: str, default: Any = None) -> Any:
        """Return a value; the default where it was not given."""
        found = self.get(name)
        return default if found is None else found.value


@contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Prefix errors of the block with a place."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of decimal numbers from low to high; leading zeros are allowed."""

    def parse(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) <= 20
        if not digits or not low <= int(text) <= high:
            raise UserError(f"'{text}' is not a whole number from {low} to {high}")
        return int(text)

    return parse


def word(text: str) -> str:
    """Accept any text."""
    return text


def required_way(text: str) -> str:
    """Check ``--require``, tierscope's own option of peers that do I/O."""
    with errors_at("--require"):
        return parse_choice(text, get_args(Way))


def path(text: str) -> str:
    """Check the characters of a path, not the file."""
    signs = [ord(sign) for sign in text]
    # Bytes that are not UTF-8 arrive as U+DC80 to U+DCFF; other surrogates have no meaning.
    strange = any(0xD800 <= sign < 0xDC80 or 0xDCFF < sign < 0xE000 for sign in signs)
    if not text or strange or 0 in signs or "\n" in text:
        raise UserError(f"{text!r} is not a path")
    return text


def absolute(path: str, place: str) -> str:
    """Return a path as an absolute one, without looking at it; UserError begins with the place."""
    found = os.path.abspath(path)  # noqa: PTH100 - looks at no file
    if len(os.fsencode(found)) > _LONGEST_PATH or not is_text(found):
        raise UserError(f"{place}: the path is longer than {_LONGEST_PATH} bytes, or not UTF-8")
    return found


def is_device(path: str) -> bool:
    """Return whether an absolute path is a device, by its name alone."""
    return path.startswith("/dev/") and not path.startswith(("/dev/shm/", "/dev/hugepages/"))  # noqa: S108


def parse_flags(
    arguments: Sequence[str],
    short: str,
    long: Sequence[str],
    program: str,
    needs: Callable[[str], str],
    several: str = "options",
) -> tuple[list[tuple[str, str]], list[str]]:
    """Parse arguments as getopt does; UserError explains what it does not understand.

    ``needs`` describes the value of an option; ``several`` is what abbreviations can stand for.
    Returns options with their values, and the other arguments.
    """
    try:
        return getopt.gnu_getopt([*arguments], short, [*long])
    except getopt.GetoptError as error:
        name = f"-{error.opt}" if len(error.opt) == 1 else f"--{error.opt}"
        see = f"see 'tierscope {program} --help'"
        if "requires argument" in error.msg:
            raise UserError(f"{name} needs {needs(error.opt)}") from None
        if "must not have an argument" in error.msg:
            raise UserError(f"{name} takes no value") from None
        if "not a unique prefix" in error.msg:
            raise UserError(f"--{error.opt} is short for several {several}; {see}") from None
        nearest = did_you_mean(name, tuple(f"--{one}" for one in long))
        raise UserError(f"unknown option {name}{nearest}; {see}") from None


def say(program: str, *texts: str) -> None:
    """Print texts to standard error; empty ones are left out."""
    for text in filter(None, texts):
        sys.stderr.write(f"tierscope: {program}: {text}\n")


def paragraph(text: str) -> list[str]:
    """Return a text in lines."""
    return textwrap.wrap(text, _WIDTH)


def long_options(rows: Rows) -> dict[str, str]:
    """Return long options by each of their names in rows of help, with ``=`` if they take a value.

    ``-o, --output=FILE`` gives ``{"o": "output=", "output": "output="}``.
    """
    found: dict[str, str] = {}
    for names, _what in rows:
        words = [word.lstrip("-").partition("=") for word in names.split(", ")]
        option = "".join(words[-1][:2])
        found |= {name: option for name, _, _ in words}
    return found


def help_page(
    usage: Sequence[str],
    about: str,
    sections: Mapping[str, Rows | Sequence[str]],
    command: click.Command,
    status: str,
    indent: int = _INDENT,
) -> str:
    """Return the text of ``--help``, with the examples of the command.

    Sections have rows or finished lines, by their heading; ``status`` explains exit statuses.
    """
    lines = [*usage, "", *paragraph(about)]
    for heading, content in sections.items():
        shown = (one if isinstance(one, str) else help_line(*one, indent) for one in content)
        lines += ["", f"{heading}:", *shown]
    examples = (command.help or "").partition("Examples:")[2]
    lines += ["", "Examples:", *(f"  {line.strip()}" for line in examples.strip().split("\n"))]
    return "\n".join([*lines, "", *paragraph(status), ""])


def help_line(name: str, what: str, indent: int = _INDENT) -> str:
    """Return a name with its meaning, wrapped."""
    first, *more = textwrap.wrap(what, _WIDTH - indent)
    head = f"  {name}".ljust(indent)
    if len(head) > indent or not head.endswith(" "):
        first, more = "", [first, *more]
    return "\n".join([f"{head}{first}".rstrip(), *(" " * indent + line for line in more)])


def read_job_text(name: str) -> str:
    """Read a job file; UserError names the file, and the first line that is not text."""
    try:
        with open_given(name) as file:
            return job_text(file, name)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UserError(f"job file '{name}' cannot be read: {why}") from None


def job_text(file: BinaryIO, name: str) -> str:
    """Read an open job file; ``name`` stands for it in errors."""
    content = file.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise UserError(f"'{name}' is larger than 1 MiB; a job file is a short text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{name}:{line}: not text in UTF-8, so not a job file") from None


def memory_node(topology: Topology, wanted: int | None, place: str) -> int:
    """Return the node of host memory: the one wanted, else the first one with CPUs to use."""
    nodes = host_nodes(topology)
    if wanted is None:
        with_cpus = [number for number in nodes if usable_cpus(topology, number)]
        return (with_cpus or nodes)[0]
    if wanted not in nodes:
        known = ", ".join(map(str, nodes))
        raise UserError(f"{place}: node {wanted} has no memory to use; nodes: {known}")
    return wanted


def usable_cpus(topology: Topology, number: int) -> list[int]:
    """Return the CPUs of a node that this process may use."""
    node = topology.node(number)
    return [cpu for cpu in (node.cpus if node else []) if cpu in topology.cpus]


def cpus_of_node(topology: Topology, node: int) -> list[int]:
    """Return the CPUs of a node that threads may use; of one without any, all."""
    return usable_cpus(topology, node) or topology.cpus


def cpus_of_gpu(topology: Topology, number: int) -> list[int]:
    """Return the CPUs by a GPU that threads may use."""
    return cpus_of_node(topology, home_node(topology, gpu_numbered(topology, number)))


def on_any_of(cpus: Iterable[int], threads: int) -> dict[str, Any]:
    """Return the fields of a job whose threads each run on any of these CPUs, as the scheduler has
    it: peers pin no thread to a CPU, where it would have to wait for what else runs there."""
    allowed = sorted(set(cpus))
    return {"cpus": allowed, "cpu_sets": [allowed] * threads}


def io_spec(
    name: str,
    initiator: str,
    jobs: list[dict[str, Any]],
    pattern: dict[str, Any],
    budget_s: float,
    sample_s: float,
) -> dict[str, Any]:
    """Return the spec of jobs that run together; its target is that of the first one."""
    files = jobs[0]["files"]
    if len(jobs) == 1:
        jobs[0]["name"] = ""
    where = files.get("device") or files.get("path") or files["directory"]
    return {
        "kind": "io",
        "id": name,
        "initiator": initiator,
        "target": f"{'dev' if 'device' in files else 'file'}:{where}",
        "sampling": {"precision": NEVER, "budget_s": budget_s, "sample_s": sample_s},
        "jobs": jobs,
        "pattern": pattern,
    }


def own_files(
    directory: str, stem: str, count: int, size: int | None, keep: bool
) -> dict[str, Any]:
    """Return files that are made in a directory where they are missing."""
    names = {"directory": directory, "stem": stem, "count": count}
    return {**names, "size": size, "keep": keep, "large": True}


def one_file(
    path: str,
    size: int | None,
    device: bool,
    create: bool = True,
    keep: bool = True,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Return one file or device; a file of a known size may be made where it is missing."""
    sized = {} if size is None else {"size": size}
    if device:
        return {"device": path, **sized}
    made = {"create": True, "keep": keep, "large": True} if create and sized else {}
    return {"path": path, **made, **sized, **({"overwrite": True} if overwrite else {})}


def variable(name: str, where: str, environment: Mapping[str, str]) -> str:
    """Return the value of a variable of the environment; UserError begins with the place."""
    value = environment.get(name)
    if value is None:
        raise UserError(f"{where}: the environment has no variable '{name}'")
    return value


def is_foreign(facts: PathFacts) -> bool:
    """Return whether a path is a file that is not in a manifest of tierscope beside it.

    Raises PathSilentError where the directory does not answer.
    """
    if facts.kind != "file":
        return False
    directory, _, name = facts.path.rpartition("/")
    try:
        own = leftovers(directory or "/").files
    except PathSilentError:
        raise
    except PathError:  # a directory that may not be listed
        return True
    return name not in [one.name for one in own]


def refuse_device(path: str, place: str) -> UserError:
    """Return the error for writing to a device."""
    return UserError(
        f"{place}: {path} is a device, and writing destroys what is on it; only "
        "'tierscope io --destroy-data' does that"
    )


def refuse_overwriting(path: str, place: str, option: str = "--overwrite") -> UserError:
    """Return the error for overwriting files that tierscope did not make."""
    return UserError(
        f"{place}: {path} exists, and tierscope did not make it; name another directory, "
        f"or give {option}"
    )


@dataclass(frozen=True)
class Measured:
    """The result of one plan."""

    outcome: Outcome
    repetitions: list[Repetition]
    found: Measurement | None
    """None where nothing was measured."""
    errors: list[str]
    """One line each."""

    @property
    def warnings(self) -> list[str]:
        """Warnings on totals, which have no interval that could be missing or wide."""
        if self.found is None:
            return []
        return warnings_of(self.outcome.run, precision=False)

    @property
    def verdict(self) -> str:
        """What was verified, where that was asked for."""
        found = self.found.evidence.verified if self.found and self.found.evidence else None
        return f"verified: {found}" if found else "not verified: nothing was compared"

    @property
    def exit_code(self) -> ExitCode:
        """The exit status; a repetition that failed after others succeeded is an error."""
        if self.errors and self.outcome.exit_code is ExitCode.ALL_MEASURED:
            return ExitCode.SOMETHING_FAILED
        return self.outcome.exit_code


def plan_of(spec: dict[str, Any]) -> Plan:
    """Return the plan of one spec; UserError names the field that is wrong."""
    try:
        return Plan.model_validate({"version": PLAN_VERSION, "measurements": [spec]})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][2:])
        said = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{where}: {said}" if where else said) from None


def measured(
    plan: Plan, label: str, topology: Topology, start_at: datetime | None = None
) -> Measured:
    """Measure a plan of one spec, from ``start_at`` on; raises UserError where nothing could be
    begun."""
    repetitions: list[Repetition] = []
    failures: list[str] = []

    def watch(event: Event | Measurement) -> None:
        if isinstance(event, Repetition):
            repetitions.append(event)
        elif isinstance(event, Failed):
            failures.append(event.reason)

    done = measure(plan, label, topology, sys.argv, None, watch, start_at=start_at)
    found = next((one for one in done.run.measurements if one.status == "measured"), None)
    return Measured(done, repetitions, found, _errors(done, failures))


def _errors(done: Outcome, failures: list[str]) -> list[str]:
    if done.error is not None:
        return [str(done.error)]
    missing = [reason_of(one) for one in done.run.measurements if one.status != "measured"]
    return missing or failures


def reason_of(one: Measurement | LackingCounters) -> str:
    """Return the reason of a missing figure and its remedy."""
    return "; ".join(filter(None, (one.reason, one.remedy)))
