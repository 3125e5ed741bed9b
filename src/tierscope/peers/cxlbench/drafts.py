"""Fields of the spec of a case; UserError says why a case has none."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tierscope.kinds.chain.spec import MAX_SAMPLE_EVERY, Operation, reach
from tierscope.model.errors import UserError
from tierscope.peers.cxlbench.operations import custom_operations, with_fences
from tierscope.peers.cxlbench.placing import (
    Part,
    Team,
    bound,
    budget_s,
    fitted_size,
    place_of,
    sampling,
    team_of,
)
from tierscope.peers.cxlbench.workload import Values

Draft = dict[str, Any]
LINE = 64
ATOMICS = ("compare-and-swap", "fetch-and-add")
_MAPS = ("memory-map-private", "memory-map-shared", "memory-unmap-private", "memory-unmap-shared")
_STREAMED = ("stream", "nocache")
_KEPT = ("cache", "write-back")
_NARROWEST = 8
"""Bytes of an instruction that reads or writes in ascending order."""
_WORD = 8
"""Bytes of an address, and of the smallest single access."""
_LARGEST = 65536
"""Bytes of the largest single access."""
_CACHE = {"cache": "write-back", "stream": "non-temporal", "nocache": "non-temporal"}
"""Cache instructions of single accesses that have other names there."""
_STORES = {
    "write": "ordinary",
    "write-nt": "nt",
    "write-back": "clwb",
    "write-flush-opt": "clflushopt",
}
_MODES = ("sequential", "random")
"""Modes of streams that run at the same time."""
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 24
"""Characters of a stream's name."""


def size_of(part: Part) -> int:
    """Return the bytes of a region that threads divide among them, in whole accesses."""
    least = part.team.count * max(part["access_size"], LINE)
    regions = [(part.place.shares, part.place.size)]
    (size,) = fitted_size(part.means, regions, least, part.notes)
    return size // LINE * LINE


def draft(kind: str, part: Part, pattern: dict[str, Any]) -> Draft:
    """Return the fields of a spec of one region, without an id."""
    team = part.team
    return {
        "kind": kind,
        "initiator": team.initiator,
        "target": part.place.target,
        "sampling": sampling(budget_s(part.means, part["run_time"], part.notes), team.crowded),
        **team.fields(),
        "placement": part.place.placement,
        "pattern": {"pages": part.place.pages, **pattern},
    }


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


def random_latency(part: Part) -> Draft:
    """Accesses that wait for each other, of which some are timed by themselves."""
    operation, cache = part["operation"], part["cache_instruction"]
    if operation in ATOMICS:
        return chain(part, [atomic(operation)], linked=True)
    if operation.startswith("stream-"):
        operation, cache = operation.removeprefix("stream-"), "stream"
    found = single(operation, part["access_size"], _CACHE.get(cache, cache))
    if operation == "read":
        if found["cache"] == "write-back":
            raise UserError("cache_instruction write-back goes with writes")
        return chain(part, [found], linked=True)
    # As there: the address is read and waited for, and what follows is timed.
    first = {"access": "read", "size": _WORD, "fence": "all"}
    return chain(part, [first, {**found, "fence": "all"}], linked=True, timed_from=2)


def custom(part: Part) -> Draft:
    """Chains that are written out, and overlap as they do there."""
    if not part["custom_operations"]:
        raise UserError("exec_mode custom goes with custom_operations, which are missing")
    return chain(part, _parsed(part["custom_operations"]), linked=False)


def _parsed(text: str) -> list[Draft]:
    sizes = [int(word) for word in re.findall(r"(?:^|[,_ ])[rw]_(\d+)", text)]
    if min(sizes) < _WORD:
        raise UserError(
            f"custom_operations '{text}': an operation of {min(sizes)} B; each moves at least the "
            f"{_WORD} B of the word that the next address comes from"
        )
    try:
        return [one.model_dump() for one in custom_operations(text)]
    except UserError as error:
        raise UserError(f"custom_operations {error}") from None


