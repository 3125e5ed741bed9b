"""``tierscope nvbandwidth`` from options to output, with an engine that measures nothing."""

import json
import os
import signal
from importlib import import_module
from pathlib import Path

import pytest
from gpu_machine import machine

from tierscope.cli import nvbandwidth_flow
from tierscope.model.event import Capabilities, Capability, Result, Skipped
from tierscope.model.topology import Topology
from tierscope.plans.gpu_nvbandwidth import Settings, make_cells
from tierscope.plans.gpu_nvbandwidth_tests import TESTS
from tierscope.report.gpu_nvbandwidth import Outcome
from tierscope.runs.record import measurement_of

MEASURE = import_module("tierscope.runs.measure")
ENGINE = Path(__file__).parents[2] / "engine" / "gpu"
DETAIL = "2 GPUs, CUDA runtime 13.0, driver takes CUDA 13.1"
TWO_TESTS = ["-t", "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch, fake_engine) -> Topology:
    """Let two GPUs seem to be there, and the fake engine measure them."""
    gpu = Capability(name="gpu", available=True, detail=DETAIL)
    fields = {"engine": "0", "plan_version": 1, "git_commit": "", "compiler": "", "isas": []}
    found = Capabilities.model_validate({**fields, "capabilities": [gpu]})
    topology = machine(gpus=2)
    monkeypatch.setattr(nvbandwidth_flow, "capabilities", lambda: found)
    monkeypatch.setattr(nvbandwidth_flow, "discover", lambda: topology)
    return topology


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch, fake_engine) -> None:
    """Let Ctrl-C come once the first measurement has ended, while the second one is under way."""
    fake_engine("slow@2")
    watch = nvbandwidth_flow._Printer.watch

    def watch_and_interrupt(printer, event):
        watch(printer, event)
        if isinstance(event, Result) and event.stop != "interrupted":
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(nvbandwidth_flow._Printer, "watch", watch_and_interrupt)


def cases(text: str) -> list[dict]:
    return json.loads(text)["nvbandwidth"]["testcases"]


@pytest.mark.usefixtures("gpus")
def test_all_measured_is_passed_and_0(capsys):
    assert nvbandwidth_flow.run([*TWO_TESTS, "--json"]) == 0
    assert [entry["status"] for entry in cases(capsys.readouterr().out)] == ["Passed", "Passed"]


@pytest.mark.usefixtures("gpus", "interrupted")
def test_an_interruption_is_an_error_of_what_it_cut_and_130(capsys):
    assert nvbandwidth_flow.run([*TWO_TESTS, "--json"]) == 130
    first, second = cases(capsys.readouterr().out)
    assert (first["status"], first["error"]) == ("Error", "interrupted")
    assert (second["status"], second["error"]) == ("Error", "interrupted")
    assert "sum" not in second
    assert [cell["reason"] for cell in second["cells"]] == ["interrupted", "interrupted"]


@pytest.mark.usefixtures("gpus", "interrupted")
def test_text_of_an_interrupted_run_has_all_that_was_measured(capsys):
    assert nvbandwidth_flow.run(TWO_TESTS) == 130
    text = capsys.readouterr().out
    assert "SUM host_to_device_memcpy_ce" in text
    assert "Error: host_to_device_memcpy_ce: interrupted\n" in text
    assert text.endswith("\nError: device_to_host_memcpy_ce: interrupted\n")


@pytest.mark.usefixtures("gpus", "interrupted")
def test_perf_lines_of_an_interrupted_run_give_no_sum_of_a_part(capsys):
    assert nvbandwidth_flow.run([*TWO_TESTS, "--format", "perf"]) == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("interrupted\n") == 2


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("faults", ["skip@1", "fail@2", "skip"])
def test_a_gpu_that_is_full_or_missing_is_an_error_and_1(faults, fake_engine, capsys):
    fake_engine(faults)
    assert nvbandwidth_flow.run(["-t", "0", "--json"]) == 1
    (entry,) = cases(capsys.readouterr().out)
    assert entry["status"] == "Error"
    assert "told to" in entry["error"]


