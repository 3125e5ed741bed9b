"""fio's values: numbers with units, times, lists, shares of block sizes."""

import re
from collections import Counter
from collections.abc import Callable
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
_MOST_CLASS, _LOWEST_LEVEL = 3, 7
"""Of priorities of I/O: idle, and the last to be served."""
_SHARE = re.compile("[0-9]{1,3}")
_TIME = re.compile(r"(\d+)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_SECONDS = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0, "": 1.0,
            "m": 60.0, "h": 3600.0, "d": 86400.0}  # fmt: skip
_ARITHMETIC = re.compile(r"[-+*/()^$]")
_FIGURES = {"iops": "iops", "bw": "bandwidth", "lat": "latency"}
RW = {
    "read": ("read", False), "write": ("write", False), "randread": ("read", True),
    "randwrite": ("write", True), "rw": ("mix", False), "readwrite": ("mix", False),
    "randrw": ("mix", True), "trim": ("trim", False), "randtrim": ("trim", True),
}  # fmt: skip
"""Operation and whether offsets are random, by the values of ``rw``."""


@dataclass(frozen=True)
class Work:
    """A value of ``rw``."""

    word: str
    operation: str
    random: bool
    stride: int = 0
    """Bytes left out between two sequential operations."""
    run: int = 1
    """Operations for each random offset."""


@dataclass(frozen=True)
class Spread:
    """A value of ``random_distribution``; all None: each offset comes once."""

    zipf: float | None = None
    pareto: float | None = None
    normal: float | None = None
    zones: tuple[tuple[float, float], ...] | None = None
    """Shares of accesses and of the file, in percent."""


@dataclass(frozen=True)
class Steadiness:
    """A value of ``steadystate``."""

    figure: str
    slope: bool
    limit: float
    of_the_mean: bool


@dataclass(frozen=True)
class Blocks:
    """Sizes of reads, writes and trims, with weights."""

    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]
    trims: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class PriorityShare:
    """A share of operations that has a priority of its own."""

    bytes: int | None
    """Of operations of this size; None: of all."""
    percent: int
    named: tuple[int, int] | None
    """Class and level; None: those of ``cmdprio_class`` and ``cmdprio``."""


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
        """Parse ``4k`` or ``4k,8k`` (reads; writes and trims), ``4k,8k,16k``."""
        words = _directions(text)
        if not any(words):
            raise UserError(f"'{text}' is not a block size such as 4k or 4k,8k (reads, writes)")
        sizes = [((self.block(word) if word else 4096, 1),) for word in words]
        return Blocks(*sizes)

    def split(self, text: str) -> Blocks:
        """Parse ``4k/10:64k/50:32k/40``, for all directions alike or apart by commas."""
        words = _directions(text)
        return Blocks(*(self._shares(word) for word in words))

    def range(self, text: str) -> Blocks:
        """Parse ``4k-16k``: multiples of the first size up to the last, equally often."""
        return Blocks(*(self._span(word) for word in _directions(text)))

    def rates(self, text: str) -> tuple[int, ...]:
        """Parse a limit for reads, writes and trims alike, or apart by commas; 0: none."""
        return tuple(self.amount(word) if word else 0 for word in _directions(text))

    def priorities(self, text: str) -> tuple[tuple[PriorityShare, ...], ...]:
        """Parse ``64k/100:1m/0`` or, with class and level, ``64k/25/1/1:64k/75/3/2``, for reads and
        writes alike or apart by a comma."""
        return tuple(self._priority_shares(word) for word in _directions(text)[:2])

    def _priority_shares(self, text: str) -> tuple[PriorityShare, ...]:
        found: list[PriorityShare] = []
        sums: Counter[int] = Counter()
        for word in text.split(":"):
            size, *given = word.split("/")
            if len(given) not in (1, 3) or not all(map(_SHARE.fullmatch, given)):
                raise UserError(
                    f"'{word}' is not SIZE/PERCENT or SIZE/PERCENT/CLASS/LEVEL such as 64k/25/1/1"
                )
            percent, *rest = map(int, given)
            if rest and not (rest[0] <= _MOST_CLASS and rest[1] <= _LOWEST_LEVEL):
                raise UserError(f"'{word}': classes are 0 to 3, and levels 0 to 7")
            block = self.block(size)
            sums[block] += percent
            if sums[block] > 100:
                raise UserError(f"'{text}': shares of {format_size(block)} are above 100%")
            found.append(PriorityShare(block, percent, (rest[0], rest[1]) if rest else None))
        return tuple(one for one in found if one.percent)

    def work(self, text: str) -> Work:
        """Parse ``rw``: ``read``, ``read:8k`` (bytes left out), ``randread:8`` (of one offset)."""
        word, sign, modifier = text.partition(":")
        if word not in RW:
            raise UserError(f"'{text}' is not one of {', '.join(RW)}")
        operation, random = RW[word]
        if not sign:
            return Work(word, operation, random)
        if random:
            run = self.amount(modifier)
            if not 1 <= run <= 1 << 30:
                raise UserError(f"'{text}': behind : stands how many operations share an offset")
            return Work(word, operation, random, run=run)
        stride = self.amount(modifier.removeprefix("-"))
        return Work(word, operation, random, -stride if modifier.startswith("-") else stride)

    def steadiness(self, text: str) -> Steadiness:
        """Parse ``iops:10%``, ``bw_slope:1%``, ``lat:5%``."""
        name, _, limit = text.partition(":")
        kind = name.removesuffix("_slope")
        if kind not in _FIGURES or not limit:
            raise UserError(f"'{text}' is not one such as iops:10%, bw_slope:1% or lat:5%")
        percent = limit.endswith("%")
        value = number(limit.removesuffix("%"), 1e-9, 1e18)
        return Steadiness(_FIGURES[kind], name != kind, value, percent)

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


