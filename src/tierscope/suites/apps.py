"""Applications under placements: each one's rounds, its memory on every tier that there is."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set

from tierscope.kinds.effect.application import FOLDER, application
from tierscope.kinds.effect.spec import REQUEST as EFFECT
from tierscope.kinds.effect.spec import EffectSpec, Settings
from tierscope.kinds.plan import Spec
from tierscope.model.application import Application
from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.spec import MeasurementSpec
from tierscope.model.topology import Topology
from tierscope.plans import machine
from tierscope.plans.axes import checked, identity
from tierscope.plans.forms import form_of
from tierscope.plans.grammar import split_words
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.yaml_file import read_text
from tierscope.plans.yaml_plan import parse_plan
from tierscope.suites import whatif
from tierscope.suites.app_placements import LOCAL, NAMES, OWN_RULES, SITES, placements

_BUDGET = "1s"
_PLAN_SUFFIX = ".plan"
_PASSED = ("rounds", "timeout", "save-output")
_ROUNDS = "6"
_KNOWN = (*NAMES, SITES)
_DEFAULT = "redis,memcached,postgres,rocksdb,vector"
_APPS = Option(
    "apps",
    "NAMES",
    "Applications: names of 'tierscope apps list', paths of files",
    _DEFAULT,
    words=True,
)
_PLACEMENTS = Option(
    "placements",
    "LIST",
    f"Where their memory is: {', '.join(NAMES)}; the others are compared with {LOCAL}. "
    f"{SITES}: which functions allocate most",
    "all that this machine has",
)
_SET = Option(
    "set",
    "APP.NAME=VALUE",
    "Another value for a parameter of an application, or its size. May be given again",
    many=True,
)


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[MeasurementSpec]:
    """Yield what figures of applications are predicted from, then a measurement for each of them
    and each placement; what cannot be placed as asked is skipped with the reason."""
    names = checked(request, "apps", _names, request.options.get("apps", _DEFAULT))
    given = checked(request, "set", _parse_set, request.options.get("set", ""), names)
    asked = checked(request, "placements", _asked, request.options.get("placements", ""))
    apps = [checked(request, "apps", application, name) for name in names]
    if machine.one_node(topology):
        yield from _expected({app.resembles for app in apps} - {""}, topology, thp)
    for plan in sorted({app.predicted_by for app in apps} - {""}):
        for one in predicting_plan(plan):
            yield from form_of(one.kind).expand(one, topology, thp)
    for name, app in zip(names, apps, strict=True):
        found = _of(app, placements(topology, asked or NAMES))
        possible = {one: words for one, (words, _) in found.items() if words}
        options = {key: request.options[key] for key in _PASSED if key in request.options}
        options = {"rounds": _ROUNDS, **options, **given.get(name, {}), "app": name}
        options["placement"] = "\n".join(f"{one}={words}" for one, words in possible.items())
        own = Request(
            kind="effect", name=request.name or "apps", options=options, origins=request.origins
        )
        specs: list[EffectSpec] = [*EFFECT.expand(own, topology, thp)]  # type: ignore[list-item]
        for spec in specs:
            # What allocates is the same in each run.
            counts = spec.settings.alloc == SITES
            yield spec.model_copy(update={"count": 1}) if counts else spec
        if asked:
            yield from _impossible(specs[0], {one: why for one, (_, why) in found.items() if why})


def predicting_plan(name: str) -> list[Request]:
    """Return the requests of a plan that predicts figures of applications; raises UserError.

    Its paths stand for the folder for temporary files.
    """
    path = FOLDER / f"{name}{_PLAN_SUFFIX}"
    text = read_text(path, "plan").replace("{folder}", tempfile.gettempdir())
    return parse_plan(text, str(path))


def _expected(operations: Set[str], topology: Topology, thp: bool) -> Iterator[MeasurementSpec]:
    """Yield what ``whatif`` needs to predict operations like those of applications."""
    structures = ",".join(sorted({"hash", "btree"} & operations))
    wanted: dict[str, dict[str, str]] = {"chain": {}} if "chain" in operations else {}
    if structures:
        wanted["ops"] = {"structure": structures, "interleave": "1"}
    found: list[Spec] = []
    for one in whatif.requests(topology, _BUDGET):
        if (own := wanted.get(one.kind)) is not None:
            request = one.model_copy(update={"options": {**one.options, **own}})
            found += form_of(one.kind).expand(request, topology, thp)
    yield from found
    yield from whatif.needed(found, topology, thp, (), _BUDGET)


def _of(app: Application, found: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the words of each placement, or the reason why the application cannot have it."""
    no_rules = ("", f"{app.name} has no rules for its heap")
    return {name: no_rules if name == OWN_RULES and not app.rules and one[0] else one
            for name, one in found.items()}  # fmt: skip


def _impossible(like: EffectSpec, reasons: Mapping[str, str]) -> Iterator[EffectSpec]:
    for placement, why in reasons.items():
        pattern = like.pattern.model_copy(update={"placement": placement})
        update = {
            "id": identity(["apps", *like.id.split(".")[1:-1], placement]),
            "settings": Settings(impossible=why),
            "pattern": pattern,
        }
        yield like.model_copy(update=update)


def _names(text: str) -> list[str]:
    found = list(dict.fromkeys(split_words(text))) if text else []
    if not found:
        raise UserError("name applications, as in redis,postgres; 'tierscope apps list' has them")
    return found


def _asked(text: str) -> list[str]:
    found = list(dict.fromkeys(split_words(text))) if text else []
    for name in found:
        if name not in _KNOWN:
            near, known = did_you_mean(name, _KNOWN), ", ".join(_KNOWN)
            raise UserError(f"'{name}' is no placement{near}; choose among {known}")
    # The others are compared with it.
    return [LOCAL, *(name for name in found if name != LOCAL)] if found else []


def _parse_set(text: str, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return options of effect by application: its size, and what else was set."""
    found: dict[str, dict[str, str]] = {}
    for line in filter(None, text.splitlines()):
        left, sign, value = line.partition("=")
        app, dot, name = left.rpartition(".")
        if not sign or not dot:
            raise UserError(f"'{line}' is not APP.NAME=VALUE, as in redis.seconds=10")
        if app not in names:
            raise UserError(f"'{line}': '{app}' is none of the applications, {', '.join(names)}")
        options = found.setdefault(app, {})
        if name == "size":
            options["size"] = value
        else:
            options["set"] = "\n".join(filter(None, [options.get("set"), f"{name}={value}"]))
    return found


REQUEST = RequestForm(
    options=(
        _APPS,
        _PLACEMENTS,
        _SET,
        *(
            option.but(default=_ROUNDS) if option.name == "rounds" else option
            for option in EFFECT.options
            if option.name in _PASSED
        ),
    ),
    expand=expand,
    help="""\
In each round every application runs once under each placement, in random order. It is set up,
loaded, warmed up and measured; its results are checked; where its pages are is read back
meanwhile. Slowdowns are against local, by the pairs of the same round.

On a machine with one memory tier, local is measured, and what the others need is said.""",
    examples=(
        "apps run redis,memcached,postgres,rocksdb,vector",
        "apps run redis --placements local,slow,interleave --set redis.size=1g --rounds 10",
        "apps run ./mine.yaml --dry-run",
    ),
)
