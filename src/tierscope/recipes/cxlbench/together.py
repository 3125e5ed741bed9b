"""Two parts that run at the same time: streams over regions of their own."""

import re
from typing import Any

from tierscope.model.errors import UserError
from tierscope.recipes.cxlbench.cases import Values
from tierscope.recipes.cxlbench.common import LINE, Draft
from tierscope.recipes.cxlbench.drafts import access_of, stores_of
from tierscope.recipes.cxlbench.limits import Means, budget_s, fitted_size, sampling
from tierscope.recipes.cxlbench.placing import place_of
from tierscope.recipes.cxlbench.threads import Team, team_of

_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 24
_MODES = ("sequential", "random")


def draft_of_two(parts: tuple[Values, ...], means: Means, notes: list[str]) -> Draft:
    """Return what two parts become: the first is the main stream, the second one beside it.

    Raises UserError where a part is no stream of reads or writes.
    """
    teams = _teams(parts, means, notes)
    places = [place_of(part, means, notes) for part in parts]
    patterns = [_pattern(part, team, notes) for part, team in zip(parts, teams, strict=True)]
    least = max(
        team.count * pattern["access_size"] for team, pattern in zip(teams, patterns, strict=True)
    )
    regions = [(place.shares, place.size) for place in places]
    for pattern, place, size in zip(
        patterns, places, fitted_size(means, regions, least, notes), strict=True
    ):
        pattern |= {"size": size // LINE * LINE, "pages": place.pages}
    streams = [
        {
            "initiator": team.initiator,
            "target": place.target,
            **team.fields(),
            "placement": place.placement,
            "pattern": pattern,
        }
        for team, place, pattern in zip(teams, places, patterns, strict=True)
    ]
    seconds = max(budget_s(means, part["run_time"], notes) for part in parts)
    return {
        "kind": "streams",
        "sampling": sampling(seconds, _share_cpus(teams)),
        **streams[0],
        "beside": [{"name": stream_name(parts[1].name), **streams[1]}],
    }


def stream_name(part: str) -> str:
    """Return what the stream of the second part is called in figures."""
    name = _NAME.sub("_", part)[:_LONGEST]
    return f"{name[: _LONGEST - 1]}2" if name == "main" else name


def _share_cpus(teams: list[Team]) -> bool:
    """Whether threads of both, or of one, may have to take turns on a CPU."""
    return any(team.crowded for team in teams) or bool(teams[0].all_cpus & teams[1].all_cpus)


def _teams(parts: tuple[Values, ...], means: Means, notes: list[str]) -> list[Team]:
    """Return the threads of both; fitted ones share the CPUs as the file's numbers do."""
    pools = [team_of(part, means, []).all_cpus for part in parts]
    if not pools[0] & pools[1]:
        return [team_of(part, means, notes) for part in parts]
    most: list[int | None] = [None, None]
    have, asked = len(pools[0] | pools[1]), [part["number_threads"] for part in parts]
    if means.fit and sum(asked) > have:
        first = max(1, have * asked[0] // sum(asked))
        most = [first, max(1, have - first)]
    return [
        team_of(part, means, notes, room).sharing() for part, room in zip(parts, most, strict=True)
    ]


def _pattern(part: Values, team: Team, notes: list[str]) -> dict[str, Any]:
    if part["exec_mode"] not in _MODES:
        raise UserError(
            f"part {part.name}: streams that run at the same time are sequential or random, "
            f"not {part['exec_mode']}"
        )
    operation, order = access_of(part)
    if part["access_size"] < LINE:
        raise UserError(f"part {part.name}: accesses of streams have 64 B and more")
    found: dict[str, Any] = {"order": order, "access_size": part["access_size"]}
    if order == "zipf":
        found["zipf_alpha"] = part["zipf_alpha"]
    if order != "sequential" and team.count > 1 and part["number_partitions"] == 1:
        notes.append(f"each thread of {part.name} goes over a part of its own")
    if operation == "read":
        return found
    return {**found, "writes": 100, **stores_of(operation, part)}
