"""Words that tierscope writes itself, so that they name nobody: in messages, keys and values."""

import re
from functools import cache, lru_cache
from pathlib import Path

from tierscope.model.errors import UserError

_WORDS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]+(?:\d[A-Za-z]*)?(?![A-Za-z0-9])")
"""With one digit at most: names of hosts in examples have more."""
_MESSAGES = re.compile(rb"[\x20-\x7e]{12,}")
"""What the engine says; shorter runs of letters may be machine code."""
_PIECES = re.compile(r"[A-Za-z0-9]+|[^\x00-\x7f]")
PCI = r"(?<![\w:])[0-9a-fA-F]{4}:[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}\.[0-7])?(?![\w:])"
"""A PCI address, or that of a host bridge."""
_PCI = re.compile(PCI)
_SIGNS = frozenset("°µ×±–—…→≥≤·½’")
_FURTHER = frozenset((
    "a100", "aarch64", "amd", "amd64", "avx512", "avx512f", "b200", "bfq", "clientaddr", "ddr3",
    "ddr4", "ddr5", "deadline", "dev", "disk", "ext4", "forceoff", "gen3", "gen4", "gen5",
    "gh200", "h100", "h200", "intel", "kyber", "mlx4", "mlx5", "mq", "nconnect", "nfs4",
    "notimplemented", "notsupported", "nvidia", "raid10", "resgid", "resuid", "rsize", "sha256",
    "sse4", "v100", "vers", "wsize", "x86", "xfs",
))  # fmt: skip
_ANY, _LONGEST = 8, 20
"""Digits of numbers that may be any, and of those that may be sizes."""
_FORMS = re.compile(
    r"""
    \d+ (?: [kmgt](?:i?b)? | [kmgtp]?b | [mun]?s | h | hz | [kmg]hz | w | v | c | d | x | p | nt )
    | [a-z] \d | p\d{2} | x(?:16|32) | \d{2} t \d{2}         # L2; p99; PCIe x16; of times
    | 0x [0-9a-f]{1,8}
    | (?: nvme\d{1,3}n\d{1,3}(?:p\d{1,3})? | nvme\d{1,3} | [svxh]d[a-z]{1,2}\d{0,3} | dm | md\d{1,3}
        | loop\d{1,3} | ram\d{1,3} | zram\d | pmem\d{1,3}(?:s\d)? | dax\d{1,3} | nullb\d )
    | (?: eth | ib | bond | ens | eno | enp | mlx | br | vlan ) \d{1,3}
    | enp \d{1,3} s\d{1,3} (?: f\d{1,2} )? (?: np\d{1,2} )?
    | (?: node | gpu | core | package | socket | mem | region | namespace | root | decoder
        | endpoint | port | run | sm | stream | thread ) \d  # hosts have more digits
    | (?: cpu | cpus ) \d{1,4} | (?: file | job ) \d{1,3}
    | (?: host | user | serial | uuid | mac | guid | ip | path | name | word ) \d+  # replacements
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OF_IDS = re.compile(r"\d{0,4}([a-z]{1,12})\d{0,7}[kmgt]?", re.IGNORECASE)
"""t16, s64, d128, 4streams."""


@cache
def _own_words() -> frozenset[str]:
    """Return the words of tierscope's own program text and of the engine's messages."""
    package = Path(__file__).parents[1]
    texts = [path.read_text(errors="replace") for path in package.rglob("*.py")]
    engine = _engine()
    if engine is not None:
        texts.append(b"\n".join(_MESSAGES.findall(engine.read_bytes())).decode())
    found = {word.lower() for text in texts for word in _WORDS.findall(text)}
    return frozenset(found) | _FURTHER


def _engine() -> Path | None:
    from tierscope.engine.process import find_engine

    try:
        return find_engine()
    except UserError:
        return None


def is_own(text: str) -> bool:
    """Return whether a text consists of such words, of numbers and of names of devices."""
    return all(_is_own_piece(piece) for piece in _PIECES.findall(_PCI.sub(" ", text)))


def is_own_id(name: str) -> bool:
    """Return whether an id of a measurement consists of such words and of values of properties."""
    pieces = _PIECES.findall(name)
    return all(_is_own_piece(piece) or _is_value(piece) for piece in pieces)


def _is_value(piece: str) -> bool:
    form = _OF_IDS.fullmatch(piece)
    return form is not None and (len(form[1]) < 3 or form[1].lower() in _own_words())


@lru_cache(maxsize=1 << 16)
def _is_own_piece(piece: str) -> bool:
    if piece in _SIGNS or piece.lower() in _own_words():
        return True
    if piece.isdecimal() and len(piece) < _LONGEST:  # a size, unless it may be a serial number
        return len(piece) <= _ANY or int(piece) % 1024 == 0
    return _FORMS.fullmatch(piece) is not None