def each_direction(low: int, high: int) -> Callable[[Numbers, str], tuple[int, int]]:
    """Return a parser of a whole number for reads and writes alike, or apart by a comma."""

    def parse(_numbers: Numbers, text: str) -> tuple[int, int]:
        words = _directions(text)
        for word in words:
            if not word.isdecimal() or not word.isascii() or not low <= int(word[:9]) <= high:
                raise UserError(f"'{text}' is not a whole number from {low} to {high}, or two")
        return int(words[0]), int(words[1])

    return parse


def _directions(text: str) -> list[str]:
    """Divide reads, writes and trims; the last value is for those that follow, too."""
    words = [word.strip() for word in text.split(",")]
    if len(words) > 3:
        raise UserError(f"'{text}' has {len(words)} values; at most 3: reads, writes, trims")
    return [*words, *[words[-1]] * (3 - len(words))]


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


def spread(text: str) -> Spread:
    """Parse ``random_distribution``."""
    name, _, rest = text.partition(":")
    if name == "random" and not rest:
        return Spread()
    if name == "zoned":
        return Spread(zones=_zones(text, rest))
    if name not in ("zipf", "pareto", "normal"):
        raise UserError(
            f"'{text}': only random, zipf:THETA, pareto:H, normal:DEVIATION and "
            "zoned:ACCESSES/SIZE:... are available; give one of these"
        )
    value, _, center = rest.partition(":")
    if center:
        raise UserError(f"'{text}': the center cannot be chosen; leave it out")
    if name == "zipf":
        return Spread(zipf=number(value or "1.1", 1e-9, 10))
    if name == "pareto":
        return Spread(pareto=number(value or "0.2", 1e-9, 1 - 1e-9))
    return Spread(normal=number(value or "0", 1e-9, 100))


def _zones(text: str, rest: str) -> tuple[tuple[float, float], ...]:
    """Parse ``50/5:30/15:20/``: what the last sizes leave open is shared by those without one."""
    words = [word.partition("/") for word in rest.partition(",")[0].split(":")]
    if not all(accesses for accesses, _, _ in words) or len(words) > 256:
        raise UserError(f"'{text}': zones are ACCESSES/SIZE in percent, as in 50/5:30/15:20/80")
    accesses = [number(one, 0, 100) for one, _, _ in words]
    sizes = [number(one, 0, 100) if one else None for _, _, one in words]
    left = 100 - sum(one for one in sizes if one is not None)
    open_ = sizes.count(None)
    if sum(accesses) != 100 or left < 0 or (left > 0 and not open_):
        raise UserError(f"'{text}': accesses and sizes of zones add up to 100 each")
    return tuple(
        (often, left / open_ if size is None else size)
        for often, size in zip(accesses, sizes, strict=True)
    )


def zone_mode(text: str) -> str:
    """Parse ``zonemode``."""
    if text == "zbd":
        raise UserError("'zbd': zoned devices are not measured; none and strided are allowed")
    if text not in ("none", "strided"):
        raise UserError(f"'{text}' is not one of none, strided")
    return text


def microseconds(text: str) -> float:
    """Parse a time whose unit is us: ``2000``, ``2ms``; in seconds."""
    return seconds(f"{text}us" if text.isdigit() else text)


def milliseconds(text: str) -> float:
    """Parse a time whose unit is ms; in seconds."""
    return seconds(f"{text}ms" if text.isdigit() else text)


def pattern(text: str) -> str:
    """Parse bytes that repeat (``0xdeadbeef``, ``"text"``, a decimal number) as hexadecimal digits,
    in the order of memory: fio turns numbers round."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        found = text[1:-1].encode()
    elif text.lower().startswith("0x") and re.fullmatch("[0-9a-f]+", text[2:].lower()):
        digits = text[2:].lower()
        found = bytes.fromhex(f"0{digits}" if len(digits) % 2 else digits)
    elif text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        value = int(text)
        found = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "little")
    else:
        raise UserError(f"'{text}' is not bytes such as 0xdeadbeef, 255 or \"text\"")
    if not 1 <= len(found) <= 512:
        raise UserError(f"'{text[:_DIGITS]}' has {len(found)} bytes; 1 to 512 are allowed")
    return found.hex()


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
