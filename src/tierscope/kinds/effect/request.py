"""Requests for effect."""

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.effect.metrics import UNITS, parse_metrics
from tierscope.kinds.effect.placements import parse_placements
from tierscope.kinds.effect.ready import READY, Job
from tierscope.kinds.effect.spec import EffectSpec, Settings
from tierscope.model.endpoint import Endpoint, EndpointKind
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans import grammar
from tierscope.plans.axes import blamed, checked, choices, identity, reason
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

_MAX_TIMEOUT_S = 86400 * 7
_DEFAULT_SIZE = "256m"


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[EffectSpec]:
    """Yield a measurement for each placement."""
    job = _job(request)
    text = request.options.get("placement", "")
    for name, settings in checked(request, "placement", parse_placements, text).items():
        yield _spec(request, topology, job, name, settings)


def _job(request: Request) -> Job:
    """Return what is run: as a recipe has it, or the request itself."""
    command = _words(request, "command")
    client = _words(request, "client")
    metrics = checked(request, "metric", parse_metrics, request.options.get("metric", ""))
    names = choices(request, "recipe", tuple(READY))
    if len(names) > 1:
        raise request.wrong("recipe", "name one")
    if not names:
        if "size" in request.options:
            raise request.wrong("size", f"only recipes have data: {', '.join(READY)}")
        if not command:
            raise request.wrong("command", "name the program after --, or a --recipe")
        job = Job(command, client, metrics, gc_log=_flag(request, "gc-log"))
    else:
        size = checked(
            request, "size", grammar.parse_size, request.options.get("size", _DEFAULT_SIZE)
        )
        ready = READY[names[0]](size, command)
        if ready is None:
            raise request.wrong("recipe", f"{names[0]} needs the program after --")
        job = ready.with_metrics(metrics)
    if job.client and not job.reported:
        raise request.wrong("client", "say by --metric what the client's output tells")
    return job


def _words(request: Request, option: str) -> list[str]:
    """Return a command's words, the program's path whole; raises UserError where there is none."""
    try:
        words = shlex.split(request.options.get(option, ""))
    except ValueError as error:
        raise request.wrong(option, f"{error}") from None
    if not words:
        return []
    found = shutil.which(words[0])
    if found is None:
        raise request.wrong(option, f"'{words[0]}' is not a program that is installed here")
    return [str(Path(found).absolute()) if "/" in words[0] else words[0], *words[1:]]


def _flag(request: Request, option: str) -> bool:
    return bool(choices(request, option, ("yes", "no")) == ["yes"])


def _spec(
    request: Request, topology: Topology, job: Job, name: str, settings: Settings
) -> EffectSpec:
    cpus = settings.cpus or topology.cpus
    outside = sorted(set(cpus) - set(topology.cpus))
    if outside:
        raise request.wrong(
            "placement",
            f"{name}: CPUs {','.join(map(str, outside))} do not exist or may not be used",
        )
    with_memory = [node.number for node in topology.nodes if node.total_bytes]
    lacking = sorted(set(settings.nodes) - set(with_memory))
    if lacking:
        raise request.wrong(
            "placement",
            f"{name}: node {lacking[0]} does not exist or has no memory; choose among "
            f"{', '.join(map(str, with_memory))}",
        )
    nodes = settings.nodes or with_memory
    target = Endpoint(kind=EndpointKind.NODE, numbers=tuple(nodes), weights=tuple(settings.weights))
    words = job.title or shlex.join(job.program)
    fields: dict[str, Any] = {
        "id": identity([request.name or "effect", Path(job.program[0]).name, name]),
        "initiator": str(Endpoint(kind=EndpointKind.CPUS, numbers=tuple(sorted(cpus)))),
        "target": str(target),
        "cpus": sorted(cpus),
        "program": job.program,
        "client": job.client,
        "package": job.package,
        "directory": str(Path.cwd()),
        "settings": settings,
        "reported": job.reported,
        "gc_log": job.gc_log,
        "count": checked(
            request, "rounds", grammar.parse_count, request.options.get("rounds", "10"), 1
        ),
        "timeout_s": checked(
            request, "timeout", grammar.parse_duration, request.options.get("timeout", "10min"), 0,
            _MAX_TIMEOUT_S,
        ),
        "save": checked(request, "save-output", _directory, request.options.get("save-output", "")),
        "pattern": {"command": words, "placement": name},
    }  # fmt: skip
    try:
        return EffectSpec.model_validate(fields)
    except ValidationError as error:
        raise request.wrong(blamed(request, error, ("command",)), reason(error)) from None


def _directory(text: str) -> str:
    if text and not Path(text).is_dir():
        raise UserError(f"'{text}' is no directory")
    return str(Path(text).absolute()) if text else ""


REQUEST = RequestForm(
    options=(
        Option(
            "placement",
            "[NAME=]WORDS",
            "What it runs under: local, bind, preferred, preferred-many, interleave or weighted "
            "with node:0,2@3:1, or nodes in another form that place exec takes; balancing; "
            "cpus:0-7; thp:never, madvise or always; tier:PRESET pair:FAST:SLOW; env:NAME=VALUE; "
            "as-found. May be given again; the others are compared with the first one",
            "as-found",
            many=True,
        ),
        Option(
            "metric",
            "NAME[:UNIT]=REGEX",
            "A number that it prints, the regular expression's first group; the last match counts. "
            f"UNIT: {', '.join(UNITS)}. May be given again",
            many=True,
        ),
        Option("gc-log", "", "It is a JVM: compare the pauses of its garbage collector", flag=True),
        Option(
            "client",
            "COMMAND",
            "A program that uses it and ends, not placed itself; it prints the metrics",
        ),
        Option("rounds", "COUNT", "Runs under each placement; a verdict takes 6", "10"),
        Option("timeout", "TIME", "Longest time of a run, at most 7 days", "10min"),
        Option("save-output", "DIR", "Keep what it prints, a file for each run"),
        Option("recipe", "NAME", f"A ready program: {', '.join(READY)}"),
        Option("size", "SIZE", "Bytes of a recipe's data", "256m"),
        Option("command", "COMMAND", "The program and its arguments", rest=True),
    ),
    expand=expand,
    help="""\
In each round the program runs once under each placement, in random order. Placements are compared
with the first one by the pairs of the same round. No shell is between: for pipes, run one yourself,
as in -- sh -c 'a | b'.""",
    examples=(
        "effect --placement node:0 --placement node:1 -- python3 job.py",
        "effect --placement all=cpus:0-1 --placement half=cpus:0 -- python3 job.py",
        "effect --placement as-found --placement thp:never --rounds 20 -- python3 job.py",
        "effect --recipe redis --placement node:0 --placement node:0,2@3:1",
        "effect --placement as-found --placement tier:numa-balancing -- python3 job.py",
    ),
)
