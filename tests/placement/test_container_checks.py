"""What doctor says where a container refuses system calls, or shows no /sys."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tierscope.model.topology import Topology
from tierscope.place import kernel
from tierscope.place.container_checks import container_findings

CALLS = ("mbind", "set_mempolicy", "get_mempolicy", "move_pages")
FILTERED = """
import ctypes, json, platform, struct
from tierscope.place import kernel as calls

# Linux's classic BPF: load the call's number; those that are listed give EPERM, others are allowed.
known = {**calls._NUMBERS.get(platform.machine(), calls._GENERIC),
         **calls._OTHERS.get(platform.machine(), calls._OTHERS_GENERIC)}
listed = [known["mbind"], known["io_uring_setup"]]
code = struct.pack("HBBI", 0x20, 0, 0, 0)
for place, number in enumerate(listed):
    code += struct.pack("HBBI", 0x15, len(listed) - place, 0, number)
code += struct.pack("HBBI", 6, 0, 0, 0x7FFF0000) + struct.pack("HBBI", 6, 0, 0, 0x00050001)
kept = ctypes.create_string_buffer(code)
packed = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(kept))
program = ctypes.create_string_buffer(packed)
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) == 0
print(json.dumps([name for name in known if calls.refused(name)]))
"""


def sys_tree(tmp_path: Path) -> str:
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    return str(tmp_path)


def test_nothing_is_said_where_nothing_is_refused(tmp_path: Path, machine: Topology) -> None:
    assert container_findings(machine, lambda _: False, sys_tree(tmp_path)) == []


@pytest.mark.parametrize(("nodes", "severity"), [(1, "note"), (2, "problem")])
def test_placement_is_missed_where_there_are_nodes_to_choose(
    tmp_path: Path, machine: Topology, nodes: int, severity: str
) -> None:
    node = next(one for one in machine.nodes if one.total_bytes)
    several = [node.model_copy(update={"number": number}) for number in range(nodes)]
    topology = machine.model_copy(update={"nodes": several})
    (found,) = container_findings(topology, lambda name: name == "mbind", sys_tree(tmp_path))
    assert (found.severity, found.found) == (severity, "mbind refused to this process")
    assert "--cap-add SYS_NICE" in found.remedy


def test_other_calls_and_sys_have_findings_of_their_own(tmp_path: Path, machine: Topology) -> None:
    found = container_findings(machine, lambda name: name not in CALLS, str(tmp_path))
    assert [one.subject for one in found] == ["io_uring", "counters", "/sys"]
    assert all(one.meaning and one.remedy for one in found)


def test_a_real_filter_is_noticed_and_asking_changes_no_policy() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", FILTERED], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    refused = json.loads(answer.stdout)
    assert {"mbind", "io_uring_setup"} <= set(refused)
    assert "set_mempolicy" not in refused or kernel.refused("set_mempolicy")


def test_asking_leaves_the_policy_as_it_was() -> None:
    kernel.set_mempolicy(kernel.INTERLEAVE, [0])
    try:
        assert not any(map(kernel.refused, CALLS))
        assert kernel.get_mempolicy() == (kernel.INTERLEAVE, 0, (0,))
    finally:
        kernel.set_mempolicy(kernel.DEFAULT)
