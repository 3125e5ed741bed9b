"""The spec of effect: a program that is run under one placement, again and again."""

import contextlib
import os
import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field, ValidationError

from tierscope.kinds.effect.application import application, filled
from tierscope.model.application import About, Application, Command, Line, Steps, Text, Word
from tierscope.model.base import Model
from tierscope.model.cause import Cause
from tierscope.model.endpoint import Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.rules import Check, Ruled, Ruling
from tierscope.model.spec import Cpus, MeasurementSpec, Region
from tierscope.model.topology import Topology
from tierscope.place import cgroups
from tierscope.place.allocator import check_rules, rules_file
from tierscope.place.damon.status import update_counters
from tierscope.place.huge_pages import HUGE_PAGES, HugePages
from tierscope.place.kernel import PAGE_BYTES, Kernel
from tierscope.place.nodes import Selection, is_selection, select_nodes
from tierscope.place.policy import MODES, Mode, Policy
from tierscope.place.tier_look import look
from tierscope.place.tier_rules import BALANCING, Asked, begin, label_and_rules, rules_in
from tierscope.place.tiering import (
    Session,
    between_nodes,
    migrated_pages,
    warnings,
    why_nothing_moves,
)
from tierscope.plans import grammar
from tierscope.plans.axes import checked, parsed
from tierscope.plans.gpu import flag
from tierscope.plans.grammar import format_size
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import spec_of

Words = Annotated[list[Word], Field(min_length=1, max_length=10_000)]
Node = Annotated[int, Field(ge=0, le=1023)]
_RUN_TIME = "run_time"
_OWN_FIGURES = (_RUN_TIME, "gc_time", "gc_pause_max", "gc_concurrent")
_MAX_TIMEOUT_S = 86400 * 7
_UNITS: dict[str, tuple[str, float]] = {
    "s": ("reported_time", 1e9),
    "ms": ("reported_time", 1e6),
    "us": ("reported_time", 1e3),
    "ns": ("reported_time", 1.0),
    "1/s": ("reported_rate", 1.0),
    "B/s": ("reported_bandwidth", 1.0),
    "kB/s": ("reported_bandwidth", 1e3),
    "MB/s": ("reported_bandwidth", 1e6),
    "GB/s": ("reported_bandwidth", 1e9),
    "MiB/s": ("reported_bandwidth", float(1 << 20)),
    "GiB/s": ("reported_bandwidth", float(1 << 30)),
    "B": ("reported_bytes", 1.0),
    "KiB": ("reported_bytes", float(1 << 10)),
    "MiB": ("reported_bytes", float(1 << 20)),
    "GiB": ("reported_bytes", float(1 << 30)),
    "higher": ("reported_higher", 1.0),
    "lower": ("reported_lower", 1.0),
}
"""The unit's metric, and what a number is multiplied by. Of ``higher`` and ``lower``, numbers
without a unit, that is what is better."""
UNITS = tuple(_UNITS)
NOTHING_MOVED = "in at least one run, no page was migrated"
"""Beginning of the note on tiering that moved nothing."""
_FILES = (".yaml", ".yml", ".json")
AS_FOUND = "as-found"
_NAME_LENGTH = 40
_FORMS = (
    "as-found, " + ", ".join(MODES) + ", node:0,2@3:1, 0,2-3, all, !1, +0, balancing, cpus:0-7, "
    "thp:never, thp:madvise, thp:always, "
    "tier:PRESET pair:0:2, tier:FILE, alloc:FILE, alloc:sites, alloc:own pair:0:2, "
    "room:node:0:4g, room:node:0:50%, env:A=B"
)
_WORDS = {
    "mode": rf"({'|'.join(MODES)})",
    "balancing": "(balancing)",
    "thp": rf"thp:({'|'.join(HUGE_PAGES)})",
    "tier": "tier:(.+)",
    "pairs": "pair:(.+)",
    "alloc": "alloc:(.+)",
    "room": "room:(.+)",
    "environment": "env:(.[^=]*=.*)",
    "cpus": "(cpus?:.*)",
}
"""What a word of a placement sets, by its form; nodes have forms of their own."""
_ONCE = ("mode", "nodes", "thp", "tier", "alloc", "room")
_OWN_RULES = "own"
"""Of ``alloc:``, the application's own rules."""
SITES = "sites"
"""Of ``alloc:``, no rules: which functions allocate most is counted."""
_PAIR = re.compile(r"\d{1,4}:\d{1,4}")
_PLACEMENT = Option(
    "placement",
    "[NAME=]WORDS",
    "What it runs under: local, bind, preferred, preferred-many, interleave or weighted "
    "with node:0,2@3:1, or nodes in another form that place exec takes; balancing; "
    "cpus:0-7; thp:never, madvise or always; tier:PRESET pair:FAST:SLOW; alloc:FILE; "
    "alloc:own pair:FAST:SLOW, the rules of --app; room:node:0:4g or 50%, free memory there; "
    "env:NAME=VALUE; as-found. May be given again; the others are compared with the first one",
    "as-found",
    many=True,
)
_METRIC = Option(
    "metric",
    "NAME[:UNIT]=REGEX",
    "A number that it prints, the regular expression's first group; the last match counts. "
    f"UNIT: {', '.join(UNITS)}. May be given again",
    many=True,
)
_ROUNDS = Option("rounds", "COUNT", "Runs under each placement; a verdict takes 6", "10")
_TIMEOUT = Option(
    "timeout", "TIME", "Longest time of a run, at most 7 days", "10min", essential=False
)
_SAVE = Option("save-output", "DIR", "Keep what it prints, a file for each run", essential=False)
_APP = Option("app", "NAME|FILE", "An application: one of 'tierscope apps list', or a file")
_SIZE = Option("size", "SIZE", "Bytes of an application's data, of a JVM's heap", "its own")
_SET = Option(
    "set", "NAME=VALUE", "Another value for a parameter of --app. May be given again", many=True,
    essential=False,
)  # fmt: skip


