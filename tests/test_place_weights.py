"""tierscope place weights and the export of weights, from runs of simulated machines."""

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.spread_simulation import Channel
from tests.spread_machine import LINK, SLOW, expander, machine_of, run_of, study
from tests.synthetic import Maker

from tierscope.cli import place_weights
from tierscope.cli.app import app
from tierscope.kinds.traffic.show import studies_of, target_of, weights_of
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Run
from tierscope.place.features import WEIGHTS
from tierscope.runs.measure import Outcome
from tierscope.runs.write import RunWriter
from tierscope.suites.place_weights import choose, predicted_shares
from tierscope.suites.weights_export import numactl_script, systemd_unit, udev_rules

READS = {"mix": "100:0"}


@pytest.fixture
def found() -> Run:
    return study(expander(LINK), READS)[0]


def saved(run: Run, folder: Path, name: str = "expanded") -> Path:
    path = folder / f"{name}.jsonl"
    writer = RunWriter.create(path, run.header)
    for measurement in run.measurements:
        writer.add(measurement)
    assert run.footer is not None
    writer.add(run.footer)
    writer.close()
    return path


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of a kernel without the automatic mode."""
    folder = tmp_path / WEIGHTS[1:]
    folder.mkdir(parents=True)
    for node in (0, 1):
        (folder / f"node{node}").write_text("1\n")
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("boot-1\n")
    monkeypatch.setattr(place_weights, "ROOT", str(tmp_path))
    return folder


def call(*arguments: object) -> int:
    status = app.main(["place", "weights", *map(str, arguments)], standalone_mode=False)
    assert isinstance(status, int)
    return status


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_run_decides_without_measuring(
    found: Run, tmp_path: Path, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(found, tmp_path)
    assert call("--run", path, "--json") == 0
    told = printed(capsys)["weights"]
    assert told["pays"] is True
    best, _ = studies_of(found)[0].best_at(32)
    assert told["weights"] == {str(node): weight for node, weight in best}
    assert told["commands"] == [
        f"echo {weight} | sudo tee {WEIGHTS}/node{node}" for node, weight in best
    ]
    assert told["applied"] is None
    assert [path.read_text() for path in sorted(kernel.iterdir())] == ["1\n", "1\n"]


def test_the_output_says_what_to_do(
    found: Run, tmp_path: Path, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--run", saved(found, tmp_path)) == 0
    said = capsys.readouterr().out
    assert "Spreading pays" in said
    assert "run this again with --apply as root" in said
    assert "sudo tee" in said


def test_no_gain_applies_nothing(
    tmp_path: Path, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow, _ = study(expander(Channel("far", both=0.8e9)), READS, Maker(noise=0.02))
    assert call("--run", saved(slow, tmp_path), "--apply", "--json") == 0
    told = printed(capsys)["weights"]
    assert told["pays"] is False
    assert told["applied"] is None
    assert "no gain is shown" in told["not_applied"]
    assert [path.read_text() for path in sorted(kernel.iterdir())] == ["1\n", "1\n"]


def test_a_run_of_another_machine_is_refused_before_anything_is_written(
    found: Run, tmp_path: Path, kernel: Path
) -> None:
    if Path("/sys/devices/system/node/node1").exists():
        pytest.fail("this test is for machines with one node", pytrace=False)
    with pytest.raises(UserError, match="no node 1"):
        call("--run", saved(found, tmp_path), "--apply")
    assert [path.read_text() for path in sorted(kernel.iterdir())] == ["1\n", "1\n"]


@pytest.mark.parametrize("failing", [False, True])
def test_applied_weights_are_measured_by_the_kernels_policy(
    found: Run,
    tmp_path: Path,
    kernel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failing: bool,
) -> None:
    """The measuring itself takes a machine with nodes: the testbed has one."""
    best, _ = studies_of(found)[0].best_at(32)
    asked: list[Any] = []

    def planned(requests: list[Any], _topology: Any) -> Any:
        asked.extend(requests)
        return None

    def taken(*_: Any) -> Outcome:
        if failing:
            raise UserError("the engine is gone")
        point = next(m for m in found.measurements if weights_of(m.target) == best)
        pattern = {**point.pattern, "mechanism": "kernel"}
        spread = point.model_copy(update={"pattern": pattern})
        local = next(m for m in found.measurements if m.target == "node:0")
        return Outcome(run_of([spread, local], machine_of(2)), tmp_path, None)

    monkeypatch.setattr(place_weights, "planned", planned)
    monkeypatch.setattr(place_weights, "taken", taken)
    path = saved(found, tmp_path)
    if failing:
        with pytest.raises(UserError, match=r"were written \(node 0: .*--revert' restores"):
            call("--run", path, "--apply")
    else:
        assert call("--run", path, "--apply") == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "Written and read back: node 0: 10, node 1: 1; before: node 0: 1, node 1: 1" in said
        assert "Under the kernel's policy, node:0:" in said
    assert [request.options["to"] for request in asked] == [target_of(best), "node:0"]
    assert asked[0].options["mechanism"] == "kernel"
    assert {node: (kernel / f"node{node}").read_text() for node, _ in best} == {
        node: str(weight) for node, weight in best
    }
    assert call("--revert") == 0
    assert [path.read_text() for path in sorted(kernel.iterdir())] == ["1", "1"]


def test_not_root_is_told_before_measuring(
    found: Run, tmp_path: Path, kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    with pytest.raises(UserError, match="needs root"):
        call("--run", tmp_path / "absent.jsonl", "--apply")


def test_revert_restores_what_apply_found(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tierscope.place.weights import apply

    apply({0: 3, 1: 2}, place_weights.ROOT)
    assert (kernel / "node0").read_text() == "3"
    assert call("--revert", "--json") == 0
    assert printed(capsys) == {
        "restored": True, "weights": {"0": 1, "1": 1}, "auto": None, "differences": []
    }  # fmt: skip
    assert call("--revert") == 0
    assert "nothing to restore" in capsys.readouterr().out


def test_options_of_a_study_with_one_answer_take_one_value(kernel: Path) -> None:
    with pytest.raises(UserError, match="--mix: the kernel has one table"):
        call("--mix", "100:0,0:100")


def test_a_run_with_several_patterns_has_no_one_answer(tmp_path: Path, kernel: Path) -> None:
    both, _ = study(expander(LINK), {"mix": "100:0,0:100"})
    with pytest.raises(UserError, match="2 access patterns"):
        call("--run", saved(both, tmp_path))


def two_sockets() -> Run:
    """Socket 1 reaches the expander badly, so its own best is another one."""
    here = machine_of(2)
    run, _ = study(expander(LINK), READS)
    other, _ = study(expander(Channel("far", read=9e9)), READS)
    moved = [m.model_copy(update={"initiator": "node:1", "id": f"b.{m.id}"})
             for m in other.measurements]  # fmt: skip
    return run_of([*run.measurements, *moved], here)


def test_one_table_for_two_sockets_costs_them_least() -> None:
    choice = choose(two_sockets())
    assert set(choice.losses) == {"node:0", "node:1"}
    for losses in choice.losses.values():
        assert min(losses.values()) == pytest.approx(0, abs=0.01)
    worst = max(own[choice.weights] for own in choice.losses.values())
    for weights in next(iter(choice.losses.values())):
        assert worst <= max(own[weights] for own in choice.losses.values())
    assert worst > 0


def test_a_table_for_two_sockets_is_shown(
    tmp_path: Path, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--run", saved(two_sockets(), tmp_path)) == 0
    said = capsys.readouterr().out
    assert "the kernel has one table for all" in " ".join(said.split())
    assert "own best" in said


def test_figures_of_single_nodes_predict_shares() -> None:
    """As a matrix has them: operations of kind bandwidth, reads and writes apart."""
    maker = Maker(noise=0.001)
    found = []
    rates = {"node:0": (280e9, 280e9), "node:1": (30e9, 30e9)}
    for target, each in rates.items():
        for operation, top in zip(("read", "write"), each, strict=True):
            for threads in (1, 32):
                pattern = {"operation": operation, "order": "sequential", "threads": threads}
                value = top if threads == 32 else top / 16
                found.append(maker.make("bandwidth", "node:0", target, pattern, value))
    run = run_of(found, machine_of(2))
    nodes = run.header.machine["nodes"]
    nodes[1]["kind"] = "CXL"
    # Reads alone: 28:3. Half and half: the link of CXL carries both directions at once, 14:3.
    for mix, ratio in (("100:0", 280 / 30), ("50:50", 280 / 60)):
        shares = predicted_shares(run, mix, (0, 1), "node:0")
        near, far = map(int, shares.partition("@")[2].split(":"))
        assert near / far == pytest.approx(ratio, rel=0.05), mix
    with pytest.raises(UserError, match="no bandwidth from node:0 to node 2") as caught:
        predicted_shares(run, "100:0", (0, 2), "node:0")
    assert caught.value.exit_code is ExitCode.REQUEST_WRONG


def test_a_script_starts_programs_by_the_weights(found: Run, tmp_path: Path) -> None:
    script = tmp_path / "spread"
    script.write_text(numactl_script(found))
    subprocess.run(["sh", "-n", script], check=True)
    fake = tmp_path / "numactl"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", script, "prog", "an argument"],
        env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["--weighted-interleave=0,1", "--", "prog", "an argument"]


def test_a_service_is_what_systemd_takes(found: Run, tmp_path: Path) -> None:
    unit = tmp_path / "tierscope-weights.service"
    unit.write_text(systemd_unit(found))
    assert f"echo 10 > {WEIGHTS}/node0'" in unit.read_text()
    sections = [line for line in unit.read_text().splitlines() if line.startswith("[")]
    assert sections == ["[Unit]", "[Service]", "[Install]"]
    if tool := shutil.which("systemd-analyze"):
        done = subprocess.run([tool, "verify", unit], capture_output=True, text=True)
        complaints = [line for line in done.stderr.splitlines() if "tierscope-weights" in line]
        assert complaints == []


def test_rules_are_what_udev_takes(found: Run) -> None:
    rules = [line for line in udev_rules(found).splitlines() if not line.startswith("#")]
    assert rules == [
        f'ACTION!="remove", SUBSYSTEM=="node", KERNEL=="node{node}", '
        f'TEST=="{WEIGHTS}/node{node}", '
        f"RUN+=\"/bin/sh -c 'echo {weight} > {WEIGHTS}/node{node}'\""
        for node, weight in ((0, 10), (1, 1))
    ]


@pytest.mark.parametrize("form", [numactl_script, udev_rules, systemd_unit])
def test_what_a_run_file_says_stays_a_comment(found: Run, form: Any) -> None:
    header = found.header.model_copy(update={"host": "h\nExecStart=/bin/false\n"})
    text = form(found.model_copy(update={"header": header}))
    assert not any(line.startswith("ExecStart=/bin/false") for line in text.splitlines())


def test_export_writes_them_and_says_so(found: Run, tmp_path: Path) -> None:
    path = saved(found, tmp_path)
    targets = {name: tmp_path / f"out.{name}" for name in ("numactl", "udev", "systemd")}
    options = [word for name, target in targets.items() for word in (f"--{name}", str(target))]
    app.main(["export", str(path), *options], standalone_mode=False)
    for target in targets.values():
        assert target.read_text().endswith("\n")


def test_export_of_a_run_without_spread_pages_says_so(tmp_path: Path) -> None:
    whole, _ = study(expander(SLOW), READS)
    single = [m for m in whole.measurements if "," not in m.target]
    path = saved(run_of(single, machine_of(2)), tmp_path)
    with pytest.raises(UserError, match="no measured figure of pages spread"):
        app.main(["export", str(path), "--udev", str(tmp_path / "x")], standalone_mode=False)
    assert not (tmp_path / "x").exists()


def test_a_full_state_directory_changes_nothing(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tierscope.place import saved_state, weights

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(saved_state.json, "dump", full)
    with pytest.raises(UserError, match="cannot save"):
        weights.apply({0: 3}, place_weights.ROOT)
    assert (kernel / "node0").read_text() == "1\n"
