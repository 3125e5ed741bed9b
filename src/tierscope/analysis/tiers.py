"""Tiers as they are stated on the command line: 250ns,30GB/s."""

import math
import re

from tierscope.analysis.whatif import Range, Tier
from tierscope.model.errors import UserError

EXAMPLES = "250ns,30GB/s, +150ns (more than local memory), or 0.4us,24GiB/s"
_LATENCY = re.compile(r"(\+?)(\d+(?:\.\d+)?)\s*(ns|us)", re.ASCII)
_BANDWIDTH = re.compile(r"(\d+(?:\.\d+)?)\s*(MB|GB|TB|MiB|GiB|TiB)/s", re.ASCII)
_NS = {"ns": 1.0, "us": 1e3}
_BYTES = {"MB": 1e6, "GB": 1e9, "TB": 1e12, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_LONGEST = 1e6
"""ns; what takes longer is no memory."""
_MOST = 1e15
_STATED = re.compile(r"\s*[+-]?[\d.]+\s*([a-zA-Z/]*)\s*(,.*)?", re.ASCII | re.DOTALL)


def is_stated(text: str) -> bool:
    """Return whether a text begins as figures do, and not as the name of a run."""
    return _STATED.fullmatch(text) is not None


def parse_tier(text: str) -> Tier:
    """Parse a latency and, in either order, a bandwidth; raises UserError of anything else."""
    latency: Range | None = None
    bandwidth: Range | None = None
    added = False
    for word in (piece.strip() for piece in text.split(",")):
        if found := _LATENCY.fullmatch(word):
            if latency is not None:
                raise UserError(f"'{text}' has two latencies; give each tier an option of its own")
            added = bool(found[1])
            latency = _range(text, word, float(found[2]) * _NS[found[3]], _LONGEST, "1 ms", added)
        elif found := _BANDWIDTH.fullmatch(word):
            if bandwidth is not None:
                raise UserError(f"'{text}' has two bandwidths; give each tier an option of its own")
            bandwidth = _range(text, word, float(found[1]) * _BYTES[found[2]], _MOST, "1000 TB/s")
        else:
            raise UserError(
                f"'{text}': '{word}' is neither a latency in ns or us nor a bandwidth in GB/s or "
                f"GiB/s; write {EXAMPLES}"
            )
    if latency is None:
        raise UserError(f"'{text}' has no latency; write {EXAMPLES}")
    return Tier(text.replace(" ", ""), latency, bandwidth, added)


def _range(
    text: str, word: str, value: float, most: float, most_text: str, zero: bool = False
) -> Range:
    if not (math.isfinite(value) and (0 < value <= most or (zero and value == 0))):
        raise UserError(f"'{text}': {word} is out of range: above 0, at most {most_text}")
    return Range.exact(value)
