"""What is printed of GPUs: nvbandwidth's text, JSON and perf lines; tables and explanations."""

import io
import json
import re
from pathlib import Path

import pytest
from gpu_machine import machine, plan_of, result_of, run_of
from rich.console import Console
from tierscope.plans.gpu_nvbandwidth import Settings, make_cells, waived
from tierscope.plans.gpu_nvbandwidth_tests import TESTS
from tierscope.plans.gpu_story import story
from tierscope.plans.limits import limit_of
from tierscope.report.gpu_explain import explain
from tierscope.report.gpu_nvbandwidth import Outcome, json_of, perf_of, text_of
from tierscope.report.gpu_story import show_story
from tierscope.report.gpu_tables import show_traces

from tierscope.kinds.views import VIEWS
from tierscope.model.event import Failed, Figure, Skipped, TraceRow
from tierscope.model.topology import PcieLink
from tierscope.report.run import show_run
from tierscope.report.sentences import sentences
from tierscope.runs.record import measurement_of


def outcome(name, gpus=2, estimates=(55.588e9, 55.604e9)):
    topology = machine(gpus=gpus)
    settings = Settings(topology=topology, gpus=topology.gpus)
    test = next(entry for entry in TESTS if entry.name == name)
    reason = waived(test, settings)
    made = Outcome(test, gpus, [] if reason else make_cells(test, settings), reason)
    for cell, estimate in zip(made.cells, estimates, strict=False):
        record = measurement_of(cell.spec, result_of(cell.spec, estimate), None)
        made.found[cell.spec.id] = record
    return made


def test_text_is_nvbandwidths_to_the_column():
    assert text_of(outcome("host_to_device_memcpy_ce"), verbose=True, mean=False) == (
        "Running host_to_device_memcpy_ce.\n"
        "\tSample 0: Host -> Device 0: 55.03 GB/s\n"
        "\tSample 1: Host -> Device 0: 55.59 GB/s\n"
        "\tSample 2: Host -> Device 0: 56.70 GB/s\n"
        "\tSample 0: Host -> Device 1: 55.05 GB/s\n"
        "\tSample 1: Host -> Device 1: 55.60 GB/s\n"
        "\tSample 2: Host -> Device 1: 56.72 GB/s\n"
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
        "           0         1\n"
        " 0     55.59     55.60\n"
        "\n"
        "SUM host_to_device_memcpy_ce 111.19\n"
        "COEFFICIENT_OF_VARIATION host_to_device_memcpy_ce 0.00\n"
        "MIN host_to_device_memcpy_ce 55.59\n"
        "MAX host_to_device_memcpy_ce 55.60\n"
        "AVG host_to_device_memcpy_ce 55.60\n"
        "\n"
    )


def test_gaps_are_n_a():
    lines = text_of(outcome("device_to_device_memcpy_read_ce"), False, False).splitlines()
    assert lines[3:5] == [" 0       N/A     55.59", " 1     55.60       N/A"]


def test_both_ways_between_gpus_print_three_matrices():
    text = text_of(outcome("device_to_device_bidirectional_memcpy_write_ce"), False, False)
    keys = re.findall(r"^SUM (\S+) ([\d.]+)$", text, re.MULTILINE)
    name = "device_to_device_bidirectional_memcpy_write_ce"
    assert [key for key, _ in keys] == [f"{name}_write1", f"{name}_write2", f"{name}_total"]
    assert [float(value) for _, value in keys] == [55.6, 55.6, 111.19]


def test_only_totals_have_a_coefficient_of_variation():
    text = text_of(outcome("device_to_device_bidirectional_memcpy_read_ce"), False, False)
    keys = re.findall(r"^COEFFICIENT_OF_VARIATION (\S+)", text, re.MULTILINE)
    assert keys == ["device_to_device_bidirectional_memcpy_read_ce_total"]
    assert "memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)\n" in text


def test_the_perf_formatter_takes_the_sums_place():
    text = text_of(outcome("host_to_device_memcpy_ce"), False, False, perf=True)
    assert "\n&&&& PERF host_to_device_memcpy_ce 111.19 +GB/s\n" in text
    assert "SUM" not in text


def test_the_mean_of_the_samples_where_it_is_asked_for():
    text = text_of(outcome("host_to_device_memcpy_ce", 1, (100e9,)), False, mean=True)
    assert " 0    100.33\n" in text


def test_matrices_of_a_test_case_are_all_of_medians_where_parts_have_no_samples():
    made = outcome("device_to_device_bidirectional_memcpy_read_ce", 2, (100e9, 100e9))
    assert text_of(made, False, mean=True) == text_of(made, False, mean=False)


