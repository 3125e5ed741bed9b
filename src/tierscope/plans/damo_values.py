"""Values as damo writes them: numbers with commas, ``100 ms``, ``4.000 KiB``, ``5 %``, ``max``."""

import re
from collections.abc import Mapping

from tierscope.placement.damon.rules import MOST

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?", re.ASCII)
_WITH_UNIT = re.compile(r"(-?\d[\d,]*(?:\.\d+)?)\s*([A-Za-zµ]*)", re.ASCII)
_BYTES = {
    name + tail: 1 << 10 * power
    for power, name in enumerate(("", "K", "M", "G", "T", "P", "E"))
    for tail in (("", "B", "iB") if name else ("", "B"))
}
_NS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
       "d": 86400 * 10**9}  # fmt: skip


def number(text: str) -> int:
    """Parse a whole number; raises ValueError."""
    if text == "max":
        return MOST
    if text == "min":
        return 0
    return whole(_plain(text), "a whole number")


def size(text: str) -> int:
    """Parse bytes, with a unit of powers of 1024 or none; raises ValueError."""
    if text in ("max", "min"):
        return number(text)
    return whole(_with_unit(text, _BYTES, 1), "a whole number of bytes")


def time(text: str, unit: str) -> int:
    """Parse a time, as in ``1 m 40 s``, into whole units, which a bare number is in."""
    if text in ("max", "min"):
        return number(text)
    parts = re.findall(r"-?[\d,.]+\s*[A-Za-z]*", text)
    if "".join(parts).replace(" ", "") != text.replace(" ", ""):
        raise ValueError(f"'{text}' is not a time such as 100 ms or 1 m 40 s")
    total = sum(_with_unit(part.strip(), _NS, _NS[unit]) for part in parts)
    return min(MOST, whole(total / _NS[unit], f"whole {unit}"))


def share(text: str, whole_share: int, most: float = MOST) -> float:
    """Parse a share: with a % sign, 100% being ``whole_share``; without one, as it is."""
    if text == "max":
        return most
    if text == "min":
        return 0
    if text.endswith("%"):
        return round(_plain(text[:-1].strip()) * whole_share / 100, 6)
    return _plain(text)


def whole(value: float, what: str) -> int:
    """Return a number as a whole one from 0 on; raises ValueError where it is none."""
    if abs(value - round(value)) > 1e-6 * max(1.0, abs(value) * 1e-9) or value < 0:
        raise ValueError(f"it has to be {what} from 0 on")
    return min(MOST, round(value))


def format_number(value: int) -> str:
    """``10,000``."""
    return f"{value:,}"


def format_size(value: int) -> str:
    """``4.000 KiB`` where that is exact, else bytes."""
    if value >= MOST:
        return "max"
    for power, name in (
        (60, "EiB"),
        (50, "PiB"),
        (40, "TiB"),
        (30, "GiB"),
        (20, "MiB"),
        (10, "KiB"),
    ):
        text = f"{value / (1 << power):.3f}"
        if value >= 1 << power and float(text) * (1 << power) == value:
            return f"{text} {name}"
    return f"{value} B"


def format_time(value: int, unit: str) -> str:
    """``1 m 40 s``, ``max``; exact."""
    if value >= MOST:
        return "max"
    left, parts = value * _NS[unit], []
    for name, ns in reversed(_NS.items()):
        count, left = divmod(left, ns)
        if count:
            parts.append(f"{count:,} {name}")
    return " ".join(parts) or "0 ns"


def format_share(value: float, whole_share: int) -> str:
    """``0.5 %``."""
    percent = value * 100 / whole_share
    return f"{percent:.6f}".rstrip("0").rstrip(".") + " %"


def _plain(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"'{text}' is not a number")
    digits = text.replace(",", "")
    return int(digits) if "." not in digits else float(digits)


def _with_unit(text: str, units: Mapping[str, int], bare: int) -> float:
    match = _WITH_UNIT.fullmatch(text)
    if not match or (match[2] and match[2] not in units):
        allowed = ", ".join(filter(None, units))
        raise ValueError(f"'{text}' is not a number with one of the units {allowed}")
    return _plain(match[1]) * (units[match[2]] if match[2] else bare)