class Settings(Model):
    """Placement of a program; absent fields are inherited from tierscope."""

    mode: Mode | None = None
    nodes: Annotated[list[Node], Field(max_length=1024)] = []
    weights: Annotated[list[Annotated[int, Field(ge=1, le=255)]], Field(max_length=1024)] = []
    balancing: bool = False
    cpus: Cpus | None = None
    thp: HugePages | None = None
    """Transparent huge pages of the program and of what it starts: none, where they ask for them by
    madvise, or wherever they fit."""
    tier: Annotated[str, Field(max_length=4096)] = ""
    """A preset of ``tierscope tier``, or the path of a file of rules, by which pages move while the
    program runs; empty: none."""
    pairs: Annotated[list[Annotated[str, Field(max_length=20)]], Field(max_length=512)] = []
    """The fast and slow nodes of a preset: 0:2; of ``alloc:own``, too."""
    alloc: Text = ""
    """Rules for its heap, as ``tierscope alloc exec`` takes them: a file's path, or rules with
    ; between them; ``sites``: none, but functions that allocate are counted; empty: none."""
    room_node: Node | None = None
    """The node on which the program finds no more than so much memory free; None: as it is."""
    room_bytes: Annotated[int, Field(ge=1, lt=1 << 63)] | None = None
    room_share: Annotated[float, Field(gt=0, le=1)] | None = None
    """In place of bytes, the share of what the program used when it was run first, without this."""
    environment: dict[str, Word] = {}
    impossible: Text = ""
    """Why this machine has no such placement: the program is skipped; empty: it has."""


