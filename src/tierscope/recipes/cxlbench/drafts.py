"""What a case becomes: the fields of a spec, by the kind that makes the same accesses.

Each function raises UserError with the reason where no kind does.
"""

from typing import Any

from tierscope.kinds.chain.grammar import parse_chains
from tierscope.kinds.chain.operation import CacheUse, Operation, reach
from tierscope.kinds.chain.spec import MAX_SAMPLE_EVERY
from tierscope.model.errors import UserError
from tierscope.recipes.cxlbench.cases import Values
from tierscope.recipes.cxlbench.limits import Means, budget_s, fitted_size
from tierscope.recipes.cxlbench.placing import Place, bound, place_of
from tierscope.recipes.cxlbench.threads import Team, team_of

Draft = dict[str, Any]
LINE = 64
_WORD = 8
_LARGEST_OPERATION = 65536
_ATOMICS = ("compare-and-swap", "fetch-and-add")
_MAPS = ("memory-map-private", "memory-map-shared", "memory-unmap-private", "memory-unmap-shared")
_STREAMED = ("stream", "nocache")
_KEPT = ("cache", "write-back")


def draft_of(values: Values, means: Means, notes: list[str]) -> Draft:
    """Return what a case of one part becomes, without an id."""
    mode, operation = values["exec_mode"], values["operation"]
    if operation in _MAPS and mode != "latency":
        raise UserError(f"{operation} goes with exec_mode latency, not with {mode}")
    if mode == "custom":
        return _custom(values, means, notes)
    if mode == "dependent_reads":
        return _dependent(values, means, notes)
    if mode == "latency":
        if operation in _MAPS:
            return _mapping(values, means, notes)
        if operation not in _ATOMICS:
            raise UserError(
                f"exec_mode latency goes with {', '.join((*_ATOMICS, *_MAPS))}; "
                f"{operation} with random_latency"
            )
        return _chain(values, means, notes, [_atomic(operation)], linked=True)
    if mode == "random_latency":
        return _random_latency(values, means, notes)
    if mode == "sequential_latency":
        raise UserError(
            "single reads in address order are ahead of their request in the cache, fetched by "
            "prefetchers, and do not wait for each other; random_latency is measured"
        )
    return _accesses(values, means, notes)


def _accesses(values: Values, means: Means, notes: list[str]) -> Draft:
    """Sequential and random accesses by any number of threads."""
    operation, order = access_of(values)
    in_order = values["exec_mode"] != "random"
    if operation in _ATOMICS:
        if in_order:
            raise UserError(f"{operation} goes with exec_mode random or latency")
        return _chain(values, means, notes, [_atomic(operation)], linked=False)
    if operation.startswith("read-") or (values["access_size"] < LINE and not in_order):
        return _single(values, means, notes, operation)
    if values["access_size"] < LINE:
        raise UserError(
            f"accesses of {values['access_size']} B in address order: in order memory is read and "
            "written by whole lines; 64 and more are measured"
        )
    if operation in ("write", "read", "write-nt"):
        return _bandwidth(values, means, notes, operation, order)
    return _written_back(values, means, notes, operation, order)


def access_of(values: Values) -> tuple[str, str]:
    """Return what is done to each line, and in which order.

    read, write, write-nt; read- and write- with what is done to the cache; or an atomic operation.
    """
    operation, cache = values["operation"], values["cache_instruction"]
    orders = {"sequential": "sequential", "sequential_desc": "reverse", "random": "random"}
    order = orders[values["exec_mode"]]
    if order == "random" and values["random_distribution"] == "zipf":
        order = "zipf"
    if operation in _ATOMICS:
        return operation, order
    if operation.startswith("stream-"):
        if cache != "none":
            raise UserError(f"cache_instruction {cache} goes with read and write, not {operation}")
        operation, cache = operation.removeprefix("stream-"), "stream"
    if operation == "read":
        # Its first branch leaves cache instructions out where nothing is written.
        if not values.newer or cache in ("none", "cache", "nocache"):
            return "read", order
        if cache == "write-back":
            raise UserError("cache_instruction write-back goes with writes")
        return {"stream": "read-non-temporal"}.get(cache, f"read-{cache}"), order
    if cache in _STREAMED:
        return "write-nt", order
    if cache in _KEPT:
        return "write-back", order
    return ("write" if cache == "none" else f"write-{cache}"), order