def test_waived_ones_say_why():
    made = outcome("device_to_device_memcpy_read_ce", gpus=1)
    assert text_of(made, False, False) == (
        "Waived: device_to_device_memcpy_read_ce: takes 2 GPUs, and there is 1\n"
    )
    assert json_of(made, False, False) == {
        "name": "device_to_device_memcpy_read_ce",
        "status": "Waived",
        "reason": "takes 2 GPUs, and there is 1",
    }


def with_outcome(event_type, **fields):
    made = outcome("host_to_device_memcpy_ce")
    spec = made.cells[1].spec
    made.found[spec.id] = measurement_of(spec, event_type(id=spec.id, **fields), None)
    return made


def test_a_failed_cell_costs_that_cell_and_is_named():
    made = with_outcome(Failed, reason="7 of 8 bytes are wrong")
    text = text_of(made, False, False)
    assert " 0     55.59       N/A\n" in text
    assert "Error: host_to_device_memcpy_ce: 7 of 8 bytes are wrong" in text
    entry = json_of(made, False, False)
    assert entry["status"] == "Error"
    assert entry["error"] == "7 of 8 bytes are wrong"


def test_a_cell_that_the_hardware_is_not_able_to_have_is_no_error():
    reason = "GPU 0 cannot reach GPU 1's memory directly"
    made = with_outcome(Skipped, reason=reason)
    assert made.status == "Passed"
    assert json_of(made, False, False)["cells"][1]["reason"] == reason


def test_a_cell_skipped_for_another_reason_is_an_error_with_its_remedy():
    made = with_outcome(Skipped, reason="GPU 1 is full", remedy="end what else uses it")
    assert made.status == "Error"
    assert made.error == "GPU 1 is full; end what else uses it"


def test_json_has_nvbandwidths_keys_and_our_intervals():
    entry = json_of(outcome("host_to_device_memcpy_ce"), verbose=True, mean=False)
    json.dumps(entry)
    assert entry["bandwidth_matrix"] == [["55.588", "55.604"]]
    assert entry["bandwidth_description"] == "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"
    assert entry["sum"] == pytest.approx(111.192)
    assert {"min", "max", "average"} <= set(entry)
    assert entry["cells"][0]["ci_low"] < entry["cells"][0]["estimate"]


def test_perf_lines_say_which_way_is_better():
    assert perf_of(outcome("host_to_device_memcpy_ce"), False) == (
        "&&&& PERF host_to_device_memcpy_ce_sum 111.19 +GB/s\n"
    )
    assert perf_of(outcome("host_device_latency_sm"), False).endswith(" -ns\n")


def screen(show, *given):
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show(console, *given)
    return console.file.getvalue()


def test_the_story_names_every_step_and_what_is_left():
    topology = machine(gpus=2, cxl=True)
    text = screen(show_story, run_of(story(topology, topology.gpus), topology))
    for words in ("naive (pageable)", "4 streams", "node 1", "node 2", "by a kernel", "both ways"):
        assert words in text
    assert text.count("Left on the table") == 2
    assert max(map(len, text.splitlines())) <= 100


def test_a_faster_way_than_the_plain_one_is_left_on_the_table():
    topology = machine(gpus=1)
    run = run_of(story(topology, topology.gpus), topology)
    faster = [
        entry.model_copy(update={"estimate": 60e9}) if ".streams." in entry.id else entry
        for entry in run.measurements
    ]
    text = screen(show_story, run.model_copy(update={"measurements": faster}))
    assert "4 streams is 20% faster" in " ".join(text.split())


def story_of(topology, rate, **state):
    """The story's last words on its copies, all of that rate while NVML saw that state."""
    run = run_of(story(topology, topology.gpus), topology)
    made = []
    for spec in story(topology, topology.gpus).measurements:
        result = result_of(spec, rate)
        (seen,) = result.evidence.gpus
        gpus = [seen.model_copy(update=state)]
        evidence = result.evidence.model_copy(update={"gpus": gpus})
        result = result.model_copy(update={"evidence": evidence})
        made.append(measurement_of(spec, result, limit_of(topology, spec)))
    text = " ".join(screen(show_story, run.model_copy(update={"measurements": made})).split())
    return text[text.rindex("eft on the table") :]


def with_link(link, **gpu):
    topology = machine(gpus=1)
    device = topology.pci[0].model_copy(update={"link": link})
    card = topology.gpus[0].model_copy(update=gpu)
    return topology.model_copy(update={"pci": [device], "gpus": [card]})


