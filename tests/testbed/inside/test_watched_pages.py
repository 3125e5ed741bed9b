"""Pages that move from node to node, as watch sees them."""

import json
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.testbed

SIZE = 32 << 20
SLOW = 4
"""The CXL node."""
HOLDER = f"""
import ctypes, mmap, sys
memory = mmap.mmap(-1, {SIZE})
for page in range(0, {SIZE}, 4096):
    memory[page] = 1
print("ready", flush=True)
sys.stdin.readline()
BIND, MOVE = 2, 2
first = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
nodes = ctypes.byref(ctypes.c_ulong(1 << {SLOW}))
libnuma = ctypes.CDLL("libnuma.so.1", use_errno=True)
if libnuma.mbind(first, ctypes.c_ulong({SIZE}), BIND, nodes, ctypes.c_ulong(64), MOVE) != 0:
    sys.exit(f"mbind: {{ctypes.get_errno()}}")
print("moved", flush=True)
sys.stdin.read()
"""
"""It moves this memory only. migratepages as root would move pages of libraries, too, which all
programs use, and the emulator runs code from CXL memory very slowly."""
PROGRAM = "from tierscope.cli.main import main; main()"


def test_pages_that_move_are_seen_on_their_nodes_and_counted() -> None:
    bound = ["numactl", "--membind=0", sys.executable, "-c", HOLDER]
    holder = subprocess.Popen(bound, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    pid = str(holder.pid)
    words = ["watch", "--pid", pid, "--interval", "500ms", "--json"]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        lines = [watch.stdout.readline()]  # it reads now
        print("move", file=holder.stdin, flush=True)
        assert holder.stdout.readline() == "moved\n"
        watch.send_signal(signal.SIGINT)  # a last reading, then it ends
        lines += watch.stdout.readlines()
    assert watch.returncode == 0
    holder.stdin.close()
    holder.wait()
    readings = [json.loads(line)["sources"] for line in lines]
    used = [reading["process"]["memory_used"] for reading in readings]
    fast, slow = f"pid {pid} node 0", f"pid {pid} node {SLOW}"
    assert used[0][fast] >= SIZE
    assert used[0].get(slow, 0) < SIZE / 2
    assert used[-1][slow] >= SIZE
    assert used[-1].get(fast, 0) < SIZE / 2
    moved = sum(
        reading["migrations"]["pages_migrated"][""] * reading["migrations"]["duration_s"]
        for reading in readings
    )
    assert round(moved) * 4096 >= SIZE
    # What is shared counts as files'. The node's use may have included free pages that CPUs kept.
    on_node = [reading["memory"]["memory_file"][f"node {SLOW}"] for reading in readings]
    assert on_node[-1] - on_node[0] >= 0.9 * SIZE  # CPUs add up what they counted later
