"""What persistence costs: from options to specs, what is measured, and how it is shown."""

import ctypes.util
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from rich.console import Console
from tests import synthetic

from forked import tierscope
from tierscope.kinds.persist.show import alone, cheapest
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report import figures
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.run import show_run


def planned(machine: Topology, **options: str) -> list[Any]:
    return expand([Request(kind="persist", options=options)], machine, thp=True).measurements


# What a request asks for


def test_unasked_every_method_of_the_cpus_is_measured_by_one_thread(machine: Topology) -> None:
    specs = planned(machine)
    assert {spec.pattern.method for spec in specs} == {
        "stores", "clwb", "clflushopt", "clflush", "nt-stores", "nt-drain"
    }  # fmt: skip
    assert {spec.pattern.block_size for spec in specs} == {64, 4096}
    assert {(len(spec.cpus), spec.pattern.order) for spec in specs} == {(1, "sequential")}
    arm = planned(machine.model_copy(update={"architecture": "aarch64"}))
    assert {"dc-cvap", "dc-cvac"} <= {spec.pattern.method for spec in arm}
    assert "clwb" not in {spec.pattern.method for spec in arm}


def test_each_combination_is_measured_once(machine: Topology) -> None:
    specs = planned(
        machine,
        method="clwb,nt-drain",
        order="sequential,random",
        threads="1,2",
        **{"block-size": "64..1k*4"},
    )
    assert len({spec.id for spec in specs}) == len(specs) == 2 * 2 * 2 * 3
    assert {spec.pattern.size for spec in specs} == {specs[0].pattern.size}


def test_files_and_pools_have_methods_of_their_own(machine: Topology) -> None:
    specs = planned(machine, to="pmem:/data", **{"block-size": "256"})
    emulated = planned(machine, to="pmem:node:0")
    assert {spec.pattern.method for spec in emulated} == (
        {spec.pattern.method for spec in specs} - {"msync", "fdatasync"}
    )
    backings = {spec.pattern.method: spec.placement.persistent.backing for spec in specs}
    assert backings["clwb"] == backings["msync"] == backings["fdatasync"] == "file"
    assert backings["pool-persist"] == backings["transaction"] == backings["allocation"] == "pool"
    assert {spec.identity()["backing"] for spec in specs} == {"file", "pool"}


def test_only_transactions_have_ranges(machine: Topology) -> None:
    specs = planned(
        machine, to="pmem:node:0", method="clwb,transaction", ranges="1,4", **{"block-size": "256"}
    )
    assert [(spec.pattern.method, spec.pattern.ranges) for spec in specs] == [
        ("clwb", None), ("transaction", 1), ("transaction", 4)
    ]  # fmt: skip
    assert len({spec.id for spec in specs}) == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "clzero"}, "--method: 'clzero' is not one of"),
        ({"block-size": "100"}, "--block-size: '100': "),
        ({"block-size": "1m", "size": "512k"},
         "--size: '512k': has fewer blocks than there are threads"),
        ({"threads": "1000"}, "--threads: 1000 threads, but "),
        ({"to": "file:/data"}, "--to: 'file:/data' is "),
        ({"ranges": "many"}, "--ranges: "),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_named(
    machine: Topology, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, **options)
    assert str(refused.value).startswith(says), refused.value


# What is measured


def measured_by_the_engine(*options: str) -> list[dict[str, Any]]:
    quick = ("--size", "1m", "--pages", "base", "--budget", "0.2", "--sample", "2ms", "--json")
    done = tierscope("persist", *quick, *options)
    assert done.returncode in (0, 3), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return found


def test_each_method_has_a_time_a_rate_percentiles_and_evidence() -> None:
    methods = "stores,nt-stores,nt-drain"
    found = measured_by_the_engine("--method", methods, "--order", "random")
    assert [(result["status"], result["pattern"]["method"]) for result in found] == [
        ("measured", method) for method in methods.split(",") for _ in range(2)
    ]
    for result in found:
        headline = result["figures"][0]
        assert (headline["metric"], headline["unit"]) == ("time_per_operation", "ns")
        metrics = {figure["metric"] for figure in result["figures"]}
        assert {"bandwidth", "persist_latency_p50", "persist_latency_max"} <= metrics
        evidence = result["evidence"]
        assert "blocks that were written" in evidence["verified"]
        stores = "non-temporal stores" in evidence["persist"]["operation"]
        assert stores == result["pattern"]["method"].startswith("nt-")
        durable = "volatile-memory" if result["pattern"]["method"] == "nt-drain" else "not-asked"
        assert evidence["persist"]["durable"] == durable


