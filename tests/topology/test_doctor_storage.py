"""`tierscope doctor --storage` on copies of machines' files: checks, and the way to a path."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import topology_machines as machines
from tests.test_cli import tierscope
from topology_machines import Sysfs

from tierscope.machine.discover import discover
from tierscope.machine.files import Files
from tierscope.machine.storage_checks import Machine, kernel_has_p2pdma, storage_checks
from tierscope.model.finding import Finding
from tierscope.model.topology import Topology

XFS, EXT4, NFS = "/xfs", "/ext4", "/nfs"
MOUNTS = """\
20 1 259:2 / /xfs rw,relatime - xfs /dev/nvme2n1 rw,attr2
21 1 259:3 / /ext4 rw - ext4 /dev/nvme3n1 rw,data=ordered
22 1 259:3 / /ext4/plain rw - ext4 /dev/nvme3n1 rw
23 1 9:1 / /raid rw - xfs /dev/md1 rw
24 1 0:50 / /nfs rw - nfs4 server:/export rw,proto=rdma,nconnect=8
25 1 0:51 / /nfs-tcp rw - nfs4 server:/export rw,proto=tcp
26 1 0:52 / /tmp rw - tmpfs tmpfs rw
27 1 0:53 / /weka rw - wekafs weka rw
28 1 0:54 / /zfs rw - zfs pool rw
"""
ALLOWED = {"properties": {"allow_compat_mode": True}}
STRICT = {"properties": {"allow_compat_mode": False}}
BY_P2P = {"properties": {"allow_compat_mode": True, "use_pci_p2pdma": True}}


@pytest.fixture
def copy(tmp_path: Path) -> Sysfs:
    """A DGX A100 with nvidia-fs and all that PCI P2PDMA asks for."""
    return make_copy(tmp_path)


@pytest.fixture(scope="module")
def kept_copy(tmp_path_factory: pytest.TempPathFactory) -> Sysfs:
    """The same, for tests that change nothing but cuFile's settings."""
    return make_copy(tmp_path_factory.mktemp("copy"))


def make_copy(root: Path) -> Sysfs:
    machines.dgx_a100(root)
    tree = Sysfs(root)
    (root / "proc/self/mountinfo").write_text(MOUNTS)
    tree.write("/proc/sys/kernel/osrelease", "6.8.0-45-generic")
    tree.write("/proc/cmdline", "ro quiet")
    tree.write("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module 580")
    tree.write("/proc/driver/nvidia-fs/version", "version: 2.26")
    tree.write("/sys/module/nvme_core/parameters/multipath", "N")
    tree.write("/sys/bus/pci/devices/0000:07:00.0/p2pmem/size", 1 << 36)
    for number, name in (("259:2", "nvme2n1"), ("259:3", "nvme3n1"), ("9:1", "md1")):
        tree.link(f"/sys/dev/block/{number}", f"/sys/class/block/{name}")
        tree.write(f"/run/udev/data/b{number}", "I:1\nE:ID_FS_USAGE=filesystem")
    return tree


def examine(copy: Sysfs, path: str, config: dict[str, Any] | None = None) -> dict[str, Any]:
    if config is not None:
        copy.write("/etc/cufile.json", json.dumps(config))
    answer = tierscope("doctor", "--storage", path, "--fsroot", str(copy.root), "--json")
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert isinstance(document, dict)
    return document


def way(copy: Sysfs, path: str, config: dict[str, Any]) -> tuple[str, str]:
    found = examine(copy, path, config)["way"]
    return found["way"], found["why"]


