"""Join the run files of many hosts as tables in Parquet (``tables``).

Run files are read one after the other, and their rows go to temporary files at once. DuckDB makes
the tables of these in pieces. So the memory that it takes does not depend on the number of hosts.
"""

import gzip
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pydantic import ValidationError

from tierscope.fleet.at_once import VisitsAtOnce
from tierscope.fleet.facts import facts_of, model_of, neighbours_of
from tierscope.fleet.tables import COLUMNS, FIGURES, HOSTS, OF_RUN, TOGETHER
from tierscope.model.base import Count, Model
from tierscope.model.errors import UserError
from tierscope.model.fleet import FleetHost, FleetIndex
from tierscope.model.run import Run
from tierscope.model.text import shown
from tierscope.model.together import TogetherFigure
from tierscope.runs.output import check_outputs, replacing
from tierscope.runs.query import measurement_rows, run_row, system_cause
from tierscope.runs.read import parse_contents, read_bytes, run_of
from tierscope.runs.store import SUFFIX, is_run_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

INDEX = "fleet.json"
_MEMORY = "128MB"
"""What DuckDB may hold; beyond it, it uses temporary files."""
_PIECE = 4096
"""Rows of a row group."""
_LEAST_OBJECT = 16 << 20
"""Bytes that DuckDB takes a line of JSON to have at most, unless told."""
Told = Callable[[int, int], None]
"""Called with how many run files were read, and of how many."""


class Gathered(Model):
    """What was joined."""

    hosts: Count
    figures: Count
    """Rows of the table, measured or not."""
    states: dict[str, Count]
    unreadable: list[str]
    """Why files were left out."""
    older: list[str]
    """Run files of hosts that have a later one, which counts."""
    together: list[TogetherFigure]
    """What hosts in step moved together of storage that they may share."""


def read_index(folder: Path) -> FleetIndex | None:
    """Return what ``fleet.json`` says; None where there is none. Raises UserError."""
    path = folder / INDEX
    try:
        return FleetIndex.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(
            f"{path} is no index of a fleet ({where}: {first['msg']}); without it, the run files "
            "are gathered as they are"
        ) from None


def run_files_below(folder: Path) -> list[Path]:
    """Return the run files in a folder and below; raises UserError where it is none."""
    if not folder.is_dir():
        raise UserError(
            f"'{folder}' is no directory; name the folder that a fleet's run files are in"
        )
    return sorted(path for path in folder.rglob(f"*{SUFFIX}") if path.is_file())


def gather(folder: Path, out: Path, told: Told = lambda _done, _all: None) -> Gathered:
    """Write the tables to ``out``, each as TABLE.parquet, of all run files below ``folder``."""
    import duckdb

    paths = run_files_below(folder)
    index = read_index(folder)
    targets = {name: out / f"{name}.parquet" for name in COLUMNS}
    check_outputs({f"--out ({path.name})": path for path in targets.values()})
    if not paths and index is None:
        raise UserError(f"'{folder}' has neither run files (*{SUFFIX}) nor {INDEX}")
    try:
        with tempfile.TemporaryDirectory(prefix="tierscope-") as place:
            rows = _Rows(Path(place))
            unreadable = rows.read(folder, index, paths, told)
            if not rows.latest:
                raise UserError(f"'{folder}' has no run file: {unreadable[0]}")
            together = rows.join()
            with _database(Path(place)) as database:
                _load(database, rows)
                for name, target in targets.items():
                    _write(database, name, target)
                return _summary(database, targets, unreadable, rows.older, together)
    except (duckdb.Error, OSError) as error:
        raise UserError(
            f"the tables cannot be made: {system_cause(error)}; make room in "
            f"{tempfile.gettempdir()} (or name another directory with TMPDIR) and in '{out}'"
        ) from None


