"""Limits of copies that share links, on synthetic machines."""

import pytest
from gpu_machine import machine, plan_of

from tierscope.kinds.gpu_copy.spec import copy_spec
from tierscope.machine.paths import MachinePaths
from tierscope.model.topology import NvLink, PciDevice, PcieLink, Performance
from tierscope.plans.gpu import gpu_place, host_place, transfer


def limit(topology, transfers):
    found = copy_spec("x", transfers, topology).limit(MachinePaths(topology))
    assert found is not None
    return found.value


def test_the_limit_of_a_copy_is_its_paths():
    topology = machine(gpus=1)
    one = transfer(host_place(0), gpu_place(0), "ce")
    assert limit(topology, [one]) == pytest.approx(32e9 * 16 * 128 / 130 / 8)


def test_both_ways_have_twice_the_limit_of_one():
    topology = machine(gpus=1)
    there = transfer(host_place(0), gpu_place(0), "ce")
    back = transfer(gpu_place(0), host_place(0), "ce")
    assert limit(topology, [there, back]) == pytest.approx(2 * limit(topology, [there]))


def test_of_many_links_a_slow_one_is_named():
    topology = machine(gpus=4)
    third = topology.pci_device(topology.gpus[2].address)
    narrow = third.model_copy(update={"link": PcieLink(speed=32.0, width=8)})
    devices = [narrow if device is third else device for device in topology.pci]
    topology = topology.model_copy(update={"pci": devices})
    to_host = [transfer(gpu_place(gpu), host_place(0), "ce") for gpu in range(4)]
    found = copy_spec("x", to_host, topology).limit(MachinePaths(topology))
    assert found.link.startswith(f"PCIe 5.0 x8 at {third.address}")
    assert found.link.endswith("and 3 more links")


def test_all_gpus_to_host_have_all_their_links():
    topology = machine(gpus=4)
    transfers = [transfer(gpu_place(gpu), host_place(0), "ce") for gpu in range(4)]
    assert limit(topology, transfers) == pytest.approx(4 * limit(topology, transfers[:1]))


def test_all_to_one_is_limited_by_the_one():
    topology = machine(gpus=4)
    into = [transfer(gpu_place(gpu), gpu_place(0), "ce", writes=True) for gpu in (1, 2, 3)]
    out = [transfer(gpu_place(0), gpu_place(gpu), "ce", writes=True) for gpu in (1, 2, 3)]
    assert limit(topology, into) == pytest.approx(limit(topology, into[:1]))
    assert limit(topology, out) == pytest.approx(limit(topology, out[:1]))


def meshed():
    """Four GPUs, each with four NVLinks straight to each other one."""
    topology = machine(gpus=4)
    gpus = [
        gpu.model_copy(
            update={
                "nvlinks": [
                    NvLink(version=3, links=4, peer="gpu", peer_address=peer.address)
                    for peer in topology.gpus
                    if peer is not gpu
                ]
            }
        )
        for gpu in topology.gpus
    ]
    return topology.model_copy(update={"gpus": gpus})


@pytest.mark.parametrize(
    ("name", "gigabytes"), [("one-to-all", 300), ("all-to-one", 300), ("all-to-all", 1200)]
)
def test_straight_nvlinks_to_several_peers_add_up(name, gigabytes):
    topology = meshed()
    for spec in plan_of("gpu-together", topology, set=name).measurements:
        found = spec.limit(MachinePaths(topology))
        assert found is not None
        assert found.value == gigabytes * 1e9


def below_one_switch(topology):
    """The same GPUs below a PCIe switch whose own link is as wide as each of theirs."""
    link = topology.pci[0].link
    port, switch, *down = (
        PciDevice(address=address, parent=parent, root="0000:00", class_code=0x0604, bridge=True)
        for address, parent in [
            ("0000:00:01.0", None),
            ("0000:01:00.0", "0000:00:01.0"),
            *((f"0000:02:{gpu.index:02x}.0", "0000:01:00.0") for gpu in topology.gpus),
        ]
    )
    switch = switch.model_copy(update={"link": link, "link_max": link})
    gpus = [
        device.model_copy(update={"parent": above.address, "root": "0000:00"})
        for device, above in zip(topology.pci, down, strict=True)
    ]
    return topology.model_copy(update={"pci": [port, switch, *down, *gpus]})


@pytest.mark.parametrize(("virtual", "links"), [("", 1), ("kvm", 2)])
def test_gpus_below_one_switch_share_its_link(virtual, links):
    topology = below_one_switch(machine(gpus=2, nodes=1)).model_copy(update={"virtual": virtual})
    (one_way,) = plan_of("gpu-together", topology, set="host-to-all").measurements
    (both_ways,) = plan_of("gpu-together", topology, set="all-and-host").measurements
    one_link = 32e9 * 16 * 128 / 130 / 8
    found = one_way.limit(MachinePaths(topology))
    assert found is not None
    assert found.value == pytest.approx(links * one_link)
    assert ("0000:01:00.0" in found.link) == (links == 1)
    assert both_ways.limit(MachinePaths(topology)).value == pytest.approx(2 * links * one_link)


def test_gpus_share_the_host_memory_that_they_copy_to():
    topology = machine(gpus=4, nodes=1)
    claim = Performance(initiators=[0], read_bandwidth=100e9)
    nodes = [topology.nodes[0].model_copy(update={"performance": [claim]})]
    topology = topology.model_copy(update={"nodes": nodes})
    for name in ("all-to-host", "all-and-host"):
        (spec,) = plan_of("gpu-together", topology, set=name).measurements
        found = spec.limit(MachinePaths(topology))
        assert found is not None
        assert found.value == pytest.approx(100e9)
        assert "node 0" in found.link


def test_small_copies_inside_a_gpu_have_no_limit_since_they_may_be_in_the_l2():
    topology = machine(gpus=1)
    small, large = plan_of(
        "gpu-copy", topology, from_="gpu:0", to="gpu:0", size="16m,512m"
    ).measurements
    assert small.limit(MachinePaths(topology)) is None
    assert large.limit(MachinePaths(topology)) is not None


def test_a_copy_inside_a_gpu_has_half_its_memorys_rate():
    topology = machine(gpus=1)
    own = gpu_place(0)
    memory = MachinePaths(topology).limit("gpu:0", "gpu:0")
    assert memory is not None
    assert limit(topology, [transfer(own, own, "ce")]) == pytest.approx(memory.value / 2)


def test_small_arrays_have_no_limit_since_they_may_be_in_the_l2():
    topology = machine(gpus=1)
    plan = plan_of("gpu-memory", topology, op="read", size="16m,1g")
    small, large = (spec.limit(MachinePaths(topology)) for spec in plan.measurements)
    assert small is None
    assert large is not None
