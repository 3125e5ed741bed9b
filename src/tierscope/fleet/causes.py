"""Likely causes: in what a slow host differs from the others of its group.

A difference is named only if most hosts of the group have one value and this host has another,
and at least half of the hosts that share that other value are slow, too: what most hosts have
without harm is no cause.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BUSY = 0.05
"""Share of time or rows above the group's median from which on neighbours are named."""
_MOST = 5
"""Causes that are named, the rarest first."""
_LEAST_SLOW = 0.5
_NEIGHBOURS = {
    "disturbed": "other programs disturbed {:.0%} of the rows",
    "stolen": "the hypervisor took {:.0%} of the time",
    "load": "load of {:.2f} a CPU when the run began",
}
_FACTS = """
WITH present AS (
    SELECT g.host, g.grp, unnest(map_entries(h.facts), recursive := true)
    FROM grouped g JOIN hosts h USING (host)
), keys AS (SELECT DISTINCT grp, key FROM present),
facts AS (
    SELECT g.host, g.grp, k.key, coalesce(p.value, 'absent') AS value,
           g.host IN (SELECT host FROM slow) AS slow
    FROM grouped g JOIN keys k USING (grp) LEFT JOIN present p USING (host, grp, key)
), counts AS (
    SELECT grp, key, value, count(*) AS n, count(*) FILTER (slow) AS slow FROM facts GROUP BY ALL
), usual AS (
    SELECT grp, key, arg_max(value, n) AS usual FROM counts GROUP BY grp, key
    HAVING max(n) > sum(n) / 2
)
SELECT f.host, f.key, f.value, u.usual
FROM facts f JOIN usual u ON u.grp = f.grp AND u.key = f.key
JOIN counts c ON c.grp = f.grp AND c.key = f.key AND c.value = f.value
WHERE f.slow AND f.value <> u.usual AND c.slow >= $share * c.n
ORDER BY f.host, c.n, f.key
"""


def likely_causes(database: "DuckDBPyConnection", slow: Iterable[str]) -> dict[str, list[str]]:
    """Return, for each slow host, in what it differs; empty where nothing that is known does.

    The database has the tables of a fleet, and a table ``grouped``: host, grp.
    """
    found: dict[str, list[str]] = {host: [] for host in slow}
    if not found:
        return found
    database.execute(
        "CREATE OR REPLACE TABLE slow AS SELECT unnest($hosts) AS host", {"hosts": list(found)}
    )
    for name, said in _NEIGHBOURS.items():
        for host, value in database.execute(_busy(name)).fetchall():
            found[host].append(said.format(value))
    for host, key, value, usual in database.execute(_FACTS, {"share": _LEAST_SLOW}).fetchall():
        found[host].append(f"{key}: {value} (group: {usual})")
    return {host: causes[:_MOST] for host, causes in found.items()}


def _busy(name: str) -> str:
    """Return the query for slow hosts on which a share is far above their group's median."""
    return f"""
    WITH middle AS (
        SELECT grp, median(coalesce({name}, 0)) AS usual
        FROM grouped JOIN hosts USING (host) GROUP BY grp
    ), busy AS (
        SELECT host, grp, {name} AS share FROM grouped JOIN hosts USING (host)
        JOIN middle USING (grp) WHERE {name} >= usual + {_BUSY}
    ), counts AS (
        SELECT grp, count(*) AS n, count(*) FILTER (host IN (SELECT host FROM slow)) AS slow
        FROM busy GROUP BY grp
    )
    SELECT host, share FROM busy JOIN counts c USING (grp)
    WHERE host IN (SELECT host FROM slow) AND c.slow >= {_LEAST_SLOW} * c.n ORDER BY host
    """  # noqa: S608 - names are constants
