"""The tour of ``tierscope gpu``: every step is shown, and what a plain copy leaves to gain."""

import io

from gpu_machine import STATE, machine, measured, run_with
from rich.console import Console

from tierscope.model.topology import PcieLink
from tierscope.suites.gpu_tour import Way, plan_of, show_tour, tour


def screen(topology, rate=lambda _step: 50e9, change=None):
    """What is printed where each step has its rate."""
    steps = tour(topology, topology.gpus)
    entries = [measured(step.spec, topology, rate(step)) for step in steps]
    if change is not None:
        entries = [change(step, entry) for step, entry in zip(steps, entries, strict=True)]
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_tour(console, run_with(plan_of(steps), topology, entries), steps)
    return console.file.getvalue()


def test_the_tour_names_every_step_and_the_gain():
    text = screen(machine(gpus=2, cxl=True))
    for words in ("naive (pageable)", "4 streams", "node 1", "node 2", "by a kernel", "both ways"):
        assert words in text
    assert text.count("Still to gain: ") == 2
    assert max(map(len, text.splitlines())) <= 100


def test_each_gpu_has_one_naive_and_one_plain_copy_each_way():
    topology = machine(gpus=3, cxl=True)
    steps = tour(topology, topology.gpus)
    for gpu in topology.gpus:
        own = [step for step in steps if step.gpu == gpu.index]
        assert [step.way for step in own if step.plain] == [Way.TO_GPU, Way.TO_HOST]
        assert [step.way for step in own if step.naive] == [Way.TO_GPU, Way.TO_HOST]
        assert all(step.way for step in own if step.alternative)
    assert len({step.spec.id for step in steps}) == len(steps)


def test_pinned_memory_and_large_copies_are_compared_with_the_naive_copy():
    text = screen(machine(gpus=1), lambda step: 10e9 if step.naive else 50e9)
    said = "to host: pinned memory and large copies give 50.0 GB/s, 5.0 times the naive copy's 10.0"
    assert said in " ".join(text.split())


def test_a_faster_way_than_the_plain_copy_is_a_gain():
    text = screen(machine(gpus=1), lambda step: 60e9 if step.name == "streams" else 50e9)
    assert "4 streams is 20% faster" in " ".join(text.split())


def test_what_ids_are_called_changes_nothing():
    def renamed(step, entry):
        number = [one.spec.id for one in steps].index(entry.id)
        return entry.model_copy(update={"id": f"m{number}"})

    topology = machine(gpus=2)
    steps = tour(topology, topology.gpus)
    entries = [measured(step.spec, topology) for step in steps]
    specs = [step.spec.model_copy(update={"id": f"m{number}"}) for number, step in enumerate(steps)]
    anonymous = [
        type(step)(**{**vars(step), "spec": spec}) for step, spec in zip(steps, specs, strict=True)
    ]
    console = Console(file=io.StringIO(), width=100, highlight=False)
    run = run_with(plan_of(anonymous), topology, [renamed(None, entry) for entry in entries])
    show_tour(console, run, anonymous)
    assert console.file.getvalue() == screen(topology)


def gain_of(topology, rate, **state):
    """What the tour says after its table, where all copies have that rate and NVML saw that."""

    def seen(_step, entry):
        gpus = [STATE.model_copy(update=state)]
        evidence = entry.evidence.model_copy(update={"gpus": gpus})
        return entry.model_copy(update={"evidence": evidence})

    text = " ".join(screen(topology, lambda _step: rate, seen).split())
    return text[text.rindex("Still to gain") :]


def with_link(link, **gpu):
    topology = machine(gpus=1)
    device = topology.pci[0].model_copy(update={"link": link})
    card = topology.gpus[0].model_copy(update=gpu)
    return topology.model_copy(update={"pci": [device], "gpus": [card]})


def test_a_link_at_its_best_that_copies_fill_leaves_nothing_to_gain():
    text = gain_of(machine(gpus=1), 55e9)
    assert text == "Still to gain: none. Nothing else that was measured is faster."


def test_half_a_link_is_a_gain_however_full_it_is():
    text = gain_of(with_link(PcieLink(speed=32.0, width=8)), 27.4e9)
    assert "runs at PCIe 5.0 x8, 50% of what it supports" in text
    assert "to GPU reaches 43% of the link at its best" in text


def test_a_slot_that_is_less_than_its_gpu_leaves_something_to_gain():
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
    text = gain_of(topology.model_copy(update={"pci": [card, port]}), 27.4e9)
    assert text.startswith(
        "Still to gain: PCIe 5.0 x8 at 0000:10:00.0: half of what the GPU can do."
    )


def test_a_link_that_stays_slow_under_load_is_a_gain():
    text = gain_of(machine(gpus=1), 13e9, pcie_generation=[1.0, 3.0])
    assert "runs at PCIe 3.0 x16, 25% of what it supports" in text
    assert "to GPU reaches 21% of its limit" in text


def test_a_gpu_that_is_not_reached_over_pcie_has_no_slow_link():
    topology = with_link(PcieLink(speed=2.5, width=1), c2c_links=10, c2c_rate=450e9)
    assert "runs at" not in gain_of(topology, 400e9, pcie_generation=[1.0, 1.0])


def test_without_a_known_limit_the_gain_is_unknown():
    text = gain_of(with_link(None, link_max=None), 27.4e9)
    assert text.startswith("Still to gain: unknown, because no link's rate is known.")