def _bandwidth(
    values: Values, means: Means, notes: list[str], operation: str, order: str
) -> Draft:
    team = team_of(values, means, notes)
    place = place_of(values, means, notes)
    pattern = {
        "operation": operation,
        "order": order,
        "access_size": values["access_size"],
        "sharing": _sharing(values, team, order),
        "size": _size(values, means, place, team, notes),
        "pages": place.pages,
    }
    if order == "zipf":
        pattern["zipf_alpha"] = values["zipf_alpha"]
    return _draft("bandwidth", values, means, team, place, pattern, notes)


def _sharing(values: Values, team: Team, order: str) -> str:
    """Whether each thread goes over all of the region, as random accesses do there."""
    partitions = values["number_partitions"] or values["number_threads"]
    if order in ("sequential", "reverse") or team.count == 1:
        return "partitioned"
    if partitions == 1:
        return "shared"
    if partitions != values["number_threads"]:
        raise UserError(
            f"number_partitions {partitions} for {values['number_threads']} threads: random "
            "accesses go over all of the region (1) or each thread's own part (0)"
        )
    return "partitioned"


def _written_back(
    values: Values, means: Means, notes: list[str], operation: str, order: str
) -> Draft:
    """Ordinary stores whose lines are written back after each access."""
    pattern = {"writes": 100, "order": order, **stores_of(operation, values)}
    if order == "reverse":
        raise UserError("lines are written back in ascending or random order only")
    team = team_of(values, means, notes)
    place = place_of(values, means, notes)
    if order != "sequential" and team.count > 1 and values["number_partitions"] == 1:
        notes.append("each thread writes a part of its own")
    if order == "zipf":
        pattern["zipf_alpha"] = values["zipf_alpha"]
    pattern |= {
        "access_size": values["access_size"],
        "size": _size(values, means, place, team, notes),
        "pages": place.pages,
    }
    return _draft("streams", values, means, team, place, pattern, notes)


def stores_of(operation: str, values: Values) -> dict[str, str]:
    stores = {"write": "ordinary", "write-nt": "nt", "write-back": "clwb"}
    stores["write-flush-opt"] = "clflushopt"
    if operation not in stores:
        raise UserError(
            f"{values['operation']} with cache_instruction {values['cache_instruction']} is no way "
            "of writing lines that is measured; write-back, flush-opt and nocache are"
        )
    return {"stores": stores[operation]}


def _single(values: Values, means: Means, notes: list[str], operation: str) -> Draft:
    """Single accesses at random addresses, which do not wait for each other."""
    size = values["access_size"]
    if values["exec_mode"] != "random":
        how = operation.removeprefix("read-")
        raise UserError(
            f"reads in address order with cache instruction {how}: only reads at random addresses "
            "take one"
        )
    if values["random_distribution"] == "zipf":
        raise UserError("zipf goes with accesses of 64 B and more, without cache instructions")
    access, _, cache = operation.partition("-")
    cache = {"nt": "non-temporal", "back": "write-back", "": "none"}.get(cache, cache)
    return _chain(values, means, notes, [_one(access, size, cache)], linked=False)


def _one(access: str, size: int, cache: str) -> Draft:
    if size < _WORD:
        raise UserError(f"an access of {size} B; single ones have 8 B and more")
    if size > _LARGEST_OPERATION:
        raise UserError(f"an access of {size} B; single ones have {_LARGEST_OPERATION} B at most")
    return {"access": access, "size": size, "cache": cache}


def _atomic(operation: str) -> Draft:
    return {"access": operation, "size": _WORD}