def test_an_instruction_that_the_cpu_lacks_is_skipped_by_cause() -> None:
    methods = ("clwb", "clflushopt", "clflush", "dc-cvap", "dc-cvac")
    found = {
        result["pattern"]["method"]: result
        for result in measured_by_the_engine("--method", ",".join(methods), "--block-size", "64")
    }
    (known,) = {
        tuple(result["evidence"]["persist"]["cpu_has"])
        for result in found.values()
        if result["status"] == "measured"
    }
    for method in methods:
        if method in known:
            assert f"{method} of each line" in found[method]["evidence"]["persist"]["operation"]
        else:
            assert (found[method]["status"], found[method]["cause"]) == ("skipped", "isa")
            assert found[method]["reason"] == f"this CPU has no instruction {method}"
    assert set(known) < set(methods)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """An empty directory on a drive, where /tmp may be in memory."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    in_memory = {fields[2] for fields in mounts if fields[fields.index("-") + 1] == "tmpfs"}
    device = tmp_path.stat().st_dev
    on_drive = f"{os.major(device)}:{os.minor(device)}" not in in_memory
    with TemporaryDirectory(dir=tmp_path if on_drive else Path(__file__).parent) as path:
        yield Path(path)


def test_system_calls_persist_blocks_of_a_file_without_a_name(place: Path) -> None:
    found = measured_by_the_engine(
        "--to", f"pmem:{place}", "--method", "stores,msync,fdatasync", "--block-size", "4k"
    )
    assert [result["status"] for result in found] == ["measured"] * 3
    for result, call in zip(found, ("", "msync", "fdatasync"), strict=True):
        persist = result["evidence"]["persist"]
        assert call in persist["operation"]
        assert persist["durable"] == (
            result["evidence"]["persistent"]["survives_power_loss"] if call else "not-asked"
        )
        assert "blocks that were written" in result["evidence"]["verified"]
    assert list(place.iterdir()) == []


def test_what_does_not_go_together_is_skipped_and_the_rest_measured(place: Path) -> None:
    found = measured_by_the_engine(
        "--to", f"node:0,pmem:{place}", "--method", "nt-drain,msync,allocation",
        "--block-size", "4k",
    )  # fmt: skip
    by_target = {
        (result["target"].partition(":")[0], result["pattern"]["method"]): result
        for result in found
    }
    assert by_target["node", "nt-drain"]["status"] == "measured"
    assert by_target["pmem", "msync"]["status"] == "measured"
    for method, what in (("msync", "mapped file"), ("allocation", "pool in a file")):
        result = by_target["node", method]
        assert (result["status"], result["cause"]) == ("skipped", "storage")
        assert result["reason"] == f"this method needs a {what}, which the target is not"
        assert result["remedy"] == "name a target pmem:DIR"


def test_ranges_that_do_not_cut_a_block_are_skipped() -> None:
    found = measured_by_the_engine(
        "--to", "pmem:node:0", "--method", "transaction", "--ranges", "1,4",
        "--block-size", "128,1k",
    )  # fmt: skip
    skipped = [result for result in found if result["cause"] == "other"]
    assert [(one["pattern"]["block_size"], one["pattern"]["ranges"]) for one in skipped] == [
        (128, 4)
    ]
    assert "4 ranges do not cut a block of 128 bytes" in skipped[0]["reason"]


def test_flushes_do_not_reach_the_drive_of_a_page_cache(place: Path) -> None:
    (flushed,) = measured_by_the_engine(
        "--to", f"pmem:{place}", "--method", "nt-drain", "--block-size", "64"
    )
    assert flushed["evidence"]["persist"]["durable"] == "no"


def test_tmpfs_has_no_storage_that_msync_could_write_to() -> None:
    found = measured_by_the_engine(
        "--to", "pmem:node:0", "--method", "msync,fdatasync", "--block-size", "4k"
    )
    assert {(result["status"], result["cause"]) for result in found} == {("skipped", "storage")}
    assert found[0]["reason"] == "tmpfs has no storage: msync and fdatasync write nothing there"


def test_pools_have_transactions_and_allocations_where_libpmemobj_is(place: Path) -> None:
    methods = ["pool-persist", "transaction", "transaction", "allocation"]
    found = measured_by_the_engine(
        "--to", f"pmem:{place}", "--method", ",".join(dict.fromkeys(methods)), "--ranges", "1,4",
        "--block-size", "1k", "--order", "random",
    )  # fmt: skip
    assert [result["pattern"]["method"] for result in found] == methods
    assert [result["pattern"].get("ranges") for result in found] == [None, 1, 4, None]
    assert {result["pattern"]["backing"] for result in found} == {"pool"}
    assert list(place.iterdir()) == []
    if ctypes.util.find_library("pmemobj") is None:
        assert {(result["status"], result["cause"]) for result in found} == {("skipped", "tool")}
        return
    for result in found:
        assert result["status"] == "measured", result["reason"]
        assert result["figures"][0]["estimate"] > 0
        assert "blocks that were written" in result["evidence"]["verified"]
        assert result["evidence"]["persistent"]["mapping"]


# How it is shown


def made(method: str, ns: float, block_size: int = 64, **pattern: Any) -> Measurement:
    shape = {"method": method, "order": "sequential", "block_size": block_size, "size": 1 << 30,
             "pages": "thp", "threads": 1, **pattern}  # fmt: skip
    figures = [
        synthetic.figure("bandwidth", "B/s", block_size * 1e9 / ns),
        *(synthetic.figure(f"persist_latency_{p}", "ns", 1.5 * ns) for p in ("p50", "p99")),
    ]
    return synthetic.Maker(noise=1e-3).make(
        "persist", "node:0", "node:0", shape, ns, "ns", id=f"{method}{block_size}{pattern}",
        metric="time_per_operation", figures=figures,
    )  # fmt: skip


def sweep() -> list[Measurement]:
    times = {"stores": 10.0, "clwb": 200.0, "nt-stores": 8.0, "nt-drain": 160.0}
    return [
        made(method, ns * (size / 64) ** 0.5, size)
        for size in (64, 256, 1024, 4096)
        for method, ns in times.items()
    ]


def test_a_method_costs_as_many_times_its_own_stores() -> None:
    measured = sweep()
    by_method = {m.pattern["method"]: m for m in measured[:4]}
    assert alone(by_method["clwb"], measured) is by_method["stores"]
    assert alone(by_method["nt-drain"], measured) is by_method["nt-stores"]
    assert alone(by_method["stores"], measured) is None
    assert alone(by_method["nt-stores"], measured) is None
    assert alone(made("clwb", 1.0, order="random"), measured) is None
    ratio = figures.ratio(by_method["nt-drain"], by_method["nt-stores"])
    assert ratio.estimate == pytest.approx(20, rel=0.01)
    assert ratio.ci_low is not None
    assert ratio.ci_high is not None
    assert ratio.ci_low < ratio.estimate < ratio.ci_high
    assert cheapest(measured) == (by_method["nt-drain"], by_method["nt-stores"])
    assert cheapest(measured[:1]) is None


def test_methods_of_pools_stand_beside_the_stores_to_a_file() -> None:
    stores = made("stores", 10.0, 256, backing="file")
    cut = made("transaction", 900.0, 256, backing="pool", ranges=4)
    assert alone(cut, [stores, cut]) is stores
    assert alone(made("allocation", 900.0, 256, backing="pool"), [stores]) is None
    table = [line.split() for line in shown([stores, cut]).splitlines()]
    (row,) = [words for words in table if words[:1] == ["transaction"]]
    assert row[1:3] == ["pool", "4"]


def run_of(measured: list[Measurement]) -> Run:
    return Run(header=synthetic.header(), measurements=measured, footer=None)


def shown(measured: list[Measurement]) -> str:
    console = Console(file=io.StringIO(), width=100)
    show_run(console, run_of(measured), Path("run.jsonl"), VIEWS)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_fits_and_has_the_methods_beside_each_other() -> None:
    text = shown(sweep())
    section = text[text.index("Persistence") :]
    assert max(map(len, section.splitlines()[:-1])) <= 100
    assert "node:0 → node:0, 1 GiB, thp pages, 1 thread" in section
    (line,) = [line for line in section.splitlines() if line.split()[:3] == ["clwb", "64", "B"]]
    assert "20.0" in line
    said = " ".join(section.split())
    assert "64 B persist by nt-drain in 160" in said
    assert "times the stores alone" in said


def test_time_over_block_size_has_a_line_a_method() -> None:
    (first, *_) = pictures_of(run_of(sweep()), "persist", VIEWS)
    assert first.title == "Time until a block persists, node:0 → node:0"
    assert "At 64 B: stores 10" in first.alt
    assert "times the stores" in first.alt
    assert len(first.measurements) == 16
