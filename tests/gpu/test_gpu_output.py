"""What is printed of GPU measurements: tables, explanations, traces."""

import io
import re
from pathlib import Path

import pytest
from gpu_machine import machine, plan_of, run_of
from rich.console import Console
from tests import synthetic

from tierscope.kinds.gpu_copy.show import copies_of, explain
from tierscope.kinds.views import VIEWS
from tierscope.model.evidence import TraceRow
from tierscope.model.run import Figure
from tierscope.model.topology import PcieLink
from tierscope.report.evidence import show_traces
from tierscope.report.run import show_run
from tierscope.report.summary import sentences


def screen(show, *given):
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show(console, *given)
    return console.file.getvalue()


@pytest.mark.parametrize("both_ways", ["no", "yes"])
def test_all_pairs_become_a_matrix(both_ways):
    topology = machine(gpus=4, nodes=2)
    plan = plan_of("gpu-copy", topology, from_="all", to="all", both_ways=both_ways)
    text = screen(show_run, run_of(plan, topology), Path("run"), VIEWS)
    assert "from \\ to" in text
    for end in ("gpu:0", "gpu:3", "node:1"):
        assert re.search(rf"^ {end} .*50\.0", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 100


def test_small_copies_show_what_a_call_takes_beside_a_copy():
    topology = machine(gpus=1)
    plan = plan_of("gpu-copy", topology, from_="node:0", to="gpu:0", size="4,1m")
    run = run_of(plan, topology)
    small = run.measurements[0]
    call = Figure(metric="call_latency", unit="ns", estimate=8200.0)
    measurements = [synthetic.changed(small, figures=[call]), run.measurements[1]]
    text = screen(
        show_run, run.model_copy(update={"measurements": measurements}), Path("run"), VIEWS
    )
    assert re.search(r"4 B .* 8200", text)
    assert "a call: one copy and the" in text


def first(topology, **given):
    run = run_of(plan_of("gpu-copy", topology, **given), topology)
    return copies_of(run.measurements[:1], run)[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"from": "node:0", "memory": "pageable"}, "stages every byte"),
        ({"from": "node:1"}, "sockets' interconnect"),
        ({"from": "node:2"}, "CXL memory"),
        ({"from": "gpu:0"}, "half of its memory's rate"),
    ],
)
def test_each_figure_gets_its_reason(given, said):
    topology = machine(gpus=1, nodes=2, cxl=True)
    assert said in explain(first(topology, **given), topology)


@pytest.mark.parametrize(("address", "wrong"), [("00000000:FF:00.0", True), (None, False)])
def test_a_gpu_at_another_address_than_the_topology_s_looks_wrong(address, wrong):
    topology = machine(gpus=1)
    run = run_of(plan_of("gpu-copy", topology, **{"from": "node:0"}), topology)
    assert run.header.topology is not None
    measurement = run.measurements[0]
    (state,) = measurement.evidence.gpus
    used = address or topology.gpus[0].address.upper()
    evidence = measurement.evidence.model_copy(
        update={"gpus": [state.model_copy(update={"address": used})]}
    )
    moved = measurement.model_copy(update={"evidence": evidence})
    text = sentences(run.model_copy(update={"measurements": [moved]}), VIEWS)[0]
    assert ("was measured at 0000:ff:00.0" in text) == wrong


def test_a_link_below_its_best_is_the_first_thing_to_say():
    topology = machine(gpus=1)
    able = topology.gpus[0].model_copy(update={"link_max": PcieLink(speed=64.0, width=16)})
    topology = topology.model_copy(update={"gpus": [able]})
    text = explain(first(topology, **{"from": "node:0", "memory": "pageable"}), topology)
    assert text.startswith("the link ran at Gen5 x16, although GPU and slot support Gen6")


def test_a_trace_shows_calls_operations_and_kernels():
    topology = machine(gpus=1)
    entry = first(topology).entry
    rows = [
        TraceRow(
            group=group,
            name=name,
            count=3,
            bytes=0,
            total_ns=3e6,
            mean_ns=1e6,
            median_ns=1e6,
            min_ns=9e5,
            max_ns=2e6,
            stddev_ns=1e5,
        )
        for group, name in (
            ("call", "cuMemcpyAsync"),
            ("operation", "memcpy host to GPU"),
            ("kernel", "wait_for"),
        )
    ]
    assert entry.evidence is not None
    evidence = entry.evidence.model_copy(update={"trace": rows})
    text = screen(show_traces, [entry.model_copy(update={"evidence": evidence})])
    for word in ("cuMemcpyAsync", "memcpy host to", "wait_for", "100.0%"):
        assert word in text
