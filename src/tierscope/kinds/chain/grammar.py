"""The text of chains: CXL-Bench's grammar of custom operations, and what goes beyond it.

A chain is a comma-separated list of::

    [m0_|m1_]r_SIZE[_CACHE]      a read at an address that the data read before decides
    w_SIZE_CACHE[_OFFSET]        a write, OFFSET bytes (+512, 512, -512) from the operation before
    [m0_|m1_]cas, [m0_|m1_]faa   compare-and-swap, fetch-and-add of 8 bytes, at addresses like reads
    sfence, mfence               a fence of stores, or of everything, behind the operation before

The first one reads. A write may name its region, m0_ or m1_, which is that of the operation before
it. CACHE is none, cache (write-back, clwb), flush (clflush), flush-opt (clflushopt) or nocache
(stream, nt, non-temporal). A preset is a word for a whole chain.
"""

import re

from pydantic import ValidationError

from tierscope.kinds.chain.operation import (
    MAX_OPERATIONS,
    Access,
    CacheUse,
    Fence,
    Operation,
)
from tierscope.model.errors import UserError, did_you_mean

_CACHES: dict[str, CacheUse] = {
    "none": "none",
    "cache": "write-back",
    "write-back": "write-back",
    "clwb": "write-back",
    "flush": "flush",
    "clflush": "flush",
    "flush-opt": "flush-opt",
    "clflushopt": "flush-opt",
    "nocache": "non-temporal",
    "non-temporal": "non-temporal",
    "stream": "non-temporal",
    "nt": "non-temporal",
}
_WRITTEN: dict[CacheUse, str] = {
    "none": "none",
    "write-back": "cache",
    "flush": "flush",
    "flush-opt": "flush-opt",
    "non-temporal": "nocache",
}
_ATOMICS: dict[str, Access] = {"cas": "compare-and-swap", "faa": "fetch-and-add"}
_FENCES: dict[str, Fence] = {"sfence": "stores", "mfence": "all"}
_OPERATION = re.compile(
    r"(?:m(?P<region>\d+)_)?(?:(?P<atomic>cas|faa)|(?P<access>[rw])_(?P<size>\d{1,9})"
    r"(?:_(?P<cache>[a-z][a-z-]*))?(?:_(?P<offset>[+-]?\d{1,12}))?)",
    re.ASCII,
)
_FORMS = "r_64, m1_r_64_flush, w_64_none, w_64_cache_-512, cas, faa, sfence or mfence"


def _write(cache: CacheUse) -> tuple[Operation, ...]:
    return (Operation(access="write", size=64, cache=cache, fence="all"),)


PRESETS: dict[str, tuple[Operation, ...]] = {
    "read": (Operation(access="read", size=64),),
    "nt-load": (Operation(access="read", size=64, cache="non-temporal"),),
    "write": _write("none"),
    "w+clwb": _write("write-back"),
    "w+clflushopt": _write("flush-opt"),
    "w+clflush": _write("flush"),
    "nt-store": _write("non-temporal"),
    "cas": (Operation(access="compare-and-swap", size=8),),
    "faa": (Operation(access="fetch-and-add", size=8),),
}
"""Single operations of a line or a word, each at an address of its own; writes end with a full
fence, so that each is over before the next begins."""
EACH = "each"
"""All of the presets, one after the other."""


def parse_chains(text: str) -> list[tuple[Operation, ...]]:
    """Parse one chain, or several that are presets. Raises UserError, naming the position."""
    words = [word.strip() for word in text.split(",")]
    if words == [EACH]:
        return list(PRESETS.values())
    if set(words) <= set(PRESETS):
        return [PRESETS[word] for word in dict.fromkeys(words)]
    return [tuple(_parse(text))]


