"""The values that options take, the same on the command line and in YAML plans.

Every option takes a single value, a comma-separated list of values, or ranges::

    64..64k       sizes double from the first to the last: 64, 128, ... 65536
    1..8          counts go up by one: 1, 2, ... 8
    1..all*2      *N multiplies instead, +N adds: 1, 2, 4, ... and always the last one
    64..1k+64

The last value of a range always belongs to it, whether or not a step lands on it. Sizes take the
suffixes k, m, g and t, which are powers of 1024, and times ns, us, ms, s, min and h. ``all`` is the
number of CPUs there are.
"""

import itertools
import math
import re
from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import TypeVar

from tierscope.model.errors import UserError, did_you_mean

Value = TypeVar("Value", int, str)

MAX_VALUES = 10_000
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_RANGE = re.compile(
    r"(?P<first>[^.+*]+(?:\.\d+\w*)?)\.\.(?P<last>[^+*]+)(?:(?P<how>[+*])(?P<step>.+))?"
)
_TIME_OF_DAY = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_DURATION = re.compile(r"(.*?)\s*(ns|us|ms|s|m|min|h)?", re.DOTALL)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_MIX = re.compile(r"(\d{1,3}):(\d{1,3})(nt|clwb|clflushopt)?", re.ASCII)
_NEXT_ENDPOINT = re.compile(
    r",(?=\s*(?:[/.]|(?:file|dev|pmem|dax):|(?:node|cpus?|gpu)(?::|\d)|(?:near|far|reader|writer)\s*(?:,|$)))"
)
_WEIGHT_RANGE = re.compile(r"(?:^|(?<=[:@]))([^,:@]+\.\.[^,:@]+)")
_DASHED = re.compile(r"(\w+)-(\w+)")


