"""fio's values: numbers with units, times, lists, shares of block sizes."""

import re
from dataclasses import dataclass
from itertools import chain

from tierscope.model.endpoint import parse_ranges
from tierscope.model.errors import UserError
from tierscope.model.io import LEAST_BLOCK, MOST_BLOCK, MOST_SIZES
from tierscope.peers.drop_in import path
from tierscope.plans.grammar import as_float, format_size

_LARGEST = 1 << 60
_DIGITS = 40
_NUMBER = re.compile(r"(0x[0-9a-f]+|\d+)\s*(?:([kmgtp])(i)?)?b?", re.ASCII | re.IGNORECASE)
_SHARE = re.compile("[0-9]{1,3}")
_TIME = re.compile(r"(\d+)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_SECONDS = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0, "": 1.0,
            "m": 60.0, "h": 3600.0, "d": 86400.0}  # fmt: skip
_ARITHMETIC = re.compile(r"[-+*/()^$]")
RW = {
    "read": ("read", False), "write": ("write", False), "randread": ("read", True),
    "randwrite": ("write", True), "rw": ("mix", False), "readwrite": ("mix", False),
    "randrw": ("mix", True),
}  # fmt: skip
"""Operation and whether offsets are random, by the values of ``rw``."""


@dataclass(frozen=True)
class Work:
    """A value of ``rw``."""

    word: str
    operation: str
    random: bool


