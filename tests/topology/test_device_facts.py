"""Slots, packet sizes, models, firmware and power caps from a machine's files and a fake NVML."""

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from topology_machines import GPU_CLASS, NVIDIA, NVME_CLASS, FakeNvml, Sysfs, fake_gpu

from forked import tierscope
from tierscope.machine.checks import link_findings
from tierscope.machine.discover import discover
from tierscope.machine.nvidia import driver_version
from tierscope.machine.pci import Config, link_state, packet_sizes, slot_number
from tierscope.machine.settings import read_settings
from tierscope.model.finding import Finding
from tierscope.model.topology import PciDevice, Topology
from tierscope.report.topology import show_machine

GPU = "0000:16/0000:16:00.0/0000:17:00.0"


def configuration(
    *, payload: int = 1, able: int = 2, request: int = 5, slot: int | None = None
) -> bytes:
    """4 KiB with a PCI Express capability; sizes are exponents, as the device has them."""
    config = bytearray(4096)
    config[6], config[0x34] = 0x10, 0x78
    config[0x78:0x7A] = b"\x10\x00"
    config[0x7A:0x7C] = (0x0002 | (1 << 8 if slot is not None else 0)).to_bytes(2, "little")
    config[0x7C:0x80] = able.to_bytes(4, "little")
    config[0x80:0x82] = (payload << 5 | request << 12).to_bytes(2, "little")
    config[0x8C:0x90] = ((slot or 0) << 19).to_bytes(4, "little")
    return bytes(config)


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    tree = Sysfs(tmp_path)
    tree.cpus([[0, 1]])
    tree.node(0, [0, 1], 1000, "10")
    return tree


def card(sysfs: Sysfs, place: str, class_code: int, vendor: int, config: bytes) -> str:
    link = (16.0, 16)
    directory = sysfs.pci(place, class_code, vendor, node=0, now=link, best=link)
    (sysfs.root / directory.lstrip("/") / "config").write_bytes(config)
    return directory


def port(sysfs: Sysfs, slot: int) -> None:
    config = sysfs.root / "sys/bus/pci/devices/0000:16:00.0/config"
    config.write_bytes(configuration(slot=slot))


def test_packet_sizes_are_those_of_device_control(sysfs: Sysfs) -> None:
    card(sysfs, GPU, GPU_CLASS, NVIDIA, configuration(payload=1, able=2, request=5))
    device = discover(sysfs.root).pci[-1]
    assert (device.max_payload, device.max_payload_able, device.max_read_request) == (
        256,
        512,
        4096,
    )


A10 = {"slot_power_w": 75.0, "relaxed_ordering": True, "aspm": "none", "error_bits": []}
"""As lspci -vvv shows an A10: SlotPowerLimit 75.000W, RlxdOrd+, no error of DevSta."""


def a10(status: int = 0, ordering: int = 1, aspm: int = 0) -> bytes:
    config = bytearray(configuration())
    config[0x7C:0x80] = (2 | 75 << 18).to_bytes(4, "little")
    config[0x80:0x82] = (1 << 5 | ordering << 4).to_bytes(2, "little")
    config[0x82:0x84] = status.to_bytes(2, "little")
    config[0x88:0x8A] = aspm.to_bytes(2, "little")
    return bytes(config)


def state_of(sysfs: Sysfs, config: bytes) -> dict[str, object]:
    card(sysfs, GPU, GPU_CLASS, NVIDIA, config)
    return discover(sysfs.root).pci[-1].model_dump(include=set(A10))


@pytest.mark.parametrize(
    ("config", "changed"),
    [
        (a10(), {}),
        (a10(status=0b1001), {"error_bits": ["correctable", "unsupported request"]}),
        (a10(ordering=0, aspm=3), {"relaxed_ordering": False, "aspm": "L0s and L1"}),
        (configuration(able=2 | 0xF1 << 18), {"slot_power_w": 275.0, "relaxed_ordering": False}),
        (configuration(able=2 | 250 << 18 | 1 << 26),
         {"slot_power_w": 25.0, "relaxed_ordering": False}),
    ],
)  # fmt: skip
def test_power_ordering_sleep_and_error_bits_are_the_capability_s(
    sysfs: Sysfs, config: bytes, changed: dict[str, object]
) -> None:
    assert state_of(sysfs, config) == A10 | changed


def test_without_root_nothing_is_said_of_them(sysfs: Sysfs) -> None:
    assert state_of(sysfs, a10()[:64]) == dict.fromkeys(A10) | {"error_bits": []}
    assert any("ASPM" in line for line in discover(sysfs.root).unreadable)


