"""Affinity of real machines, against the tables that NVIDIA's guide gives for them."""

import io
from pathlib import Path

import pytest
import topology_machines as machines
from rich.console import Console

from tierscope.machine.affinity import advice, array_switches, devices, matrix
from tierscope.machine.uplinks import possible_arrays
from tierscope.model.topology import Block, Mount, Topology
from tierscope.report.topology import show_possible_arrays

DGX2_XML = Path(__file__).parent / "xml" / "nvidia-dgx2.xml"
GPU_ROWS = """
    X    PIX  PXB  PXB  NODE NODE NODE NODE
    PIX  X    PXB  PXB  NODE NODE NODE NODE
    PXB  PXB  X    PIX  NODE NODE NODE NODE
    PXB  PXB  PIX  X    NODE NODE NODE NODE
    NODE NODE NODE NODE X    PIX  PXB  PXB
    NODE NODE NODE NODE PIX  X    PXB  PXB
    NODE NODE NODE NODE PXB  PXB  X    PIX
    NODE NODE NODE NODE PXB  PXB  PIX  X
"""
NIC_ROWS = """
    PIX  PIX  PXB  PXB  NODE NODE NODE NODE X    PXB  NODE NODE
    PXB  PXB  PIX  PIX  NODE NODE NODE NODE PXB  X    NODE NODE
    NODE NODE NODE NODE PIX  PIX  PXB  PXB  NODE NODE X    PXB
    NODE NODE NODE NODE PXB  PXB  PIX  PIX  NODE NODE PXB  X
"""


@pytest.fixture
def dgx2() -> Topology:
    return machines.discovered(machines.dgx2)


@pytest.fixture
def dgx_a100() -> Topology:
    return machines.discovered(machines.dgx_a100)


def labels(topology: Topology, names: list[str], *, nvlink: bool = False) -> list[list[str]]:
    rows = [device.name for device in devices(topology)]
    full = matrix(topology, nvlink=nvlink)
    return [[str(full[rows.index(a)][rows.index(b)]) for b in names] for a in names]


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def gpus(numbers: range) -> list[str]:
    return [f"gpu:{number}" for number in numbers]


def test_dgx2_s_arrays_are_those_of_nvidia_s_guide(dgx2: Topology) -> None:
    """Table 1 of the GPUDirect Storage Benchmarking Guide: four GPUs beside each pair of drives."""
    assert possible_arrays(dgx2) == [
        ([f"nvme{2 + 2 * n}n1", f"nvme{3 + 2 * n}n1"], [f"gpu:{4 * n + k}" for k in range(4)])
        for n in range(4)
    ]
    console = Console(width=100, record=True, file=io.StringIO())
    show_possible_arrays(console, dgx2)
    text = console.export_text()
    assert "--raid-devices=2 /dev/nvme8n1 /dev/nvme9n1" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_a_drive_in_use_is_in_no_possible_array(dgx2: Topology) -> None:
    partition = Block(name="nvme2n1p1", kind="partition", members=["nvme2n1"])
    mounted = Mount(path="/data", type="xfs", block="nvme5n1")
    used = dgx2.model_copy(update={"blocks": [*dgx2.blocks, partition], "mounts": [mounted]})
    assert [drives for drives, _ in possible_arrays(used)] == [
        ["nvme6n1", "nvme7n1"], ["nvme8n1", "nvme9n1"]
    ]  # fmt: skip


def test_dgx2_first_eight_gpus_are_as_nvidia_smi_topo_mp_prints_them(dgx2: Topology) -> None:
    assert labels(dgx2, gpus(range(8))) == table(GPU_ROWS)


def test_dgx2_gpus_of_the_other_socket_are_all_sys(dgx2: Topology) -> None:
    every = labels(dgx2, gpus(range(16)))
    assert {label for row in every[8:] for label in row[:8]} == {"SYS"}


def test_dgx2_nics_are_as_nvidia_smi_topo_mp_prints_them(dgx2: Topology) -> None:
    nics = [f"mlx5_{number}" for number in range(4)]
    rows = labels(dgx2, gpus(range(8)) + nics)[8:]
    assert rows == table(NIC_ROWS)


def test_dgx2_nvlinks_join_all_gpus_with_six_links(dgx2: Topology) -> None:
    every = labels(dgx2, gpus(range(16)), nvlink=True)
    assert {label for i, row in enumerate(every) for j, label in enumerate(row) if i != j} == {
        "NV6"
    }


@pytest.mark.parametrize(
    ("first", "drives"),
    [
        (0, ["nvme2", "nvme3"]),
        (4, ["nvme4", "nvme5"]),
        (8, ["nvme6", "nvme7"]),
        (12, ["nvme8", "nvme9"]),
    ],
)
def test_dgx2_table_1_nearest_drives(dgx2: Topology, first: int, drives: list[str]) -> None:
    found = {entry.gpu: entry.nvme.names for entry in advice(dgx2) if entry.nvme}
    assert [found[f"gpu:{gpu}"] for gpu in range(first, first + 4)] == [drives] * 4


def test_dgx2_nearest_nic_is_the_one_on_the_gpus_own_switch(dgx2: Topology) -> None:
    found = [entry.nics.names for entry in advice(dgx2) if entry.nics]
    assert found == [[f"mlx5_{gpu // 2}"] for gpu in range(16)]


@pytest.mark.parametrize(
    ("first", "drives"),
    [
        (0, ["nvme0", "nvme1"]),
        (2, ["nvme4", "nvme5"]),
        (4, ["nvme6", "nvme7"]),
        (6, ["nvme8", "nvme9"]),
    ],
)
def test_dgx_a100_table_4_nearest_drives(dgx_a100: Topology, first: int, drives: list[str]) -> None:
    found = {entry.gpu: entry.nvme.names for entry in advice(dgx_a100) if entry.nvme}
    assert [found[f"gpu:{gpu}"] for gpu in (first, first + 1)] == [drives] * 2


def test_dgx_a100_second_gpu_crosses_more_switches_to_the_drives(dgx_a100: Topology) -> None:
    crossed = {entry.gpu: entry.nvme.switches for entry in advice(dgx_a100) if entry.nvme}
    assert crossed["gpu:1"] > crossed["gpu:0"] == 2


def test_dgx_a100_common_ancestor_is_the_bridge_of_the_guide(dgx_a100: Topology) -> None:
    rows = [device.name for device in devices(dgx_a100)]
    pair = matrix(dgx_a100)[rows.index("gpu:0")][rows.index("nvme0")]
    assert (str(pair), pair.common) == ("PXB", "0000:03:00.0")


def test_dgx_a100_default_array_spans_four_switches(dgx_a100: Topology) -> None:
    assert array_switches(dgx_a100)["md1"] == {
        "0000:01:00.0": ["nvme0", "nvme1"],
        "0000:41:00.0": ["nvme4", "nvme5"],
        "0000:81:00.0": ["nvme6", "nvme7"],
        "0000:b1:00.0": ["nvme8", "nvme9"],
    }


def test_dgx_a100_array_is_as_far_as_its_farthest_member(dgx_a100: Topology) -> None:
    found = [entry.arrays for entry in advice(dgx_a100)]
    assert {(entry.names[0], str(entry.level)) for entry in found if entry} == {("md1", "SYS")}
