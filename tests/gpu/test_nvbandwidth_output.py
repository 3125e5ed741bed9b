"""nvbandwidth's output from measurements: text, JSON and perf lines, character for character."""

import json
import re

import pytest
from gpu_machine import machine, measured, missing

from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Skipped
from tierscope.peers.nvbandwidth.cases import TESTS
from tierscope.peers.nvbandwidth.cells import Settings, make_cells, waived
from tierscope.peers.nvbandwidth.output import Outcome, json_of, perf_of, text_of


def outcome(name, gpus=2, estimates=(55.588e9, 55.604e9)):
    topology = machine(gpus=gpus)
    settings = Settings(topology=topology, gpus=topology.gpus)
    test = next(entry for entry in TESTS if entry.name == name)
    reason = waived(test, settings)
    made = Outcome(test, gpus, [] if reason else make_cells(test, settings), reason)
    for cell, estimate in zip(made.cells, estimates, strict=False):
        made.found[cell.spec.id] = measured(cell.spec, topology, estimate)
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


def test_the_coefficient_of_variation_is_that_of_all_values():
    """nvbandwidth prints this for these six figures; with n - 1 it would be 0.15."""
    figures = [56.51e9, 41.56e9, 56.51e9, 44.82e9, 45.84e9, 41.59e9]
    text = text_of(outcome("device_to_device_memcpy_read_ce", 3, figures), False, False)
    assert text.endswith(
        "SUM device_to_device_memcpy_read_ce 286.83\n"
        "COEFFICIENT_OF_VARIATION device_to_device_memcpy_read_ce 0.13\n\n"
    )


@pytest.mark.parametrize(
    ("name", "gpus"), [("host_to_device_memcpy_ce", 1), ("device_to_device_latency_sm", 3)]
)
def test_one_value_and_latencies_have_no_coefficient_of_variation(name, gpus):
    text = text_of(outcome(name, gpus, [55e9] * 6), False, False)
    assert "\nSUM " in text
    assert "COEFFICIENT" not in text


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
    made.found[spec.id] = missing(spec, event_type(id=spec.id, **fields))
    return made


def test_a_failed_cell_costs_that_cell_and_is_named():
    made = with_outcome(Failed, cause=Cause.VERIFICATION, reason="7 of 8 bytes are wrong")
    text = text_of(made, False, False)
    assert " 0     55.59       N/A\n" in text
    assert "Error: host_to_device_memcpy_ce: 7 of 8 bytes are wrong" in text
    entry = json_of(made, False, False)
    assert entry["status"] == "Error"
    assert entry["error"] == "7 of 8 bytes are wrong"


def test_a_cell_that_the_hardware_is_not_able_to_have_is_no_error():
    reason = "GPU 0 cannot reach GPU 1's memory directly"
    made = with_outcome(Skipped, cause=Cause.PEER, reason=reason)
    assert made.status == "Passed"
    assert json_of(made, False, False)["cells"][1]["reason"] == reason


def test_a_cell_skipped_for_another_reason_is_an_error_with_its_remedy():
    made = with_outcome(
        Skipped, cause=Cause.MEMORY, reason="GPU 1 is full", remedy="end what else uses it"
    )
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
