"""``tierscope storage``: what it measures, what it never writes, and what it says."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console
from tests import synthetic

from forked import tierscope
from tierscope.cli import storage
from tierscope.cli.app import app
from tierscope.kinds.files.spec import FilesSpec
from tierscope.kinds.io.show import (
    block_lines,
    cache_lines,
    depth_lines,
    headroom,
    idle_latency,
    io_remarks,
    thread_lines,
)
from tierscope.kinds.io.spec import IoSpec
from tierscope.kinds.views import VIEWS
from tierscope.machine.paths import MachinePaths
from tierscope.model.endpoint import parse_target
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Evidence, IoEvidence
from tierscope.model.path import Limit
from tierscope.model.rating import RatedDrive
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Block, Gpu, Mount, Topology
from tierscope.report.tiers import tiers_of
from tierscope.suites.storage_tour import Given, Tour, file_bytes, show_tour, tour

GIB = 1 << 30
MAKER = synthetic.Maker()


def facts(kind: Any, path: str = "/data", free: int = 100 * GIB) -> PathFacts:
    return PathFacts(path=path, kind=kind, real=path, device="8:1", page_bytes=4096,
                     free_bytes=free)  # fmt: skip


def planned(machine: Topology, kind: str, path: str = "/data", **given: Any) -> Tour:
    word = "dev" if kind == "block" else "file"
    target = parse_target(f"{word}:{path}")
    return tour(machine, Given([target], [facts(kind, path)], **given), thp=True)


def specs_of(made: Tour) -> list[IoSpec]:
    """What goes to one file or device: all but small files."""
    return [spec for spec in made.plan.measurements if isinstance(spec, IoSpec)]


def test_a_directory_gets_every_part_within_its_time(machine: Topology) -> None:
    made = planned(machine, "directory")
    names = {shown.part.name for shown in made.parts}
    assert {"cache", "threads", "depth", "mix", "blocks", "grid", "files", "from"} == names
    depths = {spec.pattern.depth for spec in specs_of(made)}
    assert {1 << power for power in range(9)} <= depths
    sizes = {spec.pattern.block_size for spec in specs_of(made)}
    assert {4 << 10, 1 << 20, 16 << 20} <= sizes
    assert sum(spec.sampling.budget_s for spec in made.plan.measurements) <= 75


def test_what_two_parts_ask_for_is_measured_once(machine: Topology) -> None:
    made = planned(machine, "directory")
    seen = [
        (spec.initiator, str(sorted(spec.identity().items(), key=str))) for spec in specs_of(made)
    ]
    assert len(seen) == len(set(seen))
    shown = [name for part in made.parts for name in part.ids]
    assert len(shown) > len(seen)
    assert set(shown) == {spec.id for spec in made.plan.measurements}


def test_a_short_tour_has_fewer_figures_with_time_for_an_interval_each(machine: Topology) -> None:
    whole = planned(machine, "directory")
    given = Given([parse_target("file:/data")], [facts("directory")])
    made = tour(machine, given, thp=True, seconds=12)
    measurements = made.plan.measurements
    assert len(measurements) <= 12
    assert min(spec.sampling.budget_s for spec in measurements) >= 0.9
    assert {spec.sampling.sample_s for spec in measurements} == {0.005}
    assert sum(spec.sampling.budget_s for spec in measurements) <= 12
    ids = {shown.part.name: shown.ids for shown in made.parts}
    depths = {spec.pattern.depth for spec in specs_of(made) if spec.id in ids["depth"]}
    assert depths >= {1, 256}, "the ends of a sweep stay"
    assert ids["blocks"]
    absent = {shown.part.name for shown in whole.parts} - set(ids)
    assert absent
    assert f"{len(measurements)} figures an interval" in made.left_out
    assert all(name in made.left_out for name in absent)
    assert whole.left_out == ""


@pytest.mark.parametrize(("kind", "path"), [("file", "/data/x"), ("block", "/dev/nvme0n1")])
def test_what_is_not_ours_is_never_written(machine: Topology, kind: str, path: str) -> None:
    made = planned(machine, kind, path)
    assert len(specs_of(made)) == len(made.plan.measurements), "no small files are made"
    assert {spec.pattern.operation for spec in specs_of(made)} == {"read"}
    written = {s.pattern.operation for s in specs_of(planned(machine, kind, path, overwrite=True))}
    assert written == ({"read", "write", "mix"} if kind == "file" else {"read"})


def test_of_a_file_its_own_size_is_used(machine: Topology) -> None:
    target, found = parse_target("file:/data/x"), facts("file", "/data/x")
    given = Given([target], [found.model_copy(update={"size": 64 << 20})])
    assert {s.jobs[0].files.size for s in specs_of(tour(machine, given, thp=True))} == {64 << 20}


def test_one_file_of_a_gibibyte_is_made(machine: Topology) -> None:
    for spec in specs_of(planned(machine, "directory")):
        (job,) = spec.jobs
        assert (job.shared, job.files.size) == (True, GIB)
    assert file_bytes(facts("directory", free=5 * GIB), None) <= GIB // 2


@pytest.mark.parametrize(("free", "asked"), [(100 << 20, None), (100 * GIB, 11 * GIB)])
def test_a_tenth_of_the_free_space_is_the_most(free: int, asked: int | None) -> None:
    with pytest.raises(UserError, match="a tenth is used at most"):
        file_bytes(facts("directory", free=free), asked)


def test_far_cpus_are_compared_where_there_are_several_nodes(machine: Topology) -> None:
    made = planned(machine, "directory")
    (near, far) = [shown for shown in made.parts if shown.part.name == "from"]
    initiators = {spec.id: spec.initiator for spec in specs_of(made)}
    assert {initiators[name] for name in near.ids} == {"node:0"}
    assert {initiators[name] for name in far.ids} == {"node:1"}
    assert not [s for s in planned(machine, "directory", initiator="node:1").parts
                if s.part.name == "from"]  # fmt: skip


def test_a_gpu_gets_the_staged_ways_beside_cufile(machine: Topology) -> None:
    gpus = [Gpu(index=0, name="a GPU", address="0000:01:00.0", memory_bytes=80 * GIB)]
    made = planned(machine.model_copy(update={"gpus": gpus}), "directory")
    on_gpu = {s.pattern.backend for s in specs_of(made) if s.initiator == "gpu:0"}
    assert {"cufile", "cufile-batch", "staged", "staged-async", "staged-managed"} == on_gpu


def test_ratings_bound_what_drives_can_do(machine: Topology) -> None:
    drive = Block(name="nvme0n1", kind="nvme", product="ACME 1", number="8:1")
    rated = RatedDrive(model="ACME *", read=7e9, read_iops=1e6, source="drives.yaml:1")
    mount = Mount(path="/", type="xfs", block="nvme0n1")
    known = machine.model_copy(update={"blocks": [drive], "mounts": [mount]})
    topology = known.model_copy(update={"ratings": [rated]})
    reads = [s for s in specs_of(planned(topology, "directory")) if s.pattern.operation == "read"]
    (small,) = [s for s in reads if s.id == "depth.read.4k.d256.t1"]
    limit = small.limit(MachinePaths(topology))
    assert limit is not None
    assert (limit.value, limit.unit) == (1e6, "1/s")
    assert small.limit(MachinePaths(known)) is None
    (cached,) = [s for s in reads if s.id == "cache.read.4k.posix.buffered.d1.t1"]
    assert cached.limit(MachinePaths(topology)) is None
    assert cached.fits_caches([])
    assert not small.fits_caches([])


# What it says


def screen(measured: list[Any], made: Tour) -> str:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_tour(console, synthetic.run(measured), made)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("kind", ["directory", "block"])
def test_the_report_has_every_part_in_100_columns(machine: Topology, kind: str) -> None:
    made = planned(machine, kind)
    measured = [
        synthetic.storage_measurement(
            MAKER, 1e5, id=spec.id, **(dict.fromkeys(("size", "shared")) | spec.identity())
        )
        for spec in specs_of(made)
    ]
    measured += [
        MAKER.make("files", spec.initiator, spec.target, spec.identity(), 1e4, "1/s", id=spec.id,
                   metric="operations", figures=[synthetic.figure("io_latency_p50", "ns", 1e5)])
        for spec in made.plan.measurements if isinstance(spec, FilesSpec)
    ]  # fmt: skip
    text = screen(measured, made)
    for shown in made.parts:
        assert shown.part.title in text
    assert max(map(len, text.splitlines())) <= 100
    assert "One 4 KiB read at a time takes 90" in text


def test_small_files_alone_are_shown(machine: Topology) -> None:
    """As where everything else was skipped."""
    made = planned(machine, "directory")
    (one, *_) = [spec for spec in made.plan.measurements if isinstance(spec, FilesSpec)]
    m = MAKER.make("files", one.initiator, one.target, one.identity(), 1e4, "1/s", id=one.id,
                   metric="operations")  # fmt: skip
    assert "operations/s" in screen([m], made)


def depths(rates: dict[int, float], noise: float = 0.001) -> list[Any]:
    maker = synthetic.Maker(noise=noise)
    return [
        synthetic.storage_measurement(maker, rate, 1e6 * depth / rate, depth=depth)
        for depth, rate in rates.items()
    ]


def test_words_name_the_depth_that_saturates_and_what_more_costs() -> None:
    (line,) = depth_lines(depths({1: 1e4, 4: 4e4, 16: 1e5, 64: 1.01e5, 256: 1.01e5}))
    assert line.startswith("random reads of 4 KiB: saturated from depth 16 on, at 101")
    assert "depth 256 only adds latency, 2530 after 160 µs (p50)" in line
    (line,) = depth_lines(depths({1: 1e4, 4: 4e4, 16: 1e5, 64: 2e5}))
    assert "still rising at depth 64" in line
    (line,) = depth_lines(depths({1: 1e4, 4: 9e4, 16: 1e5, 64: 1e5}, noise=0.3))
    assert "too wide to say more" in line


def test_words_compare_the_page_cache_with_the_drive() -> None:
    measured = [
        synthetic.storage_measurement(MAKER, 5e5, direct=False, backend="posix"),
        synthetic.storage_measurement(MAKER, 1e4, backend="posix"),
    ]
    (line,) = cache_lines(measured)
    assert "through the page cache, 50 times the drive's" in line
    assert cache_lines(measured[1:]) == []


def test_words_on_threads_and_blocks() -> None:
    one, two = (synthetic.storage_measurement(MAKER, 1e4 * n, threads=n) for n in (1, 2))
    (line,) = thread_lines([one, two])
    assert "2 threads reach" in line
    assert "2 times 1 thread" in line
    sizes = {4096: 1e5, 65536: 2e4, 1 << 20: 1.4e9, 16 << 20: 1.4e9}
    (line,) = block_lines(
        [synthetic.storage_measurement(MAKER, rate, block_size=size, depth=8,
                               order="sequential") for size, rate in sizes.items()]
    )  # fmt: skip
    assert "blocks of 64 KiB and more reach 90% of it" in line


def test_words_on_the_headroom() -> None:
    limit = Limit(value=1e6, unit="1/s", link="rating of nvme0n1", formula="1,000,000/s", source="")
    text = headroom([synthetic.storage_measurement(MAKER, 4e5, limit=limit)])
    assert "40% of what rating of nvme0n1 allows" in text
    assert "60% is left" in text
    assert "--rated FILE" in headroom([synthetic.storage_measurement(MAKER, 4e5)])
    assert headroom([synthetic.storage_measurement(MAKER, 4e5, direct=False)]) == ""


def test_a_direct_read_that_a_cache_served_is_told() -> None:
    observed = {"files": ["/data/x"], "reads": 10, "writes": 0, "bytes_read": 1000,
                "bytes_written": 0, "set_up_s": 0.1}  # fmt: skip

    def said(moved: int, own: int | None = None, **more: Any) -> list[str]:
        evidence = Evidence(
            storage_io=IoEvidence(**observed, **more),
            device_bytes_read=moved,
            process_bytes_read=own,
        )
        return io_remarks([synthetic.storage_measurement(MAKER, 1e4, evidence=evidence)])

    assert said(1000) == []
    assert "partly in the page cache before" in said(1000, cached_before=0.5)[0]
    assert "holes or unwritten parts" in said(1000, unwritten_bytes=4096)[0]


def test_reads_of_files_that_memory_did_not_hold_are_told() -> None:
    observed = {"files": ["/data/x"], "reads": 10, "writes": 0, "bytes_read": 1000,
                "bytes_written": 0, "set_up_s": 0.1}  # fmt: skip

    def said(share: float, **more: Any) -> list[str]:
        evidence = Evidence(storage_io=IoEvidence(**observed, cached_before=share))
        return io_remarks([synthetic.storage_measurement(MAKER, 1e4, evidence=evidence, **more)])

    assert said(1.0, direct=False) == []
    (line,) = said(0.4, direct=False)
    assert "1 of 1: the page cache held 40% of what is read" in line
    assert said(0.4, direct=False, cache="as-found") == []


def test_storage_is_a_tier_of_the_node_that_reads_it() -> None:
    memory = [
        MAKER.make("latency", "node:0", "node:0",
                   {"order": "random", "size": GIB, "pages": "thp"}, 110.0, "ns"),
        MAKER.make("bandwidth", "node:0", "node:0",
                   {"operation": "read", "order": "sequential", "threads": 1}, 2e10),
    ]  # fmt: skip
    found = tiers_of(synthetic.run(memory, synthetic.storage_measurements(MAKER)), VIEWS)
    dram, drive = found["node:0"]
    assert (dram.target, drive.target, drive.medium) == ("node:0", "file:/data", "drive")
    assert drive.latency is not None
    assert drive.latency.estimate == pytest.approx(77.5e3, rel=0.01)
    assert drive.bandwidth is not None
    assert drive.bandwidth.estimate == pytest.approx(3e9, rel=0.02)
    busy = synthetic.storage_measurement(MAKER, 1e5, depth=16)
    assert idle_latency(busy) is None


# The command


def call(*words: str) -> Any:
    return CliRunner().invoke(app, ["storage", *words], standalone_mode=False)


def test_a_dry_run_prints_the_plan_and_touches_nothing(tmp_path: Path) -> None:
    done = call(str(tmp_path), "--dry-run", "--json")
    assert json.loads(done.output)["plan"]["measurements"]
    assert list(tmp_path.iterdir()) == []


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    done = call(str(tmp_path / "absent"))
    assert isinstance(done.exception, UserError)
    assert "no such file or directory" in str(done.exception)


def test_what_earlier_runs_left_is_named_and_removed(tmp_path: Path) -> None:
    """Kept files are tierscope's, too; another's file is none of its business."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "mine").write_text("precious")
    words = ["io", "--to", f"file:{folder}", "--size", "1m", "--keep", "--budget", "0.1"]
    CliRunner().invoke(app, words, standalone_mode=False)
    assert len(list(folder.iterdir())) == 3, "a file, its manifest, and another's"
    (found,) = json.loads(call(str(folder), "--clean", "--json").output)
    assert [file["state"] for file in found["files"]] == ["removed"]
    assert [path.name for path in folder.iterdir()] == ["mine"]
    assert "nothing is left of earlier runs" in call(str(folder), "--clean").output