def _random_latency(values: Values, means: Means, notes: list[str]) -> Draft:
    operation, cache = values["operation"], values["cache_instruction"]
    if operation in _ATOMICS:
        return _chain(values, means, notes, [_atomic(operation)], linked=True)
    if operation.startswith("stream-"):
        operation, cache = operation.removeprefix("stream-"), "stream"
    use: dict[str, CacheUse] = {"cache": "write-back", "stream": "non-temporal"}
    use["nocache"] = "non-temporal"
    found = _one(operation, values["access_size"], use.get(cache, cache))
    if operation == "read":
        if found["cache"] == "write-back":
            raise UserError("cache_instruction write-back goes with writes")
        return _chain(values, means, notes, [found], linked=True)
    notes.append("the read that finds the address is timed, too")
    # As there: the address is read, the line written, and all waited for.
    first = {"access": "read", "size": _WORD}
    return _chain(values, means, notes, [first, {**found, "fence": "all"}], linked=True)


def _custom(values: Values, means: Means, notes: list[str]) -> Draft:
    if not values["custom_operations"]:
        raise UserError("exec_mode custom goes with custom_operations, which are missing")
    try:
        (found,) = parse_chains(values["custom_operations"])
    except UserError as error:
        raise UserError(f"custom_operations {error}") from None
    operations = [one.model_dump() for one in found]
    return _chain(values, means, notes, operations, linked=False)


def _chain(
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
    if len(set(sizes)) > 1:
        if not means.fit:
            raise UserError("both regions of a chain have one size; --fit takes the smaller one")
        notes.append("both regions have the smaller one's size")
    pattern: dict[str, Any] = {
        "operations": operations,
        "linked": linked,
        "size": min(sizes) // LINE * LINE,
        "pages": place.pages,
    }
    every = values["latency_sample_frequency"]
    if every:
        pattern["sample_every"] = min(every, MAX_SAMPLE_EVERY)
    found = _draft("chain", values, means, team, place, pattern, notes)
    if len(places) > 1:
        found["placement_second"] = places[1].placement
    return found


def _dependent(values: Values, means: Means, notes: list[str]) -> Draft:
    """A chase through the whole region in random order."""
    if values["operation"] not in ("read", "stream-read"):
        raise UserError(f"dependent_reads reads; operation is {values['operation']}")
    size = values["access_size"]
    if size != LINE or values["number_threads"] > 1:
        return _chain(values, means, notes, [_one("read", size, "none")], linked=True)
    team = team_of(values, means, notes)
    place = place_of(values, means, notes)
    pattern = {
        "order": "random",
        "stride": LINE,
        "size": _size(values, means, place, team, notes),
        "pages": place.pages,
    }
    found = _draft("latency", values, means, team, place, pattern, notes)
    return _on_one_cpu(found, team, notes)


def _mapping(values: Values, means: Means, notes: list[str]) -> Draft:
    team = team_of(values, means, notes)
    place = bound(place_of(values, means, notes))
    if not place.shares:
        raise UserError(
            "mapping measures the kernel's work on new anonymous memory; a device has its memory "
            "already"
        )
    (size,) = fitted_size(means, [(place.shares, place.size)], 2 << 20, notes)
    sharing = values["operation"].rpartition("-")[2]
    pattern = {"sharing": sharing, "size": size, "pages": place.pages}
    found = _draft("mapping", values, means, team, place, pattern, notes)
    return _on_one_cpu(found, team, notes)


def _on_one_cpu(found: Draft, team: Team, notes: list[str]) -> Draft:
    del found["cpus"]
    found.pop("cpu_sets", None)
    if team.count > 1:
        raise UserError(f"{team.count} threads, where one measures")
    if team.floating:
        notes.append(f"pinned to CPU {team.first}")
    return {**found, "cpu": team.first}


def _size(values: Values, means: Means, place: Place, team: Team, notes: list[str]) -> int:
    """Bytes of a region that threads divide among them, in whole accesses."""
    access = max(values["access_size"], LINE)
    (size,) = fitted_size(means, [(place.shares, place.size)], team.count * access, notes)
    return size // LINE * LINE


def _draft(
    kind: str,
    values: Values,
    means: Means,
    team: Team,
    place: Place,
    pattern: dict[str, Any],
    notes: list[str],
) -> Draft:
    return {
        "kind": kind,
        "initiator": team.initiator,
        "target": place.target,
        "sampling": {"budget_s": budget_s(means, values["run_time"], notes)},
        **team.fields(),
        "placement": place.placement,
        "pattern": pattern,
    }