@dataclass(frozen=True)
class Blocks:
    """Sizes of reads and of writes, with weights."""

    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Policy:
    """A value of ``numa_mem_policy``."""

    mode: str
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Numbers:
    """Parsers of numbers, by what k stands for (``kb_base``)."""

    base: int = 1024
    largest: int = _LARGEST

    def amount(self, text: str) -> int:
        """Parse bytes or a count: ``4k``, ``1mi``, ``0x1000``."""
        found = _NUMBER.fullmatch(text)
        if not found:
            if _ARITHMETIC.search(text):
                raise UserError(f"'{text}': arithmetic is not evaluated; write the number")
            raise UserError(f"'{text}' is not a number such as 4k, 16m or 1g")
        digits, prefix, binary = found.groups()
        if len(digits) > _DIGITS:
            raise UserError(f"'{text[:_DIGITS]}...' is above {format_size(self.largest)}")
        other = 1000 if self.base == 1024 else 1024
        power = " kmgtp".index(prefix.lower()) if prefix else 0
        unit: int = (other if binary else self.base) ** power
        value = int(digits, 16 if digits[:2].lower() == "0x" else 10) * unit
        if value > self.largest:
            raise UserError(f"'{text}' is above {format_size(self.largest)}")
        return value

    def size(self, text: str) -> int | None:
        """Parse bytes, or ``100%``, the whole file (None)."""
        if text == "100%":
            return None
        if text.endswith("%"):
            raise UserError(f"'{text}': 100% is the only percentage allowed; give bytes")
        if text[-1:] in "zZ":
            raise UserError(f"'{text}': zoned devices are not measured; give bytes")
        return self.amount(text)

    def plain(self, text: str) -> int:
        """Parse bytes."""
        found = self.size(text)
        if found is None:
            raise UserError(f"'{text}': give bytes")
        return found

    def block(self, text: str) -> int:
        """Parse a block size."""
        value = self.amount(text)
        if not LEAST_BLOCK <= value <= MOST_BLOCK:
            raise UserError(f"'{text}' is not from {LEAST_BLOCK} to {format_size(MOST_BLOCK)}")
        return value

    def blocks(self, text: str) -> Blocks:
        """Parse ``4k`` or ``4k,8k`` (reads, writes) ; trims are ignored."""
        words = _directions(text)
        if not any(words):
            raise UserError(f"'{text}' is not a block size such as 4k or 4k,8k (reads, writes)")
        sizes = [((self.block(word) if word else 4096, 1),) for word in words]
        return Blocks(sizes[0], sizes[1])

    def split(self, text: str) -> Blocks:
        """Parse ``4k/10:64k/50:32k/40``, for reads and writes alike or apart by a comma."""
        words = _directions(text)
        return Blocks(*(self._shares(word) for word in words))

    def range(self, text: str) -> Blocks:
        """Parse ``4k-16k``: multiples of the first size up to the last, equally often."""
        return Blocks(*(self._span(word) for word in _directions(text)))

    def rates(self, text: str) -> tuple[int, int]:
        """Parse a limit for reads and writes alike, or apart by a comma; 0: none."""
        words = _directions(text)
        first, second = (self.amount(word) if word else 0 for word in words)
        return first, second

    def _shares(self, text: str) -> tuple[tuple[int, int], ...]:
        sizes: list[tuple[int, int | None]] = []
        for word in text.split(":"):
            size, _, share = word.partition("/")
            if share and not (_SHARE.fullmatch(share) and int(share) <= 100):
                raise UserError(f"'{word}': the share behind / is a percentage, 0 to 100")
            sizes.append((self.block(size), int(share) if share else None))
        left = 100 - sum(share or 0 for _size, share in sizes)
        missing = sum(share is None for _size, share in sizes)
        if left < 0 or (left and not missing):
            raise UserError(f"'{text}': the shares add up to {100 - left}%, not to 100%")
        even = left * 100 // missing if missing else 0
        found = [(size, even if share is None else share * 100) for size, share in sizes]
        kept = tuple((size, weight) for size, weight in found if weight)
        if not kept or len(kept) > MOST_SIZES or len({size for size, _ in kept}) < len(kept):
            raise UserError(f"'{text}': give 1 to {MOST_SIZES} different sizes with shares")
        return kept

    def _span(self, text: str) -> tuple[tuple[int, int], ...]:
        words = re.split("[-:]", text)
        if len(words) != 2:
            raise UserError(f"'{text}' is not a range such as 4k-16k")
        low, high = sorted(map(self.block, words))
        if high // low > MOST_SIZES:
            raise UserError(
                f"'{text}' has {high // low} sizes, at most {MOST_SIZES} can be drawn from; "
                "name sizes with bssplit"
            )
        return tuple((low * count, 1) for count in range(1, high // low + 1))


def _directions(text: str) -> tuple[str, str]:
    """Divide reads, writes and trims; one value is for all of them."""
    words = [word.strip() for word in text.split(",")]
    if len(words) > 3:
        raise UserError(f"'{text}' has {len(words)} values; at most 3: reads, writes, trims")
    if len(words) == 1:
        return words[0], words[0]
    return words[0], words[1]


def seconds(text: str) -> float:
    """Parse a time: ``10``, ``5m``, ``500ms``."""
    found = _TIME.fullmatch(text)
    unit = _SECONDS.get(found[2].lower()) if found else None
    if found is None or unit is None or len(found[1]) > 12:
        raise UserError(f"'{text}' is not a time such as 10, 10s, 5m or 500ms")
    value = int(found[1]) * unit
    if value > 1e6:
        raise UserError(f"'{text}' is above 1000000 s")
    return value


def switch(text: str) -> bool:
    """Parse ``0`` or ``1``."""
    known = {"0": False, "1": True, "false": False, "true": True}
    if text.lower() not in known:
        raise UserError(f"'{text}' is neither 0 nor 1")
    return known[text.lower()]


def number(text: str, low: float, high: float) -> float:
    """Parse a decimal number from low to high."""
    value = as_float(text)
    if not low <= value <= high:
        raise UserError(f"'{text}' is not a number from {low:g} to {high:g}")
    return value


def work(text: str) -> Work:
    """Parse ``rw``."""
    word, sign, modifier = text.partition(":")
    if "trim" in word:
        raise UserError(
            f"'{text}': trims discard data and are not measured; use one of {', '.join(RW)}"
        )
    if word not in RW:
        raise UserError(f"'{text}' is not one of {', '.join(RW)}")
    if sign:
        raise UserError(
            f"'{text}': sequential offsets have no stride or repetition; leave ':{modifier}' out"
        )
    return Work(word, *RW[word])


def whole_list(text: str) -> tuple[int, ...]:
    """Parse numbers of CPUs, nodes or GPUs: ``0-3,8``."""
    try:
        found = [parse_ranges(word.strip()) for word in text.split(",")]
    except ValueError as error:
        raise UserError(str(error)) from None
    return tuple(dict.fromkeys(chain(*found)))


def mask(text: str) -> tuple[int, ...]:
    """Parse a mask of CPUs: ``0xff`` or ``255``."""
    value = Numbers(largest=1 << 64).amount(text)
    if not value:
        raise UserError(f"'{text}' is a mask of no CPUs")
    return tuple(bit for bit in range(value.bit_length()) if value >> bit & 1)


def colons(text: str) -> tuple[int, ...]:
    """Parse numbers with colons between them: ``0:2``."""
    return whole_list(text.replace(":", ","))


def policy(text: str) -> Policy:
    """Parse ``bind:0``, ``interleave:0-1``, ``prefer:0``, ``local`` or ``default``."""
    mode, sign, nodes = text.partition(":")
    if mode in ("default", "local") and not sign:
        return Policy("local", ())
    if mode not in ("bind", "interleave", "prefer") or not nodes:
        raise UserError(
            f"'{text}' is not one of bind:NODES, interleave:NODES, prefer:NODE, local, default"
        )
    found = whole_list(nodes)
    if mode == "prefer" and len(found) > 1:
        raise UserError(f"'{text}': prefer takes one node")
    return Policy(mode, found)


def zipf(text: str) -> float | None:
    """Parse ``random`` (None) or ``zipf:THETA``."""
    name, _, rest = text.partition(":")
    if name == "random" and not rest:
        return None
    if name != "zipf":
        raise UserError(
            f"'{text}': only random and zipf:THETA are available; pareto, normal, zoned and "
            "sequence are not"
        )
    theta = rest.partition(":")[0] if rest else "1.1"
    if rest.count(":"):
        raise UserError(f"'{text}': the center of zipf cannot be chosen; leave it out")
    return number(theta, 1e-9, 10)


def percentiles(text: str) -> tuple[float, ...]:
    """Parse ``99:99.9``."""
    words = [word for word in text.split(":") if word]
    if not 1 <= len(words) <= 20:
        raise UserError(f"'{text}' is not a list of 1 to 20 percentiles such as 50:99:99.9")
    found = tuple(number(word, 0, 100) for word in words)
    if any(one == 0 for one in found):
        raise UserError(f"'{text}': percentiles are above 0")
    return tuple(sorted(found))


def names(text: str) -> tuple[str, ...]:
    r"""Parse files with colons between them; ``\:`` is a colon in a name."""
    words = re.split(r"(?<!\\):", text)
    return tuple(path(word.replace("\\:", ":")) for word in words if word) or (path(text),)
