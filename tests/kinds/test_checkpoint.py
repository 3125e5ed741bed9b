"""Checkpoints: what a request asks for, what is measured, shown and left behind."""

import io
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests import synthetic

from forked import tierscope
from samples import samples_of
from tierscope.engine.process import find_engine
from tierscope.kinds.checkpoint.show import POWER, PROGRAM, sentences, survives
from tierscope.kinds.checkpoint.spec import CheckpointEvidence, Checkpoints, CheckpointSpec, Kills
from tierscope.kinds.views import VIEWS
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence, IoEvidence
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.topology import Mount, Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.run import show_run
from tierscope.suites import checkpoint
from waiting import wait_until

QUICK = ("--size", "2m", "--budget", "0.3", "--threads", "1")


def planned(machine: Topology, **options: str) -> list[Any]:
    options = {"to": "file:/data", **options}
    return expand([Request(kind="checkpoint", options=options)], machine, thp=True).measurements


# What a request asks for


def test_memory_is_copied_to_and_files_are_written_by_a_backend(machine: Topology) -> None:
    memory, file = planned(machine, to="node:0,file:/data")
    assert memory.directory is None
    assert memory.placement.nodes[0].node == 0
    assert not {"backend", "direct", "depth", "kills"} & set(memory.identity())
    specs = planned(machine, to="node:0,file:/data", depth="4,16", direct="yes,no")
    assert [s.target for s in specs] == ["node:0", *["file:/data"] * 4], (
        "what makes no difference to memory is measured once"
    )
    assert {(s.pattern.direct, s.pattern.depth) for s in specs[1:]} == {
        (True, 4), (True, 16), (False, 4), (False, 16)
    }  # fmt: skip
    assert file.files() == ["/data"]
    assert file.identity()["backend"] == "libaio"


def test_the_target_takes_twice_the_state_and_both_count_as_memory(machine: Topology) -> None:
    (spec,) = planned(machine, to="node:1", size="64m")
    regions = {region.placement.nodes[0].node: region.total_bytes for region in spec.regions()}
    assert regions == {0: 64 << 20, 1: 2 * ((64 << 20) + 4096)}
    assert spec.fits_caches([]) is False
    (file,) = planned(machine, size="64m")
    assert file.host_bytes() == 64 << 20
    assert file.large, "who names a size may take more than a tenth of the free space"
    assert not planned(machine)[0].large


def test_persistent_memory_has_a_backing_and_its_node(machine: Topology) -> None:
    specs = planned(machine, to="pmem:/mnt/pmem,pmem:node:2", backing="file,pool")
    assert [(s.target, s.identity()["backing"]) for s in specs] == [
        ("pmem:/mnt/pmem", "file"), ("pmem:/mnt/pmem", "pool"),
        ("pmem:node:2", "file"), ("pmem:node:2", "pool"),
    ]  # fmt: skip
    assert [s.files() for s in specs[::2]] == [["/mnt/pmem"], ["/dev/shm"]]
    assert [s.placement.persistent.bound for s in specs] == [False, False, True, True]
    assert len({s.id for s in specs}) == 4


def test_kills_change_no_figure_and_so_no_identity(machine: Topology) -> None:
    (with_kills,), (without,) = planned(machine, kills="20"), planned(machine)
    assert with_kills.pattern.kills == 20
    assert with_kills.identity() == without.identity()
    assert with_kills.set_up_s() > without.set_up_s()


def test_a_state_on_a_gpu_goes_by_its_backends(
    machine: Topology, machine_with_gpu: Topology
) -> None:
    specs = planned(machine_with_gpu, **{"from": "gpu:0"}, to="file:/data,node:0")
    assert [(s.pattern.backend, s.pattern.depth, s.state.memory) for s in specs] == [
        ("staged-async", 8, "device"), ("staged", 1, "device")
    ]  # fmt: skip
    assert all(region.placement.nodes[0].node == 0 for s in specs for region in s.regions())
    with pytest.raises(UserError, match="--backend: none of these goes with a state in host"):
        planned(machine, backend="cufile")
    with pytest.raises(UserError, match=r"--kills: .*host memory"):
        planned(machine_with_gpu, **{"from": "gpu:0", "kills": "3"})


