"""Hand-overs in shared memory: what is planned, and what two processes measure."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forked import tierscope
from tierscope.kinds.handover.spec import SHARED_BYTES, HandoverSpec
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request

CPUS = sorted(os.sched_getaffinity(0))
TWO_CPUS = pytest.mark.skipif(len(CPUS) < 2, reason="this process may use one CPU only")
QUICK = ("--budget", "0.2", "--sample", "1ms", "--json")
TIERSCOPE = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]


def planned(machine: Topology, **options: str) -> list[HandoverSpec]:
    plan = expand([Request(kind="handover", options=options)], machine, thp=True)
    return [spec for spec in plan.measurements if isinstance(spec, HandoverSpec)]


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A file of zeros that two sides can map."""
    path = tmp_path / "shared"
    with path.open("wb") as file:
        file.truncate(SHARED_BYTES)
    return path


def test_unasked_another_core_responds_in_memory_of_the_node(machine: Topology) -> None:
    specs = planned(machine)
    assert [(spec.cpu, spec.responder, spec.target) for spec in specs] == [
        (0, 1, "pmem:node:0")
    ] * len(specs)
    assert {spec.pattern.coherence for spec in specs} == {"software", "hardware"}
    assert {spec.pattern.block_size for spec in specs} == {64, 4096, 64 << 10, 1 << 20}
    persistent = specs[0].placement.persistent
    assert persistent
    assert (persistent.backing, persistent.bound) == ("file", True)
    assert specs[0].thread_cpus() == [0, 1]


def test_another_host_shares_a_device_or_a_file(machine: Topology, shared: Path) -> None:
    other = {"responder": "host", "block-size": "64"}
    device = {"destroy-data": "dax0.0", "dax-offset": "2m"}
    (spec,) = planned(machine, to="dax:/dev/dax0.0", **device, **other)
    assert spec.responder is None
    assert spec.identity()["responder"] == "host"
    assert spec.pattern.coherence == "software", "hosts are not taken for coherent"
    assert spec.placement.persistent
    assert (spec.placement.persistent.backing, spec.placement.persistent.offset) == (
        "device", 2 << 20,
    )  # fmt: skip
    (spec,) = planned(machine, to=f"pmem:{shared}", **other)
    assert spec.placement.persistent
    assert spec.placement.persistent.backing == "shared-file"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"to": "node:0"}, "--to: 'node:0' is "),
        ({"to": "pmem:node:0", "responder": "host"}, "--to: no other host shares pmem:node:0"),
        ({"to": "dax:/dev/dax0.0"}, "--to: measuring dax:/dev/dax0.0 overwrites it"),
        ({"from": "cpus:1", "responder": "cpus:1"}, "--responder: CPU 1 is the initiator"),
        ({"responder": "hosts"}, "--responder: endpoint 'hosts'"),
        ({"block-size": "32m"}, "--block-size: "),
        ({"coherence": "none"}, "--coherence: 'none' is not one of software, hardware"),
    ],
)
def test_what_cannot_be_is_refused(machine: Topology, options: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        planned(machine, **options)


@TWO_CPUS
def test_two_processes_hand_over_and_verify(tmp_path: Path) -> None:
    ends = ("--from", f"cpus:{CPUS[0]}", "--responder", f"cpus:{CPUS[-1]}")
    done = tierscope(
        "handover", *ends, *QUICK, "--to", f"pmem:{tmp_path}", "--block-size", "64,64k",
        "--coherence", "software,hardware,flags-only", "--out", tmp_path / "runs",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert [
        (result["pattern"]["coherence"], result["pattern"]["block_size"]) for result in results
    ] == [
        (how, size) for size in (64, 65536) for how in ("software", "hardware", "flags-only")
    ]  # fmt: skip
    for result in results:
        evidence = result["evidence"]
        time, rate = result["figures"][:2]
        assert (time["metric"], rate["metric"]) == ("handover_time", "bandwidth")
        assert time["estimate"] > 0
        assert evidence["cpus"] == [CPUS[0], CPUS[-1]]
        assert evidence["handover"]["rounds"] > 0
        assert evidence["handover"]["responder"].startswith("process ")
        assert "each as the other side had filled it" in evidence["verified"]
    assert list(tmp_path.iterdir()) == [tmp_path / "runs"], "the shared file has no name"
    shown = tierscope("show", next((tmp_path / "runs").glob("*.jsonl")))
    assert "Hand-overs in shared memory" in shown.stdout
    assert "a missing flush cannot show here" in " ".join(shown.stdout.split())


@contextmanager
def responding(*options: str) -> "Iterator[subprocess.Popen[str]]":
    """A responder that listens."""
    command = [*TIERSCOPE, "handover-responder", *options, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("tierscope: answering in ")
        try:
            yield process
        finally:
            process.terminate()


@TWO_CPUS
def test_two_commands_hand_over_in_one_file(shared: Path, tmp_path: Path) -> None:
    target = f"pmem:{shared}"
    with responding(target, "--cpu", str(CPUS[-1])) as responder:
        for _ in range(2):
            done = tierscope(
                "handover", "--to", target, "--responder", "host", "--from", f"cpus:{CPUS[0]}",
                "--block-size", "4k,1m", *QUICK, "--out", tmp_path / "runs",
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        responder.send_signal(signal.SIGINT)
        said, errors = responder.communicate(timeout=20)
    assert responder.returncode == 0, errors
    served = json.loads(said)
    rounds = sum(
        result["evidence"]["handover"]["rounds"] for result in json.loads(done.stdout)["results"]
    )
    assert served["rounds"] > rounds > 0
    assert served["sessions"] >= 4
    assert served["wrong_words"] == 0


def test_a_file_that_holds_data_is_not_touched(shared: Path) -> None:
    with shared.open("r+b") as file:
        file.seek(20 << 20)
        file.write(b"precious")
    before = shared.read_bytes()
    done = tierscope("handover-responder", f"pmem:{shared}")
    assert done.returncode == 2
    assert f"{shared} holds data that is not tierscope's" in done.stderr
    first = tierscope("handover", "--to", f"pmem:{shared}", "--responder", "host", *QUICK)
    assert first.returncode == 3
    assert "holds data that is not tierscope's" in first.stdout
    assert shared.read_bytes() == before


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("pmem:/nowhere/f", "/nowhere/f: No such file or directory; name a file of zeros"),
        ("pmem:node:0", "no other host shares pmem:node:0"),
        ("node:0", "'node:0' is a NUMA node"),
        ("dax:/dev/null", "/dev/null is no character device of DAX"),
    ],
)
def test_a_responder_says_what_is_wrong(target: str, says: str) -> None:
    done = tierscope("handover-responder", target)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