class Reported(Ruled):
    """A number that the program prints, or its client."""

    name: Annotated[str, Field(min_length=1, max_length=40)]
    metric: str
    """Its metric, of those whose names begin with ``reported``."""
    factor: Annotated[float, Field(gt=0, le=1e18)] = 1.0
    """Multiplier from the program's number to the metric's unit."""
    pattern: Text
    """Regular expression whose first group is the number; its last match counts."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "pattern",
            "of {}: the regular expression is wrong: {}",
            lambda one: not one.error,
            values=lambda one: (one.name, one.error),
        ),
        Check(
            "pattern",
            "of {}: put the number in brackets, as in 'rate: ([0-9.]+)'",
            lambda one: re.compile(one.pattern).groups > 0,
            values=lambda one: (one.name,),
        ),
    )

    @property
    def error(self) -> str:
        """The fault of the regular expression; empty: none."""
        try:
            re.compile(self.pattern)
        except re.error as error:
            return str(error)
        return ""


class EffectPattern(Model):
    """The program and its placement."""

    command: Text
    """As a shell would take it."""
    placement: Text
    """Its name."""


class EffectSpec(MeasurementSpec):
    """The time that a program takes, and what it reports."""

    metric: ClassVar[str] = _RUN_TIME
    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.CPUS)
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE,)
    recorded: ClassVar[tuple[str, ...]] = ("command", "placement")

    kind: Literal["effect"] = "effect"
    cpus: Cpus
    """CPUs that the program may run on."""
    program: Words
    client: Command = []
    """A program that uses it and ends; none: it ends by itself. The client is not placed."""
    steps: Steps = Steps()
    """Commands around it."""
    about: About | None = None
    """The application that it is; None of a user's command."""
    python_packages: Annotated[list[Line], Field(max_length=100)] = []
    """Packages of Python that it needs."""
    path: Annotated[list[Line], Field(max_length=100)] = []
    """Folders beside those of PATH that have its programs; globs."""
    unprivileged: bool = False
    """Its commands run as the user nobody where tierscope is root."""
    directory: Text
    """Working directory."""
    settings: Settings
    reported: Annotated[list[Reported], Field(max_length=100)] = []
    gc_log: bool = False
    """The program is a JVM; its garbage collector's log is read."""
    count: Annotated[int, Field(ge=1, le=100_000)] = 10
    """Runs."""
    timeout_s: Annotated[float, Field(gt=0, le=_MAX_TIMEOUT_S)] = 600.0
    save: Text = ""
    """Directory for its output; empty: output is not kept."""
    pattern: EffectPattern

    def headline(self) -> str:
        """The run's time; of an application, or with a client, the first reported number."""
        own = self.reported and (self.client or self.about)
        return self.reported[0].metric if own else _RUN_TIME

    def rounds(self) -> int:
        """Its runs."""
        return self.count

    def thread_cpus(self) -> list[int]:
        """The CPUs that it may run on."""
        return self.cpus

    def regions(self) -> list[Region]:
        """None: the program's memory is its own."""
        return []

    def identity(self) -> dict[str, Any]:
        """The command and the placement's name."""
        return self.pattern.model_dump(mode="json")


SPEC = EffectSpec


def parse_metrics(text: str) -> list[Reported]:
    """Return the numbers that lines of text name; raises UserError."""
    found: list[Reported] = []
    for line in filter(None, text.splitlines()):
        found.append(_parse_metric(line))
        if any(one.name == found[-1].name for one in found[:-1]):
            raise UserError(f"two metrics are called '{found[-1].name}'")
    return found


def _parse_metric(line: str) -> Reported:
    head, sign, pattern = line.partition("=")
    name, _, unit = head.partition(":")
    if not sign or not name:
        raise UserError(
            f"'{line}' is not NAME:UNIT=REGEX, as in 'rate:1/s=([0-9.]+) requests per second'"
        )
    if name.strip() in _OWN_FIGURES:
        raise UserError(
            f"'{name.strip()}' is a figure that tierscope takes itself; name it otherwise"
        )
    unit = unit or "higher"
    if unit not in _UNITS:
        known = ", ".join(UNITS)
        raise UserError(f"'{unit}' is not one of the units {known}{did_you_mean(unit, UNITS)}")
    metric, factor = _UNITS[unit]
    try:
        return Reported(name=name.strip(), metric=metric, factor=factor, pattern=pattern)
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(message) from None


