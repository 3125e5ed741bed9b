"""``tierscope nvbandwidth`` from options to output, with an engine that measures nothing."""

import json
import os
import re
import signal
from importlib import import_module

import pytest
from gpu_machine import machine, missing

from tierscope.model.capability import Capabilities, Capability
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.topology import Topology
from tierscope.peers.nvbandwidth import run as command
from tierscope.peers.nvbandwidth.cases import TESTS
from tierscope.peers.nvbandwidth.cells import Settings, make_cells
from tierscope.peers.nvbandwidth.output import Outcome

MEASURE = import_module("tierscope.runs.measure")
VERSIONS = {"cuda_runtime": "13.0", "cuda_driver": "13.1"}
TWO_TESTS = ["-t", "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch, fake_engine) -> Topology:
    """Let two GPUs seem to be there, and the fake engine measure them."""
    gpu = Capability(name="gpu", available=True, detail="2 GPUs", versions=VERSIONS)
    fields = {"engine": "0", "plan_version": 2, "git_commit": "", "compiler": "", "isas": []}
    found = Capabilities.model_validate({**fields, "capabilities": [gpu]})
    topology = machine(gpus=2)
    monkeypatch.setattr(command, "capabilities", lambda: found)
    monkeypatch.setattr(command, "discover", lambda: topology)
    return topology


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch, fake_engine) -> None:
    """Let Ctrl-C come after the second repetition of four measurements."""
    watch = command._Printer.watch
    repetitions = []

    def watch_and_interrupt(printer, event):
        watch(printer, event)
        if isinstance(event, Repetition):
            repetitions.append(event)
            if len(repetitions) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(command._Printer, "watch", watch_and_interrupt)


def cases(text: str) -> list[dict]:
    return json.loads(text)["nvbandwidth"]["testcases"]


@pytest.mark.usefixtures("gpus")
def test_all_measured_is_passed_and_0(capsys):
    assert command.run([*TWO_TESTS, "--json"]) == 0
    assert [entry["status"] for entry in cases(capsys.readouterr().out)] == ["Passed", "Passed"]


@pytest.mark.usefixtures("gpus", "interrupted")
def test_an_interruption_is_an_error_of_what_it_cut_and_130(capsys):
    assert command.run([*TWO_TESTS, "--json"]) == 130
    first, second = cases(capsys.readouterr().out)
    assert (first["status"], first["error"]) == ("Error", "interrupted")
    assert (second["status"], second["error"]) == ("Error", "interrupted")
    cells = first["cells"] + second["cells"]
    repeated = [cell for cell in cells if cell["status"] == "measured"]
    assert len(repeated) == 2
    assert all(cell["reason"] == "interrupted" for cell in cells if cell not in repeated)


@pytest.mark.usefixtures("gpus", "interrupted")
def test_text_of_an_interrupted_run_has_all_that_was_measured(capsys):
    assert command.run(TWO_TESTS) == 130
    text = capsys.readouterr().out
    assert "Error: host_to_device_memcpy_ce: interrupted\n" in text
    assert text.endswith(f"Error: device_to_host_memcpy_ce: interrupted\n\n{command._NOTE}")


@pytest.mark.usefixtures("gpus", "interrupted")
def test_perf_lines_of_an_interrupted_run_give_no_sum_of_a_part(capsys):
    assert command.run([*TWO_TESTS, "--format", "perf"]) == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("interrupted\n") == 2


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("faults", ["skip@1", "fail@2", "skip"])
def test_a_gpu_that_is_full_or_missing_is_an_error_and_1(faults, fake_engine, capsys):
    fake_engine(faults)
    assert command.run(["-t", "0", "--json"]) == 1
    (entry,) = cases(capsys.readouterr().out)
    assert entry["status"] == "Error"
    assert "told to" in entry["error"]


@pytest.mark.usefixtures("gpus")
def test_an_engine_that_dies_costs_none_of_what_was_measured(fake_engine, capsys):
    fake_engine("exit3@2")
    assert command.run([*TWO_TESTS, "--json"]) == 1
    first, second = cases(capsys.readouterr().out)
    assert sorted([first["status"], second["status"]]) == ["Error", "Passed"]
    cells = first["cells"] + second["cells"]
    assert sorted(cell["status"] for cell in cells) == ["failed", *["measured"] * 3]


@pytest.mark.usefixtures("gpus")
def test_the_text_has_the_lines_of_v09_in_their_order(capsys):
    command.run(["-t", "0", "17"])
    text = capsys.readouterr().out
    pattern = (
        "nvbandwidth Version: v0.9\nBuilt from Git version: .+\n\n"
        "CUDA Runtime Version: 13000\nCUDA Driver Version: 13010\nDriver Version: .+\n\n"
        r"synthetic\nDevice 0: .+ \(00000000:10:00\)\nDevice 1: .+ \(00000000:11:00\)\n\n"
        r"(Running (\w+)\.\nmemcpy .+ bandwidth \(GB/s\)\n {11}0 {9}1\n 0( +[\d.]+){2}\n\n"
        r"SUM \2 [\d.]+\nCOEFFICIENT_OF_VARIATION \2 0\.\d\d\n\n){2}"
        "NOTE: .+\n.+\n\n"
    )
    assert re.fullmatch(pattern, text), text


