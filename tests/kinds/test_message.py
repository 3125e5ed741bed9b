"""The kind message: who meets whom, what ranks' answers come to, and whole runs over MPI."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_ranks import FakeRanks
from fleet_jobs import AS_ROOT, children
from forked import tierscope
from tierscope.kinds.message.measurer import Measurer
from tierscope.kinds.message.show import observed
from tierscope.kinds.message.spec import (
    MessageEvidence,
    Messages,
    MessageSpec,
    all_rounds,
    bisection,
    named_pair,
)
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import UserError
from tierscope.model.event import Event, Evidence, Failed, Repetition, Skipped
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.read import read_run

TIERSCOPE = Path(sys.executable).parent / "tierscope"
_MOST_S = 240

# Who meets whom


@given(st.integers(2, 24))
def test_in_all_rounds_each_meets_each_other_once_and_one_at_a_time(count: int) -> None:
    members = list(range(count))
    rounds = all_rounds(members)
    assert len(rounds) == count - 1 + count % 2
    for pairs in rounds:
        ranks = [rank for pair in pairs for rank in pair]
        assert len(set(ranks)) == len(ranks) == count - count % 2
    assert sorted(pair for pairs in rounds for pair in pairs) == [*combinations(members, 2)]


def test_the_halves_of_a_bisection_meet() -> None:
    assert bisection(list("abcd")) == [("a", "c"), ("b", "d")]
    assert bisection(list("abcde")) == [("a", "c"), ("b", "d")]


def test_a_pair_is_named_by_names_and_numbers() -> None:
    names = ["node-1", "node-2", "node"]
    assert named_pair("node-1-node-2", names) == ("node-1", "node-2")
    assert named_pair("0-1", names) == ("node-1", "node-2")
    assert named_pair("node-node-2", names) == ("node", "node-2")
    assert named_pair("node-1", names) == ("node", "node-2")  # and no rank 1 of "node-1"
    for text, why in (("node-3-node-1", "names no two ranks"), ("1-1", "is one rank")):
        with pytest.raises(UserError, match=why):
            named_pair(text, names)
    with pytest.raises(UserError, match="can be read in several ways"):
        named_pair("a-b-c", ["a", "b-c", "a-b", "c"])


# What a request comes to


def planned(machine: Topology, **options: str) -> list[MessageSpec]:
    request = Request(kind="message", options=options)
    specs = expand([request], machine, thp=True).measurements
    assert all(isinstance(spec, MessageSpec) for spec in specs)
    return specs  # type: ignore[return-value]


def test_all_pairs_have_figures_of_their_own_and_share_rounds(
    machine: Topology, four_ranks: FakeRanks
) -> None:
    specs = planned(machine, pairs="all", operation="latency")
    assert len(specs) == 6
    assert {spec.round for spec in specs} == {1, 2, 3}
    assert {spec.at_once for spec in specs} == {2}
    assert {(spec.initiator, spec.target) for spec in specs} == {
        (f"host:{one}", f"host:{other}") for one, other in combinations(["n1", "n2", "n3", "n4"], 2)
    }


def test_the_limit_is_the_slower_host_s_and_of_a_bisection_the_sum(
    machine: Topology, four_ranks: FakeRanks
) -> None:
    def answer(rank: int, _request: Any) -> dict[str, Any]:
        return {"ports": [{"name": "eth0", "bits_per_s": 1e11 if rank else 25e9}]}

    four_ranks.answer = answer
    paths = MachinePaths(machine)
    (first,) = planned(machine, operation="bandwidth")
    limit = first.limit(paths)
    assert limit is not None
    assert (limit.value, limit.link) == (25e9 / 8, "eth0 of n1")
    (both,) = planned(machine, pairs="bisection", operation="both-ways")
    limit = both.limit(paths)
    assert limit is not None
    assert limit.value == 2 * (25e9 + 1e11) / 8
    (latency,) = planned(machine, operation="latency")
    assert latency.limit(paths) is None
    four_ranks.answer = lambda rank, _: {"ports": []} if rank else answer(1, None)
    (unknown,) = planned(machine, operation="bandwidth")
    assert unknown.limit(paths) is None


def test_a_rank_without_others_is_refused(machine: Topology, four_ranks: FakeRanks) -> None:
    del four_ranks.facts[1:]
    with pytest.raises(UserError, match="messages take two ranks"):
        planned(machine)


# What ranks' answers come to


def rows(rank: int, request: dict[str, Any]) -> dict[str, Any]:
    """Four rows of 10 ms; the value is the rank's number and a hundred times the row's."""
    if request["do"] == "look":
        return {"ports": []}
    found = {"messages": 8, "ports": [{"name": "eth0", "sent_bytes": 4000, "received_bytes": 9}]}
    if not request["source"]:
        return {**found, "starts": [], "durations": [], "values": []}
    values = [1.0 * rank + 100 * row for row in range(4)]
    return {**found, "starts": [0.0, 0.01, 0.02, 0.03], "durations": [0.01] * 4, "values": values}


def repeated(measurer: Measurer, spec: MessageSpec) -> Event:
    *_, last = measurer.repetition(spec.id, 0.04)
    return last


def test_measurements_of_a_round_are_repeated_at_once(
    machine: Topology, four_ranks: FakeRanks
) -> None:
    four_ranks.answer = rows
    specs = planned(machine, pairs="all", operation="bandwidth")
    measurer = Measurer()
    measurer.plan(specs)
    of_round = [spec for spec in specs if spec.round == 1]
    asked = len(four_ranks.asked)
    found = [repeated(measurer, spec) for spec in of_round]
    assert len(four_ranks.asked) == asked + 1
    assert set(four_ranks.asked[-1]) == {0, 1, 2, 3}
    for spec, repetition in zip(of_round, found, strict=True):
        assert isinstance(repetition, Repetition)
        (column,) = repetition.series[0].columns
        assert column.values[0] == spec.pairs[0].source.rank
        messages = repetition.evidence.own(MessageEvidence).messages
        assert messages is not None
        assert messages.bytes == 16 << 20
        assert messages.wire_bytes == 8000


def test_a_bisection_sums_rates_at_the_same_moments(
    machine: Topology, four_ranks: FakeRanks
) -> None:
    def shifted(rank: int, request: dict[str, Any]) -> dict[str, Any]:
        found = rows(rank, request)
        if rank == 1 and "starts" in found:
            found["starts"] = [start + 0.005 for start in found["starts"]]
        return found

    four_ranks.answer = shifted
    (spec,) = planned(machine, pairs="bisection", operation="bandwidth")
    measurer = Measurer()
    measurer.plan([spec])
    repetition = repeated(measurer, spec)
    assert isinstance(repetition, Repetition)
    total, one, other = repetition.series[0].columns
    assert (total.part, one.part, other.part) == ("", "n1>n3", "n2>n4")
    assert len(total.values) == 3
    length = 35e-3 / 3  # of what they have in common
    assert repetition.series[0].durations == pytest.approx([length] * 3)
    assert one.values[0] == pytest.approx(100 * (length - 5e-3) / length)  # 5 ms of its first row
    assert other.values[0] == pytest.approx(1 + 100 * (length - 10e-3) / length)
    assert total.values == pytest.approx(
        [a + b for a, b in zip(one.values, other.values, strict=True) if a and b]
    )


def test_a_lost_rank_costs_its_own_pairs(machine: Topology, four_ranks: FakeRanks) -> None:
    def answer(rank: int, request: dict[str, Any]) -> dict[str, Any]:
        return {} if rank == 3 and request["do"] == "exchange" else rows(rank, request)

    four_ranks.answer = answer
    specs = planned(machine, pairs="all", operation="latency")
    measurer = Measurer()
    measurer.plan(specs)
    found = [(spec, repeated(measurer, spec)) for _ in range(2) for spec in specs]
    for spec, event in found:
        ranks = {spec.pairs[0].source.rank, spec.pairs[0].destination.rank}
        assert isinstance(event, Failed if 3 in ranks else Repetition)
        if isinstance(event, Failed):
            assert "rank 3 gave no answer" in event.reason
    assert 3 not in four_ranks.asked[-1]


def test_wrong_contents_fail_and_what_cannot_be_is_skipped(
    machine: Topology, four_ranks: FakeRanks
) -> None:
    four_ranks.answer = rows
    (spec,) = planned(machine, operation="latency")
    measurer = Measurer()
    measurer.plan([spec])
    four_ranks.answer = lambda _rank, _: {"failed": "byte 3 of a message", "code": "contents"}
    event = repeated(measurer, spec)
    assert isinstance(event, Failed)
    assert (event.cause, event.reason) == ("verification", "n1>n2: byte 3 of a message")
    four_ranks.answer = lambda _rank, _: {"failed": "there is no CUDA driver here", "cannot": True}
    assert isinstance(repeated(measurer, spec), Skipped)


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        (1040, "the hosts' ports sent 1.04 bytes for each byte of a message"),
        (10, "they took another way, as shared memory"),
        (None, "no network port tells what it sent"),
    ],
)
def test_it_is_said_whether_messages_went_over_the_wire(wire: int | None, said: str) -> None:
    messages = Messages(mpi="Fake MPI 1", count=10, bytes=1000, wire_bytes=wire)
    evidence = Evidence().with_own(MessageEvidence(messages=messages))
    m = Measurement.model_construct(evidence=evidence)
    (line,) = observed([m])
    assert said in line


# Whole runs


def over_mpi(ranks: int, *words: str) -> "subprocess.Popen[str]":
    """Start ranks of a tierscope command that go on when one of them dies."""
    return subprocess.Popen(
        ["mpirun", "--enable-recovery", "--oversubscribe", "-n", str(ranks), TIERSCOPE, *words],
        env={**os.environ, **AS_ROOT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(process: "subprocess.Popen[str]") -> str:
    try:
        out, err = process.communicate(timeout=_MOST_S)
    finally:
        process.kill()
    assert process.returncode == 0, f"{out}\n{err}"
    return out


def test_three_ranks_exchange_messages_that_are_verified(tmp_path: Path) -> None:
    options = ["--pairs", "all", "--operation", "latency,bandwidth,both-ways", "--size", "1,5000"]
    out = finished(
        over_mpi(3, "message", *options, "--budget", "0.1", "--out", str(tmp_path), "--json")
    )
    results = json.loads(out)["results"]
    assert len(results) == 18
    assert {result["status"] for result in results} == {"measured"}
    for result in results:
        assert result["figures"][0]["estimate"] > 0
        assert result["evidence"]["messages"]["count"] > 0
        assert "byte by byte" in result["evidence"]["verified"]
    (path,) = tmp_path.glob("*.jsonl")
    assert read_run(path).footer is not None


def test_a_plan_has_messages_beside_other_kinds(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "measurements:\n"
        "  - kind: message\n    args: {pairs: bisection, operation: both-ways, budget: 0.1}\n"
        "  - kind: latency\n    args: {size: 1m, budget: 0.1}\n"
    )
    out = finished(over_mpi(4, "run", str(plan), "--out", str(tmp_path), "--json"))
    first, second = json.loads(out)["results"]
    assert (first["kind"], first["status"]) == ("message", "measured")
    assert [figure["part"].count(">") for figure in first["figures"][1:]] == [1, 1]
    assert (second["kind"], second["status"]) == ("latency", "measured")


def test_a_rank_that_dies_or_hangs_costs_its_own_measurements(tmp_path: Path) -> None:
    jobs = {
        number: over_mpi(
            3, "message", "--pairs", "all", "--operation", "latency", "--size", "64",
            "--budget", "1", "--precision", "0.0001", "--patience", "5s",
            "--out", str(tmp_path / number.name),
        )
        for number in (signal.SIGKILL, signal.SIGSTOP)
    }  # fmt: skip
    for number, process in jobs.items():
        wait_for(lambda folder=tmp_path / number.name: repetitions(folder) >= 3, process)  # type: ignore[misc]
        os.kill(pid_of(process, 2), number)
    for number, process in jobs.items():
        folder = tmp_path / number.name
        process.communicate(timeout=_MOST_S)
        (path,) = folder.glob("*.jsonl")
        run = read_run(path)
        assert run.footer is not None
        found = {m.initiator + m.target: m for m in run.measurements}
        failed = {name for name, m in found.items() if m.status == "failed"}
        assert failed == {name for name in found if "rank2" in name}
        assert all("rank 2 " in found[name].reason for name in failed)


def repetitions(folder: Path) -> int:
    return sum(path.read_text().count('"record":"repetition"') for path in folder.glob("*.jsonl"))


def wait_for(done: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + _MOST_S
    while not done():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def pid_of(process: "subprocess.Popen[str]", rank: int) -> int:
    (found,) = (
        pid
        for pid in children(process.pid)
        if f"OMPI_COMM_WORLD_RANK={rank}\0" in Path(f"/proc/{pid}/environ").read_text()
    )
    return found


def test_without_a_launcher_a_line_says_how_to_start_it() -> None:
    done = tierscope("message")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "mpirun --map-by ppr:1:node tierscope" in line


def test_tables_are_plain_though_mpirun_makes_a_terminal_for_each_rank(tmp_path: Path) -> None:
    out = finished(over_mpi(2, "message", "--budget", "0.1", "--out", str(tmp_path)))
    assert "host:" in out
    assert "\x1b" not in out


def test_gpu_memory_is_skipped_where_mpi_does_not_send_it(tmp_path: Path) -> None:
    process = over_mpi(2, "message", "--memory", "gpu:0", "--out", str(tmp_path), "--json")
    out, _ = process.communicate(timeout=_MOST_S)
    results = json.loads(out)["results"]
    assert {result["status"] for result in results} == {"skipped"}
    assert all(result["reason"] for result in results)