class UnplaceableError(Exception):
    """A run that is skipped: it cannot have its placement, for a cause."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


class Tiered:
    """Tiering that is active during a run."""

    def __init__(self, kernel: Kernel, session: Session) -> None:
        self._kernel = kernel
        self._session = session
        self.by_damon = session.rules is not None
        """Rules move pages, not NUMA balancing and reclaim."""

    def enter(self) -> None:
        """Enter the cgroup whose pages move; tiering of the whole machine has none."""
        if self._session.cgroup:
            cgroups.enter(self._kernel, self._session.cgroup)

    def notes(self, migrated: int) -> list[str]:
        """Return notes: conflicting settings, and why no pages ``migrated``."""
        found = warnings(self._kernel, self.by_damon)
        if not migrated:
            reasons = self._damons_reasons() if self.by_damon else why_nothing_moves(self._kernel)
            found += [f"{NOTHING_MOVED}: {reason}" for reason in reasons]
        return found

    def _damons_reasons(self) -> list[str]:
        # By now the cgroup is empty, which would be the only reason.
        session = replace(self._session, cgroup=None)
        seen = look(self._kernel, session, rules_in(session))
        return list(dict.fromkeys(reason for move in seen.moves for reason in move.reasons))


def migrated_bytes(by_damon: bool) -> int:
    """Return what the kernel has migrated between nodes so far, on the whole machine.

    NUMA balancing and reclaim count such pages. DAMON's own counters are wrong on older kernels, so
    under its rules all pages count that were migrated, those too that compaction moved.
    """
    kernel = kernel_here()
    if by_damon:
        update_counters(kernel)  # waits until the steps in progress have ended
        return PAGE_BYTES * migrated_pages(kernel)
    return PAGE_BYTES * between_nodes(kernel)


def kernel_here() -> Kernel:
    """Return this machine's kernel, or a test's."""
    return Kernel("/")


def checked_tiers(settings: Settings) -> Settings:
    """Return settings with the file of rules by its whole path; raises UserError.

    Nothing is changed: the rules are made as for this machine, and thrown away.
    """
    if not settings.tier:
        own = settings.alloc == _OWN_RULES
        if own and not (len(settings.pairs) == 1 and _PAIR.fullmatch(settings.pairs[0])):
            raise UserError("'alloc:own' takes one pair of nodes, as in alloc:own pair:0:2")
        if settings.pairs and not own:
            raise UserError("'pair' goes with tier:PRESET, as in tier:hmsdk pair:0:2")
        return settings
    if settings.pairs and (_is_file(settings.tier) or settings.tier == BALANCING):
        raise UserError(f"tier:{settings.tier} is for nodes of its own; leave pair out")
    if _is_file(settings.tier):
        settings = settings.model_copy(update={"tier": str(Path(settings.tier).absolute())})
    try:
        label_and_rules(kernel_here(), _asked(settings), None)
    except UserError as error:
        raise UserError(f"tier:{settings.tier}: {error}".replace("--pair ", "pair:")) from None
    return settings


def checked_alloc(settings: Settings) -> Settings:
    """Return settings with the heap's file of rules by its whole path; raises UserError."""
    if settings.alloc in ("", _OWN_RULES, SITES):
        return settings
    rules = rules_file(settings.alloc)
    check_rules(rules)
    return settings.model_copy(update={"alloc": rules})


