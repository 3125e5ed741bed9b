"""What exported runs hold: each figure with its unit, labels and columns."""

import csv
import io
import json
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tests import synthetic

from tierscope.model.base import RECORDED
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Evidence
from tierscope.model.run import Figure, Footer, Imported, ImportedFile, Measurement, Refinement, Run
from tierscope.runs import export
from tierscope.runs.export import csv_records, prometheus_text, table_bytes, to_json
from tierscope.runs.query import open_runs

STARTED = datetime(2026, 1, 5, 14, 3, 7, tzinfo=timezone.utc)


def figure(metric: str, unit: str, estimate: float, **more: Any) -> Figure:
    return Figure.model_construct(metric=metric, unit=unit, estimate=estimate, **more)


def measurement(*figures: Figure, **more: Any) -> Measurement:
    values = {"id": "m", "kind": "k", "initiator": "node:0", "target": "node:1", "cpus": [0, 1],
              "pattern": {}, "status": "measured", **more}  # fmt: skip
    read = Measurement.model_validate(values, context=RECORDED)
    return read.model_copy(update={"figures": list(figures)})


def samples_of(run: Run) -> dict[str, float]:
    """Values by series; each has its family's help and type before it."""
    lines = prometheus_text(run).splitlines()
    found, family = {}, ""
    for number, line in enumerate(lines):
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert lines[number + 1] == f"# TYPE {family} gauge"
        elif not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            assert series.partition("{")[0] == family
            found[series] = float(value)
    return found


@pytest.mark.parametrize(
    ("unit", "suffix", "value"),
    [("B/s", "bytes_per_second", 3.0), ("ns", "seconds", 3e-9), ("1/s", "per_second", 3.0),
     ("B", "bytes", 3.0), ("count", "count", 3.0), ("ratio", "ratio", 3.0), ("W", "watts", 3.0),
     ("J/bit", "joules_per_bit", 3.0), ("°C", "celsius", 3.0), ("Frob/X", "frob_x", 3.0)],
)  # fmt: skip
def test_prometheus_has_base_units_and_their_names(unit: str, suffix: str, value: float) -> None:
    run = synthetic.run([measurement(figure("Time-p99.9", unit, 3.0, ci_low=2.0, ci_high=4.0))])
    labels = '{kind="k",initiator="node:0",target="node:1"}'
    found = samples_of(run)
    for end, share in (("", 1), ("_ci_low", 2 / 3), ("_ci_high", 4 / 3)):
        name = f"tierscope_time_p99_9{end}_{suffix}{labels}"
        assert found.pop(name) == pytest.approx(value * share)
    assert found == {
        "tierscope_run_start_time_seconds": STARTED.timestamp(), "tierscope_run_complete": 1.0,
        'tierscope_run_info{run="synthetic",version="0.1.0"}': 1.0,
    }  # fmt: skip


def test_prometheus_has_efficiencies_parts_and_properties_as_labels() -> None:
    pattern = {"size": 0, "a-b": "x", "flag": False, "none": None, "empty": ""}
    rates = (
        figure("bandwidth", "B/s", 100.0, efficiency=0.0),
        figure("iops", "1/s", 7.0, part="p"),
    )
    imported = Imported(
        format="f", program="other 1.0", files=[ImportedFile(name="x", sha256="0" * 64)]
    )
    run = synthetic.run([measurement(*rates, pattern=pattern)], imported=imported)
    of_pattern = 'imported="other 1.0",pattern_size="0",pattern_a_b="x",pattern_flag="False"}'
    ends = 'kind="k",initiator="node:0",target="node:1",'
    assert [*samples_of(run).items()][:3] == [
        (f"tierscope_bandwidth_bytes_per_second{{{ends}{of_pattern}", 100.0),
        (f"tierscope_efficiency_ratio{{{ends}{of_pattern}", 0.0),
        (f'tierscope_iops_per_second{{{ends}part="p",{of_pattern}', 7.0),
    ]


def test_prometheus_counts_series_that_would_be_the_same() -> None:
    one = measurement(figure("x", "B", 1.0), figure("y", "B", 2.0))
    run = synthetic.run([one, one, one])
    labels = 'kind="k",initiator="node:0",target="node:1"'
    assert [name for name in samples_of(run) if "tierscope_x" in name] == [
        f"tierscope_x_bytes{{{labels}{repeat}}}"
        for repeat in ("", ',repeat="2"', ',repeat="3"')
    ]  # fmt: skip


def test_prometheus_helps() -> None:
    run = synthetic.run(
        [measurement(figure("x", "B", 1.0, ci_low=1.0, ci_high=2.0, efficiency=0.5))]
    )
    lines = [line[len("# HELP ") :] for line in prometheus_text(run).splitlines() if "HELP" in line]
    bound = "Bound of the 95% confidence interval of the median."
    assert lines == [
        "tierscope_x_bytes Median of samples.",
        f"tierscope_x_ci_low_bytes {bound}",
        f"tierscope_x_ci_high_bytes {bound}",
        "tierscope_efficiency_ratio Estimate over the path's theoretical limit.",
        "tierscope_run_start_time_seconds When the run began, Unix time.",
        "tierscope_run_complete 1 where the run came to its end, 0 where it was cut.",
        "tierscope_run_info Always 1; which run this is, by which version of tierscope.",
    ]


def ended(interrupted: bool) -> Footer:
    return Footer(finished="x", interrupted=interrupted, measured=0, skipped=0, failed=0)


