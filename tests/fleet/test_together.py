"""What hosts of a fleet moved together: from run files to tables, page and JSON."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests import synthetic
from tests.fleet.test_fleet_gather import do

from tierscope.fleet.gather import gather
from tierscope.fleet.together import together_in, together_of
from tierscope.model.event import Column, Distribution, Evidence, Repetition, Series
from tierscope.model.fleet import ClockOffset, FleetHost, FleetIndex, InFleet
from tierscope.model.histogram import bucket_of
from tierscope.model.outlier import TogetherFigure
from tierscope.model.run import RepetitionRecord
from tierscope.model.storage import MountFacts, PathFacts, StorageFacts

BEGAN = datetime.fromisoformat("2026-01-05T14:03:07+00:00")
ROW_S, ROWS, REPETITIONS = 0.05, 10, 6
SMALL = "io.small"


def repetitions(name: str, rate: float, us: float, late_s: float) -> list[Repetition]:
    """Repetitions of a host, a second apart; it begins each so much later than at a whole
    second."""
    rows = [bucket_of(int(us * 1000)), 20]
    return [
        Repetition(
            id=name,
            seconds=ROW_S * ROWS,
            fresh=False,
            interrupted=False,
            at_s=number + late_s,
            evidence=Evidence(),
            series=[
                Series(
                    name="windows",
                    starts=[ROW_S * row for row in range(ROWS)],
                    durations=[ROW_S] * ROWS,
                    columns=[
                        Column(metric="iops", values=[rate / 4096] * ROWS),
                        Column(metric="bandwidth", values=[rate] * ROWS),
                        Column(metric="cpu_per_operation", values=[900.0] * ROWS),
                    ],
                    distributions=[Distribution(metric="io_latency", samples=[rows] * ROWS)],
                )
            ],
        )
        for number in range(REPETITIONS)
    ]


def write_host(
    folder: Path,
    host: str,
    rate: float,
    ahead_s: float = 0.0,
    late_s: float = 0.0,
    repeated: int = REPETITIONS,
    order: Any = "together",
    store: str = "server:/export",
) -> None:
    """Write a host's run file; its clock is ``ahead_s`` ahead of rank 0's."""
    mount = MountFacts(id=1, point="/mnt", type="nfs4", source=store, options="rw")
    path = PathFacts(
        path="/mnt", kind="directory", real="/mnt", device="0:9", page_bytes=4096, mount=mount
    )
    evidence = Evidence(storage=[StorageFacts(path=path)])
    measured = synthetic.storage_measurement(
        synthetic.Maker(1), rate / 4096, id=SMALL, target="file:/mnt", evidence=evidence
    )
    clock = ClockOffset(
        offset_ns=int(ahead_s * 1e9), low_ns=int(ahead_s * 1e9) - 5000,
        high_ns=int(ahead_s * 1e9) + 5000, round_trip_ns=10000, round_trips=64,
    )  # fmt: skip
    began = BEGAN + timedelta(seconds=ahead_s)
    made = synthetic.run([measured], host=host, started=began.isoformat())
    header = made.header.model_copy(
        update={"fleet": InFleet(rank=0, order=order, clock=clock), "started": began.isoformat()}
    )
    records: list[Any] = [
        RepetitionRecord(repetition=one) for one in repetitions(SMALL, rate, 90, late_s)
    ]
    records = [header, *records[:repeated], measured, made.footer]
    place = folder / "hosts"
    place.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{record.model_dump_json()}\n" for record in records)
    (place / f"{host}.jsonl").write_text(text)


def gathered(folder: Path) -> dict[str, TogetherFigure]:
    """Gather, and return the rows by metric."""
    assert do("fleet", "gather", folder).return_value in (0, None)
    return {one.metric: one for one in together_in(str(folder))}


def test_hosts_whose_clocks_differ_by_minutes_are_summed_up(tmp_path: Path) -> None:
    for number, rate in enumerate((1e9, 2e9, 3e9)):
        write_host(tmp_path, f"n{number}", rate, ahead_s=100.0 * number, late_s=0.1 * number)
    found = gathered(tmp_path)
    one = found["bandwidth"]
    assert one.estimate == pytest.approx(6e9)
    assert one.mean == pytest.approx(6e9)
    assert one.fairness == pytest.approx(36 / (3 * 14))
    assert (one.slowest, one.slowest_host) == (pytest.approx(1e9), "n0")
    assert (one.fastest, one.fastest_host) == (pytest.approx(3e9), "n2")
    assert (one.hosts, one.repetitions, one.left_out) == (3, REPETITIONS, 0)
    assert one.clocks_ns == pytest.approx(5000)
    assert one.stores == ["nfs4 server:/export"]
    # Of 0.5 s each, the last host begins 0.2 s late, and nothing warms up.
    assert one.seconds == pytest.approx(REPETITIONS * 0.3, abs=1e-3)
    assert found["iops"].estimate == pytest.approx(6e9 / 4096)
    assert found["iops"].headline
    assert not one.headline
    assert found["io_latency_p50"].estimate == pytest.approx(90e3, rel=0.01)
    assert found["io_latency_p50"].fairness is None
    assert "cpu_per_operation" not in found, "times do not add up"


def test_clocks_that_drift_apart_are_followed(tmp_path: Path) -> None:
    """Half a second over the run: without the second estimate late repetitions would not
    overlap."""
    write_host(tmp_path, "n0", 1e9)
    write_host(tmp_path, "n1", 1e9)
    exact = ClockOffset(offset_ns=0, low_ns=0, high_ns=0, round_trip_ns=0, round_trips=0)
    later = exact.model_copy(update={"offset_ns": 353 * 10**9, "low_ns": 353 * 10**9,
                                     "high_ns": 353 * 10**9})  # fmt: skip
    hosts = [
        FleetHost(host="n0", rank=0, state="measured", run="hosts/n0.jsonl", clock=exact),
        FleetHost(host="n1", rank=1, state="measured", run="hosts/n1.jsonl", clock=exact,
                  clock_after=later),
    ]  # fmt: skip
    index = FleetIndex(started="2026-01-05T14:03:07+00:00", hosts=hosts)
    (tmp_path / "fleet.json").write_text(index.model_dump_json())
    one = gathered(tmp_path)["bandwidth"]
    assert one.repetitions == 1, (
        "a second each second: only the first repetition was at the same time"
    )
    assert one.left_out == REPETITIONS - 1


def test_a_host_that_was_lost_leaves_the_sum_of_the_others(tmp_path: Path) -> None:
    for host, repeated in (("n0", REPETITIONS), ("n1", REPETITIONS), ("lost", 2)):
        write_host(tmp_path, host, 1e9, repeated=repeated)
    one = gathered(tmp_path)["bandwidth"]
    assert (one.hosts, one.repetitions, one.left_out) == (2, REPETITIONS - 2, 2)
    assert one.estimate == pytest.approx(2e9)


@pytest.mark.parametrize("order", ["one-by-one", "together"])
def test_hosts_that_did_not_measure_at_once_have_no_sum(tmp_path: Path, order: str) -> None:
    write_host(tmp_path, "n0", 1e9, order=order)
    write_host(tmp_path, "n1", 1e9, late_s=0.6, order=order)
    assert gathered(tmp_path) == {}


def test_an_older_run_of_a_host_is_no_part_of_the_sum(tmp_path: Path) -> None:
    write_host(tmp_path, "n0", 1e9)
    write_host(tmp_path, "n1", 1e9)
    (tmp_path / "old").mkdir()
    text = (tmp_path / "hosts/n0.jsonl").read_text()
    older = text.replace("2026-01-05T14:03:07", "2026-01-04T14:03:07", 1)
    (tmp_path / "old/n0.jsonl").write_text(older)
    assert gathered(tmp_path)["bandwidth"].estimate == pytest.approx(2e9)


def test_everything_that_shows_a_fleet_shows_it(tmp_path: Path) -> None:
    for number in range(3):
        write_host(tmp_path, f"n{number}", 1e9 * (number + 1))
    done = do("fleet", "gather", tmp_path)
    assert "Hosts together" in done.stdout
    assert "33%: n0" in " ".join(done.stdout.split())
    assert "on nfs4 server:/export" in done.stdout
    assert "what caches of a server" in done.stdout
    assert "is a host's own" not in done.stdout
    in_json = json.loads(do("fleet", "gather", tmp_path, "--json").stdout)
    assert in_json["together"][0]["metric"] == "iops"
    checked = do("fleet", "check", tmp_path)
    assert "Hosts together" in checked.stdout
    asked = do("query", "select estimate from together where metric = 'bandwidth'", "--in",
               tmp_path, "--json")  # fmt: skip
    assert json.loads(asked.stdout)["rows"][0]["estimate"] == pytest.approx(6e9)
    page = tmp_path / "page.html"
    do("fleet", "report", tmp_path, "--out", page)
    assert 'id="together"' in page.read_text()
    assert "6.0" in page.read_text()


def _says_a_hosts_own(found: list[TogetherFigure]) -> bool:
    from tierscope.report.fleet import together_table

    table = together_table(found)
    return table is not None and any("a host's own" in line for line in table.notes)


def test_a_local_file_system_is_told_from_a_shared_one(tmp_path: Path) -> None:
    for host in ("n0", "n1"):
        write_host(tmp_path, host, 1e9)
    found = [*gathered(tmp_path).values()]
    assert not _says_a_hosts_own(found)
    local = [one.model_copy(update={"stores": ["ext4 /dev/vda"]}) for one in found]
    assert _says_a_hosts_own(local)


Records = list[dict[str, Any]]


def edit(folder: Path, host: str, change: Callable[[Records], None]) -> None:
    """Change the records of a host's run file."""
    file = folder / f"hosts/{host}.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    change(records)
    lines = (json.dumps(record, separators=(",", ":")) for record in records)
    file.write_text("".join(f"{line}\n" for line in lines))