@contextlib.contextmanager
def tiered(settings: Settings) -> Iterator[Tiered | None]:
    """Move pages as a placement asks until the block ends; gives None without tiering.

    Raises UserError where this machine cannot do it, UnplaceableError where it needs root.
    """
    if not settings.tier:
        yield None
        return
    kernel = kernel_here()
    if kernel.live and os.geteuid() != 0:
        why = f"tier:{settings.tier} needs root; run tierscope as root"
        raise UnplaceableError(Cause.PERMISSION, why)
    started = begin(kernel, _asked(settings), own_cgroup=True)
    try:
        yield Tiered(kernel, started.session)
    finally:
        started.end()


def _asked(settings: Settings) -> Asked:
    if _is_file(settings.tier):
        return Asked(tuple(settings.pairs), rules=Path(settings.tier))
    return Asked(tuple(settings.pairs), settings.tier)


def _is_file(tier: str) -> bool:
    return "/" in tier or tier.endswith(_FILES)


def parse_placements(text: str) -> dict[str, Settings]:
    """Return placements by name, from a line each; one alone is compared with ``as-found``.

    Raises UserError for words that are none, names that come twice, and words that do not fit
    together.
    """
    found: dict[str, Settings] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, settings = _parse_placement(line)
        if name in found:
            raise UserError(f"two placements are '{name}'; name them, as in slow=node:2")
        found[name] = settings
    alone = len(found) < 2 and Settings() not in found.values()
    return {AS_FOUND: Settings(), **found} if alone else found


def _parse_placement(line: str) -> tuple[str, Settings]:
    first = line.split()[0]
    named = "=" in first and ":" not in first.partition("=")[0]
    name, _, rest = line.partition("=") if named else (line, "", line)
    if not name.strip() or len(name) > _NAME_LENGTH:
        raise UserError(f"'{line}': name it in 1 to {_NAME_LENGTH} characters: slow=node:2")
    words = rest.split()
    if not words:
        raise UserError(f"'{line}': no words after the name; they are {_FORMS}")
    return " ".join(name.split()), _settings(words)


def _settings(words: list[str]) -> Settings:
    said = defaultdict[str, list[str]](list)
    for word in words if words != [AS_FOUND] else []:
        name, value = _set_by(word)
        said[name].append(value)
    for values in (said[name] for name in _ONCE):
        if len(values) > 1:
            raise UserError(f"'{values[0]}' and '{values[1]}' are in one placement; name one")
    fields: dict[str, Any] = {
        name: said[name][0] for name in ("thp", "tier", "alloc") if said[name]
    }
    fields["pairs"] = said["pairs"]
    fields["environment"] = dict(text.split("=", 1) for text in said["environment"])
    if said["room"]:
        fields |= _room(said["room"][0])
    if said["cpus"]:
        fields["cpus"] = list(parse_endpoint(said["cpus"][-1]).numbers)
    if said["mode"] or said["nodes"]:
        fields |= _policy(said)
    elif said["balancing"]:
        raise UserError("'balancing' goes with bind and preferred-many")
    return checked_alloc(checked_tiers(Settings.model_validate(fields)))


def _room(text: str) -> dict[str, Any]:
    """Return the fields of a smaller node: ``node:0:4g`` or ``node:0:50%``."""
    found = re.fullmatch(r"(?:node:)?(\d{1,4}):(.+)", text)
    if not found:
        raise UserError(f"'room:{text}' is not room:node:NODE:SIZE, as in room:node:0:4g or 50%")
    amount = found[2]
    if amount.endswith("%"):
        return {"room_node": int(found[1]), "room_share": grammar.parse_share(amount, 0.01, 1)}
    return {"room_node": int(found[1]), "room_bytes": grammar.parse_size(amount)}


def _set_by(word: str) -> tuple[str, str]:
    """Return what a word sets, and to which value."""
    for name, form in _WORDS.items():
        if found := re.fullmatch(form, word, re.DOTALL):
            return name, found[1]
    if is_selection(word):
        return "nodes", word
    known = (*MODES, "balancing", *(f"thp:{one}" for one in HUGE_PAGES), AS_FOUND)
    raise UserError(f"'{word}' is none of {_FORMS}{did_you_mean(word, known)}")