@pytest.mark.parametrize(
    ("path", "config", "expected", "said"),
    [
        (XFS, ALLOWED, "nvfs", "xfs"),
        (f"{XFS}/deep/file", ALLOWED, "nvfs", "xfs"),
        (EXT4, ALLOWED, "nvfs", "ext4"),
        ("/ext4/plain", ALLOWED, "compatibility", "data=ordered"),
        ("/ext4/plain", STRICT, "refused", "data=ordered"),
        ("/ext4/plain", {}, "compatibility", "allow_compat_mode is not set"),
        ("/raid", ALLOWED, "nvfs", "xfs"),
        (NFS, ALLOWED, "nvfs", "nfs4"),
        ("/nfs-tcp", ALLOWED, "compatibility", "proto=rdma"),
        ("/tmp", ALLOWED, "compatibility", "before 1.16"),
        ("/weka", ALLOWED, "unknown", "own client"),
        ("/zfs", STRICT, "refused", "zfs is not supported"),
        (XFS, BY_P2P, "p2p", "properties.use_pci_p2pdma"),
        (EXT4, {"block": {"nvme": {"use_pci_p2pdma": True}}}, "p2p", "block.nvme"),
        ("/raid", {"block": {"raid": {"use_pci_p2pdma": True}}}, "p2p", "block.raid"),
        (XFS, {"block": {"raid": {"use_pci_p2pdma": True}}}, "nvfs", "xfs"),
        (XFS, {"properties": {"force_compat_mode": True}}, "compatibility", "force_compat_mode"),
        (XFS, ALLOWED | {"denylist": {"mounts": ["/xfs/"]}}, "compatibility", "denylist.mounts"),
        (XFS, STRICT | {"denylist": {"filesystems": ["xfs"]}}, "refused", "denylist.filesystems"),
        (XFS, ALLOWED | {"blacklist": {"drivers": ["nvme"]}}, "compatibility", "denylist.drivers"),
        ("/raid", ALLOWED | {"denylist": {"devices": ["/dev/md1"]}}, "compatibility", "devices"),
    ],
)
def test_the_way_of_a_path(
    kept_copy: Sysfs, path: str, config: dict[str, Any], expected: str, said: str
) -> None:
    found = way(kept_copy, path, config)
    assert found[0] == expected, found
    assert said in found[1]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("/proc/sys/kernel/osrelease", "5.15.0-100-generic", "older than 6.2"),
        ("/sys/module/nvme_core/parameters/multipath", "Y", "multipath"),
    ],
)
def test_what_p2pdma_lacks_is_said_where_it_is_asked_for(
    copy: Sysfs, file: str, text: str, said: str
) -> None:
    copy.write(file, text)
    (copy.root / "proc/driver/nvidia-fs/version").unlink()
    found = way(copy, XFS, BY_P2P)
    assert found[0] == "compatibility"
    assert said in found[1]
    assert said not in way(copy, XFS, ALLOWED)[1]


def test_without_udev_s_entry_files_are_refused(copy: Sysfs) -> None:
    (copy.root / "run/udev/data/b259:2").unlink()
    document = examine(copy, XFS, ALLOWED)
    assert document["way"]["way"] == "refused"
    assert "259:2" in document["way"]["why"]
    (udev,) = [one for one in document["findings"] if one["subject"] == "udev"]
    assert udev["severity"] == "problem"
    assert "udevadm trigger" in udev["remedy"]


def test_without_any_database_the_entry_is_written_by_hand(copy: Sysfs) -> None:
    for file in (copy.root / "run/udev/data").iterdir():
        file.unlink()
    (udev,) = [one for one in examine(copy, XFS)["findings"] if one["subject"] == "udev"]
    assert "as in containers" in udev["found"]
    assert "ID_FS_TYPE=xfs" in udev["remedy"]


def test_a_broken_file_is_an_error_with_its_place_after_all_else(copy: Sysfs) -> None:
    copy.write("/etc/cufile.json", '{\n"properties": {,}\n}')
    answer = tierscope("doctor", "--storage", XFS, "--fsroot", str(copy.root))
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "cufile.json:2:16: a key is expected" in answer.stderr
    assert "PCIe ACS" in answer.stdout


def test_the_table_fits_and_names_the_file_the_keys_and_the_way(copy: Sysfs) -> None:
    copy.write("/etc/cufile.json", json.dumps({**BY_P2P, "sparse": {"p2p_compat_enable": 1}}))
    text = tierscope("doctor", "--storage", XFS, "--fsroot", str(copy.root)).stdout
    assert max(map(len, text.splitlines())) <= 100
    for words in ("/etc/cufile.json", "use_pci_p2pdma", "true or false is needed", "P2PDMA:",
                  "directly, by PCI P2PDMA"):  # fmt: skip
        assert words in text


def test_a_named_file_comes_before_the_usual_one(copy: Sysfs, tmp_path: Path) -> None:
    copy.write("/etc/cufile.json", "{")
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(ALLOWED))
    answer = tierscope(
        *("doctor", "--storage", XFS, "--fsroot", str(copy.root), "--cufile-json", str(mine)),
        "--json",
    )
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["cufile"]["file"] == str(mine)


def test_its_options_do_not_go_without_it() -> None:
    answer = tierscope("doctor", "--cufile-json", "x")
    assert answer.returncode == 2
    assert "--storage" in answer.stderr


def test_this_machine_is_looked_at_without_a_gpu(tmp_path: Path) -> None:
    answer = tierscope("doctor", "--storage", str(tmp_path), "--json")
    document = json.loads(answer.stdout)
    assert document["way"]["path"] == str(tmp_path)
    assert any(one["subject"] == "IOMMU" for one in document["findings"])


