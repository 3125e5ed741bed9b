"""The commands of ``tierscope tier``, on a kernel made of files."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from placement.fake_kernel import FakeKernel, snapshot
from tierscope.cli import tier as commands
from tierscope.cli import tier_observe
from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.place import tiering
from tierscope.place.damon import tree
from tierscope.place.damon.files import parse_damo
from tierscope.place.kernel import Kernel


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKernel]:
    kernel = FakeKernel(tmp_path / "root")
    for module in (commands, tier_observe):
        monkeypatch.setattr(module, "kernel_here", lambda: kernel)
    yield kernel
    tiering.stop(kernel)


def tier(*words: str) -> Result:
    return CliRunner().invoke(app, ["tier", *words])


def put(kernel: FakeKernel, path: str, text: str) -> None:
    Path(kernel.root + path).write_text(f"{text}\n")


def stats(kernel: FakeKernel, number: int, **values: int) -> None:
    for name, value in values.items():
        put(kernel, f"{tree.KDAMONDS}/{number}/contexts/0/schemes/0/stats/{name}", str(value))


def region(kernel: FakeKernel, number: int, place: int, **values: int) -> None:
    folder = f"{kernel.root}{tree.KDAMONDS}/{number}/contexts/0/schemes/1/tried_regions/{place}"
    Path(folder).mkdir()
    for name, value in values.items():
        Path(folder, name).write_text(f"{value}\n")


def test_start_status_and_stop(kernel: FakeKernel) -> None:
    root = Path(kernel.root)
    before = snapshot(root)
    done = tier("start", "--pair", "0:2")
    assert done.exit_code == 0
    assert done.stdout.startswith("tiering of the whole machine by hmsdk is on\n")
    stats(kernel, 0, sz_tried=512 << 20, sz_applied=64 << 20, qt_exceeds=3)
    put(kernel, "/proc/vmstat", f"pgmigrate_success {7 + (64 << 20) // 4096}")
    put(kernel, "/sys/devices/system/node/node2/meminfo", "Node 2 AnonPages: 65536 kB")
    region(kernel, 0, 0, start=0, end=192 << 20, nr_accesses=0, age=1)
    region(kernel, 0, 1, start=192 << 20, end=256 << 20, nr_accesses=15, age=1)
    region(kernel, 1, 0, start=1 << 30, end=(1 << 30) + (64 << 20), nr_accesses=5, age=1)
    seen = json.loads(tier("status", "--json").output)
    cold, hot = seen["rules"]
    assert (cold["from"], cold["to"], cold["counters"]["applied_bytes"]) == ([0], [2], 64 << 20)
    assert cold["reasons"] == []
    assert seen["bytes_by_node"]["now"] == {"0": 64 << 20, "2": 64 << 20}
    assert seen["migrated_bytes"] == 64 << 20
    assert seen["hit_share"] == pytest.approx(0.75)
    assert seen["temperature"]["0"]["50% or more of samples"] == 64 << 20
    assert hot["reasons"][0].startswith("region: those that fit have no size")
    text = tier("status").output
    assert "75% of the accesses hit node 0" in text
    assert "The kernel has migrated 64 MiB since it began." in text
    assert tier("stop").output == "ended 2 kdamonds\n"
    assert tree.count(kernel) == 0
    assert snapshot(root).keys() == before.keys()


def test_applied_bytes_without_migrated_pages_are_doubted(kernel: FakeKernel) -> None:
    tier("start", "--pair", "0:2")
    stats(kernel, 0, sz_tried=512 << 20, sz_applied=64 << 20)
    (doubt,) = json.loads(tier("status", "--json").output)["doubts"]
    assert doubt.startswith("DAMON says that it moved 64 MiB, and the kernel has migrated 0 MiB")


def test_pages_that_are_migrated_while_counters_are_read_are_no_reason_to_doubt_them(
    kernel: FakeKernel,
) -> None:
    tier("start", "--pair", "0:2")
    stats(kernel, 0, sz_tried=512 << 20, sz_applied=64 << 20)

    def ends_a_step(_path: str, word: str) -> None:
        if word == "update_schemes_stats":
            put(kernel, "/proc/vmstat", f"pgmigrate_success {7 + (64 << 20) // 4096}")

    kernel.on_write = ends_a_step
    seen = json.loads(tier("status", "--json").output)
    assert seen["doubts"] == []
    assert seen["migrated_bytes"] == 64 << 20


RULES = """\
intervals: {sample: 100ms, aggregate: 2s}
rules:
  - {move: cold, from: 0, to: 2, watermarks: {high: 90%, mid: 80%, low: 10%}}