def chain(part: Part, operations: list[Draft], linked: bool, timed_from: int = 1) -> Draft:
    """Chains over one region or two; ``operations`` as specs have them, timed from one on."""
    parsed = [Operation.model_validate(one) for one in operations]
    _team, place = part.team, part.place
    places = [place]
    if any(one.region for one in parsed):
        if not part["secondary_memory_region_size"]:
            raise UserError("operations of m1 go with secondary_memory_region_size")
        places.append(place_of(part, secondary=True))
        if places[1].pages != place.pages:
            raise UserError("both regions of a chain have the same kind of pages")
    regions = [(one.shares, one.size) for one in places]
    least = max(reach(parsed, number) for number in (0, 1))
    sizes = [size // LINE * LINE for size in fitted_size(part.means, regions, least, part.notes)]
    pattern: dict[str, Any] = {
        "operations": operations,
        "linked": linked,
        "timed_from": timed_from,
        "size": sizes[0],
    }
    if sizes[-1] != sizes[0]:
        pattern["size_second"] = sizes[1]
    if every := part["latency_sample_frequency"]:
        pattern["sample_every"] = min(every, MAX_SAMPLE_EVERY)
    found = draft("chain", part, pattern)
    return {**found, "placement_second": places[1].placement} if len(places) > 1 else found


def draft_of_two(parts: Sequence[Part]) -> Draft:
    """Return the draft of two parts: the first is the main stream, the second one beside it.

    Raises UserError where a part is not a stream of reads or writes.
    """
    means, notes = parts[0].means, parts[0].notes
    teams = _teams(parts)
    places = [part.place for part in parts]
    patterns = [_pattern(part, team) for part, team in zip(parts, teams, strict=True)]
    least = max(
        team.count * pattern["access_size"] for team, pattern in zip(teams, patterns, strict=True)
    )
    sizes = fitted_size(means, [(place.shares, place.size) for place in places], least, notes)
    main, beside = (
        {
            "initiator": team.initiator,
            "target": place.target,
            **team.fields(),
            "placement": place.placement,
            "pattern": {**pattern, "size": size // LINE * LINE, "pages": place.pages},
        }
        for team, place, pattern, size in zip(teams, places, patterns, sizes, strict=True)
    )
    seconds = max(budget_s(means, part["run_time"], notes) for part in parts)
    return {
        "kind": "traffic",
        "sampling": sampling(seconds, _share_cpus(teams)),
        **main,
        "beside": [{"name": stream_name(parts[1].values.name), **beside}],
    }


def stream_name(part: str) -> str:
    """Return the name of the stream of the second part in figures."""
    name = _NAME.sub("_", part)[:_LONGEST]
    return f"{name[: _LONGEST - 1]}2" if name == "main" else name


def _share_cpus(teams: list[Team]) -> bool:
    """Whether threads of both, or of one, may have to take turns on a CPU."""
    return any(team.crowded for team in teams) or bool(teams[0].all_cpus & teams[1].all_cpus)


def _teams(parts: Sequence[Part]) -> list[Team]:
    """Return the threads of both; fitted ones share the CPUs as the file's numbers do."""
    pools = [team_of(replace(part, notes=[])).all_cpus for part in parts]
    if not pools[0] & pools[1]:
        return [part.team for part in parts]
    most: list[int | None] = [None, None]
    have, asked = len(pools[0] | pools[1]), [part["number_threads"] for part in parts]
    if parts[0].means.fit and sum(asked) > have:
        first = max(1, have * asked[0] // sum(asked))
        most = [first, max(1, have - first)]
    return [team_of(part, room).sharing() for part, room in zip(parts, most, strict=True)]


def _pattern(part: Part, team: Team) -> dict[str, Any]:
    name = part.values.name
    if part["exec_mode"] not in _MODES:
        raise UserError(
            f"part {name}: streams that run at the same time are sequential or random, "
            f"not {part['exec_mode']}"
        )
    operation, order = access_of(part.values)
    if part["access_size"] < LINE:
        raise UserError(f"part {name}: accesses of streams have 64 B and more")
    found = {"access_size": part["access_size"], **_in_order(part, order)}
    if order != "sequential" and team.count > 1 and part["number_partitions"] == 1:
        part.notes.append(f"each thread of {name} goes over a part of its own")
    if operation == "read":
        return found
    return {**found, "writes": 100, "stores": stores_of(operation, part)}


def _in_order(part: Part, order: str) -> dict[str, Any]:
    return {"order": order, **({"zipf_alpha": part["zipf_alpha"]} if order == "zipf" else {})}


def draft_of(part: Part) -> Draft:
    """Return the draft of a case of one part, without an id."""
    mode, operation = part["exec_mode"], part["operation"]
    if operation in _MAPS and mode != "latency":
        raise UserError(f"{operation} goes with exec_mode latency, not with {mode}")
    if mode == "custom":
        return custom(part)
    if mode == "dependent_reads":
        return _dependent(part)
    if mode == "latency":
        if operation in _MAPS:
            return _mapping(part)
        if operation not in ATOMICS:
            raise UserError(
                f"exec_mode latency goes with {', '.join((*ATOMICS, *_MAPS))}; "
                f"{operation} with random_latency"
            )
        return chain(part, [atomic(operation)], linked=True)
    if mode == "random_latency":
        return random_latency(part)
    if mode == "sequential_latency":
        raise UserError(
            "single reads in address order are ahead of their request in the cache, fetched by "
            "prefetchers, and do not wait for each other; random_latency is measured"
        )
    return _accesses(part)


def _accesses(part: Part) -> Draft:
    """Sequential and random accesses by any number of threads."""
    operation, order = access_of(part.values)
    in_order = part["exec_mode"] != "random"
    if operation in ATOMICS:
        if in_order:
            raise UserError(f"{operation} goes with exec_mode random or latency")
        return chain(part, [atomic(operation)], linked=False)
    if operation.startswith("read-") or (part["access_size"] < LINE and not in_order):
        return _single(part, operation)
    plain = operation in ("read", "write") and order == "sequential"
    if part["access_size"] < (_NARROWEST if plain else LINE):
        raise UserError(
            f"accesses of {part['access_size']} B in address order: reads and ordinary stores in "
            f"ascending order have {_NARROWEST} B at least, others whole lines"
        )
    if operation in ("write", "read", "write-nt"):
        return _bandwidth(part, operation, order)
    return _written_back(part, operation, order)


def access_of(values: Values) -> tuple[str, str]:
    """Return the access to each line, and the order.

    An access is read, write, write-nt; read- or write- with a cache instruction; or atomic.
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


def _bandwidth(part: Part, operation: str, order: str) -> Draft:
    team, _place = part.team, part.place
    if part["operation"] == "write" and part["cache_instruction"] == "nocache":
        part.notes.append("no fence behind each access, as nocache has it there")
    pattern = {
        "operation": operation,
        **_in_order(part, order),
        "access_size": part["access_size"],
        "sharing": _sharing(part, team, order),
        "size": size_of(part),
    }
    return draft("bandwidth", part, pattern)


def _sharing(part: Part, team: Team, order: str) -> str:
    """Whether each thread goes over all of the region, as random accesses do there."""
    partitions = part["number_partitions"] or part["number_threads"]
    if order in ("sequential", "reverse") or team.count == 1:
        return "partitioned"
    if partitions == 1:
        return "shared"
    if partitions != part["number_threads"]:
        raise UserError(
            f"number_partitions {partitions} for {part['number_threads']} threads: random "
            "accesses go over all of the region (1) or each thread's own part (0)"
        )
    return "partitioned"


def _written_back(part: Part, operation: str, order: str) -> Draft:
    """Ordinary stores whose lines are written back after each access."""
    stores = stores_of(operation, part)
    if order == "reverse":
        raise UserError("lines are written back in ascending or random order only")
    team, _place = part.team, part.place
    if order != "sequential" and team.count > 1 and part["number_partitions"] == 1:
        part.notes.append("each thread writes a part of its own")
    pattern = {
        "writes": 100,
        **_in_order(part, order),
        "stores": stores,
        "access_size": part["access_size"],
        "size": size_of(part),
    }
    return draft("traffic", part, pattern)


def stores_of(operation: str, part: Part) -> str:
    """Return the stores of a case that writes; raises UserError where no stream has them."""
    if operation not in _STORES:
        raise UserError(
            f"{part['operation']} with cache_instruction {part['cache_instruction']} is no way "
            "of writing lines that is measured; write-back, flush-opt and nocache are"
        )
    return _STORES[operation]


def _single(part: Part, operation: str) -> Draft:
    """Single accesses at random addresses, which do not wait for each other."""
    size = part["access_size"]
    if part["exec_mode"] != "random":
        how = operation.removeprefix("read-")
        raise UserError(
            f"reads in address order with cache instruction {how}: only reads at random addresses "
            "take one"
        )
    if part["random_distribution"] == "zipf":
        raise UserError("zipf goes with accesses of 64 B and more, without cache instructions")
    access, _, cache = operation.partition("-")
    cache = {"nt": "non-temporal", "back": "write-back", "": "none"}.get(cache, cache)
    (found,) = with_fences([Operation.model_validate(single(access, size, cache))])
    return chain(part, [found.model_dump()], linked=False)


def _dependent(part: Part) -> Draft:
    """A chase through the whole region in random order."""
    if part["operation"] not in ("read", "stream-read"):
        raise UserError(f"dependent_reads reads; operation is {part['operation']}")
    size = part["access_size"]
    if size != LINE or part["number_threads"] > 1:
        return chain(part, [single("read", size, "none")], linked=True)
    team, _place = part.team, part.place
    pattern = {"order": "random", "stride": LINE, "size": size_of(part)}
    return _on_one_cpu(draft("latency", part, pattern), team, part.notes)


def _mapping(part: Part) -> Draft:
    team, place = part.team, bound(part.place)
    if not place.shares:
        raise UserError(
            "mapping measures the kernel's work on new anonymous memory; a device has its memory "
            "already"
        )
    (size,) = fitted_size(part.means, [(place.shares, place.size)], 2 << 20, part.notes)
    pattern = {
        "sharing": part["operation"].rpartition("-")[2],
        "size": size,
        "populate": "call",
    }
    part.notes.append("bound to the nodes of the file; CXL-Bench leaves the pages to the kernel")
    return _on_one_cpu(draft("mapping", part, pattern), team, part.notes)


def _on_one_cpu(found: Draft, team: Team, notes: list[str]) -> Draft:
    del found["cpus"]
    found.pop("cpu_sets", None)
    if team.count > 1:
        raise UserError(f"{team.count} threads, where one measures")
    if team.floating:
        notes.append(f"pinned to CPU {team.first}")
    return {**found, "cpu": team.first}