def test_a_path_that_does_not_exist_is_said(tmp_path: Path) -> None:
    answer = tierscope("doctor", "--storage", str(tmp_path / "a/b"), "--json")
    found = json.loads(answer.stdout)["findings"]
    (said,) = [one for one in found if one["found"] == "does not exist"]
    assert str(tmp_path) in said["meaning"]


def test_all_that_a_file_system_lacks_is_said(copy: Sysfs) -> None:
    copy.link("/sys/dev/block/8:1", "/sys/class/block/sda")
    copy.write("/sys/class/block/sda/size", 1 << 20)
    copy.write("/proc/self/mountinfo", "20 1 8:1 / /plain rw - ext4 /dev/sda rw")
    found = [one["found"] for one in examine(copy, "/plain")["findings"]]
    assert "on sda" in found
    assert "mounted without data=ordered" in found


# Checks of the machine


def checked(copy: Sysfs, subject: str, wanted: bool = False, **updates: Any) -> list[Finding]:
    topology: Topology = discover(copy.root).model_copy(update=updates)
    found = storage_checks(Machine(topology, Files(copy.root), p2p_wanted=wanted))
    return [one for one in found if one.subject.startswith(subject)]


def acs_config(redirects: bool) -> bytes:
    """Configuration space whose first extended capability is ACS (PCI Express 5.0, 7.7.8)."""
    config = bytearray(4096)
    config[6], config[0x34] = 0x10, 0x78
    config[0x78:0x7A] = b"\x10\x00"
    config[256:260] = (0x000D | 1 << 16).to_bytes(4, "little")
    config[262:264] = (int(redirects) << 2).to_bytes(2, "little")
    return bytes(config)


@pytest.mark.parametrize(("redirects", "severity"), [(True, "problem"), (False, "good")])
def test_acs_is_read_at_every_switch_port(copy: Sysfs, redirects: bool, severity: str) -> None:
    for device in (copy.root / "sys/bus/pci/devices").iterdir():
        (device / "config").write_bytes(acs_config(redirects))
    (found,) = checked(copy, "PCIe ACS")
    assert found.severity == severity


def test_acs_that_only_root_may_read_is_said_so(copy: Sysfs) -> None:
    for device in (copy.root / "sys/bus/pci/devices").iterdir():
        (device / "config").write_bytes(acs_config(True)[:64])
    (found,) = checked(copy, "PCIe ACS")
    assert found.severity == "note"
    assert "root" in found.remedy


@pytest.mark.parametrize(
    ("kind", "cmdline", "severity", "said"),
    [
        (None, "amd_iommu=off", "good", "off (kernel command line: amd_iommu=off)"),
        ("identity", "iommu=pt", "note", "passes DMA through"),
        ("DMA-FQ", "intel_iommu=on", "problem", "translates DMA (DMA-FQ)"),
    ],
)
def test_iommu(copy: Sysfs, kind: str | None, cmdline: str, severity: str, said: str) -> None:
    copy.write("/proc/cmdline", f"quiet {cmdline}")
    if kind:
        copy.write("/sys/kernel/iommu_groups/7/type", kind)
        copy.write("/sys/class/iommu/dmar0/uevent", "")
    (found,) = checked(copy, "IOMMU")
    assert found.severity == severity
    assert said in found.found


def test_iommu_of_grace_stays_on(copy: Sysfs) -> None:
    copy.write("/sys/kernel/iommu_groups/7/type", "DMA")
    (found,) = checked(copy, "IOMMU", cpu_model="NVIDIA Grace CPU")
    assert found.severity == "good"


@pytest.mark.parametrize(
    ("mebibytes", "severity"), [(256, "problem"), (16 << 10, "note"), (40 << 10, "good")]
)
def test_bar1_beside_the_memory_as_nvml_says(copy: Sysfs, mebibytes: int, severity: str) -> None:
    gpu = (
        discover(copy.root)
        .gpus[0]
        .model_copy(update={"memory_bytes": 40 << 30, "bar1_bytes": mebibytes << 20})
    )
    (found,) = checked(copy, "BAR1", gpus=[gpu])
    assert found.severity == severity


def test_gpus_with_the_same_bar1_are_one_finding(copy: Sysfs) -> None:
    gpus = [
        gpu.model_copy(
            update={"memory_bytes": 40 << 30, "bar1_bytes": (256 << 20) << (gpu.index > 5)}
        )
        for gpu in discover(copy.root).gpus
    ]
    found = checked(copy, "BAR1", gpus=gpus)
    assert [one.subject for one in found] == ["BAR1 of gpu:0-5", "BAR1 of gpu:6-7"]


