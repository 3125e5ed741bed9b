"""Plans written in YAML; docs/file-formats.md describes them.

Scalars stay the text that was written, so that a plan's values have the grammar of the command
line's and no YAML type rule (``1e3``, ``0o7``, ``no``) can change them on the way.
"""

from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError
from tierscope.plans.grammar import did_you_mean
from tierscope.plans.request import OPTIONS, Request

PLAN_FILE_VERSION = "1"
MAX_BYTES = 4 << 20
_NAME_LENGTH = 24


class _Place:
    """A file and a line, to begin an error with."""

    def __init__(self, path: str) -> None:
        self.path = path

    def error(self, node: Any, what: str) -> UserError:
        return UserError(f"{self.path}:{node.start_mark.line + 1}: {what}")


def read_plan(path: Path) -> list[Request]:
    """Return the requests of a YAML plan; raises UserError with file, line and key."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"plan '{path}' cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise UserError(f"plan '{path}' is larger than {MAX_BYTES >> 20} MiB, the most for a plan")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{path}:{line}: the plan is not UTF-8 text") from None
    return parse_plan(text, str(path))


def parse_plan(text: str, path: str) -> list[Request]:
    """Return the requests of a plan's text; ``path`` is for error messages only."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = " ".join(str(error.problem or error.context or "malformed").split())
        raise UserError(f"{path}:{line}: not valid YAML: {problem}") from None
    except (YAMLError, ValueError) as error:
        problem = " ".join(str(error).split())
        raise UserError(f"{path}:1: not valid YAML: {problem}") from None
    except RecursionError:
        raise UserError(f"{path}:1: not valid YAML: nested too deeply") from None
    if root is None:
        raise UserError(f"{path}:1: the plan is empty; it needs a key 'measurements'")
    place = _Place(path)
    top = _mapping(place, root, "the plan", ("version", "measurements"))
    if "version" in top and _scalar(place, top["version"], "version") != PLAN_FILE_VERSION:
        raise place.error(
            top["version"], f"key 'version': this tierscope reads {PLAN_FILE_VERSION}"
        )
    if "measurements" not in top:
        raise place.error(root, "the plan has no key 'measurements'")
    items = _sequence(place, top["measurements"], "measurements")
    return [_request(place, item) for item in items]


def _request(place: _Place, node: Any) -> Request:
    keys = _mapping(place, node, "a measurement", ("name", "kind", "args", "matrix"))
    if "kind" not in keys:
        raise place.error(node, f"a measurement needs a key 'kind': {', '.join(OPTIONS)}")
    kind = _scalar(place, keys["kind"], "kind")
    kinds = tuple(OPTIONS)
    if kind not in kinds:
        nearest = did_you_mean(kind, kinds)
        raise place.error(
            keys["kind"], f"key 'kind': '{kind}' is not one of {', '.join(kinds)}{nearest}"
        )
    options: dict[str, str] = {}
    origins: dict[str, str] = {}
    for section in ("args", "matrix"):
        if section not in keys:
            continue
        values = _mapping(place, keys[section], f"'{section}' of a {kind}", tuple(OPTIONS[kind]))
        for option, value in values.items():
            if option in options:
                raise place.error(value, f"key '{option}' stands in both args and matrix")
            options[option] = _value(place, value, option, section)
            origins[option] = f"{place.path}:{value.start_mark.line + 1}: key '{option}'"
    return Request.model_validate(
        {"kind": kind, "name": _name(place, keys), "options": options, "origins": origins}
    )


def _name(place: _Place, keys: dict[str, Any]) -> str:
    if "name" not in keys:
        return ""
    name = _scalar(place, keys["name"], "name")
    if len(name) > _NAME_LENGTH or not all(
        c.isascii() and (c.isalnum() or c in "-_") for c in name
    ):
        raise place.error(
            keys["name"],
            f"key 'name': letters, digits, - and _ only, at most {_NAME_LENGTH} of them",
        )
    return name


def _value(place: _Place, node: Any, option: str, section: str) -> str:
    """Return an option's value as the text that a flag would have."""
    from ruamel.yaml.nodes import SequenceNode

    if section == "args":
        return _scalar(place, node, option)
    if not isinstance(node, SequenceNode):
        return _scalar(place, node, option)
    return ",".join(_scalar(place, item, option) for item in _sequence(place, node, option))


def _mapping(place: _Place, node: Any, what: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    from ruamel.yaml.nodes import MappingNode

    if not isinstance(node, MappingNode):
        raise place.error(node, f"{what} has to be a mapping with the keys {', '.join(allowed)}")
    found: dict[str, Any] = {}
    for key_node, value in node.value:
        key = _scalar(place, key_node, "key")
        if key not in allowed:
            raise place.error(
                key_node,
                f"unknown key '{key}' in {what}{did_you_mean(key, allowed)}; "
                f"allowed: {', '.join(allowed)}",
            )
        if key in found:
            raise place.error(key_node, f"key '{key}' is given twice")
        found[key] = value
    return found


def _sequence(place: _Place, node: Any, key: str) -> list[Any]:
    from ruamel.yaml.nodes import SequenceNode

    if not isinstance(node, SequenceNode) or not node.value:
        raise place.error(node, f"key '{key}' has to be a list with at least one item")
    return list(node.value)


def _scalar(place: _Place, node: Any, key: str) -> str:
    from ruamel.yaml.nodes import ScalarNode

    if not isinstance(node, ScalarNode):
        raise place.error(node, f"key '{key}' has to be one plain value")
    text = str(node.value).strip()
    if not text or (text in ("~", "null") and not node.style):
        raise place.error(node, f"key '{key}' has no value")
    return text
