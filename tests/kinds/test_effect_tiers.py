"""Programs whose pages the kernel moves while they run, on a kernel made of files."""

import os
from pathlib import Path

import pytest

from kinds.test_effect import Fake, programs_of, run, runs_of
from placement.fake_kernel import FakeKernel, snapshot
from tierscope.kinds.effect import measurer, spec
from tierscope.kinds.effect.spec import Settings, parse_placements
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.topology import Topology
from tierscope.place.damon.tree import KDAMONDS

RULES = "rules:\n  - {move: cold, from: 0, to: 2, age: 1s..}\n"
MIB = 1 << 20


@pytest.fixture
def here(machine: Topology, fake_engine: Fake) -> Topology:
    return machine.model_copy(update={"cpus": sorted(os.sched_getaffinity(0))})


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    kernel = FakeKernel(tmp_path / "root")
    monkeypatch.setattr(spec, "kernel_here", lambda: kernel)
    return kernel


def program(kernel: FakeKernel) -> str:
    """A program that says what is on while it runs, and has the kernel migrate 1 MiB, of which
    NUMA balancing has half."""
    root, vmstat = kernel.root, f"{kernel.root}/proc/vmstat"
    return (
        f'sh -c "echo kdamonds $(cat {root}{KDAMONDS}/nr_kdamonds); '
        f"echo balancing $(cat {root}/proc/sys/kernel/numa_balancing); "
        f"read name pages < {vmstat}; {{ echo pgmigrate_success $((pages + 256)); "
        f'echo numa_pages_migrated $((pages / 2 + 128)); }} > {vmstat}"'
    )


METRICS = "kdamonds=^kdamonds (.)\nbalancing=^balancing (.)"