def pair(folder: Path, change: Callable[[Records], None], **second: Any) -> None:
    """Write two hosts of 1 GB/s each; the records of the second one are changed."""
    write_host(folder, "n0", 1e9)
    write_host(folder, "n1", 1e9, **second)
    edit(folder, "n1", change)


def in_header(key: str, value: Any) -> Callable[[Records], None]:
    return lambda records: records[0].__setitem__(key, value)


def in_part(key: str, value: Any) -> Callable[[Records], None]:
    return lambda records: records[0]["fleet"].__setitem__(key, value)


def as_kind(kind: str) -> Callable[[Records], None]:
    return lambda records: records[-2].__setitem__("kind", kind)


@pytest.mark.parametrize(
    "change",
    [in_header("fleet", None), in_part("alone", True), in_part("clock", None),
     in_part("order", "one-by-one"), as_kind("latency"), as_kind("of-later-versions")],
    ids=["no fleet", "alone", "no clock", "one by one", "adds nothing up", "unknown"],
)  # fmt: skip
def test_hosts_that_were_not_in_step_do_not_count(
    tmp_path: Path, change: Callable[[Records], None]
) -> None:
    pair(tmp_path, change)
    assert gathered(tmp_path) == {}


def without_samples(records: Records) -> None:
    series = records[2]["repetition"]["series"][0]
    series |= {"starts": [], "durations": []}
    for column in series["columns"]:
        column["values"] = []
    for one in series["distributions"]:
        one["samples"] = []