def _parse(text: str) -> list[Operation]:
    found: list[Operation] = []
    at = 0
    for word in text.split(","):
        place = at + len(word) - len(word.lstrip()) + 1
        at += len(word) + 1
        try:
            _add(found, word.strip())
        except ValidationError as error:
            said = error.errors()[0]
            name = f"{said['loc'][-1]}: " if said["loc"] else ""
            raise _wrong(
                text, place, word, name + said["msg"].removeprefix("Value error, ")
            ) from None
        except UserError as error:
            raise _wrong(text, place, word, str(error)) from None
    return found


def _wrong(text: str, place: int, word: str, said: str) -> UserError:
    return UserError(f"'{text}', character {place}, '{word.strip()}': {said}")


def _add(found: list[Operation], word: str) -> None:
    """Add what a word says to the operations before it."""
    if word in _FENCES:
        if not found:
            raise UserError("a fence stands behind an operation; begin with a read such as r_64")
        if found[-1].fence != "none":
            raise UserError("there is a fence already")
        found[-1] = found[-1].model_copy(update={"fence": _FENCES[word]})
        return
    operation = _operation(word, _region(found))
    if not found and not operation.reads:
        raise UserError(
            "a chain begins with a read, which takes its address; the latency of a write by itself "
            "is a preset: write, w+clwb, nt-store"
        )
    if len(found) == MAX_OPERATIONS:
        raise UserError(f"a chain has {MAX_OPERATIONS} operations at most")
    found.append(operation)


def _region(found: list[Operation]) -> int:
    """The region that the last operation was in."""
    return next((one.region for one in reversed(found) if one.reads), 0)


def _operation(word: str, before: int) -> Operation:
    """Return what a word says; ``before`` is the region of the operation before it."""
    match = _OPERATION.fullmatch(word)
    if not match:
        if word in PRESETS or word == EACH:
            raise UserError("a preset is a whole chain; it goes with other presets only")
        hint = did_you_mean(word, (*PRESETS, *_FENCES))
        raise UserError(f"is no operation such as {_FORMS}{hint}")
    given = match.groupdict()
    if given["region"] not in (None, "0", "1"):
        raise UserError(
            f"m{given['region']} is no region; there are m0 (--to) and m1 (--second-to)"
        )
    region = int(given["region"] or 0)
    if given["atomic"]:
        return Operation(access=_ATOMICS[given["atomic"]], size=8, region=region)
    write = given["access"] == "w"
    if write and given["region"] and region != before:
        raise UserError(
            f"a write goes where the operation before it went, which is m{before}; leave out "
            f"m{region}_"
        )
    if write and not given["cache"]:
        raise UserError(f"a write says what it does with the cache: one of {', '.join(_CACHES)}")
    cache = given["cache"] or "none"
    if cache not in _CACHES:
        hint = did_you_mean(cache, tuple(_CACHES))
        raise UserError(f"'{cache}' is none of {', '.join(_CACHES)}{hint}")
    return Operation(
        access="write" if write else "read",
        size=int(given["size"]),
        region=0 if write else region,
        cache=_CACHES[cache],
        offset=int(given["offset"] or 0),
    )


def format_chain(operations: tuple[Operation, ...]) -> str:
    """Write a chain so that ``parse_chains`` gives it back; a preset by its word."""
    preset = next((name for name, chain in PRESETS.items() if chain == operations), None)
    if preset:
        return preset
    words = [_format(operation) for operation in operations]
    # Atomics alone would be presets, each by itself.
    return ("m0_" if set(words) <= set(PRESETS) else "") + ",".join(words)


def _format(operation: Operation) -> str:
    region = "m1_" if operation.region else ""
    fence = next((f",{word}" for word, known in _FENCES.items() if known == operation.fence), "")
    atomic = next((word for word, known in _ATOMICS.items() if known == operation.access), None)
    if atomic:
        return f"{region}{atomic}{fence}"
    if operation.access == "read":
        cache = "" if operation.cache == "none" else f"_{_WRITTEN[operation.cache]}"
        return f"{region}r_{operation.size}{cache}{fence}"
    offset = f"_{operation.offset}" if operation.offset else ""
    return f"w_{operation.size}_{_WRITTEN[operation.cache]}{offset}{fence}"
