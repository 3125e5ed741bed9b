"""Suites: each makes a plan from the machine alone."""

import pytest

from tierscope.model.errors import ExitCode, UserError
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.expand import expand
from tierscope.plans.fit import check_memory
from tierscope.plans.request import Request
from tierscope.suites.registry import SUITES
from tierscope.suites.suite import Suite

EACH = pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))
ON_GPUS = ["gpu", "gpu-matrix", "gpu-together", "nvbandwidth"]
SKIPS_GPU_FIGURES = "coherent-gpu"
"""What a GPU initiates is planned without one too, and skipped with the reason."""
FORMS = [suite for suite in SUITES.values() if suite.form_module]


@pytest.fixture
def whole(machine: Topology) -> Topology:
    """The machine of all tests, with two GPUs."""
    gpus = [
        Gpu(index=index, name="a GPU", address=f"0000:{index:02x}:00.0", memory_bytes=80 << 30)
        for index in range(2)
    ]
    return machine.model_copy(update={"gpus": gpus})


@EACH
def test_a_recipe_needs_nothing_but_the_machine(suite: Suite, whole: Topology) -> None:
    prepared = suite.prepare(whole, thp=True)
    check_memory(prepared.plan, whole)
    assert suite.summary.endswith(".")
    if prepared.requests:
        again = expand(list(prepared.requests), whole, thp=True)
        assert again == prepared.plan


@pytest.mark.parametrize("name", ON_GPUS)
def test_without_a_gpu_its_recipes_measure_nothing(name: str, machine: Topology) -> None:
    with pytest.raises(UserError, match="no NVIDIA GPU was found") as refused:
        SUITES[name].prepare(machine, thp=True)
    assert refused.value.exit_code is ExitCode.NOTHING_MEASURED


@pytest.mark.parametrize(
    "name", [name for name in SUITES if name not in (*ON_GPUS, SKIPS_GPU_FIGURES)]
)
def test_without_a_gpu_the_others_measure_cpus(name: str, machine: Topology) -> None:
    kinds = {spec.kind for spec in SUITES[name].prepare(machine, thp=True).plan.measurements}
    assert kinds
    assert not any(kind.startswith("gpu-") for kind in kinds)


@pytest.mark.parametrize("suite", FORMS, ids=[suite.name for suite in FORMS])
def test_options_of_a_recipe_are_blamed_by_name(suite: Suite, whole: Topology) -> None:
    for option in suite.request.options:
        wrong = Request(kind=suite.name, options={option.name: "@nothing of the kind"})
        with pytest.raises(UserError) as refused:
            expand([wrong], whole, thp=True)
        assert str(refused.value).startswith(f"--{option.name}: ")
    assert all(example.startswith(suite.command) for example in suite.request.examples)