def empty_series(records: Records) -> None:
    columns = [{"metric": "iops", "values": []}]
    empty = {"name": "x", "starts": [], "durations": [], "columns": columns}
    records[2]["repetition"]["series"].append(empty)


def in_plan(measurements: list[dict[str, Any]]) -> Callable[[Records], None]:
    return in_header("plan", {"measurements": measurements})


@pytest.mark.parametrize(
    ("change", "repetitions"),
    [
        (in_plan([{"id": "other"}]), REPETITIONS),
        (in_plan([{}]), REPETITIONS),
        (in_plan([{"id": SMALL, "sampling": {"precision": 9.0, "later": 1}}]), REPETITIONS),
        (lambda records: records[-1].__setitem__("finished", "soon"), REPETITIONS),
        (empty_series, REPETITIONS),
        (without_samples, REPETITIONS - 1),
        (lambda records: records[2]["repetition"].__setitem__("at_s", None), REPETITIONS - 1),
    ],
    ids=["another plan", "no ids", "a sampling of later versions", "an end that is none",
         "another series without samples", "no samples", "no time"],
)  # fmt: skip
def test_odd_run_files_leave_what_can_be_summed_up(
    tmp_path: Path, change: Callable[[Records], None], repetitions: int
) -> None:
    pair(tmp_path, change)
    one = gathered(tmp_path)["bandwidth"]
    assert (one.repetitions, one.left_out) == (repetitions, REPETITIONS - repetitions)
    assert one.estimate == pytest.approx(2e9)