def counted_errors(sysfs: Sysfs, address: str, correctable: int, fatal: int) -> None:
    place = f"/sys/bus/pci/devices/{address}"
    lines = f"Receiver Error {correctable}\nBad TLP 0\nTOTAL_ERR_COR {correctable}\n"
    sysfs.write(f"{place}/aer_dev_correctable", lines)
    sysfs.write(f"{place}/aer_dev_fatal", f"Malformed TLP {fatal}\nTOTAL_ERR_FATAL {fatal}\n")


def test_doctor_names_errors_of_devices_and_of_the_ports_above_them(sysfs: Sysfs) -> None:
    card(sysfs, GPU, GPU_CLASS, NVIDIA, a10(status=1, ordering=0, aspm=2))
    port(sysfs, slot=7)
    counted_errors(sysfs, "0000:16:00.0", 12, 0)
    counted_errors(sysfs, "0000:17:00.0", 3, 1)
    machine = discover(sysfs.root)
    found = {one.subject: one for one in link_findings(machine, str(sysfs.root))}
    gpu = found["PCIe errors of gpu:0 at 0000:17:00.0"]
    assert gpu.found == "3 correctable, 1 fatal since the kernel started (AER)"
    assert gpu.severity == "problem"
    above = found["PCIe errors of 0000:16:00.0"]
    assert (above.severity, above.found) == (
        "note",
        "12 correctable since the kernel started (AER)",
    )
    assert found["relaxed ordering"].found == "off at gpu:0 at 0000:17:00.0"
    assert found["PCIe ASPM"].found == "links may sleep at gpu:0 at 0000:17:00.0"
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_machine(console, machine, nvlink=True)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "slot power, ordering, sleep, errors" in text
    (row,) = [row for row in text.splitlines() if row.split()[:3] == ["gpu:0", "75", "off"]]
    assert row.split()[3:] == ["L1", "correctable", "3", "-", "1"]


def test_a_slot_is_the_kernel_s_or_the_port_s(sysfs: Sysfs) -> None:
    card(sysfs, GPU, GPU_CLASS, NVIDIA, configuration())
    assert discover(sysfs.root).pci[-1].slot == ""
    port(sysfs, slot=7)
    assert discover(sysfs.root).pci[-1].slot == "7"
    sysfs.write("/sys/bus/pci/slots/3-1/address", "0000:17:00")
    assert discover(sysfs.root).pci[-1].slot == "3-1"


def test_what_is_on_a_card_with_a_switch_is_in_the_card_s_slot(sysfs: Sysfs) -> None:
    place = "0000:16/0000:16:00.0/0000:17:00.0/0000:18:00.0/0000:19:00.0"
    card(sysfs, place, NVME_CLASS, 0x144D, configuration())
    sysfs.write("/sys/bus/pci/slots/5/address", "0000:17:00")
    assert {one.address: one.slot for one in discover(sysfs.root).pci}["0000:19:00.0"] == "5"


