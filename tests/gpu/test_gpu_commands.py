"""``tierscope gpu`` and ``tierscope nvbandwidth`` on a machine without a GPU."""

import json

import pytest
from gpu_machine import machine, plan_of

from forked import tierscope
from tierscope.cli.gpu import _chosen
from tierscope.engine.process import capabilities
from tierscope.engine.repetitions import living_engine
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.peers.nvbandwidth.cases import TESTS
from tierscope.peers.nvbandwidth.cells import Settings, make_cells
from tierscope.suites.registry import SUITES


@pytest.fixture(scope="module")
def without_gpu():
    gpu = next(entry for entry in capabilities().capabilities if entry.name == "gpu")
    if gpu.available:
        pytest.skip("this machine has a GPU; tests/gpu/test_on_gpu.py is for it")


@pytest.mark.parametrize("command", ["", "copy", "matrix", "together", "memory", "latency"])
@pytest.mark.usefixtures("without_gpu")
def test_without_a_gpu_one_line_says_so_and_the_exit_code_is_3(command):
    ran = tierscope("gpu", *filter(None, [command]))
    assert ran.returncode == 3
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert "no GPU can be used" in ran.stderr


@pytest.mark.usefixtures("without_gpu")
def test_nvbandwidth_without_a_gpu_is_a_failure():
    ran = tierscope("nvbandwidth", "--json")
    assert ran.returncode == 1
    assert "no GPU can be used" in json.loads(ran.stdout)["nvbandwidth"]["error"]


@pytest.mark.usefixtures("without_gpu")
def test_the_engine_reads_every_spec_that_plans_make_and_says_what_is_missing():
    topology = machine(gpus=2, nodes=1)
    specs = SUITES["full"].prepare(topology, thp=False).plan.measurements
    settings = Settings(topology=topology, gpus=topology.gpus)
    cells = [cell for test in TESTS for cell in make_cells(test, settings)]
    gpu = [spec for spec in specs if spec.kind.startswith("gpu")] + [cell.spec for cell in cells]
    with living_engine() as engine:
        engine.plan(gpu)
        outcomes = [
            event
            for spec in gpu
            for event in engine.repetition(spec.id, 0.01)
            if isinstance(event, Repetition | Skipped | Failed)
        ]
    assert len(outcomes) == len(gpu)
    assert all(isinstance(event, Skipped) and event.cause is Cause.GPU for event in outcomes)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (None, [0, 1, 2, 3]),
        ("all", [0, 1, 2, 3]),
        ("0", [0]),
        ("0..3", [0, 1, 2, 3]),
        ("3,0..1", [0, 1, 3]),
        ("1..all", [1, 2, 3]),
    ],
)
def test_the_tour_s_gpus_are_numbered_from_0(text, numbers):
    assert [gpu.index for gpu in _chosen(machine(gpus=4), text)] == numbers


@pytest.mark.parametrize(("text", "said"), [("4", "there is no GPU 4"), ("-1", "--gpus: '-1'")])
def test_a_gpu_that_there_is_not_is_refused(text, said):
    with pytest.raises(UserError, match=said):
        _chosen(machine(gpus=4), text)


def test_the_help_names_the_sizes_that_are_measured():
    sizes = {
        spec.target: spec.pattern.size
        for spec in plan_of("gpu-latency", machine(gpus=1, nodes=1)).measurements
    }
    assert sizes == {"gpu:0": 1 << 30, "node:0": 256 << 20}
    said = " ".join(tierscope("gpu", "latency", "--help").stdout.split())
    assert "[default: 1g; of host memory past the CPUs' caches]" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-t", "host_to_device_memcpy_cee"], "did you mean 'host_to_device_memcpy_ce'?"),
        (["-t", "57"], "indices go from 0 to 56"),
        (["-p", "nothing"], "no test case begins with nothing"),
        (["-p", "host", "-t", "0"], "not both"),
        (["-b", "x"], "invalid int value"),
        (["--colour"], "unrecognized arguments"),
    ],
)
def test_nvbandwidth_refuses_what_it_does_not_know_with_exit_code_1(arguments, said):
    ran = tierscope("nvbandwidth", *arguments)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert said in ran.stderr


def test_nvbandwidth_lists_names_with_their_indices():
    ran = tierscope("nvbandwidth", "--list")
    assert ran.returncode == 0
    for index, test in enumerate(TESTS):
        assert f"{index}, {test.name}:\n" in ran.stdout


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_nvbandwidth_explains_its_options(option):
    ran = tierscope("nvbandwidth", option)
    assert ran.returncode == 0
    for word in ("--bufferSize", "--testcasePrefixes", "--pair", "example:"):
        assert word in ran.stdout