def test_warm_ups_are_left_out(tmp_path: Path) -> None:
    """The first three rows of 50 ms are 5% slower."""

    def slow_at_first(records: Records) -> None:
        for record in records[1:-2]:
            for column in record["repetition"]["series"][0]["columns"]:
                column["values"][:3] = [0.95 * value for value in column["values"][:3]]

    pair(tmp_path, slow_at_first)
    one = gathered(tmp_path)["bandwidth"]
    assert one.seconds == pytest.approx(REPETITIONS * (ROWS - 3) * ROW_S, abs=1e-3)
    assert one.estimate == pytest.approx(2e9)


def test_a_measurement_that_one_host_made_leaves_the_others(tmp_path: Path) -> None:
    """It comes first in the run files."""

    def beside(records: Records) -> None:
        alone = json.loads(json.dumps([records[1], records[-2]]))
        alone[0]["repetition"]["id"] = alone[1]["id"] = "io.alone"
        records[1:1] = alone

    write_host(tmp_path, "n0", 1e9)
    write_host(tmp_path, "n1", 1e9)
    edit(tmp_path, "n0", beside)
    assert do("fleet", "gather", tmp_path).return_value in (0, None)
    assert {one.id for one in together_in(str(tmp_path))} == {SMALL}


@pytest.mark.parametrize("stores", [8, 10])
def test_eight_stores_are_named(tmp_path: Path, stores: int) -> None:
    for number in range(stores):
        write_host(tmp_path, f"n{number}", 1e9, store=f"s{number}:/x")
    assert gathered(tmp_path)["iops"].stores == [f"nfs4 s{number}:/x" for number in range(8)]


@pytest.mark.parametrize("evidence", [None, {"isa": "avx2"}])
def test_a_store_that_nobody_saw_is_not_named(
    tmp_path: Path, evidence: dict[str, Any] | None
) -> None:
    pair(tmp_path, lambda records: records[-2].__setitem__("evidence", evidence))
    edit(tmp_path, "n0", lambda records: records[-2].__setitem__("evidence", evidence))
    assert gathered(tmp_path)["iops"].stores == []


def after(folder: Path, **clocks: ClockOffset) -> FleetIndex:
    """Write an index with hosts' clocks once their runs had ended."""
    hosts = [
        FleetHost(host=name, state="measured", run=f"hosts/{name}.jsonl", clock_after=clock)
        for name, clock in clocks.items()
    ]
    found = FleetIndex(started="2026-01-05T14:03:07+00:00", hosts=hosts)
    (folder / "fleet.json").write_text(found.model_dump_json())
    return found


