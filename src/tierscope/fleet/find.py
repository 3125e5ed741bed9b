"""From the tables of a fleet to the hosts that are slower than their group."""

import tempfile
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from tierscope.analysis.outliers import (
    MINIMUM,
    RATE,
    HostFigure,
    PathKey,
    Verdict,
    find_outliers,
)
from tierscope.fleet.causes import likely_causes
from tierscope.fleet.tables import open_fleet
from tierscope.model.errors import UserError
from tierscope.model.metric import METRICS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MODEL, RACK, SWITCH = "model", "rack", "switch"
BY = (MODEL, RACK, SWITCH)
_MEMORY = "128MB"
"""What DuckDB may hold to sort figures; beyond it, it uses temporary files."""
_CHUNK = 4096
_KEYS = "kind, initiator, target, pattern, metric, unit"
_COMPARED = "status = 'measured' AND estimate > 0"


def outliers_of(
    place: str,
    by: str = MODEL,
    groups: Mapping[str, str] | None = None,
    minimum: float = MINIMUM,
    rate: float = RATE,
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
    verdict = find_outliers(lambda hosts: _figures(database, hosts), minimum, rate)
    causes = likely_causes(database, [one.host for one in verdict.outliers])
    named = [one.model_copy(update={"causes": causes[one.host]}) for one in verdict.outliers]
    return verdict.model_copy(update={"outliers": named})


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
