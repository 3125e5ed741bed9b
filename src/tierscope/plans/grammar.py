"""The values that options take, the same on the command line and in YAML plans.

Every option takes one value, a comma-separated list of values, or ranges::

    64..64k       sizes double from the first to the last: 64, 128, ... 65536
    1..8          counts go up by one: 1, 2, ... 8
    1..all*2      *N multiplies instead, +N adds: 1, 2, 4, ... and always the last one
    64..1k+64

The last value of a range always belongs to it, whether or not a step lands on it. Sizes take the
suffixes k, m, g and t, which are powers of 1024. ``all`` is the number of CPUs there are.
"""

import math
import re
from collections.abc import Callable
from typing import TypeVar

from tierscope.model.errors import UserError

Value = TypeVar("Value", int, str)

MAX_VALUES = 10_000
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_RANGE = re.compile(
    r"(?P<first>[^.+*]+(?:\.\d+\w*)?)\.\.(?P<last>[^+*]+)(?:(?P<how>[+*])(?P<step>.+))?"
)
_DURATION = re.compile(r"(.*?)\s*(ns|us|ms|s|m|min|h)?", re.DOTALL)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_MIX = re.compile(r"(\d{1,3}):(\d{1,3})(nt|clwb|clflushopt)?", re.ASCII)
_NEXT_ENDPOINT = re.compile(r",(?=\s*(?:node|cpus|gpu|file|dev|pmem|dax):)")


def parse_size(text: str) -> int:
    """Parse ``64``, ``4k``, ``1.5g``, ``2MiB`` into bytes."""
    match = _SIZE.fullmatch(text.strip())
    if not match or len(match[1]) > 20:
        raise UserError(
            f"'{text}' is not a size such as 64, 4k, 1.5m or 2g (k, m, g, t = 1024-based)"
        )
    value = float(match[1]) * _FACTOR[match[2].lower()]
    if value != int(value) or value > 1 << 50:
        raise UserError(f"size '{text}' is not a whole number of bytes up to 1024t")
    return int(value)


def format_size(size: int) -> str:
    """Write bytes so that ``parse_size`` gives them back: ``64``, ``4k``, ``1g``."""
    for suffix in ("t", "g", "m", "k"):
        if size and size % _FACTOR[suffix] == 0:
            return f"{size // _FACTOR[suffix]}{suffix}"
    return str(size)


def parse_count(text: str, every: int, minimum: int = 1) -> int:
    """Parse a number from ``minimum`` on; ``all`` is ``every``."""
    word = text.strip()
    if word == "all":
        return every
    if not (word.isascii() and word.isdigit() and len(word) <= 9):
        raise UserError(f"'{text}' is neither a count such as 4 nor the word 'all'")
    if int(word) < minimum:
        raise UserError(f"{word} is too few; the minimum is {minimum}")
    return int(word)


def parse_number(text: str, low: float, high: float) -> float:
    """Parse a decimal number above ``low`` and up to ``high``; a trailing % divides by 100."""
    word = text.strip()
    percent = word.endswith("%")
    try:
        value = float(word.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        raise UserError(f"'{text}' is not a number") from None
    if not low < value <= high:
        raise UserError(f"'{text}' is out of range: more than {low:g}, at most {high:g}")
    return value


def parse_share(text: str, low: float, high: float) -> float:
    """Parse ``1%`` or ``0.01``, above ``low`` and up to ``high``; hints at a missing % sign."""
    value = parse_number(text, -math.inf, math.inf)
    if low < value <= high:
        return value
    hint = f"; did you mean '{text.strip()}%'?" if low < value / 100 <= high else ""
    raise UserError(f"'{text}' is out of range: more than {low:.0%}, at most {high:.0%}{hint}")


def parse_duration(text: str, low: float, high: float) -> float:
    """Parse ``10``, ``500ms`` or ``1.5min`` into seconds above ``low`` and up to ``high``."""
    number, unit = _DURATION.fullmatch(text.strip()).groups()  # type: ignore[union-attr]
    try:
        value = float(number) * _SECONDS[unit or "s"]
    except ValueError:
        raise UserError(f"'{text}' is not a time such as 10s, 500ms or 2min") from None
    if not low < value <= high:
        raise UserError(f"'{text}' is out of range: more than {low:g} s, at most {high:g} s")
    return value


def parse_choice(text: str, allowed: tuple[str, ...]) -> str:
    """Check that a word is one of the allowed ones; names the nearest where it is not."""
    word = text.strip()
    if word not in allowed:
        raise UserError(f"'{text}' is not one of {', '.join(allowed)}{did_you_mean(word, allowed)}")
    return word


def parse_mix(text: str) -> tuple[int, str]:
    """Parse ``67:33`` or ``0:100clwb`` into writes of 100 lines and the kind of stores."""
    match = _MIX.fullmatch(text)
    if not match or int(match[1]) + int(match[2]) != 100:
        raise UserError(
            f"'{text}' is not reads:writes that add up to 100, such as 100:0, 67:33 or 50:50nt "
            "(nt, clwb or clflushopt)"
        )
    if match[3] and match[2] == "0":
        raise UserError(f"'{text}': without writes, none can be {match[3]}")
    return int(match[2]), match[3] or "ordinary"


def did_you_mean(word: str, allowed: tuple[str, ...]) -> str:
    """Name the nearest allowed word, or nothing."""
    import difflib

    nearest = difflib.get_close_matches(word, allowed, n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def expand_sizes(text: str) -> list[int]:
    """Expand a list of sizes and size ranges; ranges double unless told."""
    return _expand(text, parse_size, ("*", "2"))


def expand_counts(text: str, every: int, minimum: int = 1) -> list[int]:
    """Expand a list of counts and ranges; ranges go up by one unless told."""
    return _expand(text, lambda word: parse_count(word, every, minimum), ("+", "1"))


def split_words(text: str) -> list[str]:
    """Split a list at its commas."""
    return _without_twins(text, [word.strip() for word in text.split(",")])


def split_endpoints(text: str) -> list[str]:
    """Split a list of endpoints; a comma inside one (``node:0,2``) does not separate."""
    return _without_twins(text, [word.strip() for word in _NEXT_ENDPOINT.split(text)])


def _expand(text: str, parse: Callable[[str], int], default_step: tuple[str, str]) -> list[int]:
    values: list[int] = []
    for part in text.split(","):
        if ".." not in part:
            values.append(parse(part))
            continue
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise UserError(f"range '{part}' is not FIRST..LAST, FIRST..LAST*N or FIRST..LAST+N")
        how, step = (match["how"], match["step"]) if match["how"] else default_step
        values.extend(_steps(part, parse(match["first"]), parse(match["last"]), how, step))
    return _without_twins(text, values)


def _steps(part: str, first: int, last: int, how: str, step_text: str) -> list[int]:
    if last < first:
        raise UserError(f"range '{part}' runs backwards")
    step = parse_size(step_text)
    if how == "*" and (step < 2 or first == 0):
        raise UserError(f"range '{part}' never ends: multiply by 2 or more, from 1 or more")
    if how == "+" and step < 1:
        raise UserError(f"range '{part}' never ends: add 1 or more")
    values = []
    value = first
    while value < last:
        values.append(value)
        if len(values) > MAX_VALUES:
            raise UserError(f"range '{part}' has more than {MAX_VALUES} values")
        value = value * step if how == "*" else value + step
    return [*values, last]


def _without_twins(text: str, values: list[Value]) -> list[Value]:
    if "" in values:
        raise UserError(f"list '{text}' has an empty value")
    return list(dict.fromkeys(values))
