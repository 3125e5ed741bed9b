"""cufile.json: JSON with // and /* */ comments, and the place of every key in its text."""

import json
import math
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError
from tierscope.model.given_file import open_given

VARIABLE = "CUFILE_ENV_PATH_JSON"
"""Environment variable that names the file; of any process that uses cuFile."""
USUAL = "/etc/cufile.json"
_MAX_BYTES = 1 << 20
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/|/\*", re.DOTALL)
_TOKEN = re.compile(rf"({_STRING})|[{{}}\[\],:]", re.DOTALL)
_NUMBER = re.compile(rf"{_STRING}|(NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)", re.DOTALL)

KeyPath = tuple[str, ...]
"""Keys from the outermost object inwards."""
ADDRESSES = "rdma_dev_addr_list"
"""Of all storage, of a file system, and of each mount in a mount table."""
OVERRIDES = {
    "CUFILE_ALLOW_COMPAT_MODE": "properties.allow_compat_mode",
    "CUFILE_FORCE_COMPAT_MODE": "properties.force_compat_mode",
    "CUFILE_USE_PCIP2PDMA": "properties.use_pci_p2pdma",
    "CUFILE_LOGGING_LEVEL": "logging.level",
    "CUFILE_LOGFILE_PATH": "logging.dir",
    "CUFILE_SKIP_TOPOLOGY_DETECTION": "miscellaneous.skip_topology_detection",
    "CUFILE_IO_PRIORITY": "properties.io_priority",
}
"""Environment variables that count before the key of cufile.json."""
_WORDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "text": 'text in quotes ("...")',
    "integers": "a list of whole numbers ([4, 1024])",
    "texts": 'a list of texts (["..."])',
    "addresses": 'a list of IPv4 addresses (["10.0.1.2"])',
    "list": "a list ([...])",
    "mounts": "an object with a mount point in each key",
    "hex": 'a 32-bit number in hexadecimal as text ("0xffeeddcc")',
}
LIBRARIES = ("1.15", "1.20")
"""Releases of libcufile that the table was tried on; the order of ``Key.built_in``."""
TRIED = "libcufile 1.15 and 1.20"


@dataclass(frozen=True)
class CufileJson:
    """One file, parsed."""

    name: str
    """Where it was read from, as messages name it."""
    values: dict[str, Any]
    lines: dict[KeyPath, list[int]]
    """Line of each key, counted from 1; several where a key is given more than once."""


def read_text(name: str) -> str:
    """Return a file's text. Raises UserError where it cannot be read or is not text."""
    try:
        with open_given(name) as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UserError(f"{name}: larger than 1 MiB, so it is not a cufile.json")
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


def _lines(plain: str) -> dict[KeyPath, list[int]]:
    """Return the lines of keys in a text that is known to be JSON."""
    breaks = [match.start() for match in re.finditer("\n", plain)]
    found: dict[KeyPath, list[int]] = {}
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


OLD_SECTION, NEW_SECTION = "blacklist", "denylist"
"""Names of the deny list. libcufile 1.15 and 1.20 have the second name only."""


