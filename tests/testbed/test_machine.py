"""Machine files: read strictly, and what QEMU is asked for."""

import contextlib
from pathlib import Path

import machine
import pytest
import qemu
from hypothesis import given
from hypothesis import strategies as st

KERNEL = Path("/nowhere/6.12")
LEAST = 'summary = "a machine"\nkernel = "6.12"\n'
ONE = LEAST + 'nodes = [{ memory = "1G", socket = 0 }]\n'


@pytest.mark.parametrize("name", machine.names())
def test_every_machine_file_is_read(name: str) -> None:
    assert machine.load(name).summary


def test_the_machines_that_documents_speak_of_are_there() -> None:
    assert machine.names() == [
        *(
            "memory-side-cache",
            "newest-kernel",
            "no-thp",
            "nvdimm-node",
            "old-kernel",
            "one-node",
            "sixteen-nodes",
            "two-socket-cxl",
        ),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "missing keys: 'summary', 'kernel', and 'nodes'"),
        (ONE + "colour = 1", "colour: unknown key; allowed: summary, kernel, nodes, cores, "),
        (ONE + "cores = 0", "cores: takes at least 1"),
        (ONE + "cores = true", "cores: takes a whole number from 0"),
        (ONE + 'nvme = "1G"', 'nvme: takes a list of sizes such as ["1G", "512M"]'),
        (ONE + 'nvme = ["1T"]', 'nvme: takes a size such as "512M" or "1G"'),
        (ONE + 'nvme = ["0M"]', 'nvme: takes a size such as "512M" or "1G"'),
        (ONE + "distances = [[10, 20]]", "distances: takes 1 rows of 1 numbers"),
        (ONE + 'cxl = { memory = "1G", port = 0 }', "cxl port: takes a node without memory"),
        (ONE + 'cxl = { memory = "1G" }', "cxl: missing keys: 'port'"),
        (ONE + 'pmem = { memory = "1G", node = 1 }', "pmem node: there is no node 1"),
        (ONE + "paths = 3", "paths: takes a list of tables"),
        (
            ONE + "paths = [{ source = 0, target = 1, ns = 1, mb_s = 1 }]",
            "paths[0] target: there is no node 1",
        ),
        (LEAST + "nodes = []", "nodes: sockets are numbered 0, 1, 2"),
        (LEAST + "nodes = [{ socket = 1 }]", "nodes: sockets are numbered 0, 1, 2"),
        (LEAST + "nodes = [{ socket = 0, near = 0 }]", "nodes[0] socket: not together with near"),
        (LEAST + "nodes = [{ socket = 0 }, { near = 2 }]", "nodes[1] near: node 2 has no CPUs"),
        (
            LEAST + "nodes = [{ socket = 0 }, { offline_memory = true }]",
            "nodes[1] offline_memory: only the last node, and with memory",
        ),
        (LEAST + "nodes = [{ socket = 0, memry = 1 }]", "nodes: [0] memry: unknown key"),
        ("summary = ", "Invalid value (at end of document)"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_says_where(text: str, complaint: str) -> None:
    with pytest.raises(machine.MachineError) as refused:
        machine.parse(text, "x.toml")
    assert str(refused.value).startswith(f"x.toml: {complaint}")
    assert "\n" not in str(refused.value)


def test_an_unknown_machine_is_refused_with_the_list() -> None:
    with pytest.raises(
        machine.MachineError,
        match=r"^no machine \.\./x; there are: memory-side-cache, newest-kernel, ",
    ):
        machine.load("../x")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(machine.MachineError):
        machine.parse(text, "x.toml")


def test_qemu_is_asked_for_each_node_with_its_socket_and_memory() -> None:
    text = LEAST + 'nodes = [{ memory = "2G", socket = 0 }, { memory = "512M", near = 0 }]'
    arguments = " ".join(qemu.arguments(machine.parse(text, "x"), "tcg", KERNEL))
    assert "-m size=2684354560B," in arguments
    assert "-smp 2,sockets=1,cores=2,threads=1" in arguments
    assert "id=m0,size=2147483648 -numa node,nodeid=0,memdev=m0 " in arguments
    assert "-numa cpu,node-id=0,socket-id=0 " in arguments
    assert "id=m1,size=536870912 -numa node,nodeid=1,memdev=m1" in arguments


def test_memory_that_is_not_onlined_is_a_module_in_a_slot() -> None:
    text = LEAST + 'nodes = [{ socket = 0 }, { memory = "128M", offline_memory = true }]'
    arguments = " ".join(qemu.arguments(machine.parse(text, "x"), "tcg", KERNEL))
    assert "-m size=0B,slots=4" in arguments
    assert "-numa node,nodeid=1 -device pc-dimm,memdev=m1,node=1" in arguments


def test_a_memory_side_cache_is_in_the_firmwares_table() -> None:
    arguments = " ".join(qemu.arguments(machine.load("memory-side-cache"), "tcg", KERNEL))
    cache = "hmat-cache,node-id=0,size=67108864,level=1,associativity=direct,policy=write-back"
    assert f"-numa {cache},line=64" in arguments


def test_a_memory_side_cache_of_a_node_that_no_path_leads_to_is_refused() -> None:
    text = ONE + 'side_caches = [{ node = 0, memory = "64M" }]'
    with pytest.raises(machine.MachineError, match=r"side_caches\[0\] node: no path leads"):
        machine.parse(text, "x")


def test_every_machine_says_in_its_command_line_that_it_is_emulated() -> None:
    for name in machine.names():
        arguments = qemu.arguments(machine.load(name), "tcg", KERNEL)
        assert "tierscope.emulated=1" in arguments[arguments.index("-append") + 1].split()


def test_an_nvdimm_is_forgotten_unless_it_is_on_a_file(tmp_path: Path) -> None:
    fresh = machine.load("two-socket-cxl")
    assert "memory-backend-ram,id=pmem,share=on,size=536870912" in qemu.pmem(fresh)
    kept = machine.with_nvdimm(fresh, f"{tmp_path}/a,b")
    backend = f"memory-backend-file,mem-path={tmp_path}/a,,b,id=pmem,share=on"
    assert f"{backend},size=536870912" in qemu.pmem(kept)


def test_a_file_for_no_nvdimm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(machine.MachineError, match="the machine has no NVDIMM"):
        machine.with_nvdimm(machine.load("one-node"), f"{tmp_path}/file")
    with pytest.raises(machine.MachineError, match="there is no directory /nowhere"):
        machine.with_nvdimm(machine.load("two-socket-cxl"), "/nowhere/file")


def test_a_comma_in_the_projects_path_is_kept_from_qemu() -> None:
    assert any("path=/a,,b," in part for part in qemu.shares(Path("/a,b")))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ("flags\t\t: fpu constant_tsc\nbogomips\t: 5192.28\n\n", "tsc_early_khz=2596140"),
        ("flags\t\t: fpu\nbogomips\t: 5192.28\n", ""),
        ("Features\t: fp asimd\nBogoMIPS\t: 100.00\n", ""),
    ],
)
def test_the_guest_is_told_how_fast_its_clock_runs(
    facts: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "cpuinfo").write_text(facts)
    assert qemu.tsc_frequency(tmp_path / "cpuinfo") == expected