def _policy(said: dict[str, list[str]]) -> dict[str, Any]:
    selected = select_nodes(said["nodes"][0]) if said["nodes"] else Selection(())
    mode = said["mode"][0] if said["mode"] else "weighted" if selected.weights else "bind"
    balancing = bool(said["balancing"])
    policy = Policy(cast("Mode", mode), selected.nodes, selected.weights, balancing)
    return {
        "mode": policy.mode,
        "nodes": list(policy.nodes),
        "weights": list(policy.weights),
        "balancing": policy.balancing,
    }


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[EffectSpec]:
    """Yield a measurement for each placement."""
    asked, values = _asked_for(request)
    for name, settings in parsed(request, _PLACEMENT, parse_placements).items():
        yield _spec(request, topology, asked, values, name, settings)


def _asked_for(request: Request) -> tuple[Application, dict[str, str]]:
    """Return the application, or the command as one, and the values of its placeholders."""
    command = _words(request, "command")
    client = _words(request, "client")
    metrics = request.options.get("metric", "").splitlines()
    name = request.options.get("app")
    if name is None:
        for option in ("size", "set"):
            if option in request.options:
                raise request.wrong(option, "only applications have one; name it by --app")
        if not command:
            raise request.wrong("command", "name the program after --, or an application by --app")
        if client and not metrics:
            raise request.wrong("client", "name the figures in the client's output by --metric")
        gc_log = flag(request, "gc-log")
        found = Application(name="", program=command, client=client, figures=metrics, gc_log=gc_log)
        return found, {}
    found = checked(request, "app", application, name)
    for option in ("client", "gc-log"):
        if option in request.options:
            raise request.wrong(option, "it goes with a program after --, not with --app")
    if bool(command) == bool(found.program):
        what = "has a program of its own" if command else "needs the program after --"
        raise request.wrong("app", f"{name} {what}")
    update = {"program": found.program or command, "figures": [*found.figures, *metrics]}
    return found.model_copy(update=update), _values(request, found)


def _values(request: Request, asked: Application) -> dict[str, str]:
    """Return the values of an application's placeholders."""
    size = asked.size
    if "size" in request.options:
        size = parsed(request, _SIZE, grammar.parse_size)
    if size < asked.minimum_size:
        least = format_size(asked.minimum_size)
        raise request.wrong("size", f"{asked.name} takes {least} or more")
    return asked.parameters | parsed(request, _SET, _parse_set, asked) | {"size": str(size)}


def _parse_set(text: str, asked: Application) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in filter(None, text.splitlines()):
        name, sign, value = line.partition("=")
        if not sign:
            raise UserError(f"'{line}' is not NAME=VALUE, as in seconds=10")
        known = tuple(asked.parameters)
        if name not in known:
            raise UserError(
                f"{asked.name} has no parameter '{name}'{did_you_mean(name, known)}; it has "
                f"{', '.join(known) or 'none'}"
            )
        found[name] = value
    return found


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


