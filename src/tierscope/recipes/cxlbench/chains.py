"""Cases that become chains: single accesses at random addresses, one after the other."""

import re
from typing import Any

from tierscope.kinds.chain.grammar import parse_chains
from tierscope.kinds.chain.operation import Operation, reach
from tierscope.kinds.chain.spec import MAX_SAMPLE_EVERY
from tierscope.model.errors import UserError
from tierscope.recipes.cxlbench.cases import Values
from tierscope.recipes.cxlbench.common import ATOMICS, LINE, Draft, draft
from tierscope.recipes.cxlbench.limits import Means, fitted_size
from tierscope.recipes.cxlbench.placing import place_of
from tierscope.recipes.cxlbench.threads import team_of

_WORD = 8
_LARGEST = 65536


def single(access: str, size: int, cache: str) -> Draft:
    """Return an access as chains have it."""
    if size < _WORD:
        raise UserError(f"an access of {size} B; single ones have 8 B and more")
    if size > _LARGEST:
        raise UserError(f"an access of {size} B; single ones have {_LARGEST} B at most")
    return {"access": access, "size": size, "cache": cache}


def atomic(operation: str) -> Draft:
    """Return an atomic operation as chains have it."""
    return {"access": operation, "size": _WORD}


def random_latency(values: Values, means: Means, notes: list[str]) -> Draft:
    """Accesses that wait for each other, of which some are timed by themselves."""
    operation, cache = values["operation"], values["cache_instruction"]
    if operation in ATOMICS:
        return chain(values, means, notes, [atomic(operation)], linked=True)
    if operation.startswith("stream-"):
        operation, cache = operation.removeprefix("stream-"), "stream"
    use = {"cache": "write-back", "stream": "non-temporal"}
    use["nocache"] = "non-temporal"
    found = single(operation, values["access_size"], use.get(cache, cache))
    if operation == "read":
        if found["cache"] == "write-back":
            raise UserError("cache_instruction write-back goes with writes")
        return chain(values, means, notes, [found], linked=True)
    notes.append("the read that finds the address is timed, too")
    # As there: the address is read, the line written, and all waited for.
    first = {"access": "read", "size": _WORD}
    return chain(values, means, notes, [first, {**found, "fence": "all"}], linked=True)


def custom(values: Values, means: Means, notes: list[str]) -> Draft:
    """Chains that are written out, and overlap as they do there."""
    if not values["custom_operations"]:
        raise UserError("exec_mode custom goes with custom_operations, which are missing")
    found = _parsed(values["custom_operations"])
    operations = [one.model_dump() for one in found]
    return chain(values, means, notes, operations, linked=False)


def _parsed(text: str) -> tuple[Operation, ...]:
    sizes = [int(word) for word in re.findall(r"(?:^|[,_ ])[rw]_(\d+)", text)]
    if min(sizes) < _WORD:
        raise UserError(
            f"custom_operations '{text}': an operation of {min(sizes)} B; each moves at least the "
            f"{_WORD} B of the word that the next address comes from"
        )
    try:
        (found,) = parse_chains(text)
    except UserError as error:
        raise UserError(f"custom_operations {error}") from None
    return found


def chain(
    values: Values, means: Means, notes: list[str], operations: list[Draft], linked: bool
) -> Draft:
    """Chains over one region or two; ``operations`` as specs have them."""
    parsed = [Operation.model_validate(one) for one in operations]
    team = team_of(values, means, notes)
    place = place_of(values, means, notes)
    places = [place]
    if any(one.region for one in parsed):
        if not values["secondary_memory_region_size"]:
            raise UserError("operations of m1 go with secondary_memory_region_size")
        places.append(place_of(values, means, notes, secondary=True))
        if places[1].pages != place.pages:
            raise UserError("both regions of a chain have the same kind of pages")
    regions = [(one.shares, one.size) for one in places]
    least = max(reach(parsed, number) for number in (0, 1))
    sizes = fitted_size(means, regions, least, notes)
    pattern: dict[str, Any] = {
        "operations": operations,
        "linked": linked,
        "size": sizes[0] // LINE * LINE,
        "pages": place.pages,
    }
    if sizes[-1] != sizes[0]:
        pattern["size_second"] = sizes[1] // LINE * LINE
    every = values["latency_sample_frequency"]
    if every:
        pattern["sample_every"] = min(every, MAX_SAMPLE_EVERY)
    found = draft("chain", values, means, team, place, pattern, notes)
    if len(places) > 1:
        found["placement_second"] = places[1].placement
    return found