def test_a_file_without_a_block_is_refused_with_its_size(tmp_path: Path) -> None:
    file = tmp_path / "short"
    for size in (0, 1, 4095):
        file.write_bytes(bytes(size))
        for words in (["storage", file], ["storage", "--matrix", file]):
            done = tierscope(*words, "--dry-run")
            assert done.returncode == ExitCode.REQUEST_WRONG
            assert f"tierscope: {file} has {size} byte" in done.stderr
            assert "name a larger file, or a directory, where a file is made\n" in done.stderr
            assert done.stderr.count("\n") == 1
    file.write_bytes(bytes(4096))
    assert tierscope("storage", file, "--dry-run").returncode == 0


def test_a_directory_that_the_user_may_not_write_is_refused_before_a_run(tmp_path: Path) -> None:
    runs, closed = tmp_path / "runs", tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = subprocess.run(
        [
            *(without_rights if os.geteuid() == 0 else []),
            *(sys.executable, "-c", "from tierscope.cli.main import main; main()"),
            *("storage", closed, "--out", runs),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitCode.NOTHING_MEASURED
    assert done.stderr == (
        f"tierscope: {closed}: this user may not make files there; "
        "name a directory where that is allowed\n"
    )
    assert not runs.exists() or not [*runs.iterdir()]


@pytest.mark.parametrize(("user", "end"), [(0, "a file"), (1000, "a file, or run as root")])
def test_root_is_not_asked_to_be_root(
    user: int, end: str, machine: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr("tierscope.suites.storage_matrix.readable", lambda _machine: [])
    with pytest.raises(UserError, match=f"can be read: name a directory or {end}$"):
        storage._targets(machine, storage.Args(()))
