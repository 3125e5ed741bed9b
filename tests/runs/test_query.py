"""Tables of runs and figures: what stands in each row, and which queries are answered."""

import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests import synthetic

from tierscope.model.base import RECORDED
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Evidence
from tierscope.model.run import (
    Figure,
    Footer,
    Imported,
    ImportedFile,
    Measurement,
    MergedDistribution,
)
from tierscope.runs.query import ask, figure_rows, query, run_row, system_cause

BOTH = [Figure(metric="bandwidth", unit="B/s", estimate=5.0, no_interval="observed", compared=True,
               limit=synthetic.DDR, efficiency=0.25),
        Figure(metric="bandwidth", part="b", unit="B/s", estimate=2.0, ci_low=1.0, ci_high=3.0),
        Figure(metric="iops", part="b", unit="1/s", estimate=3.0)]  # fmt: skip


def measurement(**more: Any) -> Measurement:
    values = {"id": "m", "kind": "k", "initiator": "node:0", "target": "node:1", "cpus": [3],
              "pattern": {}, "status": "measured", **more}  # fmt: skip
    return Measurement.model_validate(values, context=RECORDED)


def asked(path: Path, sql: str) -> list[dict[str, Any]]:
    names, rows, problems = query([path], sql)
    assert problems == []
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_a_run_has_a_row(tmp_path: Path) -> None:
    imported = Imported(
        format="f", program="other 2", files=[ImportedFile(name="x", sha256="0" * 64)]
    )
    plan = {"measurements": [{"id": "a"}, {"id": "b"}]}
    run = synthetic.run(
        [], imported=imported, emulated=True, started="2026-01-05T14:03:07.9+01:00", plan=plan
    )
    path = synthetic.write(run, tmp_path / "one.jsonl")
    (tmp_path / "one.tags").write_text("x\ny\n")
    (row,) = asked(path, "from runs")
    assert json.loads(row.pop("machine")) == run.header.machine
    assert json.loads(row.pop("environment")) == run.header.environment
    times = [str(row.pop(key)) for key in ("started", "finished")]
    assert times == ["2026-01-05 13:03:07", "2026-01-05 14:09:00"]
    assert row == {
        "name": "one", "path": str(path), "tags": ["x", "y"], "host": "node017",
        "interrupted": False, "complete": True, "emulated": True, "imported": "other 2",
        "cpu": "Example 9000", "hypervisor": "", "kernel": "Linux 6.12.0",
        "governor": "performance", "tierscope": "0.1.0", "planned": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("footer", "interrupted", "complete"),
    [(None, None, False), (True, True, False), (False, False, True)],
)
def test_a_run_is_complete_where_its_footer_says_so(
    footer: bool | None, interrupted: bool | None, complete: bool
) -> None:
    ended = None
    if footer is not None:
        ended = Footer(finished="x", interrupted=footer, measured=0, skipped=0, failed=0)
    run = synthetic.run([], plan={}).model_copy(update={"footer": ended})
    row = run_row("n", Path("n.jsonl"), run)
    assert (row["interrupted"], row["complete"]) == (interrupted, complete)
    assert (row["planned"], row["imported"]) == (0, None)


@pytest.mark.parametrize(
    ("finished", "utc"),
    [("2026-01-05T14:00:00-02:30", "2026-01-05 16:30:00"), ("soon", None), ("", None),
     ("0001-01-01T00:00:00+14:00", None)],
)  # fmt: skip
def test_a_time_that_is_none_is_null(finished: str, utc: str | None) -> None:
    footer = Footer(finished=finished, interrupted=False, measured=0, skipped=0, failed=0)
    run = synthetic.run([]).model_copy(update={"footer": footer})
    assert run_row("n", Path("n.jsonl"), run)["finished"] == utc