@pytest.fixture
def machine_with_gpu(machine: Topology) -> Topology:
    from tierscope.model.topology import Gpu

    gpu = Gpu(index=0, name="a GPU", address="0000:00:00.0", memory_bytes=80 << 30)
    return machine.model_copy(update={"gpus": [gpu]})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"to": "node:0,1"}, "--to: 'node:0,1': policy of a checkpoint's memory is bind"),
        ({"to": "node:99"}, "--to: endpoint 'node:99': there is no node 99"),
        ({"to": "dev:/dev/sda"}, "--to: 'dev:/dev/sda' is "),
        ({"size": "1000"}, "--size: "),
        ({"kills": "1,2"}, "--kills: takes a single value"),
        ({"kills": "100001"}, "--kills: "),
        ({"block-size": "512"}, "--block-size: "),
        ({"depth": "0"}, "--depth: 0 is too few"),
        ({"backend": "mmap"}, "--backend: 'mmap' is not one of posix,"),
        ({"to": "pmem:/d", "backing": "pool-objects"}, "--backing: 'pool-objects' is not one of"),
        ({"backing": "pool"}, "--backing: goes with pmem:DIR"),
        ({"to": "pmem:node:9"}, "--to: endpoint 'pmem:node:9': there is no node 9"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_named(
    machine: Topology, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, **options)
    assert str(refused.value).startswith(says)


@given(size=st.integers(1, 1 << 20), block=st.integers(1, 1 << 10))
def test_every_size_of_whole_cells_makes_a_plan_that_the_door_takes(size: int, block: int) -> None:
    fields = {
        "id": "a", "initiator": "node:0", "target": "file:/d", "cpus": [0],
        "state": {"placement": {"policy": "bind", "nodes": [{"node": 0}]}},
        "directory": "/d",
        "pattern": {"size": size * 4096, "block_size": block * 4096},
    }  # fmt: skip
    spec = CheckpointSpec.model_validate(fields)
    assert CheckpointSpec.model_validate_json(spec.model_dump_json()) == spec
    with pytest.raises(ValueError, match="multiple of 4096"):
        CheckpointSpec.model_validate({**fields, "pattern": {"size": size * 4096 + 1}})


def test_the_limit_is_that_of_writes(machine: Topology) -> None:
    (spec,) = planned(machine, to="node:1", size="4g")
    limit = spec.limit(MachinePaths(machine))
    assert limit is None or limit.unit == "B/s"


# Where it goes when no target is named


def test_other_nodes_the_current_directory_and_each_drive_once_are_found(
    machine: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    mounts = [
        Mount(path="/", type="ext4", block="vda"),
        Mount(path=str(one), type="xfs", block="nvme0n1"),
        Mount(path=str(two), type="xfs", block="nvme0n1"),
        Mount(path=str(tmp_path / "gone"), type="nfs4", block=None, server="10.0.0.1"),
        Mount(path="/dev/shm", type="tmpfs", block=None),
    ]
    monkeypatch.chdir(tmp_path)
    found = checkpoint.targets(machine.model_copy(update={"mounts": mounts}), "node:0")
    nodes = [f"node:{n.number}" for n in machine.nodes if n.number != 0 and n.total_bytes]
    assert found == [*nodes, f"file:{tmp_path}", f"file:{one}"]
    alone = machine.model_copy(update={"mounts": [], "nodes": machine.nodes[:1]})
    assert checkpoint.targets(alone, "node:0") == ["node:0", f"file:{tmp_path}"]


# What is measured


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty directory to measure in."""
    path = tmp_path / "place"
    path.mkdir()
    return path


def test_times_are_measured_kills_survived_and_nothing_is_left(place: Path, tmp_path: Path) -> None:
    (place / "theirs").write_text("precious")
    targets = (str(place), "node:0", f"pmem:{place}", "pmem:node:0")
    done = tierscope(
        *("checkpoint", *targets, "--backing", "file,pool", *QUICK, "--kills", "3", "--json"),
        *("--out", str(tmp_path / "runs")),
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    (run,) = (tmp_path / "runs").iterdir()
    assert [r["target"] for r in results] == [
        f"file:{place}", "node:0", *[f"pmem:{place}"] * 2, *["pmem:node:0"] * 2
    ]  # fmt: skip
    for result in results:
        assert (result["status"], result["figures"][0]["metric"], result["figures"][0]["unit"]) == (
            "measured", "bandwidth", "B/s"
        ), result  # fmt: skip
        figures = {figure["metric"] for figure in result["figures"]}
        assert figures >= {"checkpoint_time", "restart_time", "restart_bandwidth"}
        rows = [*samples_of(run, result["id"])]
        assert rows
        for row in rows:
            seconds = (row["checkpoint_time", ""] or 0) / 1e9
            assert seconds * (row["bandwidth", ""] or 0) == pytest.approx(2 << 20, rel=1e-5)
        seen = result["evidence"]["checkpoint"]
        assert seen["kills"]["kills"] == 3
        assert seen["restarts"] >= 2
        assert "after kills" in result["evidence"]["verified"]
    file, memory, mapped, pool, bound, bound_pool = (result["evidence"] for result in results)
    media = [one["checkpoint"]["medium"] for one in (mapped, pool, bound, bound_pool)]
    assert media == ["mapped", "pool", "mapped", "pool"]
    assert mapped["persistent"]["durable_by"] in ("msync", "flush")
    assert (bound["persistent"]["emulated"], bound["persistent"]["node"]) == (True, 0)
    assert bound["checkpoint"]["pages"] == memory["checkpoint"]["pages"]
    assert bound_pool["checkpoint"]["survives_power_loss"] == "no"
    assert bound_pool["checkpoint"]["pages"].keys() == {"0"}
    asked = file["storage_io"]
    assert asked["bytes_read"] >= (2 << 20) * file["checkpoint"]["restarts"], "of all repetitions"
    assert asked["bytes_written"] >= asked["bytes_read"]
    assert "storage_io" not in memory
    assert results[0]["bound_by"] is None, "drives moved what was asked"
    assert file["checkpoint"]["medium"] == "file"
    assert file["storage"][0]["path"]["mount"]["type"]
    assert memory["checkpoint"]["pages"] == {"0": 2 * (2 << 20) // 4096 + 2}
    assert [path.name for path in place.iterdir()] == ["theirs"]


def test_what_is_named_wrongly_or_cannot_be_used_is_said(place: Path) -> None:
    wrong = tierscope("checkpoint", "tape:1", *QUICK)
    assert wrong.returncode == 2
    assert "'tape:1' is not one of the forms" in wrong.stderr
    assert "--to" not in wrong.stderr, "there is no such option"
    gone = tierscope("checkpoint", str(place / "gone"), *QUICK, "--json")
    (result,) = json.loads(gone.stdout)["results"]
    assert (result["status"], result["cause"]) == ("skipped", "storage")
    assert "mkdir -p" in result["remedy"]


def test_an_engine_that_is_killed_leaves_no_program_behind(place: Path) -> None:
    """Its children go on saving until they are killed, and nobody would do that any more."""
    plan = {
        "version": 2,
        "measurements": [{
            "kind": "checkpoint", "id": "a", "initiator": "node:0", "target": f"file:{place}",
            "cpus": [min(os.sched_getaffinity(0))],
            "state": {"placement": {"policy": "bind", "nodes": [{"node": 0}]}},
            "directory": str(place), "sampling": {"budget_s": 0.1},
            "pattern": {"size": 4 << 20, "kills": 100_000},
        }],
    }  # fmt: skip
    engine = subprocess.Popen(
        [find_engine(), "run"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert engine.stdin is not None
    engine.stdin.write(json.dumps(plan))
    engine.stdin.close()
    children = Path(f"/proc/{engine.pid}/task/{engine.pid}/children")
    child = ""
    while not child:
        assert engine.poll() is None
        child = children.read_text().strip()
        time.sleep(0.01)
    engine.kill()
    engine.wait()
    saves = Path(f"/proc/{child.split()[0]}")
    wait_until(lambda: not saves.exists(), "the program that saves checkpoints ends")


# What is shown


def measurement(
    target: str, ms: float, kept: int = 0, kills: int = 0, **pattern: Any
) -> Measurement:
    file = target.startswith("file:")
    seen = Checkpoints(
        medium="file" if file else "memory",
        durable_by="fdatasync",
        restarts=3,
        set_up_s=0.1,
        kills=Kills(kills=kills, while_saving=kills, went_on=0) if kills else None,
    )
    size = pattern.get("size", 1 << 30)
    asked = IoEvidence(files=["/x"], reads=3, writes=3, bytes_read=3 * size,
                       bytes_written=3 * size, cached_bytes=kept, set_up_s=0.1)  # fmt: skip
    rate = size / ms * 1e3
    return Measurement(
        id=f"checkpoint.{target}.{size}",
        kind="checkpoint",
        initiator="node:0",
        target=target,
        cpus=[0, 1],
        status="measured",
        n=20,
        repetitions=2,
        stop="precision",
        samples=[rate] * 3,
        pattern={
            "size": size, "block_size": 1 << 20, "pages": "thp", "threads": 2, "memory": "node:0",
            **({"backend": "libaio", "direct": True, "depth": 8} if file else {}), **pattern,
        },
        figures=[
            Figure(metric="bandwidth", unit="B/s", estimate=rate, ci_low=0.99 * rate,
                   ci_high=1.01 * rate),
            Figure(metric="checkpoint_time", unit="ns", estimate=ms * 1e6,
                   ci_low=0.99 * ms * 1e6, ci_high=1.01 * ms * 1e6),
            Figure(metric="restart_time", unit="ns", estimate=2 * ms * 1e6,
                   ci_low=1.98 * ms * 1e6, ci_high=2.02 * ms * 1e6),
        ],
        evidence=Evidence(storage_io=asked if file else None).with_own(
            CheckpointEvidence(checkpoint=seen)
        ),
    )  # fmt: skip


def test_the_fastest_target_that_outlives_a_loss_of_power_is_named() -> None:
    measured = [measurement("node:2", 50), measurement("file:/a", 900), measurement("file:/b", 300)]
    assert [survives(m) for m in measured] == [PROGRAM, POWER, POWER]
    first, *_ = sentences(measured)
    assert first == (
        "Of the targets that outlive power loss, file:/b is the fastest: 1 GiB are durable "
        "after 300 ±3 ms, and a program runs on from them after 600 ±6 ms."
    )
    alike = [measurement("file:/a", 300), measurement("file:/b", 301)]
    assert "may be the fastest" in next(iter(sentences(alike)))


def test_kills_and_caches_are_told() -> None:
    lines = " ".join(sentences([measurement("file:/a", 9, kills=20), measurement("node:1", 9)]))
    assert "killed 20 times, 20 of these while a checkpoint was being written" in lines
    assert "the page cache dropped all pages of the file" in lines
    kept = " ".join(sentences([measurement("file:/a", 9, kept=3 << 20)]))
    assert "file:/a: before a restart the page cache kept 3 MiB" in kept
    assert "dropped all" not in kept


def test_the_table_has_a_row_for_each_target_and_fits_100_columns() -> None:
    run = Run(
        header=synthetic.header(),
        measurements=[measurement("node:2", 50), measurement("file:/mnt/data", 900)],
        footer=None,
    )
    console = Console(file=io.StringIO(), width=100)
    show_run(console, run, Path("run.jsonl"), VIEWS)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    row = next(line for line in shown.splitlines() if line.startswith(" file:/mnt/data "))
    assert row.split()[1:] == [
        "libaio", "yes", "8", "1.193", "±0.012", "900", "±9", "1800", "±18", "power", "loss"
    ]  # fmt: skip

    assert "time to" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_three_sizes_are_a_curve_and_fewer_are_bars() -> None:
    few = [measurement("node:2", 50), measurement("file:/a", 900)]
    many = [measurement("file:/a", 9.0 * n, size=n << 20) for n in (1, 2, 4)]
    for measured, mark in ((few, "bar"), (many, "line")):
        run = Run(header=synthetic.header(), measurements=measured, footer=None)
        pictures = list(pictures_of(run, "checkpoint", VIEWS))
        assert [p.title for p in pictures] == [
            "Time until a checkpoint is durable", "Time to restart from a checkpoint"
        ]  # fmt: skip
        assert all(mark in json.dumps(p.spec) for p in pictures)
        assert pictures[0].alt.startswith("The shortest is 9" if measured is many else "The short")