def _spec(
    request: Request,
    topology: Topology,
    asked: Application,
    values: Mapping[str, str],
    name: str,
    settings: Settings,
) -> EffectSpec:
    cpus = settings.cpus or topology.cpus
    outside = sorted(set(cpus) - set(topology.cpus))
    if outside:
        raise request.wrong(
            "placement",
            f"{name}: CPUs {','.join(map(str, outside))} do not exist or may not be used",
        )
    with_memory = [node.number for node in topology.nodes if node.total_bytes]
    smaller = [] if settings.room_node is None else [settings.room_node]
    lacking = sorted({*settings.nodes, *smaller} - {*with_memory})
    if lacking:
        raise request.wrong(
            "placement",
            f"{name}: node {lacking[0]} does not exist or has no memory; choose among "
            f"{', '.join(map(str, with_memory))}",
        )
    nodes = settings.nodes or with_memory
    target = Endpoint(kind=EndpointKind.NODE, numbers=tuple(nodes), weights=tuple(settings.weights))
    given = {**values, "cpus": str(len(cpus))} if asked.name else {}

    def words(command: Sequence[str]) -> list[str]:
        return [checked(request, "set", filled, word, given) for word in command]

    program = words(asked.program) if asked.name else asked.program
    fields: dict[str, Any] = {
        "initiator": str(Endpoint(kind=EndpointKind.CPUS, numbers=tuple(sorted(cpus)))),
        "target": str(target),
        "cpus": sorted(cpus),
        "program": program,
        "client": words(asked.client) if asked.name else asked.client,
        "steps": {
            step: [words(command) for command in getattr(asked, step)]
            for step in Steps.model_fields
        },
        "about": asked.about.model_dump() if asked.name else None,
        "python_packages": asked.python_packages,
        "path": asked.path,
        "unprivileged": asked.unprivileged,
        "directory": str(Path.cwd()),
        "settings": _with_own_rules(request, name, settings, asked, given),
        "reported": checked(request, "metric", parse_metrics, "\n".join(asked.figures)),
        "gc_log": asked.gc_log,
        "count": parsed(request, _ROUNDS, grammar.parse_count, 1),
        "timeout_s": parsed(request, _TIMEOUT, grammar.parse_duration, 0, _MAX_TIMEOUT_S),
        "save": parsed(request, _SAVE, _directory),
        "pattern": {"command": _title(asked, values, program), "placement": name},
    }  # fmt: skip
    return spec_of(request, EffectSpec, fields, [asked.name or Path(program[0]).name, name])


def _title(asked: Application, values: Mapping[str, str], program: Sequence[str]) -> str:
    """Return how tables call it: its command, or the application with its size and what was set."""
    if not asked.name or not values:
        return shlex.join(program)
    changed = [
        f"{key} {values[key]}" for key, own in asked.parameters.items() if values[key] != own
    ]
    return ", ".join([asked.name, format_size(int(values["size"])), *changed])


def _with_own_rules(
    request: Request,
    name: str,
    settings: Settings,
    asked: Application,
    values: Mapping[str, str],
) -> Settings:
    """Return settings with the application's own rules for its heap, where they ask for these."""
    if settings.alloc != _OWN_RULES:
        return settings
    if not asked.rules:
        what = f"{asked.name} has no rules" if asked.name else "only applications have rules"
        raise request.wrong("placement", f"{name}: {what} of its own; name a file of rules")
    fast, _, slow = settings.pairs[0].partition(":")
    values = {**values, "fast": fast, "slow": slow}
    lines = [checked(request, "set", filled, line, values) for line in asked.rules.splitlines()]
    rules = ";".join(filter(None, map(str.strip, lines)))
    checked(request, "placement", check_rules, rules)
    return settings.model_copy(update={"alloc": rules})


def _directory(text: str) -> str:
    if text and not Path(text).is_dir():
        raise UserError(f"'{text}' is not a directory")
    return str(Path(text).absolute()) if text else ""


REQUEST = RequestForm(
    options=(
        _PLACEMENT,
        _METRIC,
        Option(
            "gc-log",
            "",
            "It is a JVM: compare the pauses of its garbage collector",
            flag=True,
            essential=False,
        ),
        Option(
            "client",
            "COMMAND",
            "A program that uses it and ends, not placed itself; it prints the metrics",
            essential=False,
        ),
        _ROUNDS,
        _TIMEOUT,
        _SAVE,
        _APP,
        _SIZE,
        _SET,
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
        "effect --app redis --placement node:0 --placement node:0,2@3:1",
        "effect --placement as-found --placement tier:numa-balancing -- python3 job.py",
    ),
)
