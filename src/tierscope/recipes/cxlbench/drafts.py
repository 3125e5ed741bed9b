"""What a case becomes: the fields of a spec, by the kind that makes the same accesses.

Each function raises UserError with the reason where no kind does.
"""

from tierscope.model.errors import UserError
from tierscope.recipes.cxlbench.cases import Values
from tierscope.recipes.cxlbench.chains import atomic, chain, custom, random_latency, single
from tierscope.recipes.cxlbench.common import ATOMICS, LINE, Draft, draft, size_of
from tierscope.recipes.cxlbench.limits import Means, fitted_size
from tierscope.recipes.cxlbench.placing import bound, place_of
from tierscope.recipes.cxlbench.threads import Team, team_of

_MAPS = ("memory-map-private", "memory-map-shared", "memory-unmap-private", "memory-unmap-shared")
_STREAMED = ("stream", "nocache")
_KEPT = ("cache", "write-back")
_NARROWEST = 8
"""Bytes of an instruction that reads or writes in ascending order."""


def draft_of(values: Values, means: Means, notes: list[str]) -> Draft:
    """Return what a case of one part becomes, without an id."""
    mode, operation = values["exec_mode"], values["operation"]
    if operation in _MAPS and mode != "latency":
        raise UserError(f"{operation} goes with exec_mode latency, not with {mode}")
    if mode == "custom":
        return custom(values, means, notes)
    if mode == "dependent_reads":
        return _dependent(values, means, notes)
    if mode == "latency":
        if operation in _MAPS:
            return _mapping(values, means, notes)
        if operation not in ATOMICS:
            raise UserError(
                f"exec_mode latency goes with {', '.join((*ATOMICS, *_MAPS))}; "
                f"{operation} with random_latency"
            )
        return chain(values, means, notes, [atomic(operation)], linked=True)
    if mode == "random_latency":
        return random_latency(values, means, notes)
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
    if operation in ATOMICS:
        if in_order:
            raise UserError(f"{operation} goes with exec_mode random or latency")
        return chain(values, means, notes, [atomic(operation)], linked=False)
    if operation.startswith("read-") or (values["access_size"] < LINE and not in_order):
        return _single(values, means, notes, operation)
    plain = operation in ("read", "write") and order == "sequential"
    if values["access_size"] < (_NARROWEST if plain else LINE):
        raise UserError(
            f"accesses of {values['access_size']} B in address order: reads and ordinary stores in "
            f"ascending order have {_NARROWEST} B at least, others whole lines"
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
    if operation in ATOMICS:
        return operation, order
    if operation.startswith("stream-"):
        if cache != "none":
            raise UserError(f"cache_instruction {cache} goes with read and write, not {operation}")
        return {"stream-read": "read-non-temporal", "stream-write": "write-nt"}[operation], order
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


def _bandwidth(values: Values, means: Means, notes: list[str], operation: str, order: str) -> Draft:
    team = team_of(values, means, notes)
    place = place_of(values, means, notes)
    pattern = {
        "operation": operation,
        "order": order,
        "access_size": values["access_size"],
        "sharing": _sharing(values, team, order),
        "size": size_of(values, means, place, team, notes),
        "pages": place.pages,
    }
    if order == "zipf":
        pattern["zipf_alpha"] = values["zipf_alpha"]
    return draft("bandwidth", values, means, team, place, pattern, notes)


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
        "size": size_of(values, means, place, team, notes),
        "pages": place.pages,
    }
    return draft("streams", values, means, team, place, pattern, notes)


def stores_of(operation: str, values: Values) -> dict[str, str]:
    """Return how streams store what a case writes; raises UserError for other ways."""
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
    return chain(values, means, notes, [single(access, size, cache)], linked=False)


def _dependent(values: Values, means: Means, notes: list[str]) -> Draft:
    """A chase through the whole region in random order."""
    if values["operation"] not in ("read", "stream-read"):
        raise UserError(f"dependent_reads reads; operation is {values['operation']}")
    size = values["access_size"]
    if size != LINE or values["number_threads"] > 1:
        return chain(values, means, notes, [single("read", size, "none")], linked=True)
    team = team_of(values, means, notes)
    place = place_of(values, means, notes)
    pattern = {
        "order": "random",
        "stride": LINE,
        "size": size_of(values, means, place, team, notes),
        "pages": place.pages,
    }
    found = draft("latency", values, means, team, place, pattern, notes)
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
    found = draft("mapping", values, means, team, place, pattern, notes)
    return _on_one_cpu(found, team, notes)


def _on_one_cpu(found: Draft, team: Team, notes: list[str]) -> Draft:
    del found["cpus"]
    found.pop("cpu_sets", None)
    if team.count > 1:
        raise UserError(f"{team.count} threads, where one measures")
    if team.floating:
        notes.append(f"pinned to CPU {team.first}")
    return {**found, "cpu": team.first}
