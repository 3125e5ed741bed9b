"""Numbers that a program prints, as people name them: ``NAME[:UNIT]=REGEX``."""

from pydantic import ValidationError

from tierscope.kinds.effect.spec import Reported
from tierscope.model.errors import UserError, did_you_mean

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


def parse_metrics(text: str) -> list[Reported]:
    """Return the numbers that lines of text name; raises UserError."""
    found: list[Reported] = []
    for line in filter(None, text.splitlines()):
        found.append(_parse(line))
        if any(one.name == found[-1].name for one in found[:-1]):
            raise UserError(f"two metrics are called '{found[-1].name}'")
    return found


def _parse(line: str) -> Reported:
    head, sign, pattern = line.partition("=")
    name, _, unit = head.partition(":")
    if not sign or not name:
        raise UserError(
            f"'{line}' is not NAME:UNIT=REGEX, as in 'rate:1/s=([0-9.]+) requests per second'"
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
