"""On a machine with NVIDIA GPUs: `make test-gpu`. Nothing here asserts how long anything takes."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from gpu_machine import plan_of

from tierscope.analysis.conclude import conclude
from tierscope.engine.process import find_engine
from tierscope.engine.repetitions import living_engine
from tierscope.kinds.gpu_copy.spec import GpuCopyEvidence, GpuCopyPattern, GpuCopySpec, copy_spec
from tierscope.machine.discover import discover
from tierscope.machine.nvidia import pci_address
from tierscope.machine.paths import MachinePaths
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.spec import Sampling
from tierscope.peers.nvbandwidth.cases import OF_V09
from tierscope.plans.gpu import HOST_KINDS, gpu_place, home_node, host_place, transfer

pytestmark = pytest.mark.gpu

SECONDS = 0.1
QUICK = Sampling(budget_s=SECONDS, sample_s=0.002, precision=0.05)
MIB = 1 << 20
ABOVE_LIMIT = 1.01
"""Clocks differ by parts in a million; a figure above its link's rate by more is wrong."""


@pytest.fixture(scope="module")
def topology():
    found = discover()
    assert found.gpus, "these tests are for a machine with GPUs"
    return found


def repeat_all(specs, repetitions=1, fresh=False):
    """Outcome of each repetition of each spec, in turns, by id; the first repetition is never
    fresh."""
    outcomes = {spec.id: [] for spec in specs}
    with living_engine() as engine:
        engine.plan(specs)
        for number in range(repetitions):
            for spec in specs:
                events = engine.repetition(spec.id, SECONDS, fresh and number > 0)
                found = [one for one in events if isinstance(one, Repetition | Skipped | Failed)]
                outcomes[spec.id] += found
    return outcomes


def run(specs):
    """Outcome of one repetition of each spec, by id."""
    return {name: outcome for name, (outcome,) in repeat_all(specs).items()}


def repeated(spec):
    outcome = run([spec])[spec.id]
    assert isinstance(outcome, Repetition), outcome
    return outcome


def measured(spec):
    return conclude(spec, [repeated(spec)])


def limit_of(topology, spec):
    return spec.limit(MachinePaths(topology))


def one_copy(topology, source, destination, engine="ce", size=8 * MIB, offset=0, **more):
    entry = transfer(source, destination, engine, **more)
    spec = copy_spec("copy", [entry], topology, size=size, sampling=QUICK)
    pattern = GpuCopyPattern(size=size, offset=offset)
    return GpuCopySpec.model_validate({**dict(spec), "pattern": pattern})


