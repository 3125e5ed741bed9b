"""Slow hosts of a gathered fleet, and likely causes.

A likely cause is a fact in which a slow host differs from its group. It is named only if most hosts
of the group have one value, this host has another, and at least half of the hosts with that other
value are slow, too: a value that most hosts have without harm is not a cause.
"""

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from tierscope.analysis.outliers import (
    MINIMUM,
    MOST,
    RATE,
    HostFigure,
    PathKey,
    Verdict,
    find_outliers,
)
from tierscope.fleet.tables import open_fleet
from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError
from tierscope.model.metric import METRICS
from tierscope.model.outlier import Outlier

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_BUSY = 0.05
"""Excess over the group's median, as a share of time or rows, at which neighbours are named."""
_MOST = 5
"""Maximum number of causes that are named, the rarest first."""
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
_MEMORY = "128MB"
"""DuckDB's memory limit for sorting figures; beyond it, it uses temporary files."""
_CHUNK = 4096
_KEYS = "kind, initiator, target, pattern, metric, unit"
_COMPARED = "status = 'measured' AND estimate > 0 AND compared"


def likely_causes(database: "DuckDBPyConnection", slow: Iterable[str]) -> dict[str, list[str]]:
    """Return the likely causes of each slow host; empty where none is known.

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


MODEL, RACK, SWITCH = "model", "rack", "switch"
BY = (MODEL, RACK, SWITCH)


def outliers_of(
    place: str,
    by: str = MODEL,
    groups: Mapping[str, str] | None = None,
    minimum: float = MINIMUM,
    rate: float = RATE,
    most: float = MOST,
) -> Verdict:
    """Return the hosts of a gathered fleet that are slower than others of their group.

    ``place`` is the folder of its tables, or a URL. Hosts of one machine model are compared; with
    ``by``, those of one rack or switch as the tables know it, or of one of ``groups``, by host.
    Raises UserError where the tables cannot be read, or say nothing of racks or switches.
    """
    database = open_fleet(place)
    database.execute("SET memory_limit = $limit", {"limit": _MEMORY})
    database.execute("SET temp_directory = $place", {"place": tempfile.gettempdir()})
    group_hosts(database, by, groups)
    _import_specs(database)
    verdict = find_outliers(lambda hosts: _figures(database, hosts), minimum, rate, most)
    causes = likely_causes(database, [one.host for one in verdict.outliers])
    doubts = _doubts(database, verdict.outliers)
    named = [
        one.model_copy(update={"causes": causes[one.host], "doubt": doubts[one.host]})
        for one in verdict.outliers
    ]
    return verdict.model_copy(update={"outliers": named})


def _doubts(database: "DuckDBPyConnection", outliers: list[Outlier]) -> dict[str, str]:
    """Return, for each host, why none of its slow paths is beyond doubt; empty where one is.

    A figure is in doubt that has no interval, or that other programs disturbed.
    """
    if not outliers:
        return {}
    rows = database.execute(
        f"SELECT host, {_KEYS}, ci_low IS NULL OR ci_high IS NULL, "  # noqa: S608 - constants
        # Evidence stands beside a measurement's headline only.
        "coalesce(max(CAST(evidence->>'disturbed' AS BIGINT)) "
        "OVER (PARTITION BY host, run, number), 0) > 0 "
        f"FROM figures WHERE {_COMPARED} AND host IN (SELECT unnest($hosts))",
        {"hosts": [one.host for one in outliers]},
    )
    slow = {
        (one.host, path.kind, path.initiator, path.target, _in_order(path.pattern), path.metric)
        for one in outliers
        for path in one.paths
    }
    doubts: dict[str, set[str]] = defaultdict(set)
    for host, kind, initiator, target, pattern, metric, _, no_interval, disturbed in iter(
        rows.fetchone, None
    ):
        if (host, kind, initiator, target, _in_order(json.loads(pattern)), metric) in slow:
            doubts[host].add(
                "other programs disturbed it" if disturbed
                else "it has no confidence interval" if no_interval
                else ""
            )  # fmt: skip
    return {one.host: min(doubts[one.host], default="") for one in outliers}


def _in_order(pattern: object) -> str:
    return json.dumps(pattern, sort_keys=True)


def _import_specs(database: "DuckDBPyConnection") -> None:
    """Import the specs of all kinds in the tables: captions take properties' words from them."""
    for (kind,) in database.execute(
        "SELECT kind FROM figures UNION SELECT kind FROM together"
    ).fetchall():
        if kind in KINDS:
            KINDS[kind].spec  # noqa: B018


def group_hosts(database: "DuckDBPyConnection", by: str, groups: Mapping[str, str] | None) -> None:
    """Make the table ``grouped``: the group that each host is compared in."""
    if groups is not None:
        database.execute(
            "CREATE TABLE named AS SELECT unnest($hosts) AS name, unnest($groups) AS part",
            {"hosts": list(groups), "groups": list(groups.values())},
        )
        # Slurm's names of nodes are often hosts' names without their domain.
        part = (
            "(SELECT any_value(part) FROM named "
            "WHERE name = host OR name = split_part(host, '.', 1))"
        )
    else:
        part = "NULL" if by == MODEL else by
    database.execute(
        f"CREATE TABLE grouped AS SELECT host, model, {part} AS part "  # noqa: S608
        "FROM hosts WHERE model IS NOT NULL"
    )
    known = database.execute("SELECT count(part), count(DISTINCT model) FROM grouped").fetchone()
    assert known is not None
    if by != MODEL and not known[0]:
        raise UserError(
            f"--by {by}: no host of this fleet is in one; name a file with --by, Slurm's "
            "topology.conf or HOST,GROUP a line (.csv)"
        )
    word = "'group ' || " if groups is not None else f"'{by} ' || "
    name = "model" if by == MODEL else f"{word}coalesce(part, 'unknown')"
    more = " || ', ' || model" if by != MODEL and known[1] > 1 else ""
    database.execute("ALTER TABLE grouped ADD COLUMN grp VARCHAR")
    database.execute(f"UPDATE grouped SET grp = {name}{more}")  # noqa: S608 - made above


def _figures(
    database: "DuckDBPyConnection", hosts: frozenset[str] | None
) -> Iterator[tuple[PathKey, list[HostFigure]]]:
    """Yield paths with the figures of their hosts, of all hosts or of a few."""
    cursor = database.cursor()
    # Paths are sorted by number: their patterns would fill the memory.
    cursor.execute(
        f"CREATE OR REPLACE TABLE paths AS SELECT *, row_number() OVER (ORDER BY {_KEYS}) AS path "  # noqa: S608
        f"FROM (SELECT DISTINCT {_KEYS} FROM figures WHERE {_COMPARED})"
    )
    found = cursor.execute(f"SELECT {_KEYS} FROM paths ORDER BY path")  # noqa: S608 - constants
    keys = [PathKey(*row) for row in found.fetchall()]
    some = "" if hosts is None else "AND host IN (SELECT unnest($hosts))"
    cursor.execute(
        "SELECT path, host, grp, model, estimate, ci_low, ci_high "  # noqa: S608
        f"FROM figures JOIN paths USING ({_KEYS}) JOIN grouped USING (host) "
        f"WHERE {_COMPARED} {some} ORDER BY path, host",
        None if hosts is None else {"hosts": sorted(hosts)},
    )
    rows = (row for chunk in iter(lambda: cursor.fetchmany(_CHUNK), []) for row in chunk)
    for path, members in groupby(rows, lambda row: row[0]):
        key = keys[path - 1]
        if key.metric in METRICS:
            yield key, [HostFigure(*row[1:]) for row in members]
