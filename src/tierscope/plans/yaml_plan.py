"""Plans written in YAML; docs/file-formats.md describes them."""

from pathlib import Path
from typing import Any, NamedTuple

from tierscope.machine.stated import STATEMENTS
from tierscope.model.errors import UserError, shown
from tierscope.plans.forms import form_of, known_word, request_words
from tierscope.plans.options import OLDER, Option
from tierscope.plans.request import Request
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar, sequence

PLAN_FILE_VERSION = "1"
_NAME_LENGTH = 24


class YamlPlan(NamedTuple):
    """What a plan's file has."""

    requests: list[Request]
    stated: dict[str, str]
    """What it states of the machine, by key."""


def read_plan(path: Path) -> list[Request]:
    """Return the requests of a YAML plan; raises UserError with file, line and key."""
    return parse_plan(read_text(path, "plan"), shown(path))


def parse_plan(text: str, path: str) -> list[Request]:
    """Return the requests of a plan's text; ``path`` is for error messages only."""
    return parse_file(text, path).requests


def parse_file(text: str, path: str) -> YamlPlan:
    """Return all that a plan's text has; ``path`` is for error messages only."""
    root = compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: the plan is empty; it needs a key 'measurements'")
    place = Place(path)
    top = mapping(place, root, "the plan", ("version", *STATEMENTS, "measurements"))
    if "version" in top and scalar(place, top["version"], "version") != PLAN_FILE_VERSION:
        raise place.error(
            top["version"], f"key 'version': this tierscope reads {PLAN_FILE_VERSION}"
        )
    if "measurements" not in top:
        raise place.error(root, "the plan has no key 'measurements'")
    items = sequence(place, top["measurements"], "measurements")
    return YamlPlan([_request(place, item) for item in items], _stated(place, top))


def _stated(place: Place, top: dict[str, Any]) -> dict[str, str]:
    found = {name: scalar(place, top[name], name) for name in STATEMENTS if name in top}
    for name, text in found.items():
        try:
            STATEMENTS[name].parse(text)
        except UserError as error:
            raise place.error(top[name], f"key '{name}': {error}") from None
    return found


def _request(place: Place, node: Any) -> Request:
    keys = mapping(place, node, "a measurement", ("name", "kind", "args", "matrix"))
    if "kind" not in keys:
        raise place.error(node, f"a measurement needs a key 'kind': {', '.join(request_words())}")
    try:
        kind = known_word(scalar(place, keys["kind"], "kind"))
    except UserError as error:
        raise place.error(keys["kind"], f"key 'kind': {error}") from None
    known = {option.name: option for option in form_of(kind).options}
    options: dict[str, str] = {}
    origins: dict[str, str] = {}
    for section in ("args", "matrix"):
        if section not in keys:
            continue
        values = mapping(place, keys[section], f"'{section}' of a {kind}", (*known,), OLDER)
        for option, value in values.items():
            if option in options:
                raise place.error(value, f"key '{option}' stands in both args and matrix")
            options[option] = _value(place, value, known[option])
            origins[option] = f"{place.path}:{value.start_mark.line + 1}: key '{option}'"
    return Request.model_validate(
        {"kind": kind, "name": _name(place, keys), "options": options, "origins": origins}
    )


def _name(place: Place, keys: dict[str, Any]) -> str:
    if "name" not in keys:
        return ""
    name = scalar(place, keys["name"], "name")
    if len(name) > _NAME_LENGTH or not all(
        c.isascii() and (c.isalnum() or c in "-_") for c in name
    ):
        raise place.error(
            keys["name"],
            f"key 'name': letters, digits, - and _ only, at most {_NAME_LENGTH} of them",
        )
    return name


def _value(place: Place, node: Any, option: Option) -> str:
    """Return an option's value, or a list of them, as the text that a flag would have."""
    from yaml import CollectionNode, MappingNode, SequenceNode

    if isinstance(node, MappingNode):
        raise place.error(node, f"key '{option.name}' has to be one plain value or a list of them")
    if not isinstance(node, SequenceNode):
        return scalar(place, node, option.name)
    items = sequence(place, node, option.name)
    for item in items:
        if isinstance(item, CollectionNode):
            raise place.error(
                item, f"key '{option.name}': each item of its list has to be one plain value"
            )
    return option.joined([scalar(place, item, option.name) for item in items])