def test_every_kernel_computes_what_the_cpu_does():
    ran = subprocess.run([find_engine(), "check-gpu"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "are as the CPU has them" in ran.stdout


@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_the_kernels_are_clean_under_compute_sanitizer(tool):
    sanitizer = shutil.which("compute-sanitizer", path="/usr/local/cuda/bin") or shutil.which(
        "compute-sanitizer"
    )
    assert sanitizer, "compute-sanitizer, a part of the CUDA toolkit, is not installed"
    ran = subprocess.run(
        [sanitizer, "--tool", tool, "--error-exitcode", "9", find_engine(), "check-gpu"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


# Managed memory comes over on demand as a source only.
@pytest.mark.parametrize(
    ("kind", "to_gpu"),
    [(kind, to) for kind in HOST_KINDS for to in (True, False) if to or kind != "managed"],
)
def test_every_kind_of_host_memory_is_verified(topology, kind, to_gpu):
    node = home_node(topology, topology.gpus[0])
    ends = (host_place(node, kind), gpu_place(0))
    engine = "sm" if kind in ("managed", "managed-advised") else "ce"
    spec = one_copy(topology, *(ends if to_gpu else ends[::-1]), engine)
    result = measured(spec)
    assert result.evidence.verified
    if not kind.startswith("managed"):
        assert set(result.evidence.pages or {}) == {str(node)}


@pytest.mark.parametrize("engine", ["ce", "sm", "tma"])
@pytest.mark.parametrize(("size", "offset"), [(4, 0), (1, 0), (4097, 0), (1000003, 48)])
def test_odd_sizes_and_offsets_are_verified(topology, engine, size, offset):
    node = home_node(topology, topology.gpus[0])
    spec = one_copy(topology, host_place(node), gpu_place(0), engine, size, offset)
    outcome = run([spec])[spec.id]
    if engine == "tma" and isinstance(outcome, Skipped):
        assert outcome.cause is Cause.GPU_FEATURE
        return
    assert isinstance(outcome, Repetition), outcome
    assert outcome.evidence.verified


def test_rows_leave_the_padding_alone(topology):
    node = home_node(topology, topology.gpus[0])
    entry = transfer(gpu_place(0), host_place(node), "ce")
    spec = copy_spec("rows", [entry], topology, sampling=QUICK)
    rows = GpuCopyPattern(size=3000 * 64, row_bytes=3000, pitch=4096)
    spec = spec.model_copy(update={"pattern": rows, "call_latency": True})
    assert measured(spec).evidence.verified


def test_no_copy_is_faster_than_its_link(topology):
    node = home_node(topology, topology.gpus[0])
    host, own = host_place(node), gpu_place(0)
    for engine in ("ce", "sm"):
        for transfers in (
            [transfer(host, own, engine)],
            [transfer(own, host, engine, streams=4)],
            [transfer(host, own, engine), transfer(own, host, engine)],
            [transfer(host, own, engine), transfer(host, own, engine)],
            [transfer(own, own, engine)],
        ):
            spec = copy_spec("copy", transfers, topology, size=256 * MIB, sampling=QUICK)
            limit = limit_of(topology, spec)
            assert limit is not None
            assert measured(spec).figures[0].estimate <= ABOVE_LIMIT * limit.value


def test_no_operation_on_large_arrays_is_faster_than_the_memory(topology):
    plan = plan_of("gpu-memory", topology, from_="gpu:0", size="1g")
    for spec in plan.measurements:
        limit = limit_of(topology, spec)
        assert limit is not None
        result = measured(spec.model_copy(update={"sampling": QUICK}))
        assert result.figures[0].estimate <= ABOVE_LIMIT * limit.value, spec.id
        assert result.evidence.verified


def test_small_host_copies_by_a_kernel_cross_the_link_every_time(topology):
    node = home_node(topology, topology.gpus[0])
    spec = one_copy(topology, host_place(node), gpu_place(0), "sm", size=MIB)
    limit = limit_of(topology, spec)
    assert limit is not None
    assert measured(spec).figures[0].estimate <= ABOVE_LIMIT * limit.value


def test_both_ways_report_both_directions(topology):
    node = home_node(topology, topology.gpus[0])
    host, own = host_place(node), gpu_place(0)
    transfers = [transfer(host, own, "ce"), transfer(own, host, "ce")]
    spec = copy_spec("both", transfers, topology, size=64 * MIB, sampling=QUICK)
    result = measured(spec)
    assert [(figure.metric, figure.part) for figure in result.figures[1:]] == [
        ("bandwidth", f"node:{node} -> gpu:0"),
        ("bandwidth", f"gpu:0 -> node:{node}"),
        ("first_copy_bandwidth", ""),
    ]
    assert result.evidence.own(GpuCopyEvidence).fused is None


def test_sets_of_all_gpus_are_verified_and_no_faster_than_their_links(topology):
    planned = plan_of("gpu-together", topology).measurements
    specs = [spec.model_copy(update={"sampling": QUICK}) for spec in planned]
    outcomes = run(specs)
    for spec in specs:
        outcome = outcomes[spec.id]
        assert isinstance(outcome, Repetition), outcome
        assert outcome.evidence.verified, spec.id
        limit = limit_of(topology, spec)
        if limit is not None:
            estimate = conclude(spec, [outcome]).figures[0].estimate
            assert estimate <= limit.value * ABOVE_LIMIT, spec.id


def test_later_repetitions_do_not_tune_again_and_are_verified_by_themselves(topology):
    node = home_node(topology, topology.gpus[0])
    specs = [
        one_copy(topology, host_place(node), gpu_place(0), "sm", size=64 * MIB),
        plan_of("gpu-memory", topology, from_="gpu:0", size="64m").measurements[0],
        plan_of("gpu-latency", topology, from_="gpu:0", size="1m").measurements[0],
    ]
    specs = [
        spec.model_copy(update={"id": f"spec{number}", "sampling": QUICK})
        for number, spec in enumerate(specs)
    ]
    for fresh in (False, True):
        for repetitions in repeat_all(specs, repetitions=3, fresh=fresh).values():
            assert all(isinstance(repetition, Repetition) for repetition in repetitions), (
                repetitions
            )
            assert all(repetition.evidence.verified for repetition in repetitions)
            grids = {repetition.evidence.grid_blocks for repetition in repetitions}
            assert len(grids) == 1


def test_disturbance_is_looked_for_where_the_host_times_only(topology):
    node = home_node(topology, topology.gpus[0])
    gated = repeated(one_copy(topology, host_place(node), gpu_place(0)))
    assert gated.series[0].lost is None
    assert gated.evidence.steal_share is None
    pageable = repeated(one_copy(topology, host_place(node, "pageable"), gpu_place(0)))
    rows = pageable.series[0]
    assert rows.lost is not None
    # A thread that waits for its GPU spins; that is not a time lost to others.
    assert len(rows.disturbed()) < len(rows.starts)


@pytest.mark.parametrize("engine", ["ce", "sm"])
def test_what_other_cuda_programs_are_told_holds_nothing_up(topology, monkeypatch, engine):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1")
    monkeypatch.setenv("CUDA_MODULE_LOADING", "LAZY")
    host, own = host_place(home_node(topology, topology.gpus[0])), gpu_place(0)
    transfers = [transfer(host, own, engine), transfer(own, host, engine)]
    both = copy_spec("both", transfers, topology, size=8 * MIB, sampling=QUICK)
    assert measured(both).evidence.verified


@pytest.mark.parametrize("engine", ["ce", "sm"])
def test_as_many_streams_as_a_gpu_has_queues_are_all_under_way_at_once(topology, engine):
    """Behind fewer queues the way back would begin after the way there, and there is no figure."""
    host, own = host_place(home_node(topology, topology.gpus[0])), gpu_place(0)
    ways = ((host, own), (own, host))
    transfers = [transfer(*ends, engine, streams=16) for ends in ways]
    both = copy_spec("both", transfers, topology, size=64 * MIB, sampling=QUICK)
    found = measured(both)
    assert found.evidence.verified
    assert not found.evidence.in_turn
    more = [transfer(*ends, engine, streams=17) for ends in ways]
    spec = copy_spec("more", more, topology, size=64 * MIB, sampling=QUICK)
    outcome = run([spec])[spec.id]
    assert isinstance(outcome, Skipped)
    assert "34 concurrent streams" in outcome.reason


def test_a_gpu_that_is_not_there_is_skipped_and_the_rest_goes_on(topology):
    node = home_node(topology, topology.gpus[0])
    good = one_copy(topology, host_place(node), gpu_place(0))
    absent = good.model_copy(
        update={"id": "absent", "transfers": [transfer(host_place(node), gpu_place(99), "ce")]}
    )
    outcomes = run([absent, good])
    assert isinstance(outcomes["absent"], Skipped)
    assert outcomes["absent"].cause is Cause.GPU
    assert isinstance(outcomes[good.id], Repetition)


def test_more_memory_than_the_gpu_has_is_skipped_with_the_numbers(topology):
    huge = (topology.gpus[0].memory_bytes or 0) * 2
    spec = one_copy(topology, gpu_place(0), gpu_place(0), size=huge)
    outcome = run([spec])[spec.id]
    assert isinstance(outcome, Skipped)
    assert outcome.cause is Cause.MEMORY
    assert "GiB" in outcome.reason


def test_evidence_has_clocks_and_the_link(topology):
    node = home_node(topology, topology.gpus[0])
    (state,) = measured(one_copy(topology, host_place(node), gpu_place(0))).evidence.gpus or []
    assert state.gpu == 0
    assert pci_address(state.address or "") == topology.gpus[0].address
    assert state.samples > 0
    assert state.sm_clock_hz
    assert state.pcie_generation
    assert state.throttle is not None


def test_latency_proves_its_chase(topology):
    plan = plan_of("gpu-latency", topology, from_="gpu:0", size="1m", per_sm="yes")
    for spec in plan.measurements:
        result = measured(spec.model_copy(update={"sampling": QUICK}))
        assert "cycle's length" in (result.evidence.verified or "")
        assert len(result.figures) == 6


def test_every_multiprocessor_takes_part_and_the_chase_is_proven(topology):
    plan = plan_of(
        "gpu-latency", topology, from_="gpu:0", size="2m", order="linear", every_sm="yes"
    )
    for spec in plan.measurements:
        result = measured(spec.model_copy(update={"sampling": QUICK}))
        assert "cycle's length" in (result.evidence.verified or "")
        (note,) = [text for text in result.evidence.notes or [] if "mean over" in text]
        found = re.search(r"mean over (\d+) of (\d+) SMs", note)
        assert found is not None
        assert found[1] == found[2]


@pytest.mark.parametrize("size", [MIB, 4097])
def test_both_ways_by_a_kernel_move_as_much_each_way(topology, size):
    node = home_node(topology, topology.gpus[0])
    host, own = host_place(node), gpu_place(0)
    transfers = [transfer(host, own, "sm"), transfer(own, host, "sm")]
    result = measured(copy_spec("both", transfers, topology, size=size, sampling=QUICK))
    assert result.evidence.verified
    _, there, back = result.figures
    assert there.estimate == pytest.approx(back.estimate)
    assert result.evidence.own(GpuCopyEvidence).fused == [[there.part, back.part]]


def test_small_copies_have_the_latency_of_a_call(topology):
    node = home_node(topology, topology.gpus[0])
    small = repeated(one_copy(topology, host_place(node), gpu_place(0), size=4))
    assert [series.name for series in small.series] == ["copies", "calls", "first"]
    calls = small.series[1]
    assert 50 <= len(calls.starts) <= 100
    assert calls.lost is not None
    assert [column.metric for column in calls.columns] == ["call_latency"]
    large = repeated(one_copy(topology, host_place(node), gpu_place(0), size=2 * MIB))
    assert [series.name for series in large.series] == ["copies", "first"]


def tierscope(*arguments):
    code = "from tierscope.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


def test_a_trace_counts_the_copies():
    ran = tierscope("gpu", "copy", "--to", "gpu:0", "--size", "1m", "--trace", "--json")
    assert ran.returncode == 0, ran.stderr
    rows = json.loads(ran.stdout)["results"][0]["evidence"]["trace"]
    counts = Counter[str]()
    for row in rows:  # a row for each size that was copied
        counts[row["name"]] += row["count"]
    assert counts["cuMemcpyAsync"] > 0
    assert counts["memcpy host to GPU"] >= counts["cuMemcpyAsync"]


def test_the_tour_measures_everything_on_every_gpu(topology, tmp_path):
    ran = tierscope("gpu", "--out", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("Still to gain") == len(topology.gpus)
    assert len(list(Path(tmp_path).glob("*.jsonl"))) == 1


def test_nvbandwidths_list_ends_without_an_error():
    ran = tierscope("nvbandwidth", "-b", "64", "--json")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    cases = json.loads(ran.stdout)["nvbandwidth"]["testcases"]
    assert [case["name"] for case in cases] == [one.name for one in OF_V09 if not one.over_ranks]
    assert {case["status"] for case in cases} <= {"Passed", "Waived"}
    assert all(case["reason"] for case in cases if case["status"] == "Waived")