def parse_size(text: str) -> int:
    """Parse ``64``, ``4k``, ``1.5g``, ``2MiB`` into bytes."""
    match = _SIZE.fullmatch(text.strip())
    if not match or len(match[1]) > 20:
        raise UserError(
            f"'{text}' is not a size such as 64, 4k, 1.5m or 2g (k, m, g, t = 1024-based)"
            f"{_range_hint(text)}"
        )
    if match[2] and text.strip().lower().endswith("b") and "i" not in text.lower():
        raise UserError(
            f"size '{text}' could be in powers of 1000 or of 1024; write "
            f"{match[1]}{match[2].lower()} or {match[1]}{match[2].upper()}iB, which is 1024-based"
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


def parse_count(text: str, every: int | None = None, minimum: int = 1) -> int:
    """Parse a number from ``minimum`` on; ``all`` is ``every``, where there is one."""
    word = text.strip()
    if word == "all" and every is not None:
        return every
    if not (word.isascii() and word.isdigit() and len(word) <= 9):
        wrong = "is not a count such as 4"
        if every is not None:
            wrong = "is neither a count such as 4 nor the word 'all'"
        raise UserError(f"'{text}' {wrong}{_range_hint(text)}")
    if int(word) < minimum:
        raise UserError(f"{word} is too few; the minimum is {minimum}")
    return int(word)


def as_float(text: str) -> float:
    """Return a decimal number; NaN, which no comparison accepts, for other text.

    Python's own grammar has more: ``1_000``, ``inf``, digits of other scripts.
    """
    word = text.strip()
    return float(word) if _DECIMAL.fullmatch(word) else math.nan


def parse_number(text: str, low: float, high: float) -> float:
    """Parse a decimal number above ``low`` and up to ``high``; a trailing % divides by 100."""
    word = text.strip()
    percent = word.endswith("%")
    value = as_float(word.removesuffix("%")) / (100 if percent else 1)
    if math.isnan(value):
        raise UserError(f"'{text}' is not a number such as 2, 0.5 or 1e3")
    if not low < value <= high:
        raise UserError(f"'{text}' is out of range: more than {low:g}, at most {high:g}")
    return value


def parse_share(text: str, low: float, high: float) -> float:
    """Parse ``1%`` or ``0.01``, above ``low`` and up to ``high``; hints at a missing % sign."""
    value = parse_number(text, -math.inf, math.inf)
    if low < value <= high:
        return value
    percent = low < value / 100 <= high and "%" not in text
    hint = f"; did you mean '{text.strip()}%'?" if percent else ""
    if high < value < 1 and "%" in text:
        hint = f"; a small share is precise: '{1 - value:.2%}'?"
    raise UserError(f"'{text}' is out of range: more than {low:.0%}, at most {high:.0%}{hint}")


def parse_duration(text: str, low: float, high: float, unit: str = "s") -> float:
    """Parse ``10``, ``500ms`` or ``1.5min`` into seconds from ``low``, above 0, up to ``high``.

    With a ``low`` below 0, 0 is allowed. ``unit`` is that of a number without one.
    """
    number, given = _DURATION.fullmatch(text.strip()).groups()  # type: ignore[union-attr]
    factor = _SECONDS[given or unit]
    # Divided by a whole number, 10us is 1e-5; multiplied by 1e-6, it is less.
    value = as_float(number) * factor if factor >= 1 else as_float(number) / round(1 / factor)
    if math.isnan(value):
        raise UserError(f"'{text}' is not a time such as 10s, 500ms or 2min")
    if not (max(low, 0) <= value <= high and (value > 0 or low < 0)):
        least = f"from {_duration_text(max(low, 0))}" if low else "more than 0 s"
        raise UserError(f"'{text}' is out of range: {least}, at most {high:g} s")
    return value


def _duration_text(seconds: float) -> str:
    unit = next((one for one in ("s", "ms", "us") if seconds >= _SECONDS[one]), "s")
    return f"{seconds / _SECONDS[unit]:g} {unit}"


def parse_moment(text: str, now: datetime) -> datetime:
    """Parse ``18:30``, ``18:30:05`` or ``2026-05-04T18:30:00Z`` into a time with a time zone.

    A time of day is today's, in ``now``'s zone, or tomorrow's where it was more than 12 hours ago.
    A date without a zone is in that of ``now``.
    """
    try:
        if _TIME_OF_DAY.fullmatch(text.strip()):
            found = datetime.combine(now.date(), time.fromisoformat(text.strip()), now.tzinfo)
            return found + timedelta(days=1) if now - found > timedelta(hours=12) else found
        # Python 3.10 does not know Z.
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except (ValueError, OverflowError):
        raise UserError(
            f"'{text}' is not a time such as 18:30:00 or 2026-05-04T18:30:00Z"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=now.tzinfo)


def parse_choice(text: str, allowed: tuple[str, ...]) -> str:
    """Check that a word is one of the allowed ones; names the nearest where it is not."""
    word = text.strip()
    if word not in allowed:
        raise UserError(f"'{text}' is not one of {', '.join(allowed)}{did_you_mean(word, allowed)}")
    return word


def parse_mix(text: str) -> tuple[int, str]:
    """Parse ``67:33``, ``2:1`` or ``0:100clwb`` into writes of 100 lines and the kind of stores."""
    match = _MIX.fullmatch(text)
    if not match or not int(match[1]) + int(match[2]):
        raise UserError(
            f"'{text}' is not reads:writes such as 100:0, 67:33, 2:1 or 50:50nt "
            "(nt, clwb or clflushopt)"
        )
    reads, writes = int(match[1]), int(match[2])
    if match[3] and not writes:
        raise UserError(f"'{text}': without writes, none can be {match[3]}")
    percent = round(100 * writes / (reads + writes))
    if (percent == 0 and writes) or (percent == 100 and reads):
        raise UserError(f"'{text}': reads and writes are whole percents; the least is 99:1 or 1:99")
    return percent, match[3] or "ordinary"


def expand_sizes(text: str) -> list[int]:
    """Expand a list of sizes and size ranges; ranges double by default."""
    return _expand(text, parse_size, ("*", "2"))


def expand_counts(text: str, every: int, minimum: int = 1) -> list[int]:
    """Expand a list of counts and ranges; ranges go up by one by default."""
    return _expand(text, lambda word: parse_count(word, every, minimum), ("+", "1"))


def expand_nanoseconds(text: str, most: int) -> list[int]:
    """Expand a list of times and ranges into whole nanoseconds, from 0; ranges double."""

    def parse(word: str) -> int:
        found = parse_duration(word, -1e-9, most * 1e-9, unit="ns") * 1e9
        if abs(found - round(found)) > 1e-3:
            raise UserError(f"'{word}' is not whole nanoseconds")
        return round(found)

    return _expand(text, parse, ("*", "2"))


def expand_weights(text: str) -> list[str]:
    """Expand the ranges of an endpoint's weights: ``node:0,2@1..2:1`` into a word for each ratio.

    A weight may also stand behind its own node, as in ``node:0@1..2,2``.
    """
    from tierscope.model.endpoint import MAX_WEIGHT

    nodes, at, weights = text.partition("@")
    pieces = _WEIGHT_RANGE.split(weights)
    ranges = [expand_counts(piece, MAX_WEIGHT) for piece in pieces[1::2]]
    return [
        nodes + at + "".join(map("{}{}".format, pieces[::2], [*chosen, ""]))
        for chosen in itertools.product(*ranges)
    ]


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


def _range_hint(text: str) -> str:
    match = _DASHED.fullmatch(text.strip())
    return f"; a range is written {match[1]}..{match[2]}" if match else ""


def _without_twins(text: str, values: list[Value]) -> list[Value]:
    if "" in values:
        raise UserError(f"list '{text}' has an empty value")
    return list(dict.fromkeys(values))