@given(st.binary(min_size=64, max_size=512))
def test_any_configuration_space_is_read_without_a_crash(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("config") / "config"
    path.write_bytes(data)
    with path.open("rb") as file:
        config = Config(os.dup(file.fileno()))
        sizes, number = packet_sizes(config), slot_number(config)
        PciDevice(address="", parent=None, root="", class_code=0, **link_state(config))
        config.close()
    assert all(value is None or 128 <= value <= 128 << 7 for value in sizes.values())
    assert number is None or 0 < number < 1 << 13


def whole(sysfs: Sysfs) -> Topology:
    """A GPU in a slot, a drive, CXL memory, and firmware of everything."""
    card(sysfs, GPU, GPU_CLASS, NVIDIA, configuration())
    port(sysfs, slot=7)
    drive = card(sysfs, "0000:30/0000:30:00.0/0000:31:00.0", NVME_CLASS, 0x144D, configuration())
    sysfs.nvme(drive, "nvme0n1")
    sysfs.write(f"{drive}/nvme/nvme0/nvme0n1/device/model", "SAMSUNG MZQL21T9HCJR")
    sysfs.write(f"{drive}/nvme/nvme0/nvme0n1/device/firmware_rev", "GDC5602Q")
    cxl = sysfs.pci("0000:40/0000:40:00.0/0000:41:00.0", 0x050210, 0x1344, node=0)
    sysfs.write(f"{cxl}/mem0/ram/size", "0x1000000000")
    sysfs.write(f"{cxl}/mem0/firmware_version", "1.4.2")
    sysfs.link("/sys/bus/cxl/devices/mem0", f"{cxl}/mem0")
    sysfs.write("/sys/class/dmi/id/bios_vendor", "Vendor")
    sysfs.write("/sys/class/dmi/id/bios_version", "2.1")
    sysfs.write("/sys/class/dmi/id/bios_date", "01/02/2026")
    sysfs.write(
        "/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23",
    )
    return discover(sysfs.root, FakeNvml([fake_gpu("17", VbiosVersion=b"96.00.5E.00.01")]))


FIRMWARE = {
    "gpu:0": "Test GPU, VBIOS 96.00.5E.00.01",
    "nvme0n1": "SAMSUNG MZQL21T9HCJR, GDC5602Q",
    "mem0": "1344:1234, 1.4.2",
    "machine": "Vendor 2.1 (01/02/2026)",
}


def test_a_run_s_environment_names_models_and_firmware(sysfs: Sysfs) -> None:
    settings = read_settings(whole(sysfs), str(sysfs.root))
    found = {part: settings.get(f"firmware of {part}") for part in FIRMWARE}
    assert found == FIRMWARE
    assert settings["gpu-driver"] == "580.95.05"


def test_tables_show_slots_packets_both_ways_and_firmware(sysfs: Sysfs) -> None:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_machine(console, whole(sysfs), nvlink=True)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    (line,) = [row for row in text.splitlines() if "4096" in row and "gpu:0" in row]
    assert line.split() == [
        "gpu:0",
        "7",
        "4.0",
        "x16",
        "256",
        "of",
        "512",
        "4096",
        "31.51",
        "63.02",
        "28.81",
    ]
    for firmware in FIRMWARE.values():
        assert firmware.rpartition(", ")[2].split()[0] in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_path_has_a_limit_both_ways(sysfs: Sysfs) -> None:
    whole(sysfs)
    done = tierscope("topo", "node:0", "gpu:0", "--fsroot", sysfs.root, "--json")
    path = json.loads(done.stdout)
    assert path["both_ways"] == pytest.approx(2 * path["limit"]["value"])
    said = tierscope("topo", "node:0", "gpu:0", "--fsroot", sysfs.root).stdout
    assert "31.51 GB/s each way, 63.02 GB/s both ways at once" in said


def capped(sysfs: Sysfs, limit: int, default: int, most: int) -> list[Finding]:
    answers = {
        "EnforcedPowerLimit": 1000 * limit,
        "PowerManagementDefaultLimit": 1000 * default,
        "PowerManagementLimitConstraints": [100_000, 1000 * most],
    }
    sysfs.pci(GPU, GPU_CLASS, NVIDIA)
    topology = discover(sysfs.root, FakeNvml([fake_gpu("17", **answers)]))
    found = link_findings(topology, str(sysfs.root))
    return [one for one in found if "power cap" in one.subject]


@pytest.mark.parametrize(
    ("limit", "default", "most", "severity", "words"),
    [
        (300, 700, 700, "problem", ["300 W of 700 W (43%)", "57% less power", "-pl 700"]),
        (350, 350, 400, "note", ["350 W of 400 W (88%)", "350 W by default", "-pl 400"]),
        (200, 350, 400, "problem", ["-pl 350 (its default; 400 is the most)"]),
        (700, 700, 700, "good", ["700 W, the most there is"]),
    ],
)
def test_a_power_cap_is_held_against_the_most_and_the_default(
    sysfs: Sysfs, limit: int, default: int, most: int, severity: str, words: list[str]
) -> None:
    (found,) = capped(sysfs, limit, default, most)
    assert found.severity == severity
    text = f"{found.found} {found.meaning} {found.remedy}"
    assert [word for word in words if word not in text] == []


def test_gpus_that_tell_no_cap_are_not_spoken_of(sysfs: Sysfs) -> None:
    sysfs.pci(GPU, GPU_CLASS, NVIDIA)
    topology = discover(sysfs.root, FakeNvml([fake_gpu("17", Name="old")]))
    assert not [f for f in link_findings(topology, str(sysfs.root)) if "power" in f.subject]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue", "580.95.05"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release",
            "575.57.08",
        ),
        ("something else", ""),
    ],
)
def test_the_driver_s_version_is_that_of_its_module(text: str, version: str) -> None:
    files = SimpleNamespace(text=lambda _path: text)
    assert driver_version(files) == version  # type: ignore[arg-type]
