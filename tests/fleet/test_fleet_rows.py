"""Facts of hosts, what others took from them, and their rows in tables."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests import synthetic
from tests.fleet import made

from tierscope.fleet.gather import gather
from tierscope.fleet.rows import Rows, facts_of, model_of, neighbours_of, run_files_below
from tierscope.fleet.tables import open_fleet, records
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.evidence import GpuState
from tierscope.model.fleet import ClockOffset, FleetHost, FleetIndex
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Dimm, Gpu, PciDevice, PcieLink, Port

GIB = 1 << 30
MACHINE = {"cores": 1, "cpus": 1, "nodes": [], "gpus": []}
GEN5 = PcieLink(speed=32, width=8)


def measured(*evidence: Evidence | None) -> list[Measurement]:
    """A measurement of 20 samples for each evidence."""
    found = made.measurements(random.Random(1), figures=len(evidence))
    return [
        one.model_copy(update={"evidence": seen}) for one, seen in zip(found, evidence, strict=True)
    ]


def bare(members: list[Measurement], **changes: Any) -> Run:
    """A run on a machine of one CPU, of which nothing else is known."""
    machine = {**synthetic.header().machine, **MACHINE, **changes.pop("machine", {})}
    header = {"environment": {}, "topology": None, "machine": machine, **changes}
    return synthetic.run(members, **header)


def told(run: Run) -> dict[str, str]:
    """Facts, but for those that a machine of one CPU has."""
    found = facts_of(run)
    assert {found.pop(key) for key in ("cores", "cpus")} == {"1"}
    return found


def facts(**parts: Any) -> dict[str, str]:
    """What is said of a machine that has only these parts."""
    topology = synthetic.topology().model_copy(update={"pci": [], "gpus": [], **parts})
    return told(bare([], topology=topology))


def device(address: str, **changes: Any) -> PciDevice:
    values = {"parent": None, "root": "0000:00", "class_code": 0x0200, "link": GEN5, **changes}
    return PciDevice(address=address, **values)


def test_settings_that_always_differ_are_no_facts() -> None:
    environment = {
        "load": "3", "memory-limit": "9", "hugetlb-2M": "1", "thp": "always", "kernel": "6.12",
    }  # fmt: skip
    found = facts_of(synthetic.run([], environment=environment, topology=None))
    assert found == {
        "thp": "always", "kernel": "6.12", "cores": "32", "cpus": "64", "GPUs": "2",
        "memory of node:0": "DRAM 256 GiB", "memory of node:1": "DRAM 256 GiB",
        "memory of node:2": "CXL 256 GiB",
    }  # fmt: skip


def test_what_a_machine_lacks_is_no_fact() -> None:
    assert facts() == {}


@pytest.mark.parametrize(
    ("size", "said"), [(15.4, "DRAM 15 GiB"), (15.6, "DRAM 16 GiB"), (0.2, "DRAM 0 GiB")]
)
def test_memory_is_rounded_to_gib(size: float, said: str) -> None:
    nodes: list[dict[str, Any]] = [{"node": 4, "kind": "DRAM", "total_bytes": int(size * GIB)}]
    nodes[0] |= {"cpus": [], "free_bytes": None}
    assert told(bare([], machine={"nodes": nodes})) == {"memory of node:4": said}


def test_modules_are_counted_by_size_type_and_speed() -> None:
    sizes = [(16, 4.8e9), (32, None), (16, 4.8e9), (1.5, 5.6e9)]
    dimms = [
        Dimm(slot=str(slot), type="DDR5", size_bytes=int(size * GIB), speed=speed)
        for slot, (size, speed) in enumerate(sizes)
    ]
    assert facts(dimms=dimms) == {
        "DIMMs": "1 x 1.5 GiB DDR5 at 5600 MT/s, 2 x 16 GiB DDR5 at 4800 MT/s, 1 x 32 GiB DDR5"
    }


def test_links_are_told_of_devices_and_of_gpus_only_their_lanes() -> None:
    """Links of GPUs are slow while they idle; bridges and devices without a link stand between."""
    pci = [
        device("bridge", bridge=True), device("by its class", class_code=0x0604),
        device("none", link=None), device("nic"), device("gpu", class_code=0x0302),
        device("ssd", class_code=0x0108, link=PcieLink(speed=2.5, width=4)),
    ]  # fmt: skip
    assert facts(pci=pci) == {
        "PCIe link of nic": "32 GT/s x8", "PCIe lanes of gpu": "x8",
        "PCIe link of ssd": "2.5 GT/s x4",
    }  # fmt: skip


def test_power_caps_and_mig_of_gpus() -> None:
    gpus = [
        Gpu(index=3, name="A", address="", power_limit_w=350.5, mig=False),
        Gpu(index=5, name="A", address="", mig=True),
        Gpu(index=7, name="A", address="", power_limit_w=0.0),
    ]
    assert facts(gpus=gpus) == {
        "power cap of gpu:3": "350.5 W", "MIG of gpu:3": "off", "MIG of gpu:5": "on",
        "power cap of gpu:7": "0 W",
    }  # fmt: skip


def test_ports_that_are_no_virtual_ones() -> None:
    ports = [
        Port(name="veth0", kind="virtual", speed=10e9, state="up"),
        Port(name="eth0", kind="ethernet", speed=25e9, state="up"),
        Port(name="eth1", kind="ethernet"),
        Port(name="ib0/1", kind="infiniband", speed=2.5e9, state="active"),
    ]
    assert facts(ports=ports) == {
        "port eth0": "25 Gbit/s up", "port eth1": "no speed", "port ib0/1": "2.5 Gbit/s active"
    }  # fmt: skip


def state(gpu: int, **seen: Any) -> GpuState:
    return GpuState(gpu=gpu, name="A", samples=1, **seen)


def test_what_gpus_did_over_all_measurements() -> None:
    """The best link that was seen, every reason for lower clocks, and whether packets were sent
    again; a half of a link is none."""
    first = [
        state(0, pcie_generation=[1, 4], pcie_width=[8, 16], throttle=["power"], pcie_replays=1),
        state(1, pcie_generation=[3, 5], pcie_width=[4, 8], throttle=[], pcie_replays=0),
        state(2, pcie_generation=[3, 5], pcie_width=[]),
        state(3, pcie_width=[3, 5]),
    ]
    second = [state(0, pcie_generation=[3, 3], pcie_width=[16, 16], throttle=["heat", "power"])]
    seen = measured(Evidence(gpus=first), None, Evidence(), Evidence(gpus=second))
    assert told(bare(seen)) == {
        "PCIe link of gpu:0 in use": "generation 4 x16",
        "PCIe link of gpu:1 in use": "generation 5 x8",
        "throttling of gpu:0": "heat, power", "PCIe replays of gpu:0": "some",
        "throttling of gpu:1": "none", "PCIe replays of gpu:1": "none",
        "throttling of gpu:2": "none", "PCIe replays of gpu:2": "none",
        "throttling of gpu:3": "none", "PCIe replays of gpu:3": "none",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("evidence", "disturbed", "stolen"),
    [
        ([Evidence(disturbed=3, replaced=10)], 13 / 30, None),
        ([Evidence(disturbed=3)], 3 / 20, None),
        ([Evidence(disturbed=0, replaced=0, steal_share=0.0)], 0.0, 0.0),
        ([Evidence(replaced=5)], None, None),
        ([None, Evidence(disturbed=4, replaced=20, steal_share=0.5), Evidence(steal_share=0.1)],
         24 / 40, pytest.approx(0.3)),
        ([Evidence(disturbed=4), Evidence(disturbed=1, replaced=10)], 15 / 50, None),
        ([], None, None),
    ],
)  # fmt: skip
def test_shares_that_others_took(
    evidence: list[Evidence | None], disturbed: float | None, stolen: float | None
) -> None:
    """Of 20 samples that each measurement kept, and those that were replaced."""
    found = neighbours_of(synthetic.run(measured(*evidence)))
    assert (found["disturbed"], found["stolen"]) == (disturbed, stolen)


@pytest.mark.parametrize(
    ("load", "cpus", "share"),
    [("3.2", 64, 0.05), ("", 64, None), ("3.2", 0, None), ("high", 64, None)],
)
def test_load_is_of_a_cpu(load: str, cpus: int, share: float | None) -> None:
    run = bare([], environment={"load": load}, machine={"cpus": cpus})
    assert neighbours_of(run)["load"] == share


def test_a_host_that_tells_no_load_has_none() -> None:
    assert neighbours_of(bare([]))["load"] is None


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        ({"product": "P", "packages": 2, "cpu": "C", "hypervisor": "kvm",
          "gpus": [{"index": n, "name": name} for n, name in enumerate("BAB")]},
         "P, 2 x C, A, B, kvm"),
        ({"product": "", "packages": 1, "cpu": "C"}, "1 x C"),
        ({"product": "P", "packages": 1, "cpu": ""}, "P, 1 x"),
    ],
)  # fmt: skip
def test_a_model_is_what_hosts_should_have_alike(machine: dict[str, Any], name: str) -> None:
    assert model_of(bare([], machine=machine).header) == name


def test_run_files_are_those_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b/c").mkdir(parents=True)
    (tmp_path / "b/folder.jsonl").mkdir()
    for name in ("b/c/2.jsonl", "b/1.jsonl", "z.jsonl", "b/1.json", "fleet.json"):
        (tmp_path / name).touch()
    listed = [str(tmp_path / name) for name in ("b/1.jsonl", "b/c/2.jsonl", "z.jsonl")]
    assert run_files_below(tmp_path) == listed


@pytest.mark.parametrize(
    ("length", "count", "lines"),
    [
        (10, 5000, [5000]),
        # 2048 lines of 1 KiB are 2 MiB, of 4 KiB they are 8, of which 4 MiB go to a file.
        (1 << 10, 5000, [5000]),
        (2048, 5000, [5000]),
        (2049, 5000, [2048, 2048, 904]),
        (4 << 10, 3000, [1025, 1025, 950]),
        (5 << 20, 3, [1, 1, 1]),
    ],
)
def test_rows_are_split_where_what_is_read_at_once_would_be_large(
    tmp_path: Path, length: int, count: int, lines: list[int]
) -> None:
    rows = Rows(tmp_path / "rows")
    text = "x" * (length - len('{"a":""}\n'))
    for _ in range(count):
        rows.add({"a": text})
    rows.close()
    files = sorted(rows.files.parent.glob(rows.files.name))
    assert [gzip.decompress(file.read_bytes()).count(b"\n") for file in files] == lines
    assert rows.longest == length


def host_rows(folder: Path) -> list[dict[str, Any]]:
    return records(open_fleet(str(folder)), "from hosts order by host")


def written(folder: Path, *runs: Run) -> None:
    for run in runs:
        made.write(folder, run)


def test_a_row_has_the_host_s_machine_settings_and_place(tmp_path: Path) -> None:
    one, other, third, *_ = measured(Evidence(disturbed=5, steal_share=0.25), None, None, None)
    skipped = other.model_copy(update={"status": "skipped", "figures": []})
    failed = third.model_copy(update={"status": "failed", "figures": [], "reason": "why"})
    settings = {"turbo": "on", "smt": "off", "numa-balancing": "0", "load": "6.4"}
    header = synthetic.topology().model_copy(update={"microcode": "0x1"})
    written(tmp_path, made.run_of(7, [one, skipped, failed], environment=settings, topology=header))
    clock = ClockOffset(offset_ns=3, low_ns=1, high_ns=9, round_trip_ns=8, round_trips=2)
    host = FleetHost(
        host="node00007", rank=5, state="partial", reason="it says so", rack="r", switch="s",
        clock=clock,
    )  # fmt: skip
    index = FleetIndex(started="2026-01-05T14:00:00+00:00", hosts=[host])
    (tmp_path / "fleet.json").write_text(index.model_dump_json())
    gather(tmp_path, tmp_path)
    (row,) = host_rows(tmp_path)
    environment = json.loads(row.pop("environment"))
    assert environment == {**made.ENVIRONMENT, **settings}
    assert row.pop("facts")["thp"] == "madvise"
    assert [str(row.pop(key)) for key in ("started", "finished")] == [
        "2026-01-05 14:03:07", "2026-01-05 14:09:00"
    ]  # fmt: skip
    assert row == {
        "host": "node00007", "state": "partial", "reason": "it says so", "rank": 5, "rack": "r",
        "switch": "s", "run": "hosts/node00007.jsonl",
        "model": "Example Systems R1, 2 x Example 9000, Example A1",
        "product": "Example Systems R1", "cpu": "Example 9000", "architecture": "x86_64",
        "hypervisor": "", "packages": 2, "cores": 32, "cpus": 64, "memory_bytes": 3 * 256 * GIB,
        "gpus": 2, "kernel": "Linux 6.12.0", "governor": "performance", "turbo": "on",
        "smt": "off", "thp": "madvise", "numa_balancing": "0", "microcode": "0x1",
        "disturbed": 0.25, "stolen": 0.25, "load": 0.1, "measured": 1, "skipped": 1, "failed": 1,
        "emulated": False, "tierscope": "0.1.0", "clock_offset_ns": 3, "clock_low_ns": 1,
        "clock_high_ns": 9,
    }  # fmt: skip


def test_a_header_without_a_topology_has_a_row(tmp_path: Path) -> None:
    written(tmp_path, made.run_of(1, measured(None), topology=None))
    gather(tmp_path, tmp_path)
    assert [row["microcode"] for row in host_rows(tmp_path)] == [None]


def test_progress_is_told_file_by_file_and_at_the_end(tmp_path: Path) -> None:
    made.fleet(tmp_path, 3, figures=1)
    (tmp_path / "hosts/notes.jsonl").write_text("hello\n")
    told: list[tuple[int, int]] = []
    gather(tmp_path, tmp_path, lambda done, of: told.append((done, of)))
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_hosts_whose_run_files_are_all_damaged_are_a_fleet(tmp_path: Path) -> None:
    path = made.write(tmp_path, made.run_of(1, measured(None)))
    path.write_text(path.read_text()[:300])
    found = gather(tmp_path, tmp_path)
    assert (found.hosts, found.figures, found.states) == (1, 0, {"failed": 1})
    (row,) = host_rows(tmp_path)
    assert (row["host"], row["run"]) == ("node00001", "hosts/node00001.jsonl")
    assert "cut inside its header" in row["reason"]
    assert (row["measured"], row["facts"], row["started"]) == (None, None, None)


def test_an_index_alone_is_a_fleet(tmp_path: Path) -> None:
    made.index(tmp_path, 2)
    (tmp_path / "notes.jsonl").write_text("hello\n")
    found = gather(tmp_path, tmp_path)
    assert (found.hosts, found.states, len(found.unreadable)) == (2, {"failed": 2}, 1)


def test_a_folder_without_any_run_names_the_first_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("hello\n")
    with pytest.raises(UserError, match=r"has no run file: .*/a\.jsonl is not a tierscope run"):
        gather(tmp_path, tmp_path)
