"""Limits of links against figures that specifications and data sheets print."""

import pytest

from tierscope.machine import links
from tierscope.model.topology import PcieLink


@pytest.mark.parametrize(
    ("speed", "gigabytes"),
    [(2.5, 4.0), (5.0, 8.0), (8.0, 15.754), (16.0, 31.508), (32.0, 63.015), (64.0, 118.0)],
)
def test_pcie_x16_rate_of_each_generation(speed: float, gigabytes: float) -> None:
    rate = links.pcie_rate(PcieLink(speed=speed, width=16))
    assert rate == pytest.approx(gigabytes * 1e9, rel=1e-4)


def test_pcie_4_x16_is_32_gigabytes_before_its_line_code() -> None:
    rate = links.pcie_rate(PcieLink(speed=16.0, width=16))
    assert rate is not None
    assert rate * 130 / 128 == 32e9


def test_pcie_rate_of_a_speed_that_no_generation_has_is_unknown() -> None:
    assert links.pcie_rate(PcieLink(speed=20.0, width=16)) is None


def test_pcie_headers_leave_256_of_280_bytes_at_max_payload_256() -> None:
    link = PcieLink(speed=16.0, width=16)
    assert links.pcie_payload(link, 256) == pytest.approx(31.508e9 * 256 / 280, rel=1e-4)


def test_pcie_formula_gives_its_own_value() -> None:
    limit = links.pcie_limit(PcieLink(speed=16.0, width=8), " at 0000:17:00.0")
    assert limit is not None
    assert limit.formula == "16 GT/s x 8 lanes x 128/130 / 8 = 15.75 GB/s"
    assert limit.value == pytest.approx(16e9 * 8 * 128 / 130 / 8)


def test_eight_channels_of_ddr5_4800_are_307_2_gigabytes() -> None:
    limit = links.dram_limit("DDR5", 4800e6, 8, 64, "", "")
    assert (limit.value, limit.link) == (307.2e9, "DDR5-4800 x 8 channels")


def test_cxl_on_pcie_5_x8_is_the_link_less_four_bytes_of_each_flit_of_68() -> None:
    limit = links.cxl_limit(PcieLink(speed=32.0, width=8), "")
    assert limit is not None
    assert limit.value == pytest.approx(32e9 * 128 / 130 * 64 / 68)


@pytest.mark.parametrize(
    ("gpu", "count", "lanes", "gigabytes"),
    [
        ("Tesla P100-SXM2-16GB", 4, "8 lanes x 20 Gbit/s", 80),
        ("Tesla V100-SXM3-32GB-H", 6, "8 lanes x 25 Gbit/s", 150),
        ("NVIDIA A100-SXM4-80GB", 12, "4 lanes x 50 Gbit/s", 300),
        ("NVIDIA H100 80GB HBM3", 18, "2 lanes x 100 Gbit/s", 450),
        ("NVIDIA B200", 18, "2 lanes x 200 Gbit/s", 900),
    ],
)
def test_nvlink_total_of_each_generation(
    gpu: str, count: int, lanes: str, gigabytes: float
) -> None:
    known = links.nvlink_version(gpu)
    assert known is not None
    limit = links.nvlink_limit(known[0], count, "")
    assert limit is not None
    assert limit.value == gigabytes * 1e9
    assert limit.formula == f"{count} links x {lanes} / 8 = {gigabytes} GB/s"


@pytest.mark.parametrize("gpu", ["NVIDIA A10", "NVIDIA L40S", "Tesla T4", "NVIDIA H1000", ""])
def test_gpus_without_nvlink_are_given_none(gpu: str) -> None:
    assert links.nvlink_version(gpu) is None


def test_c2c_is_450_gigabytes_each_way() -> None:
    assert links.c2c_limit(None, "").value == 450e9


def test_gpu_memory_of_an_h100_by_clock_and_bus_is_3352_gigabytes() -> None:
    assert links.gpu_memory_limit(2619e6, 5120, "").value == pytest.approx(3352e9, rel=1e-3)


def test_network_port_of_200_gigabits_is_25_gigabytes() -> None:
    assert links.network_limit(200e9, "").value == 25e9
