"""Figures that others published of a CPU, beside a run's own."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import synthetic
from tierscope.kinds.registry import KINDS
from tierscope.machine.published import all_published, published_of
from tierscope.report.published import published_text
from tierscope.report.summary import sentences

VIEWS = {name: kind.view for name, kind in KINDS.items()}


def run(cpu: str, **header: object) -> synthetic.Run:
    measured = synthetic.memory_measurements(synthetic.Maker())
    machine = synthetic.header().machine | {"cpu": cpu}
    return synthetic.run(measured, machine=machine, **header)


@pytest.mark.parametrize(
    ("model", "cpu"),
    [
        ("AMD EPYC 7V73X 64-Core Processor", "AMD EPYC 7V73X"),
        ("AMD EPYC 7551 32-Core Processor", "AMD EPYC 7551"),
        ("Intel(R) Xeon(R) Platinum 8480+", "Intel Xeon Platinum 8480+"),
        ("Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz", "Intel Xeon Gold 5218"),
        ("Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz", "Intel Xeon Platinum 8168"),
    ],
)
def test_a_cpu_is_known_by_its_model_name(model: str, cpu: str) -> None:
    assert [one.cpu for one in published_of(model)] == [cpu]


@pytest.mark.parametrize(
    "model",
    ["", "AMD EPYC", "Intel Xeon Processor (SapphireRapids)", "AMD EPYC 7551P 32-Core Processor",
     "AMD EPYC 77420", "Intel(R) Xeon(R) Platinum 8480C"],
)  # fmt: skip
def test_another_or_an_unnamed_cpu_gets_nothing(model: str) -> None:
    assert published_of(model) == []


@given(st.text(max_size=60))
def test_any_name_may_be_asked_for(model: str) -> None:
    assert all(one.cpu.split()[-1].lower() in model.lower() for one in published_of(model))


def test_each_figure_has_a_unit_a_source_with_its_year_and_its_place_there() -> None:
    for one in all_published():
        assert re.search(r"\d (GB/s|ns)", one.figure)
        assert re.search(r", 20\d\d$", one.source)
        assert one.quoted
        assert published_of(one.cpu)


def test_the_summary_shows_it_with_its_source() -> None:
    said = sentences(run("AMD EPYC 7V73X 64-Core Processor"), VIEWS)
    assert said[-1] == (
        "Published for AMD EPYC 7V73X: 330 to 350 GB/s, STREAM Triad (virtual machine Azure HBv3, "
        "120 cores; Microsoft, HBv3-series VM sizes performance and scalability, 2023)."
    )


def test_what_is_not_of_this_cpus_memory_gets_none() -> None:
    cpu = "AMD EPYC 7V73X 64-Core Processor"
    assert published_text(run("AMD EPYC"), run("AMD EPYC").measurements) == ""
    emulated = run(cpu, emulated=True)
    assert published_text(emulated, emulated.measurements) == ""
    measured = run(cpu)
    of_gpu = [m.model_copy(update={"initiator": "gpu:0"}) for m in measured.measurements]
    assert published_text(measured, of_gpu) == ""
