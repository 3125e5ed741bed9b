"""Which GPUs CUDA shows, and under which number."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from topology_machines import FakeNvml, Sysfs, fake_gpu

from tierscope.machine.discover import discover
from tierscope.machine.files import Files
from tierscope.machine.nvidia import read_gpus, visible_gpus

NVML = FakeNvml([fake_gpu(f"{bus:02x}", UUID=f"GPU-{bus:02x}aa") for bus in (0x17, 0x18, 0x28)])


@pytest.mark.parametrize(
    ("wish", "shown"),
    [
        (None, [0, 1, 2]),
        ("0,1,2", [0, 1, 2]),
        ("2, 0", [2, 0]),
        ("GPU-18,0", [1, 0]),
        ("GPU-1", []),  # Two GPUs begin with that.
        ("1,7,0", [1]),
        ("1,-1,0", [1]),
        ("1,1", []),
        ("", []),
        ("MIG-5f1", [0, 1, 2]),
    ],
)
def test_cuda_visible_devices_is_read_as_cuda_reads_it(wish: str | None, shown: list[int]) -> None:
    assert visible_gpus(NVML, wish) == shown


def test_gpus_have_cuda_s_numbers_and_the_rest_is_said() -> None:
    gpus, hidden = read_gpus(NVML, "2,0")
    assert [(gpu.index, gpu.address) for gpu in gpus] == [(0, "0000:28:00.0"), (1, "0000:17:00.0")]
    (said,) = hidden
    assert said.startswith("CUDA_VISIBLE_DEVICES=2,0 shows 2 of 3 GPUs")
    assert said.endswith("gpu:0 is 2, gpu:1 is 0")


def test_a_copied_tree_knows_nothing_of_this_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    tree = Sysfs(tmp_path)
    tree.cpus([[0]])
    tree.node(0, [0], 1000, "10")
    assert len(discover(tmp_path, NVML).gpus) == 3


class LostError(Exception):
    """NVML's error."""


@pytest.mark.parametrize(("count", "shown", "left_out"), [(3, 2, [1]), (1, 0, [0])])
def test_a_lost_gpu_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch, count: int, shown: int, left_out: list[int]
) -> None:
    def handle(index: int) -> int:
        if index in left_out:
            raise LostError("GPU is lost")
        return index

    module = SimpleNamespace(
        NVMLError=LostError,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=handle,
        nvmlDeviceGetIndex=lambda index: index,
    )
    monkeypatch.setitem(sys.modules, "pynvml", module)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(Files, "exists", lambda _, path: path.startswith("/proc/driver/nvidia"))
    found = discover()
    assert [gpu.index for gpu in found.gpus] == list(range(shown))
    (said,) = [line for line in found.unreadable if "left out" in line]
    assert said == f"GPU {left_out[0]} by nvidia-smi's numbers is left out: GPU is lost"
    assert ("by nvidia-smi's numbers gpu:0 is 0, gpu:1 is 2" in found.unreadable) == (shown == 2)