def test_a_link_at_its_best_that_copies_fill_leaves_nothing():
    text = story_of(machine(gpus=1), 55e9)
    assert text == "eft on the table: nothing. No other way that was measured does better."


def test_half_a_link_is_left_on_the_table_however_full_it_is():
    text = story_of(with_link(PcieLink(speed=32.0, width=8)), 27.4e9)
    assert "runs at PCIe 5.0 x8, 50% of what it is able to" in text
    assert "to GPU reaches 43% of the link at its best" in text


def test_a_slot_that_is_less_than_its_gpu_leaves_something():
    topology = with_link(PcieLink(speed=32.0, width=8))
    port = topology.pci[0].model_copy(
        update={
            "address": "0000:00:01.0",
            "class_code": 0x0604,
            "link_max": PcieLink(speed=32.0, width=8),
            "bridge": True,
        }
    )
    card = topology.pci[0].model_copy(update={"parent": port.address})
    text = story_of(topology.model_copy(update={"pci": [card, port]}), 27.4e9)
    assert "table: PCIe 5.0 x8 at 0000:10:00.0: half of what the GPU can do." in text


def test_a_link_that_stays_slow_under_load_is_left_on_the_table():
    text = story_of(machine(gpus=1), 13e9, pcie_generation=[1.0, 3.0])
    assert "runs at PCIe 3.0 x16, 25% of what it is able to" in text
    assert "to GPU reaches 21% of its limit" in text


def test_a_gpu_that_is_not_reached_over_pcie_has_no_slow_link():
    topology = with_link(PcieLink(speed=2.5, width=1), c2c_links=10, c2c_rate=450e9)
    assert "runs at" not in story_of(topology, 400e9, pcie_generation=[1.0, 1.0])


def test_without_a_known_limit_nothing_can_be_said_of_what_is_left():
    text = story_of(with_link(None, link_max=None), 27.4e9)
    assert text.startswith("eft on the table cannot be said: no link's rate is known.")


def test_the_story_says_what_looks_wrong():
    text = story_of(machine(gpus=1), 99e9)
    assert "What looks wrong: node:0 → gpu:0 reaches 157." in text


@pytest.mark.parametrize("both_ways", ["no", "yes"])
def test_all_pairs_become_a_matrix(both_ways):
    topology = machine(gpus=4, nodes=2)
    plan = plan_of("gpu-copy", topology, from_="all", to="all", both_ways=both_ways)
    text = screen(show_run, run_of(plan, topology), Path("run"), VIEWS)
    assert "from \\ to" in text
    for end in ("gpu:0", "gpu:3", "node:1"):
        assert re.search(rf"^ {end} .*50\.00", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 100


def test_small_copies_show_what_a_call_takes_beside_a_copy():
    topology = machine(gpus=1)
    plan = plan_of("gpu-copy", topology, from_="node:0", to="gpu:0", size="4,1m")
    run = run_of(plan, topology)
    small = run.measurements[0]
    call = Figure(metric="latency of one call", unit="ns", estimate=8200.0)
    measurements = [small.model_copy(update={"figures": [call]}), run.measurements[1]]
    text = screen(
        show_run, run.model_copy(update={"measurements": measurements}), Path("run"), VIEWS
    )
    assert re.search(r"4 B .* 8\.2 µs", text)
    assert "a call: one copy and the wait for it" in text


def first(topology, **given):
    plan = plan_of("gpu-copy", topology, **given)
    return run_of(plan, topology).measurements[0]


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
    text = sentences(run.model_copy(update={"measurements": [moved]}), VIEWS)[2]
    assert ("was measured at 0000:ff:00.0" in text) == wrong


def test_a_link_below_its_best_is_the_first_thing_to_say():
    topology = machine(gpus=1)
    able = topology.gpus[0].model_copy(update={"link_max": PcieLink(speed=64.0, width=16)})
    topology = topology.model_copy(update={"gpus": [able]})
    text = explain(first(topology, **{"from": "node:0", "memory": "pageable"}), topology)
    assert text.startswith("the link ran at Gen5 x16, although GPU and slot are able to Gen6")


def test_a_trace_shows_calls_operations_and_kernels():
    topology = machine(gpus=1)
    entry = first(topology)
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
            ("call", "cudaMemcpyAsync"),
            ("operation", "memcpy host to GPU"),
            ("kernel", "wait_for"),
        )
    ]
    assert entry.evidence is not None
    evidence = entry.evidence.model_copy(update={"trace": rows})
    text = screen(show_traces, [entry.model_copy(update={"evidence": evidence})])
    for word in ("cudaMemcpyAsync", "memcpy host to", "wait_for", "100.0%"):
        assert word in text