def test_a_copy_without_run_says_nothing_about_udev(copy: Sysfs) -> None:
    shutil.rmtree(copy.root / "run")
    document = examine(copy, XFS, ALLOWED)
    assert document["way"]["way"] == "nvfs"
    assert not [one for one in document["findings"] if one["subject"] == "udev"]


def test_bar1_of_the_resource_file_where_there_is_no_nvml(copy: Sysfs) -> None:
    address = discover(copy.root).gpus[0].address
    lines = ["0xc0000000 0xc0ffffff 0x40200", "0x20000000000 0x2000fffffff 0x14220c"]
    copy.write(f"/sys/bus/pci/devices/{address}/resource", "\n".join(lines))
    found = checked(copy, "BAR1 of gpu:0")[0]
    assert (found.severity, found.found) == ("problem", "256 MiB")


def test_nvidia_fs_without_its_devices_is_a_container_s_problem(copy: Sysfs) -> None:
    assert [one.severity for one in checked(copy, "nvidia-fs")] == ["good"]
    copy.write("/dev/null", "")
    (found,) = checked(copy, "nvidia-fs")
    assert found.severity == "problem"
    assert "container" in found.meaning


def test_nvidia_fs_that_is_not_loaded_is_a_note(copy: Sysfs) -> None:
    (copy.root / "proc/driver/nvidia-fs/version").unlink()
    (found,) = checked(copy, "nvidia-fs")
    assert found.severity == "note"
    assert "modprobe nvidia-fs" in found.remedy


def test_p2pdma_has_all_it_needs(copy: Sysfs) -> None:
    assert {one.severity for one in checked(copy, "P2PDMA")} == {"good"}
    assert len(checked(copy, "P2PDMA")) == 4


@pytest.mark.parametrize(("wanted", "severity"), [(True, "problem"), (False, "note")])
def test_what_p2pdma_lacks_is_a_problem_where_it_is_wanted(
    copy: Sysfs, wanted: bool, severity: str
) -> None:
    copy.write("/proc/sys/kernel/osrelease", "5.15.0")
    copy.write("/sys/module/nvme_core/parameters/multipath", "Y")
    copy.write("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module 580")
    (copy.root / "sys/bus/pci/devices/0000:07:00.0/p2pmem/size").unlink()
    (copy.root / "sys/bus/pci/devices/0000:07:00.0/p2pmem").rmdir()
    found = checked(copy, "P2PDMA", wanted)
    assert [one.severity for one in found] == [severity] * 4
    assert all(one.remedy for one in found)


def test_the_driver_s_parameter_counts_as_static_bar1(copy: Sysfs) -> None:
    (copy.root / "sys/bus/pci/devices/0000:07:00.0/p2pmem/size").unlink()
    (copy.root / "sys/bus/pci/devices/0000:07:00.0/p2pmem").rmdir()
    copy.write("/proc/driver/nvidia/params", 'RegistryDwords: "RMForceStaticBar1=1;"')
    assert checked(copy, "P2PDMA: static")[0].severity == "good"


@pytest.mark.parametrize(
    ("kernel", "has"),
    [
        ("6.2.0", True), ("6.1.99", False), ("7.0.1", True), ("", False), ("x", False),
        ("5.14.0-427.el9_4.x86_64", True), ("5.14.0-362.el9_3.x86_64", False),
    ],
)  # fmt: skip
def test_kernels_with_p2pdma(kernel: str, has: bool) -> None:
    assert kernel_has_p2pdma(kernel) is has


def test_rdma_devices_and_what_reaches_gpu_memory(tmp_path: Path, copy: Sysfs) -> None:
    shutil.rmtree(tmp_path / "sys/class/infiniband")
    assert "no RDMA device" in checked(copy, "RDMA")[0].found
    made = copy.pci("0000:20/0000:20:04.1/0000:24:00.0", machines.NIC_CLASS, machines.MELLANOX)
    copy.rdma(made, "mlx5_0")
    (found,) = checked(copy, "RDMA")
    assert found.severity == "note"
    assert "dmabuf" in found.remedy
    copy.write("/sys/module/nvidia_peermem/refcnt", 0)
    copy.write("/sys/module/mlx_compat/refcnt", 0)
    (found,) = checked(copy, "RDMA")
    assert found.severity == "good"
    assert "MLNX_OFED" in found.found
    copy.write(f"{made}/infiniband/mlx5_0/ports/1/state", "1: DOWN")
    assert checked(copy, "RDMA")[0].severity == "problem"