class _Rows:
    """The rows of all tables, as compressed lines of JSON."""

    def __init__(self, place: Path) -> None:
        self.files = {name: place / f"{name}.jsonl.gz" for name in COLUMNS}
        self.longest = _LEAST_OBJECT
        self._at_once = VisitsAtOnce(place)
        self.latest: dict[str, tuple[str, str]] = {}
        """When the latest run of each host began, UTC, and its file."""
        self.older: list[str] = []
        """Run files of hosts that have a later one."""

    def read(
        self, folder: Path, index: FleetIndex | None, paths: Iterable[Path], told: Told
    ) -> list[str]:
        """Write the rows of all run files; return why some were left out."""
        known = {host.host: host for host in index.hosts} if index else {}
        unreadable = []
        files = list(paths)
        with (
            gzip.open(self.files[HOSTS], "wt", compresslevel=1) as hosts,
            gzip.open(self.files[FIGURES], "wt", compresslevel=1) as figures,
        ):
            for number, path in enumerate(files):
                told(number, len(files))
                name = shown(path.relative_to(folder))
                try:
                    contents = parse_contents(read_bytes(path), str(path))
                    run = run_of(contents)
                    host = known.get(run.header.host)
                    self._at_once.add(name, run, contents, host)
                except UserError as error:
                    unreadable.append(str(error))
                    if is_run_file(path):
                        self._count(shown(path.stem), "", name)
                        self._add(hosts, _damaged_row(name, path, str(error), known))
                    continue
                row = run_row(name, path, run)
                self._count(run.header.host, row["started"], name)
                self._add(hosts, _host_row(name, row, run, host))
                beside = {key: row[key] for key in OF_RUN}
                for figure in measurement_rows(name, run):
                    self._add(figures, {**figure, **beside})
            for one in known.values():
                if one.host not in self.latest:
                    self._count(one.host, "", "")
                    self._add(hosts, {**_index_row(one), **_unfinished(one), "run": ""})
        told(len(files), len(files))
        return unreadable

    def join(self) -> list[TogetherFigure]:
        """Write and return what hosts made together, once all run files were read."""
        older = set(self.older)
        found = [*self._at_once.rows(lambda run: run not in older)]
        with gzip.open(self.files[TOGETHER], "wt", compresslevel=1) as file:
            for one in found:
                self._add(file, one.model_dump(mode="json"))
        return found

    def _count(self, host: str, started: str, file: str) -> None:
        known = self.latest.get(host)
        new = (started, file)
        if known is not None:
            self.older.append(min(known, new)[1])
        self.latest[host] = max(known, new) if known else new

    def _add(self, file: IO[str], row: dict[str, Any]) -> None:
        # Patterns are compared as text, so keys stand in one order.
        line = json.dumps(row, sort_keys=True)
        self.longest = max(self.longest, len(line))
        file.write(line + "\n")


@contextmanager
def _database(place: Path) -> Iterator["DuckDBPyConnection"]:
    import duckdb

    database = duckdb.connect(
        str(place / "tables.duckdb"),
        config={"memory_limit": _MEMORY, "threads": 1, "temp_directory": str(place)},
    )
    try:
        yield database
    finally:
        database.close()


def _load(database: "DuckDBPyConnection", rows: _Rows) -> None:
    """Make views of the rows, without run files that count no more."""
    # As a join DuckDB might keep all rows in memory.
    database.execute("SET VARIABLE older = $runs::VARCHAR[]", {"runs": rows.older})
    for name, columns in COLUMNS.items():
        table = database.read_json(
            str(rows.files[name]), columns=columns, format="newline_delimited",
            compression="gzip", maximum_object_size=rows.longest + 1,
        )  # fmt: skip
        if "run" in columns:
            table = table.filter("NOT list_contains(getvariable('older'), run)")
        table.create_view(name)


def _write(database: "DuckDBPyConnection", name: str, target: Path) -> None:
    order = ", ".join(COLUMNS[name])
    with replacing(target) as beside:
        quoted = str(beside).replace("'", "''")
        database.execute(
            f"COPY (SELECT {order} FROM {name}) "  # noqa: S608
            f"TO '{quoted}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_PIECE})"
        )