"""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("off", "its kdamond is off"),
        ("free", "watermark: 95.0% of memory is free, above its mid watermark of 80.0%"),
        ("none", "region: DAMON has no regions yet"),
        ("hot", "region: none was accessed in 0 to 0 samples of 2 s; the largest was in 7"),
        ("young", "region: the oldest that fits has been so for 6 s, and the rule asks for 30 s"),
        ("full", "target full: node 2 has 2 MiB free, and the kernel keeps 4 MiB"),
        ("quota", "quota: it was reached 9 times, at 0 MiB in 1 s"),
        ("small quota", "quota: it was reached 9 times, at 0 MiB in 1 s"),
        ("locked", "unevictable: 64 MiB on node 0 are locked and never move"),
        ("filter", "filter: young may leave all of it out"),
    ],
)
def test_it_says_why_nothing_moves(
    kernel: FakeKernel, tmp_path: Path, change: str, says: str
) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    put(kernel, "/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB")
    assert tier("start", "--rules", str(path)).exit_code == 0
    if change not in ("none", "hot", "young", "small quota"):
        stats(kernel, 0, sz_tried=1 << 30)
    if change == "off":
        tree.command(kernel, 0, "off")
    if change == "free":
        put(kernel, "/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 950 kB")
    if change in ("hot", "young"):
        accesses = 7 if change == "hot" else 0
        region(kernel, 0, 0, start=0, end=1 << 28, nr_accesses=accesses, age=3)
    if change == "full":
        put(
            kernel, "/proc/zoneinfo",
            "Node 0, zone Normal\n pages free 99999\n low 1\n"
            "Node 2, zone Normal\n pages free 512\n low 1024",
        )  # fmt: skip
    if change.endswith("quota"):
        stats(kernel, 0, qt_exceeds=9)
    if change == "locked":
        put(kernel, "/sys/devices/system/node/node0/meminfo", "Node 0 Unevictable: 65536 kB")
    (rule,) = json.loads(tier("status", "--json").output)["rules"]
    assert any(reason.startswith(says) for reason in rule["reasons"]), rule["reasons"]


def test_numa_balancing_says_why_nothing_moves(kernel: FakeKernel) -> None:
    assert tier("start", "--preset", "numa-balancing").exit_code == 0
    assert kernel.text("/proc/sys/kernel/numa_balancing") == "2"
    assert kernel.text("/sys/kernel/mm/numa/demotion_enabled") == "true"
    seen = tier("status").output
    assert "are in one memory tier" in seen
    put(kernel, "/sys/kernel/mm/numa/demotion_enabled", "false")
    assert "demotion_enabled is false: reclaim does not demote" in tier("status").output
    put(kernel, "/sys/kernel/mm/numa/demotion_enabled", "true")
    assert tier("stop").output.splitlines() == [
        "/proc/sys/kernel/numa_balancing is 0 again",
        "/sys/kernel/mm/numa/demotion_enabled is false again",
    ]


def process(kernel: FakeKernel, pid: int, parent: int, mib_on_node_2: int) -> None:
    folder = Path(f"{kernel.root}/proc/{pid}")
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} (job) S {parent} 1\n")
    (folder / "statm").write_text("900 500 1 1 1 1 1\n")
    pages = mib_on_node_2 << 8
    (folder / "numa_maps").write_text(f"7f00 default anon={pages} N2={pages}\n")


def test_a_process_is_tiered_with_its_children_by_their_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = FakeKernel(tmp_path / "root", new=True)
    monkeypatch.setattr(commands, "kernel_here", lambda: kernel)
    process(kernel, 70, 1, 16)
    process(kernel, 71, 70, 32)
    before = snapshot(Path(kernel.root))
    done = tier("start", "--pair", "0:2", "--pid", "70")
    assert done.stdout.startswith("tiering of process 70 by hmsdk is on\n")
    context = f"{tree.KDAMONDS}/0/contexts/0"
    assert kernel.text(f"{context}/operations") == "vaddr"
    assert [kernel.text(f"{context}/targets/{at}/pid_target") for at in (0, 1)] == ["70", "71"]
    process(kernel, 72, 71, 8)
    seen = json.loads(tier("status", "--json").output)
    assert seen["scope"] == "process 70"
    assert seen["bytes_by_node"] == {"before": {"2": 48 << 20}, "now": {"2": 56 << 20}}
    put(kernel, f"{context}/schemes/0/stats/sz_tried", str(1 << 30))
    (cold, _) = json.loads(tier("status", "--json").output)["rules"]
    assert cold["counters"]["passed_bytes"] is None, "the kernel counts it by physical addresses"
    assert cold["reasons"]
    assert not [reason for reason in cold["reasons"] if reason.startswith("filter")]
    assert "'demote cold' moves nothing" in tier("status").output
    assert tier("stop").output == "ended 1 kdamond\n"
    assert {k: v for k, v in snapshot(Path(kernel.root)).items() if "/72/" not in k} == before


def test_what_works_against_it_is_warned_of(kernel: FakeKernel) -> None:
    put(kernel, "/proc/sys/kernel/numa_balancing", "1")
    said = tier("start", "--pair", "0:2").stderr
    assert "NUMA balancing is on and moves pages, too" in said
    assert "pages that a program has bound" in said


def module_on(kernel: FakeKernel, name: str) -> Path:
    enabled = Path(kernel.root, f"sys/module/{name}/parameters/enabled")
    enabled.parent.mkdir(parents=True)
    enabled.write_text("Y\n")
    return enabled


def test_beside_a_module_that_runs_alone_it_refuses(kernel: FakeKernel) -> None:
    module_on(kernel, "damon_reclaim")
    done = tier("start", "--pair", "0:2")
    assert str(done.exception).startswith("the DAMON module damon_reclaim is on")
    assert tree.count(kernel) == 0


def test_the_module_that_counts_is_off_meanwhile(kernel: FakeKernel) -> None:
    enabled = module_on(kernel, "damon_stat")
    assert tier("start", "--pair", "0:2").exit_code == 0
    assert enabled.read_text() == "N\n"
    tier("stop")
    assert enabled.read_text() == "Y\n"


def test_a_program_is_tiered_until_it_ends(kernel: FakeKernel, tmp_path: Path) -> None:
    before = snapshot(Path(kernel.root))
    ran = tmp_path / "ran"
    words = ["start", "--pair", "0:2", "--json", "--", "sh", "-c", f"touch {ran}; exit 7"]
    done = CliRunner().invoke(app, ["tier", *words], standalone_mode=False)
    assert done.return_value == 7, done.output
    assert ran.exists()
    assert json.loads(done.stdout)["scope"].startswith("cgroup /tierscope-")
    assert snapshot(Path(kernel.root)) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("start",), "name a fast and a slow node, as in --pair 0:2; nodes with memory: 0,2"),
        (("start", "--pair", "0-2"), "--pair '0-2' is not FAST:SLOW, such as 0:2"),
        (("start", "--pair", "0:1"), "node 1 has no memory; nodes with memory: 0,2"),
        (("start", "--preset", "hmsdc", "--pair", "0:2"), "did you mean 'hmsdk'?"),
        (("start", "--preset", "numa-balancing", "--pair", "0:2"), "leave --pair, --pid, --cgroup"),
        (("start", "--pair", "0:2", "--cgroup", "/nope"), "there is no cgroup '/nope'"),
        (("start", "--pair", "0:2", "--pid", "999999999"), "there is no process 999999999"),
        (("start", "--pair", "0:2", "--pid", "1", "--cgroup", "/x"), "leave --cgroup out"),
        (("start", "--pair", "0:2", "--pid", "1", "--", "true"), "and without --cgroup and -- CMD"),
        (("start", "--pair", "0:2", "--pair", "2:0", "--pid", "1"), "--pid goes with one --pair"),
        (("start", "--preset", "numa-balancing", "--pid", "1"), "leave --pair, --pid, --cgroup"),
        (("start", "--rules", "/dev/null", "--pid", "1"), "not with --rules"),
        (("start", "--pair", "0:2", "--for", "soon"), "'soon' is not a time"),
        (("start", "--pair", "0:2", "--", "/no/such"), "'/no/such' does not start: No such file"),
        (("start", "--preset", "damo", "--pair", "0:2"), "which came with 6.15"),
        (("status",), "no tiering is on; 'tierscope tier start' begins one"),
        (("stop",), "no tiering is on"),
        (("observe", "machine", "--run", "last"), "--run and --pair go together"),
        (("observe", "999999999"), "there is no process 999999999"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_changed(
    kernel: FakeKernel, words: tuple[str, ...], says: str
) -> None:
    before = snapshot(Path(kernel.root))
    done = tier(*words)
    assert isinstance(done.exception, UserError), done.output
    assert says in str(done.exception)
    assert snapshot(Path(kernel.root)) == before


@pytest.mark.parametrize("word", ["start", "status", "stop", "restore", "watch", "observe"])
def test_not_root_each_command_says_what_it_needs(
    word: str, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    if word not in ("start", "observe"):
        tier("start", "--pair", "0:2")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(Kernel, "live", True, raising=False)
    monkeypatch.setattr(kernel, "live", True)
    words = {"start": ("--pair", "0:2"), "observe": ("machine",)}.get(word, ())
    done = tier(word, *words)
    assert str(done.exception) == (
        f"'tier {word}' needs root, since DAMON's files in /sys are root's: "
        f"sudo tierscope tier {word} ..."
    )


def observe_regions(kernel: FakeKernel) -> None:
    """Have each kdamond find the first 64 MiB of its node accessed, whenever it is asked."""

    def answer(path: str, value: str) -> None:
        if value != "update_schemes_tried_regions":
            return
        number = path.removesuffix("/state").rpartition("/")[2]
        folder = Path(f"{kernel.root}{tree.KDAMONDS}/{number}")
        start = int((folder / "contexts/0/targets/0/regions/0/start").read_text())
        found = folder / "contexts/0/schemes/0/tried_regions/0"
        found.mkdir(exist_ok=True)
        end = start + (64 << 20)
        for name, text in (("start", start), ("end", end), ("nr_accesses", 10), ("age", 1)):
            (found / name).write_text(f"{text}\n")

    kernel.on_write = answer


def test_observe_draws_the_working_set_and_a_map_of_each_node(
    kernel: FakeKernel, tmp_path: Path
) -> None:
    before = snapshot(Path(kernel.root))
    observe_regions(kernel)
    png, svg = tmp_path / "new" / "png", tmp_path / "svg"
    words = ("observe", "machine", "--for", "0.2s", "--png", str(png), "--svg", str(svg))
    done = tier(*words, "--json")
    assert done.exit_code == 0, done.output
    seen = json.loads(done.stdout)
    assert [one["name"] for one in seen["observed"]] == ["node 0", "node 2"]
    assert seen["observed"][0]["working_set_bytes"][0] == pytest.approx(64 << 20, rel=0.01)
    assert done.stderr == f"3 pictures in {png}\n3 pictures in {svg}\n"
    names = {"working-set", "heat-node-0", "heat-node-2"}
    assert {path.stem for path in png.iterdir()} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in png.iterdir())
    assert {path.name for path in svg.iterdir()} == {f"{name}.svg" for name in names}
    drawn = (svg / "heat-node-2.svg").read_text()
    assert "Accesses of node 2 by address and time" in drawn
    assert f">{8 * (128 << 20):x}<" in drawn, "its first address is on the axis"
    assert snapshot(Path(kernel.root)) == before


def test_a_folder_that_cannot_be_made_is_refused_before_it_looks(
    kernel: FakeKernel, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = tier("observe", "machine", "--png", str(tmp_path / "file" / "x"))
    assert "--png: " in str(done.exception)
    assert "cannot be made: Not a directory" in str(done.exception)


def test_rules_are_printed_as_damo_has_them(kernel: FakeKernel, tmp_path: Path) -> None:
    text = tier("rules", "--pair", "0:2").output
    path = tmp_path / "policy.json"
    assert tier("rules", "--pair", "0:2", f"--json={path}").stdout.startswith(text)
    assert parse_damo(path.read_text(), "x") == parse_damo(text, "x")
    assert parse_damo(tier("rules", "--rules", str(path)).output, "x") == parse_damo(text, "x")


def test_the_presets_are_listed() -> None:
    assert [one["name"] for one in json.loads(tier("presets", "--json").output)] == [
        "hmsdk", "damo", "numa-balancing",
    ]  # fmt: skip


def test_restore_with_nothing_left(kernel: FakeKernel) -> None:
    assert tier("restore").output == "nothing to restore\n"
    assert json.loads(tier("restore", "--json").output) == {"done": []}