@pytest.mark.parametrize(
    ("footer", "complete"), [(None, 0.0), (ended(True), 0.0), (ended(False), 1.0)]
)
def test_prometheus_says_whether_a_run_came_to_its_end(
    footer: Footer | None, complete: float
) -> None:
    run = synthetic.run([]).model_copy(update={"footer": footer})
    assert samples_of(run)["tierscope_run_complete"] == complete


def test_csv_of_a_report_has_a_record_for_each_figure_and_one_without() -> None:
    pattern = {"operation": "read", "threads": 4, "other": 1}
    both = measurement(
        figure("bandwidth", "B/s", 5.0, part="", ci_low=0.0, ci_high=None, no_interval="maximum",
               compared=True, efficiency=0.5),
        figure("iops", "1/s", 2.0, part="p"),
        id="a", pattern=pattern, n=0, stop="budget",
    )  # fmt: skip
    none = measurement(id="b", status="skipped", reason="why")
    heading, *records = csv_records(synthetic.run([both, none]))
    assert heading[:5] == ["id", "kind", "initiator", "target", "operation"]
    rows = [dict(zip(heading, record, strict=True)) for record in records]
    assert [{key: row[key] for key in row if row[key] != ""} for row in rows] == [
        {"id": "a", "kind": "k", "initiator": "node:0", "target": "node:1", "operation": "read",
         "threads": 4, "metric": "bandwidth", "unit": "B/s", "estimate": 5.0, "ci_low": 0.0,
         "no_interval": "maximum", "compared": True, "efficiency": 0.5, "n": 0, "stop": "budget",
         "status": "measured"},
        {"id": "a", "kind": "k", "initiator": "node:0", "target": "node:1", "operation": "read",
         "threads": 4, "metric": "iops", "part": "p", "unit": "1/s", "estimate": 2.0,
         "compared": False, "n": 0, "stop": "budget", "status": "measured"},
        {"id": "b", "kind": "k", "initiator": "node:0", "target": "node:1", "n": 0,
         "status": "skipped", "reason": "why"},
    ]  # fmt: skip


def test_json_has_what_is_known_and_no_more() -> None:
    wide = figure("x", "B", 2.0, ci_low=1.0, ci_high=3.5)
    good = figure("x", "B", 2.0, ci_low=1.0, ci_high=3.0)
    one = measurement(wide, good, evidence=Evidence(isa="avx2"), later=7, n=4)
    run = synthetic.run([one, measurement()], finished=False, refinement=Refinement(points=3))
    found = json.loads(to_json(run, {"further": [1]}))
    assert set(found) == {"run", "results", "further"}
    assert found["further"] == [1]
    assert (found["run"]["complete"], found["run"]["footer"]) == (False, None)
    assert not {"record", "refinement"} & set(found["run"])
    first, second = found["results"]
    assert (first["later"], first["evidence"], first["n"]) == (7, {"isa": "avx2"}, 4)
    assert [one["unreliable"] for one in first["figures"]] == [True, False]
    assert (second["evidence"], second["figures"]) == (None, [])
    assert not {"record", "later"} & set(second)


def test_json_has_the_footer() -> None:
    found = json.loads(to_json(synthetic.run([])))["run"]
    assert found["complete"] is True
    assert found["footer"]["finished"] == "2026-01-05T14:09:00+00:00"
    assert "record" not in found["footer"]


def written(folder: Path) -> list[Path]:
    """A run, an earlier one, and what is none."""
    exact = {"no_interval": "observed"}
    both = figure("bandwidth", "B/s", 5.0, **exact), figure("iops", "1/s", 2.0, **exact)
    early = measurement(figure("x", "B", 1.0, **exact), id="early")
    runs = [
        synthetic.run([measurement(*both, id="=a", samples=[5.0, 7.5], n=2)]),
        synthetic.run([early], started="2026-01-04T00:00:00+00:00", emulated=True),
    ]
    paths = [synthetic.write(run, folder / f"{name}.jsonl")
             for name, run in zip("ab", runs, strict=True)]  # fmt: skip
    (folder / "c.jsonl").write_text("no run\n")
    return [*paths, folder / "c.jsonl"]


def test_csv_tables_have_lists_as_text_and_are_in_order_of_time(tmp_path: Path) -> None:
    content, count, problems = table_bytes(written(tmp_path), "csv")
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert (count, len(problems)) == (3, 1)
    assert "c.jsonl" in problems[0]
    keys = ("run", "id", "metric", "samples", "cpus", "emulated", "complete", "started")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("b", "early", "x", "", "0 1", "true", "true", "2026-01-04 00:00:00"),
        ("a", "'=a", "bandwidth", "5.0 7.5", "0 1", "false", "true", "2026-01-05 14:03:07"),
        ("a", "'=a", "iops", "", "0 1", "false", "true", "2026-01-05 14:03:07"),
    ]


def test_parquet_tables_keep_lists(tmp_path: Path) -> None:
    import duckdb

    content, count, _ = table_bytes(written(tmp_path), "parquet")
    table = tmp_path / "table.parquet"
    table.write_bytes(content)
    found = duckdb.execute(f"SELECT id, samples, cpus FROM '{table}'").fetchall()
    assert (count, found) == (
        3, [("early", [], [0, 1]), ("=a", [5.0, 7.5], [0, 1]), ("=a", None, [0, 1])]
    )  # fmt: skip


def test_no_room_for_temporary_files_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(paths: list[Path]) -> Any:
        found = open_runs(paths)
        monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
        return found

    monkeypatch.setattr(export, "open_runs", opened)
    with pytest.raises(UserError, match="a table cannot be made in /nowhere: No such file") as told:
        table_bytes(written(tmp_path), "csv")
    assert told.value.exit_code is ExitCode.COMMAND_FAILED
