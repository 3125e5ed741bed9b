"""YAML files of ours: read as nodes, so that every error names its file, line and key.

Scalars stay the text that was written, so that values have the grammar of the command line's and
no YAML type rule (``1e3``, ``0o7``, ``no``) can change them on the way.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tierscope.machine.trust import why_untrusted
from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.given_file import open_given

MAX_BYTES = 1 << 20
"""Some 15,000 measurements; the nodes of as many bytes of ``[a, a, ...`` take 150 MiB."""


class Place:
    """A file and a line, to begin an error with."""

    def __init__(self, path: str) -> None:
        self.path = path

    def error(self, node: Any, what: str) -> UserError:
        """Return an error that begins with the node's file and line."""
        return UserError(f"{self.path}:{node.start_mark.line + 1}: {what}")

    def unknown_key(self, node: Any, what: str, allowed: tuple[str, ...]) -> UserError:
        """Return the error for a key of ``what`` that is none of those allowed."""
        key = node.value
        return self.error(
            node,
            f"unknown key '{key}' in {what}{did_you_mean(key, allowed)}; "
            f"allowed: {', '.join(allowed)}",
        )


def read_source(path: Path) -> str | None:
    """Return a plan's text, read once, as a pipe can be; None of a folder. Raises UserError."""
    folder = os.path.isdir(path)  # noqa: PTH112 - no error for a name that is too long
    return None if folder else read_text(path, "plan")


def read_text(path: Path, what: str, *, trusted: bool = False) -> str:
    """Return a file's text; ``what`` is what to call it: "plan". Raises UserError.

    With ``trusted``, root refuses a file that others may write or replace.
    """
    try:
        with open_given(path) as file:
            if trusted and (why := why_untrusted(file.fileno())):
                raise UserError(f"{what} '{path}' is not read: {why}")
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{what} '{path}' cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise UserError(f"{what} '{path}' is larger than the maximum, {MAX_BYTES >> 20} MiB")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{path}:{line}: the {what} is not UTF-8 text") from None


@lru_cache(maxsize=1)  # a plan's sort is asked of its text before the plan is read
def compose(text: str, path: str) -> Any:
    """Return the root node of YAML text, None where there is nothing; raises UserError."""
    import yaml

    # A PyYAML that was built without libyaml has the slow loader only.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.compose(text, loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # What lacks at the end lacks after the last line.
        line = min(mark.line, max(len(text.splitlines()), 1) - 1) + 1 if mark else 1
        problem = " ".join(str(error.problem or error.context or "malformed").split())
        raise UserError(f"{path}:{line}: not valid YAML: {problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        problem = " ".join(str(error).partition(' in "')[0].split())
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise UserError(f"{path}:{line}: not valid YAML: {problem}") from None
    except RecursionError:
        raise UserError(f"{path}:1: not valid YAML: nested too deeply") from None


def mapping(
    place: Place,
    node: Any,
    what: str,
    allowed: tuple[str, ...],
    older: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return a mapping's values by key; raises UserError for a key that is not allowed.

    ``older`` are names that some of the keys had and that are read as those.
    """
    from yaml import MappingNode

    if not isinstance(node, MappingNode):
        raise place.error(node, f"{what} has to be a mapping with the keys {', '.join(allowed)}")
    found: dict[str, Any] = {}
    for key_node, value in node.value:
        key = scalar(place, key_node, "key")
        if key not in allowed and older.get(key) in allowed:
            key = older[key]
        if key not in allowed:
            raise place.unknown_key(key_node, what, allowed)
        if key in found:
            raise place.error(key_node, f"key '{key}' is given twice")
        found[key] = value
    return found


def sequence(place: Place, node: Any, key: str) -> list[Any]:
    """Return a list's items, at least one."""
    from yaml import SequenceNode

    if not isinstance(node, SequenceNode) or not node.value:
        raise place.error(node, f"key '{key}' has to be a list with at least one item")
    return list(node.value)


def scalar(place: Place, node: Any, key: str) -> str:
    """Return a value's text as it was written."""
    from yaml import ScalarNode

    if not isinstance(node, ScalarNode):
        raise place.error(node, f"key '{key}' has to be one plain value")
    text = str(node.value).strip()
    if not text or (text in ("~", "null") and not node.style):
        raise place.error(node, f"key '{key}' has no value")
    return text