def _summary(
    database: "DuckDBPyConnection",
    targets: dict[str, Path],
    unreadable: list[str],
    older: list[str],
    together: list[TogetherFigure],
) -> Gathered:
    def ask(sql: str, name: str) -> list[Any]:
        return database.execute(sql, {"file": str(targets[name])}).fetchall()

    states = ask("SELECT state, count(*) FROM read_parquet($file) GROUP BY state", HOSTS)
    ((count,),) = ask("SELECT count(*) FROM read_parquet($file)", FIGURES)
    return Gathered(
        hosts=sum(number for _, number in states),
        figures=count,
        states=dict(sorted(states, key=lambda one: (-one[1], one[0]))),
        unreadable=unreadable,
        older=older,
        together=together,
    )


def _damaged_row(name: str, path: Path, why: str, known: Mapping[str, FleetHost]) -> dict[str, Any]:
    """Return the row of a host whose run file cannot be read; the file has its name."""
    host = shown(path.stem)
    beside = _index_row(known[host]) if host in known else {}
    return {**beside, "host": host, "run": name, "state": "failed", "reason": why}


def _host_row(name: str, row: dict[str, Any], run: Run, known: FleetHost | None) -> dict[str, Any]:
    header = run.header
    statuses = [m.status for m in run.measurements]
    state, reason = _state(run)
    settings = header.environment
    topology = header.topology
    if known is not None and known.state not in _UNDER_WAY:
        state, reason = known.state, known.reason
    return {
        **(_index_row(known) if known else {}),
        **{key: header.machine.get(key) for key in _OF_MACHINE},
        **{key: row[key] for key in ("started", "finished", "emulated", "tierscope")},
        **neighbours_of(run),
        "host": header.host,
        "state": state,
        "reason": reason,
        "run": name,
        "model": model_of(header),
        "memory_bytes": sum(node["total_bytes"] for node in header.machine.get("nodes", [])),
        "gpus": len(header.machine.get("gpus", [])),
        "measured": sum(m.has_figure for m in run.measurements),
        "skipped": statuses.count("skipped"),
        "failed": statuses.count("failed"),
        **{key: settings.get(key.replace("_", "-")) for key in _OF_SETTINGS},
        "microcode": topology.microcode if topology else None,
        "facts": facts_of(run),
        "environment": settings,
    }


_OF_MACHINE = ("product", "cpu", "architecture", "hypervisor", "packages", "cores", "cpus")
_OF_SETTINGS = ("kernel", "governor", "turbo", "smt", "thp", "numa_balancing")


_UNDER_WAY = ("waiting", "measuring")


def _unfinished(host: FleetHost) -> dict[str, str]:
    """Return the state of a host that has no run file, where the index does not know it yet."""
    if host.state not in _UNDER_WAY:
        return {}
    return {"state": "lost", "reason": "the fleet's run ended before this host told anything"}


def _index_row(host: FleetHost) -> dict[str, Any]:
    clock = host.clock
    offset = [clock.offset_ns, clock.low_ns, clock.high_ns] if clock else [None] * 3
    return {
        **host.model_dump(include={"host", "state", "reason", "rank", "rack", "switch"}),
        **dict(zip(("clock_offset_ns", "clock_low_ns", "clock_high_ns"), offset, strict=True)),
    }


def _state(run: Run) -> tuple[str, str]:
    """Return a host's state, and why, as its run file shows it."""
    failed = [m for m in run.measurements if m.status == "failed"]
    if not any(m.has_figure for m in run.measurements):
        reasons = [m.reason for m in run.measurements if m.reason]
        return "failed", reasons[0] if reasons else "its run file has no figure"
    if run.footer is None:
        return "partial", "its run file ends before its run did"
    if run.footer.interrupted:
        return "partial", "its run was interrupted"
    if failed:
        return "partial", f"{len(failed)} of {len(run.measurements)} failed: {failed[0].reason}"
    return "measured", ""
