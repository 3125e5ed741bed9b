"""``topo --fsroot``: copies of other machines' /sys and /proc, of old kernels and damaged ones."""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_topo_cli import topo
from topology_machines import GPU_CLASS, NVIDIA, NVME_CLASS, Sysfs
from topology_tables_text import shown

from tierscope.machine.discover import discover, discover_copy
from tierscope.machine.files import mask
from tierscope.model.errors import UserError


@pytest.fixture
def copy(tmp_path: Path) -> Sysfs:
    tree = Sysfs(tmp_path / "machine")
    tree.cpus([[0, 1], [2, 3]], "Some CPU")
    tree.node(0, [0, 1], 1000, "10 21")
    tree.node(1, [2, 3], 1000, "21 10")
    tree.write(
        "/proc/hwloc-nofile-info",
        "OSName: Linux\nOSRelease: 5.14.0\nHostName: far\nArchitecture: ppc64le\nPageSize: 65536",
    )
    return tree


def test_a_copy_is_shown_as_the_machine_that_it_is_of(copy: Sysfs) -> None:
    found = json.loads(topo("--fsroot", str(copy.root), "--json").stdout)["topology"]
    assert (found["host"], found["kernel"], found["architecture"], found["base_page_bytes"]) == (
        "far",
        "5.14.0",
        "ppc64le",
        65536,
    )
    assert found["source"] == str(copy.root)
    assert [node["cpus"] for node in found["nodes"]] == [[0, 1], [2, 3]]


def test_a_copy_without_a_name_is_called_by_its_folder_and_not_by_this_host(copy: Sysfs) -> None:
    (copy.root / "proc/hwloc-nofile-info").unlink()
    assert discover_copy(str(copy.root)).host == "machine"


def test_gpus_of_a_copy_are_those_on_the_bus_and_nvml_is_not_asked(copy: Sysfs) -> None:
    copy.pci("0000:17/0000:17:00.0/0000:18:00.0", GPU_CLASS, NVIDIA, node=0)
    found = discover_copy(str(copy.root))
    assert [gpu.address for gpu in found.gpus] == ["0000:18:00.0"]
    assert any("a copy of files holds no NVML" in line for line in found.unreadable)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fsroot", "/nonexistent"],
        ["--fsroot", str(Path(__file__).parent)],
        ["--fsroot", "/", "--input", "x.xml"],
        ["--fsroot", "/", "--save", "/tmp/never.xml"],
    ],
)
def test_wrong_copies_are_one_line_and_exit_2(arguments: list[str]) -> None:
    done = topo(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tierscope: ")
    assert done.stderr.count("\n") == 1


def test_masks_of_old_kernels_are_read_as_lists_are(copy: Sysfs) -> None:
    for cpu in range(4):
        directory = f"/sys/devices/system/cpu/cpu{cpu}"
        (copy.root / f"{directory}/topology/core_cpus_list".lstrip("/")).unlink()
        pair = "00000000,00000003" if cpu < 2 else "00000000,0000000c"
        copy.write(f"{directory}/topology/thread_siblings", pair)
        for name, value in (
            ("level", 2),
            ("type", "Unified"),
            ("size", "512K"),
            ("shared_cpu_map", pair),
        ):
            copy.write(f"{directory}/cache/index0/{name}", value)
    found = discover(copy.root)
    assert found.siblings == [[0, 1], [2, 3]]
    assert [(cache.size_bytes, cache.cpus) for cache in found.caches] == [
        (512 << 10, [0, 1]),
        (512 << 10, [2, 3]),
    ]


def test_cpus_that_an_old_kernel_has_offline_are_left_out(copy: Sysfs) -> None:
    (copy.root / "sys/devices/system/cpu/online").unlink()
    copy.write("/sys/devices/system/cpu/cpu3/online", 0)
    assert discover(copy.root).cpus == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", [0, 1]), ("1,00000000", [32]), ("", []), (None, []), ("x", []), ("0,,1", [])],
)
def test_masks_of_cpus(text: str | None, expected: list[int]) -> None:
    assert mask(text) == expected


@pytest.fixture(scope="module")
def rich_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with something of everything that is read."""
    tree = Sysfs(tmp_path_factory.mktemp("copy"))
    tree.cpus([[0, 1], [2, 3]], "Some CPU")
    for number, cpus in ((0, [0, 1]), (1, [2, 3]), (2, [])):
        tree.node(number, cpus, 1000, "10 21 31")
        tree.claim(number, 0, 100, 20_000)
        cache = f"/sys/devices/system/node/node{number}/memory_side_cache/index1"
        for name, value in (("size", 1 << 30), ("line_size", 64), ("indexing", 0)):
            tree.write(f"{cache}/{name}", value)
    tree.write("/sys/devices/system/node/online", "0-2")
    tree.write("/sys/devices/system/node/possible", "0-3")
    tree.write("/sys/devices/system/cpu/cpu0/cache/index0/level", 1)
    tree.write("/sys/devices/system/cpu/cpu0/cache/index0/type", "Data")
    tree.write("/sys/devices/system/cpu/cpu0/cache/index0/size", "48K")
    tree.write("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", 0)
    tree.write("/sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0-1")
    tree.pci("0000:17/0000:17:00.0/0000:18:00.0", GPU_CLASS, NVIDIA, node=0, now=(16.0, 16))
    drive = tree.pci("0000:17/0000:17:01.0/0000:19:00.0", NVME_CLASS, node=0, now=(16.0, 4))
    tree.nvme(drive, "nvme0n1")
    tree.array("md0", "raid0", ["nvme0n1"])
    tree.mount("/data", "nvme0n1")
    tree.rdma(tree.pci("0000:17/0000:17:02.0/0000:1a:00.0", 0x020700, node=0), "mlx5_0")
    return tree.root


_TEXTS = st.one_of(
    st.sampled_from(["", "-1", "0", "4294967296", "99999999999999999999", "0-", "3-1", "0x", "\0"]),
    st.text(max_size=12),
)


@given(st.data())
def test_damaged_copies_are_shown_or_refused_and_never_crash(
    rich_copy: Path, data: st.DataObject
) -> None:
    names = sorted(
        str(path.relative_to(rich_copy))
        for path in rich_copy.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    damaged = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "copy"
        shutil.copytree(rich_copy, root, symlinks=True)
        for name in damaged:
            text = data.draw(st.none() | _TEXTS)
            if text is None:
                (root / name).unlink()
            else:
                (root / name).write_text(text, errors="replace")
        with contextlib.suppress(UserError):
            assert shown(discover_copy(str(root)))