@dataclass(frozen=True)
class Key:
    """One key; what is not known is None or empty."""

    name: str
    """With its sections: properties.io_batchsize."""
    kind: str
    meaning: str
    default: Any = None
    """None: none is documented, or documents differ (see the note)."""
    default_from: str = ""
    """``from`` in the file. "guide r1.12" is NVIDIA's "GPUDirect Storage Benchmarking and
    Configuration Guide" of March 2025 (CUDA 12.8), section 4.2.2; "gdscheck 1.16" is what that
    release's ``gdscheck -p`` prints."""
    note: str = ""
    """Remark about the default or the range."""
    built_in: tuple[Any, ...] = ()
    """Defaults of libcufile, the newest library last, where they are known.
    "" and [] where the older one has no getter."""
    lenient: bool = False
    """The libraries take a wrong value without a word, in place of refusing the whole file."""
    least: int | None = None
    """As cuFileGetParameterMinMaxValue of both libraries says, the wider range; ``most`` too."""
    most: int | None = None
    multiple: int | None = None
    choices: tuple[str, ...] = ()
    since: str = ""
    """Release of GPUDirect Storage that brought it; "after 1.15" where all that is known is that
    libcufile 1.20 has it and 1.15 does not."""
    missing: str = ""
    """Libraries that do not have it, though documents do."""
    advice: str = ""
    advised_by: str = ""

    def wrong_type(self, value: Any) -> str:
        """Return what type is needed, where the value has another one; empty where it fits."""
        fits = {
            "boolean": lambda: isinstance(value, bool),
            "integer": lambda: _whole(value),
            "text": lambda: isinstance(value, str),
            "integers": lambda: isinstance(value, list) and all(map(_whole, value)),
            "texts": lambda: _texts(value),
            "addresses": lambda: _texts(value),
            "list": lambda: isinstance(value, list),
            "mounts": lambda: isinstance(value, dict),
            "hex": lambda: (
                isinstance(value, str) and re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}", value) is not None
            ),
        }
        return "" if fits[self.kind]() else f"{_WORDS[self.kind]} is needed"

    def wrong_value(self, value: Any) -> str:
        """Return what is wrong with a value of the right type; empty where nothing is."""
        if self.kind in ("integer", "integers"):
            numbers = value if isinstance(value, list) else [value]
            return next(filter(None, map(self._wrong_number, numbers)), "")
        if self.choices:
            words = value if isinstance(value, list) else [value]
            bad = [word for word in words if word not in self.choices]
            return f"{bad[0]!a} is none of {', '.join(self.choices)}" if bad else ""
        if self.kind == "mounts":
            return next(filter(None, map(_wrong_mount, value, value.values())), "")
        return _wrong_address(value) if self.kind == "addresses" else ""

    def _wrong_number(self, number: int) -> str:
        if self.least is not None and number < self.least:
            return f"{number} is less than {self.least}, the least allowed"
        if self.most is not None and number > self.most:
            return f"{number} is more than {self.most}, the most that {TRIED} take"
        if self.multiple and number % self.multiple:
            return f"{number} is not a multiple of {self.multiple} (KiB)"
        return ""


@cache
def keys() -> dict[str, Key]:
    """Every known key by its name."""
    text = Path(__file__).with_name("cufile_keys.json").read_text(encoding="utf-8")
    return {name: _key(name, table) for name, table in json.loads(text).items()}


def current_name(name: str) -> str:
    """Return a key's name with the section that has another name now."""
    section, _, rest = name.partition(".")
    return f"{NEW_SECTION}.{rest}" if section == OLD_SECTION else name


def sections() -> set[str]:
    """Every object that holds known keys: properties, fs, fs.lustre, ..."""
    return {above for name in keys() for above in _above(name)}


def _above(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _key(name: str, table: dict[str, Any]) -> Key:
    values = {**table, **{name: tuple(table.get(name, ())) for name in ("choices", "built_in")}}
    values["default_from"] = values.pop("from", "")
    return Key(name=name, **values)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _wrong_mount(point: str, value: Any) -> str:
    """Return what is wrong with a row of a mount table."""
    if not point.startswith("/"):
        return f"{point!a} is not a mount point: it does not begin with /"
    if not isinstance(value, dict) or list(value) != [ADDRESSES] or not _texts(value[ADDRESSES]):
        return f'{point!a} needs {{"{ADDRESSES}": ["10.0.1.2"]}}'
    return _wrong_address(value[ADDRESSES])


def _wrong_address(words: list[str]) -> str:
    bad = [word for word in words if not _is_address(word)]
    return f"{bad[0]!a} is not an IPv4 address" if bad else ""


def _is_address(word: str) -> bool:
    try:
        IPv4Address(word)
    except AddressValueError:
        return False
    return True
