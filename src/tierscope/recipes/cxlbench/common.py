"""What all drafts of specs have in common."""

from typing import Any

from tierscope.recipes.cxlbench.cases import Values
from tierscope.recipes.cxlbench.limits import Means, budget_s, fitted_size, sampling
from tierscope.recipes.cxlbench.placing import Place
from tierscope.recipes.cxlbench.threads import Team

Draft = dict[str, Any]
LINE = 64
ATOMICS = ("compare-and-swap", "fetch-and-add")


def size_of(values: Values, means: Means, place: Place, team: Team, notes: list[str]) -> int:
    """Return the bytes of a region that threads divide among them, in whole accesses."""
    access = max(values["access_size"], LINE)
    (size,) = fitted_size(means, [(place.shares, place.size)], team.count * access, notes)
    return size // LINE * LINE


def draft(
    kind: str,
    values: Values,
    means: Means,
    team: Team,
    place: Place,
    pattern: dict[str, Any],
    notes: list[str],
) -> Draft:
    """Return the fields of a spec of one region, without an id."""
    return {
        "kind": kind,
        "initiator": team.initiator,
        "target": place.target,
        "sampling": sampling(budget_s(means, values["run_time"], notes), team.crowded),
        **team.fields(),
        "placement": place.placement,
        "pattern": pattern,
    }