def test_damon_and_numa_balancing_are_compared_and_undone_after_each_run(
    here: Topology, tmp_path: Path, kernel: FakeKernel
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    (Path(kernel.root) / "proc/vmstat").write_text("pgmigrate_success 8\nnuma_pages_migrated 4\n")
    before = snapshot(Path(kernel.root))
    outcome = run(
        here, tmp_path, program(kernel), metric=METRICS,
        placement=f"as-found\ndamon=tier:hmsdk pair:0:2\nown=tier:{rules}\n"
        "kernel=tier:numa-balancing",
    )  # fmt: skip
    seen = {
        m.pattern["placement"]: {(one["kdamonds"], one["balancing"]) for one in runs_of(m)}
        for m in outcome.run.measurements
    }
    assert seen == {"as-found": {(0, 0)}, "damon": {(2, 0)}, "own": {(1, 0)}, "kernel": {(0, 2)}}
    migrated = [{one.migrated_bytes for one in programs_of(m)} for m in outcome.run.measurements]
    assert migrated == [{None}, {MIB}, {MIB}, {MIB / 2}]
    after = snapshot(Path(kernel.root))
    assert {name for name in after if after[name] != before[name]} == {"proc/vmstat"}
    assert after.keys() == before.keys()


def test_what_is_still_being_moved_when_a_program_ends_is_counted(
    here: Topology, tmp_path: Path, kernel: FakeKernel
) -> None:
    vmstat, moving = Path(kernel.root) / "proc/vmstat", tmp_path / "moving"
    vmstat.write_text("pgmigrate_success 8\n")

    def ends_a_step(_path: str, word: str) -> None:
        if word == "update_schemes_stats" and moving.exists():
            moving.unlink()
            _, pages = vmstat.read_text().split()
            vmstat.write_text(f"pgmigrate_success {int(pages) + 256}\n")

    kernel.on_write = ends_a_step
    outcome = run(
        here, tmp_path, f"touch {moving}", rounds="1", placement="damon=tier:hmsdk pair:0:2"
    )
    (program_run,) = programs_of(outcome.run.measurements[-1])
    assert program_run.migrated_bytes == MIB


def test_where_nothing_moves_it_says_why(
    here: Topology, tmp_path: Path, kernel: FakeKernel
) -> None:
    outcome = run(
        here, tmp_path, "true", rounds="1",
        placement="damon=tier:hmsdk pair:0:2\nkernel=tier:numa-balancing",
    )  # fmt: skip
    said = [" ".join((m.evidence and m.evidence.notes) or []) for m in outcome.run.measurements]
    assert f"{spec.NOTHING_MOVED}: region: DAMON has no regions yet" in said[0]
    assert "DAMON moves pages that a program has bound to a node, too" in said[0]
    assert f"{spec.NOTHING_MOVED}: all nodes (" in said[1]


def test_a_program_that_fails_leaves_no_tiering(
    here: Topology, tmp_path: Path, kernel: FakeKernel
) -> None:
    before = snapshot(Path(kernel.root))
    outcome = run(here, tmp_path, "false", placement="tier:hmsdk pair:0:2")
    assert [m.status for m in outcome.run.measurements] == ["failed", "failed"]
    assert snapshot(Path(kernel.root)) == before


def test_a_signal_in_the_middle_of_a_run_leaves_no_tiering(
    here: Topology, tmp_path: Path, kernel: FakeKernel
) -> None:
    before = snapshot(Path(kernel.root))
    on = f"grep -qs on {kernel.root}{KDAMONDS}/0/state"
    command = f"sh -c '{on} && kill -INT {os.getpid()} && exec sleep 60'"
    outcome = run(
        here, tmp_path, command, placement="one=tier:hmsdk pair:0:2\nother=tier:numa-balancing"
    )
    assert outcome.exit_code is ExitCode.INTERRUPTED
    assert snapshot(Path(kernel.root)) == before


def test_rules_that_place_nothing_on_the_slow_node_are_named() -> None:
    own = Settings(alloc="arena slow 2;size >= 4M -> slow", pairs=["0:2"])
    (said,) = measurer._empty_slow_node(own, {0: 64 * MIB})
    assert said.startswith("in at least one run, memory was not on node 2: the application's rules")
    assert [*measurer._empty_slow_node(own, {0: 64 * MIB, 2: MIB})] == []
    assert [*measurer._empty_slow_node(own, {})] == [], "nothing was seen"
    assert [*measurer._empty_slow_node(Settings(tier="hmsdk", pairs=["0:2"]), {0: MIB})] == []


@pytest.mark.parametrize("obstacle", ["rights", "damon"])
def test_what_stands_in_the_way_is_a_reason_to_skip(
    here: Topology, tmp_path: Path, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch,
    obstacle: str,
) -> None:  # fmt: skip
    if obstacle == "rights":
        monkeypatch.setattr(kernel, "live", True)
        monkeypatch.setattr(spec.os, "geteuid", lambda: 1000)
    else:
        kernel.write(f"{KDAMONDS}/nr_kdamonds", "1")
    outcome = run(here, tmp_path, "true", placement="tier:hmsdk pair:0:2", rounds="1")
    found, damon = outcome.run.measurements
    assert (found.status, damon.status) == ("measured", "skipped")
    cause, says = {
        "rights": (Cause.PERMISSION, "tier:hmsdk needs root; run tierscope as root"),
        "damon": (Cause.KERNEL, "somebody else uses DAMON: there is 1 kdamond"),
    }[obstacle]
    assert damon.cause is cause
    assert damon.reason.startswith(says)


def test_a_file_of_rules_is_known_by_its_whole_path(
    kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    found = parse_placements("own=tier:rules.yaml")["own"]
    assert found == Settings(tier=str(tmp_path / "rules.yaml"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tier:hmsdk", "tier:hmsdk: name a fast and a slow node, as in pair:0:2"),
        ("tier:hmsdc pair:0:2", "did you mean 'hmsdk'"),
        ("tier:hmsdk pair:0-2", "pair:'0-2' is not FAST:SLOW"),
        ("tier:hmsdk pair:0:1", "node 1 has no memory; nodes with memory: 0,2"),
        ("tier:numa-balancing pair:0:2", "is for nodes of its own; leave pair out"),
        ("tier:./x.yaml pair:0:2", "is for nodes of its own; leave pair out"),
        ("tier:./x.yaml", "No such file"),
        ("tier:hmsdk tier:damo pair:0:2", "'hmsdk' and 'damo' are in one placement"),
        ("pair:0:2", "'pair' goes with tier:PRESET"),
    ],
)
def test_wrong_tiering_is_refused_before_anything_runs(
    kernel: FakeKernel, text: str, says: str
) -> None:
    before = snapshot(Path(kernel.root))
    with pytest.raises(UserError, match=says):
        parse_placements(text)
    assert snapshot(Path(kernel.root)) == before