def test_without_names_v09s_test_cases_are_run():
    names = [test.name for test in command.chosen_tests([], [])]
    assert names == [test.name for test in TESTS[:35]]


def test_with_one_gpu_cells_of_all_gpus_are_those_of_one():
    topology = machine(gpus=1)
    settings = Settings(topology=topology, gpus=topology.gpus)
    outcomes = [command._outcome(test, settings) for test in TESTS[:35]]
    command._share(outcomes)
    ids = {made.test.name: [cell.spec.id for cell in made.cells] for made in outcomes}
    assert ids["host_to_all_memcpy_ce"] == ids["host_to_device_memcpy_ce"]
    assert ids["host_to_all_memcpy_sm"] != ids["host_to_all_memcpy_ce"]
    assert len({name for names in ids.values() for name in names}) == 10


@pytest.mark.usefixtures("gpus")
def test_a_figure_that_two_test_cases_share_is_in_both(capsys, monkeypatch):
    topology = machine(gpus=1)
    monkeypatch.setattr(command, "discover", lambda: topology)
    assert command.run(["-t", "0", "10", "--json"]) == 0
    first, second = cases(capsys.readouterr().out)
    assert first["status"] == second["status"] == "Passed"
    assert first["sum"] == second["sum"]
    assert first["cells"] == second["cells"]


@pytest.mark.usefixtures("gpus")
def test_huge_pages_that_the_kernel_does_not_give_are_ignored_with_a_warning(capsys, monkeypatch):
    monkeypatch.setattr(command, "thp_available", lambda: False)
    monkeypatch.setattr(MEASURE, "read_settings", lambda _: {})
    assert command.run(["-t", "0", "-H", "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)["nvbandwidth"]
    assert document["warning"].startswith("--useHugePages is ignored: transparent huge pages are")
    assert captured.err == f"tierscope: nvbandwidth: {document['warning']}\n"
    assert document["testcases"][0]["status"] == "Passed"


@pytest.mark.usefixtures("gpus")
def test_pairs_are_of_ranks(capsys, monkeypatch):
    monkeypatch.setattr(MEASURE, "read_settings", lambda _: {})
    assert command.run(["-t", "0", "-P", "3"]) == 0
    assert "--targetNumPairs is ignored: there are no MPI ranks" in capsys.readouterr().err
    assert command.run(["-t", "0", "-P", "-2"]) == 1
    said = "--targetNumPairs: -2 is neither -1, all pairs, nor a number\n"
    assert capsys.readouterr().err.endswith(said)


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
    named = command._devices(topology.model_copy(update={"gpus": [gpu]}))
    assert named == [f"0: NVIDIA H100 80GB HBM3 ({printed})"]


@pytest.mark.usefixtures("gpus")
def test_too_large_a_buffer_is_one_line(capsys):
    assert command.run(["-b", "5000000"]) == 1
    said = "tierscope: nvbandwidth: --bufferSize: 5000000 MiB are more than 4194304\n"
    assert capsys.readouterr().err == said


@pytest.mark.usefixtures("gpus")
def test_warnings_go_to_stderr_in_one_line(capsys, monkeypatch):
    monkeypatch.setattr(MEASURE, "read_settings", lambda _: {"governor": "powersave"})
    assert command.run(["-t", "0", "--json"]) == 0
    captured = capsys.readouterr()
    cases(captured.out)
    assert captured.err == (
        "tierscope: nvbandwidth: Warnings: the frequency governor is powersave, not performance.\n"
    )


@pytest.mark.usefixtures("gpus")
def test_nothing_is_said_without_warnings(capsys, monkeypatch):
    monkeypatch.setattr(MEASURE, "read_settings", lambda _: {})
    assert command.run(["-t", "0"]) == 0
    assert capsys.readouterr().err == ""


def outcome_of(event_type: type, cause: Cause, reason: str) -> Outcome:
    """A test case of whose cells none has a value, for one reason."""
    topology = machine(gpus=2)
    cells = make_cells(TESTS[4], Settings(topology=topology, gpus=topology.gpus))
    made = Outcome(TESTS[4], 2, cells)
    for cell in cells:
        event = event_type(id=cell.spec.id, cause=cause, reason=reason)
        made.found[cell.spec.id] = missing(cell.spec, event)
    return made


@pytest.mark.parametrize("reason", ["GPU 0 cannot reach GPU 1's memory directly", "-", ""])
@pytest.mark.parametrize("cause", list(Cause))
def test_only_what_the_hardware_cannot_do_is_waived_whatever_the_reason_says(
    cause: Cause, reason: str
) -> None:
    waived = cause in (Cause.PEER, Cause.GPU_FEATURE)
    assert outcome_of(Skipped, cause, reason).status == ("Waived" if waived else "Error")
    assert outcome_of(Failed, cause, reason).status == "Error"