def clock(offset_s: float, error_s: float = 0.0) -> ClockOffset:
    low, high = (round((offset_s + sign * error_s) * 1e9) for sign in (-1, 1))
    return ClockOffset(
        offset_ns=round(offset_s * 1e9), low_ns=low, high_ns=high, round_trip_ns=0, round_trips=1
    )


def test_the_clock_that_may_be_off_most_counts(tmp_path: Path) -> None:
    write_host(tmp_path, "n0", 1e9)
    write_host(tmp_path, "n1", 1e9)
    assert gathered(tmp_path)["iops"].clocks_ns == pytest.approx(5000)
    after(tmp_path, n0=clock(0.0, 9e-6), n1=clock(0.0, 1e-6))
    assert gathered(tmp_path)["iops"].clocks_ns == pytest.approx(9000)


def test_a_clock_drifts_evenly_between_both_estimates(tmp_path: Path) -> None:
    """By 50 ms a second over the run's 353 s: so much less of the half seconds is common."""
    pair(tmp_path, in_part("clock", json.loads(clock(0.0).model_dump_json())))
    edit(tmp_path, "n0", in_part("clock", json.loads(clock(0.0).model_dump_json())))
    after(tmp_path, n0=clock(0.0), n1=clock(353 * 0.05))
    one = gathered(tmp_path)["bandwidth"]
    common = sum(0.5 - 0.05 * second for second in range(REPETITIONS))
    assert one.seconds == pytest.approx(common, abs=1e-5)


def test_a_clock_stays_as_it_was_after_a_run_of_unknown_length(tmp_path: Path) -> None:
    """A second is taken for its length: from the second repetition on it is 0.2 s ahead."""
    pair(tmp_path, lambda records: records.__delitem__(-1))
    after(tmp_path, n0=clock(0.0), n1=clock(0.2))
    one = gathered(tmp_path)["bandwidth"]
    assert one.seconds == pytest.approx(0.5 + (REPETITIONS - 1) * 0.3, abs=1e-3)


def test_a_fleet_under_way_has_the_rows_that_its_tables_get(tmp_path: Path) -> None:
    for number in range(3):
        write_host(tmp_path, f"n{number}", 1e9 * (number + 1))
    index = after(tmp_path, n0=clock(0.0), n1=clock(0.1), n2=clock(0.0))
    rows = gather(tmp_path, tmp_path).together
    assert together_of(tmp_path, index) == rows == together_in(str(tmp_path))
    assert (rows[0].metric, rows[0].headline) == ("iops", True)
    assert sum(one.headline for one in rows) == 1
    (tmp_path / "hosts/n2.jsonl").unlink()
    hosts = [*index.hosts, FleetHost(host="n3", state="lost")]
    (two, *_) = together_of(tmp_path, index.model_copy(update={"hosts": hosts}))
    assert two.hosts == 2


def test_a_host_whose_file_is_damaged_is_no_part_of_any_sum(tmp_path: Path) -> None:
    """Though its first measurement can be read."""

    def damaged(records: Records) -> None:
        more = json.loads(json.dumps([records[1], records[-2]]))
        more[0]["repetition"]["id"] = more[1]["id"] = "io.more"
        more[0]["repetition"]["series"][0]["durations"][0] = None
        records[-1:-1] = more

    for host in ("n0", "n1", "n2"):
        write_host(tmp_path, host, 1e9)
    edit(tmp_path, "n2", damaged)
    found = gather(tmp_path, tmp_path)
    assert (found.states, len(found.unreadable)) == ({"measured": 2, "failed": 1}, 1)
    assert {one.hosts for one in found.together} == {2}


def test_the_headline_comes_first_wherever_its_column_is(tmp_path: Path) -> None:
    def turned(records: Records) -> None:
        for record in records[1:-2]:
            record["repetition"]["series"][0]["columns"].reverse()

    pair(tmp_path, turned)
    edit(tmp_path, "n0", turned)
    assert next(iter(gathered(tmp_path))) == "iops"