def test_a_measurement_has_a_row_for_each_figure_and_one_without(tmp_path: Path) -> None:
    pattern = {"threads": 4, "size": 1 << 30, "access_size": "any", "operation": "read",
               "order": "random", "pages": "thp", "a": True}  # fmt: skip
    merged = MergedDistribution(metric="io_latency", histogram=[5, 2])
    three = measurement(
        id="three", pattern=pattern, figures=[one.model_dump() for one in BOTH], n=2,
        samples=[4.0, 6.0], repetitions=3, stop="budget", distributions=[merged.model_dump()],
        evidence=Evidence(isa="avx2").model_dump(exclude_none=True),
    )  # fmt: skip
    none = measurement(id="none", status="skipped", cause="memory", reason="full")
    path = synthetic.write(synthetic.run([three, none]), tmp_path / "r.jsonl")
    first, second, third, last = asked(path, "from figures order by number, figure")
    same = {
        "run": "r", "number": 0, "id": "three", "kind": "k", "initiator": "node:0",
        "target": "node:1", "operation": "read", "access_order": "random", "threads": 4,
        "size": 1 << 30, "access_size": None, "pages": "thp", "status": "measured", "cause": None,
        "repetitions": 3, "n": 2, "stop": "budget", "cpus": [3],
    }  # fmt: skip
    text = [row.pop("pattern") for row in (first, second, third)]
    assert list(json.loads(text[0])) == sorted(pattern)
    assert all(row.pop("reason") for row in (first, second, third)), "nobody knows the kind"
    named = [pattern, {**pattern, "part": "b"}, {**pattern, "part": "b", "metric": "iops"}]
    assert [json.loads(one) for one in text] == named
    assert json.loads(first.pop("evidence")) == {"isa": "avx2"}
    assert json.loads(first.pop("distributions"))[0]["histogram"] == [5, 2]
    alone = dict.fromkeys(("ci_low", "ci_high", "no_interval", "limit_value", "limit_link",
                           "efficiency", "samples", "evidence", "distributions"))  # fmt: skip
    assert first == {
        **same, "figure": 0, "metric": "bandwidth", "part": "", "unit": "B/s", "estimate": 5.0,
        "ci_low": None, "ci_high": None, "no_interval": "observed", "compared": True,
        "limit_value": 307.2e9, "limit_link": "8 channels of DDR5-4800", "efficiency": 0.25,
        "samples": [4.0, 6.0],
    }  # fmt: skip
    assert second == {
        **same, **alone, "figure": 1, "metric": "bandwidth", "part": "b", "unit": "B/s",
        "estimate": 2.0, "ci_low": 1.0, "ci_high": 3.0, "compared": False,
    }  # fmt: skip
    assert third == {
        **same, **alone, "figure": 2, "metric": "iops", "part": "b", "unit": "1/s",
        "estimate": 3.0, "compared": False,
    }  # fmt: skip
    known = {key: value for key, value in last.items() if value is not None}
    assert known == {
        "run": "r", "number": 1, "figure": 0, "id": "none", "kind": "k", "initiator": "node:0",
        "target": "node:1", "pattern": "{}", "status": "skipped", "cause": "memory",
        "reason": "full", "repetitions": 0, "n": 0, "cpus": [3], "samples": [],
    }  # fmt: skip
    counted = asked(path, "select id from measurements order by number")
    assert counted == [{"id": "three"}, {"id": "none"}]


def test_whole_numbers_only_are_threads() -> None:
    """Kinds of later versions may have other values."""
    pattern = {"threads": "several", "size": 1.5, "access_size": 0}
    (row,) = figure_rows("n", synthetic.run([measurement(pattern=pattern)]))
    assert (row["threads"], row["size"], row["access_size"]) == (None, None, 0)


def test_runs_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "r.jsonl" for folder in "abc"]
    for path in paths:
        path.parent.mkdir()
        synthetic.write(synthetic.run([measurement(status="skipped")]), path)
    paths[1].write_text("no run\n")
    sql = "select r.name, count(*) from runs r join figures f on f.run = r.name group by all"
    _, rows, problems = query(paths, f"{sql} order by all desc")
    assert sorted(rows) == sorted([("r", 1), (str(paths[2]), 1)])
    assert len(problems) == 1
    assert str(paths[1]) in problems[0]


@pytest.mark.parametrize(
    ("sql", "names", "rows"),
    [
        ("from (values (1), (2)) t(a)", ["a"], [(1,), (2,)]),
        ("pivot (select 'x' as k, 3 as v) on k using sum(v)", ["x"], [(3,)]),
        ("select 1 as a where false", ["a"], []),
    ],
)
def test_what_reads_is_answered(sql: str, names: list[str], rows: list[tuple[int]]) -> None:
    assert query([], sql) == (names, rows, [])


ZONES = "times with a time zone cannot be shown"


class Failing:
    """A database that answers as one without a module that it needs."""

    def __init__(self, said: str) -> None:
        self.said = said

    def execute(self, sql: str) -> None:
        if not sql.startswith("SET"):
            raise duckdb.InvalidInputException(self.said)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Required module 'pytz' failed\nto import", f"{ZONES}; cast them, as in now()::timestamp"),
        ("Required module 'other' failed\n to import", "Required module 'other' failed to import"),
    ],
)
def test_what_duckdb_says_is_a_line(said: str, shown: str) -> None:
    database: Any = Failing(said)
    with pytest.raises(UserError) as told:
        ask(database, "select now()")
    assert str(told.value) == f"the query failed: {shown}"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("odd"), "odd"),
        (ValueError('{"errno":"28"}'), "No space left on device"),
        (ValueError("two\n  lines"), "two lines"),
    ],
)
def test_the_system_s_cause_is_said(error: Exception, said: str) -> None:
    assert system_cause(error) == said


def test_no_room_for_temporary_files_is_said(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(UserError, match="cannot be made in /nowhere: No such file") as told:
        query([], "from runs")
    assert told.value.exit_code is ExitCode.COMMAND_FAILED
