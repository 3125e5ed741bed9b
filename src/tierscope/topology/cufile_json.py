"""cufile.json: JSON with // and /* */ comments, and the place of every key in its text."""

import json
import math
import re
import sys
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from tierscope.model.errors import UserError

VARIABLE = "CUFILE_ENV_PATH_JSON"
"""Environment variable that names the file; of any process that uses cuFile."""
USUAL = "/etc/cufile.json"
_MAX_BYTES = 1 << 20
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/|/\*", re.DOTALL)
_TOKEN = re.compile(rf"({_STRING})|[{{}}\[\],:]", re.DOTALL)
_NUMBER = re.compile(rf"{_STRING}|(NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)", re.DOTALL)

Path = tuple[str, ...]
"""Keys from the outermost object inwards."""


@dataclass(frozen=True)
class CufileJson:
    """One file, parsed."""

    name: str
    """Where it was read from, as messages name it."""
    values: dict[str, Any]
    lines: dict[Path, list[int]]
    """Line of each key, counted from 1; several where a key is given more than once."""


def read_text(name: str) -> str:
    """Return a file's text. Raises UserError where it cannot be read or is no text."""
    try:
        with open(name, "rb") as file:  # noqa: PTH123
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UserError(f"{name}: larger than 1 MiB, so it is no cufile.json")
        return data.decode()
    except OSError as error:
        raise UserError(f"{name}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        raise _wrong(name, before, len(before), "a byte that is not UTF-8") from None


def parse(text: str, name: str) -> CufileJson:
    """Parse a file's text.

    JSON is parsed as Python's json module does. Raises UserError (name:line:column) for anything
    else, and for numbers that no double holds.
    """
    plain = _STRING_OR_COMMENT.sub(lambda match: _blank(match, name), text)
    try:
        values = json.loads(plain, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _wrong(name, text, error.pos, _said(plain, error)) from None
    except RecursionError:
        raise UserError(f"{name}: nested too deeply for a cufile.json") from None
    except ValueError:  # of a number
        raise _wrong(name, text, _no_number(plain), "not a number that can be used here") from None
    if not isinstance(values, dict):
        start = len(plain) - len(plain.lstrip())
        raise _wrong(name, text, start, "an object is needed: { ... } with sections in it")
    return CufileJson(name, values, _lines(plain))


def with_value(values: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Return a copy in which a key, such as ``properties.io_batchsize``, has this value."""
    name, _, rest = key.partition(".")
    if not rest:
        return {**values, name: value}
    inner = values.get(name)
    return {**values, name: with_value(inner if isinstance(inner, dict) else {}, rest, value)}


def value_of(values: dict[str, Any], key: str) -> Any:
    """Return a key's value; None where the file does not have it."""
    found: Any = values
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _blank(match: re.Match[str], name: str) -> str:
    """Put blanks in place of a comment, so that everything else stays where it is."""
    found = match[0]
    if found.startswith('"'):
        return found
    if found == "/*":
        raise _wrong(name, match.string, match.start(), "this comment has no end: */ is missing")
    return re.sub(r"[^\n]", " ", found)


def _refuse(word: str) -> Any:
    """NaN and Infinity are no JSON."""
    raise ValueError(word)


def _finite(word: str) -> float:
    if math.isinf(value := float(word)):
        raise ValueError(word)
    return value


def _no_number(plain: str) -> int:
    """Return where the first number is that Python cannot hold, or a word in place of one."""
    for found in _NUMBER.finditer(plain):
        if found[1] and not _usable(found[1]):
            return found.start()
    return 0


def _usable(word: str) -> bool:
    if word.lstrip("-").isdigit():
        return len(word) <= sys.int_info.default_max_str_digits
    return math.isfinite(float(word))


def _said(plain: str, error: json.JSONDecodeError) -> str:
    """Return what is wrong in words that help with the usual mistakes."""
    found = plain[error.pos : error.pos + 1]
    before = plain[: error.pos].rstrip()[-1:]
    if not found:
        return "the file ends too early: a } or ] is missing"
    if error.msg.startswith("Unexpected UTF-8 BOM"):
        return "a byte order mark, which cuFile refuses: save the file without it"
    if found == "#":
        return "'#' begins no comment here: write // in front"
    if found == "'":
        return 'text stands in double quotes: "..."'
    if (found in "}]" and before == ",") or error.msg.startswith("Illegal trailing comma"):
        return "a comma before the closing bracket, where nothing follows it"
    if error.msg == "Extra data":
        return f"{found!a} after the end of the outermost object"
    words = {
        "Expecting value": "a value is expected (text, number, true, false, [...] or {...})",
        "Expecting property name enclosed in double quotes": 'a key is expected: "name":',
        "Expecting ',' delimiter": "a comma or the closing bracket is expected",
        "Expecting ':' delimiter": "a colon is expected between key and value",
    }
    if error.msg in words:
        return f"{words[error.msg]}, not {found!a}"
    if error.msg.startswith("Invalid control character"):
        return "a line break or another control character inside a text: no closing quote before it"
    said = error.msg.removesuffix(" starting at").removesuffix(": ")
    return f"{said[:1].lower()}{said[1:]}"


def _wrong(name: str, text: str, offset: int, said: str) -> UserError:
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return UserError(f"{name}:{line}:{column}: {said}")


def _lines(plain: str) -> dict[Path, list[int]]:
    """Return the lines of keys in a text that is known to be JSON."""
    breaks = [match.start() for match in re.finditer("\n", plain)]
    found: dict[Path, list[int]] = {}
    path: list[str] = []
    """The key before each bracket that is open; empty for an array's elements."""
    last, at = "", 0
    for token in _TOKEN.finditer(plain):
        word = token[0]
        if token[1]:
            last, at = word, token.start()
        elif word == ":":
            key = json.loads(last)
            path[-1] = key
            found.setdefault(tuple(path), []).append(bisect_right(breaks, at) + 1)
        elif word in "{[":
            path.append("")
        elif word in "}]":
            path.pop()
    return found