@pytest.mark.usefixtures("gpus")
def test_an_engine_that_dies_costs_none_of_what_was_measured(fake_engine, capsys):
    fake_engine("exit3@2")
    assert nvbandwidth_flow.run([*TWO_TESTS, "--json"]) == 1
    first, second = cases(capsys.readouterr().out)
    assert (first["status"], second["status"]) == ("Error", "Passed")
    assert first["cells"][0]["status"] == "measured"


@pytest.mark.usefixtures("gpus")
def test_the_banner_has_the_runtime_s_and_the_driver_s_version(capsys):
    nvbandwidth_flow.run(["-t", "0"])
    text = capsys.readouterr().out
    assert "CUDA Runtime Version: 13000\nCUDA Driver Version: 13010\n" in text


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("0000:18:00.0", "00000000:18:00"),
        ("0009:01:00.0", "00000009:01:00"),
        ("10000:e1:00.0", "00010000:e1:00"),
    ],
)
def test_pci_domains_have_eight_digits(address, printed):
    topology = machine(gpus=1)
    gpu = topology.gpus[0].model_copy(update={"address": address})
    named = nvbandwidth_flow._devices(topology.model_copy(update={"gpus": [gpu]}))
    assert named == [f"0: NVIDIA H100 80GB HBM3 ({printed})"]


@pytest.mark.usefixtures("gpus")
def test_too_large_a_buffer_is_one_line(capsys):
    assert nvbandwidth_flow.run(["-b", "5000000"]) == 1
    said = "tierscope: nvbandwidth: --bufferSize: 5000000 MiB are more than 4194304\n"
    assert capsys.readouterr().err == said


@pytest.mark.usefixtures("gpus")
def test_what_looks_wrong_goes_to_stderr_in_one_line(capsys, monkeypatch):
    monkeypatch.setattr(MEASURE, "read_settings", lambda _: {"governor": "powersave"})
    assert nvbandwidth_flow.run(["-t", "0", "--json"]) == 0
    captured = capsys.readouterr()
    cases(captured.out)
    assert captured.err == (
        "tierscope: nvbandwidth: What looks wrong: the frequency governor is powersave, "
        "not performance.\n"
    )


@pytest.mark.usefixtures("gpus")
def test_nothing_is_said_where_nothing_looks_wrong(capsys, monkeypatch):
    monkeypatch.setattr(MEASURE, "read_settings", lambda _: {})
    assert nvbandwidth_flow.run(["-t", "0"]) == 0
    assert capsys.readouterr().err == ""


def skipped(reason: str) -> Outcome:
    topology = machine(gpus=2)
    cells = make_cells(TESTS[4], Settings(topology=topology, gpus=topology.gpus))
    made = Outcome(TESTS[4], 2, cells)
    for cell in cells:
        event = Skipped(id=cell.spec.id, reason=reason)
        made.found[cell.spec.id] = measurement_of(cell.spec, event, None)
    return made


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("GPU 0 cannot reach GPU 1's memory directly", "Waived"),
        ("GPU 0 has compute capability 8; bulk copies (TMA) need 9", "Waived"),
        ("GPU 0 has no bulk copies (TMA)", "Waived"),
        ("GPU 0 has 0.5 GiB of memory free; another 1.0 GiB are needed", "Error"),
        ("there is no GPU 1; GPUs 0 to 0 can be used", "Error"),
    ],
)
def test_only_what_hardware_is_not_able_to_do_is_waived(reason, status):
    assert skipped(reason).status == status


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("device.cpp", "cannot reach GPU {}'s memory directly"),
        ("copies.cpp", "bulk copies (TMA) need 9"),
        ("chase.cpp", "has no bulk copies (TMA)"),
    ],
)
def test_the_engine_still_says_so_in_these_words(file, words):
    assert words in (ENGINE / file).read_text()
