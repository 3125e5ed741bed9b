"""A tree of files that behaves as the kernel's: DAMON's folders appear and go as it is told."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tierscope.place import supervisor
from tierscope.place.damon.tree import KDAMONDS
from tierscope.place.kernel import Kernel, KernelError

BLOCK = 128 << 20
_SCHEME = {
    "action": "stat",
    "target_nid": "-1",
    "apply_interval_us": "0",
    **{
        f"access_pattern/{one}/{end}": "0"
        for one in ("sz", "nr_accesses", "age")
        for end in ("min", "max")
    },
    "quotas/ms": "0",
    "quotas/bytes": "0",
    "quotas/reset_interval_ms": "0",
    "quotas/effective_bytes": "0",
    **{f"quotas/weights/{one}_permil": "0" for one in ("sz", "nr_accesses", "age")},
    "quotas/goals/nr_goals": "0",
    "watermarks/metric": "none",
    **{f"watermarks/{one}": "0" for one in ("interval_us", "high", "mid", "low")},
    **{
        f"stats/{one}": "0"
        for one in ("nr_tried", "sz_tried", "nr_applied", "sz_applied", "qt_exceeds")
    },
    "tried_regions/total_bytes": "0",
}  # fmt: skip
_TEMPLATES: dict[str, dict[str, str]] = {
    "nr_kdamonds": {"state": "off", "pid": "-1", "contexts/nr_contexts": "0"},
    "nr_contexts": {
        "operations": "vaddr",
        "avail_operations": "vaddr\nfvaddr\npaddr",
        "monitoring_attrs/intervals/sample_us": "5000",
        "monitoring_attrs/intervals/aggr_us": "100000",
        "monitoring_attrs/intervals/update_us": "60000000",
        "monitoring_attrs/nr_regions/min": "10",
        "monitoring_attrs/nr_regions/max": "1000",
        "targets/nr_targets": "0",
        "schemes/nr_schemes": "0",
    },
    "nr_targets": {"pid_target": "0", "regions/nr_regions": "0"},
    "nr_regions": {"start": "0", "end": "0"},
    "nr_schemes": _SCHEME,
    "nr_goals": {"target_metric": "user_input", "target_value": "0", "current_value": "0"},
    "nr_filters": {
        "type": "anon", "matching": "N", "memcg_path": "", "addr_start": "0", "addr_end": "0",
        "damon_target_idx": "0",
    },
    "nr_dests": {"id": "0", "weight": "0"},
}  # fmt: skip


_CGROUP = {"cgroup.procs": "", "cgroup.subtree_control": ""}
NOT_REAL = 10**8
"""Numbers of processes from here on are a test's own: they never end."""


def alive(pid: str) -> bool:
    """Whether a process is there."""
    return int(pid) >= NOT_REAL or Path(f"/proc/{pid}").exists()


def processes(folder: Path) -> list[str]:
    """The processes in a cgroup."""
    return [pid for pid in (folder / "cgroup.procs").read_text().split() if alive(pid)]


def refused(path: str, value: str, number: int) -> KernelError:
    """An error as the kernel's."""
    return KernelError(f"the kernel refuses '{value}' in {path}: {os.strerror(number)}", number)


class FakeKernel(Kernel):
    """Nodes 0 and 2 with memory; DAMON as of Linux 6.12, or as of 6.18 (``new``)."""

    def __init__(self, root: Path, new: bool = False) -> None:
        super().__init__(root)
        self.new = new
        self.on_write: Callable[[str, str], None] = lambda _path, _value: None
        for path, text in {
            "proc/sys/kernel/random/boot_id": "boot-1",
            "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0",
            "proc/self/cgroup": "0::/",
            "proc/sys/kernel/osrelease": "6.18.1" if new else "6.12.1",
            "proc/vmstat": "pgmigrate_success 7\npgpromote_success 0\n",
            "proc/zoneinfo": "",
            "proc/sys/kernel/numa_balancing": "0",
            "proc/sys/kernel/numa_balancing_promote_rate_limit_MBps": "65536",
            "sys/kernel/mm/numa/demotion_enabled": "false",
            "sys/fs/cgroup/cgroup.controllers": "cpu memory",
            "sys/fs/cgroup/cgroup.subtree_control": "cpu",
            "sys/fs/cgroup/cgroup.procs": "1",
            "sys/devices/system/memory/block_size_bytes": f"{BLOCK:x}",
            "sys/devices/system/node/has_memory": "0,2",
            "sys/devices/system/node/has_cpu": "0",
            **{
                f"sys/devices/system/node/node{node}/memory{block}/state": "online"
                for node, blocks in ((0, (0, 1, 4)), (2, (8, 9)))
                for block in blocks
            },
            **{
                f"sys/devices/system/node/node{node}/meminfo": (
                    f"Node {node} MemTotal: 262144 kB\nNode {node} MemFree: 131072 kB\n"
                    f"Node {node} AnonPages: {kb} kB\nNode {node} FilePages: 0 kB\n"
                )
                for node, kb in ((0, 65536), (2, 0))
            },
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text + "\n")
        self.folder = root / KDAMONDS.lstrip("/")
        self.folder.mkdir(parents=True)
        (self.folder / "nr_kdamonds").write_text("0\n")

    @staticmethod
    def root_of(root: Path) -> Path:
        """Make a kernel, and return where its files are."""
        FakeKernel(root)
        return root

    def write(self, path: str, value: str) -> None:
        file = Path(self.root + path)
        if not file.exists():
            raise refused(path, value, errno.ENOENT)
        if file.name == "nr_kdamonds" and "on" in self._states():
            raise refused(path, value, errno.EBUSY)
        if file.name == "cgroup.procs":
            self._move(file, value)
        else:
            self._effect(file, value)
        self.on_write(path, value)

    def make_folder(self, path: str) -> None:
        folder = Path(self.root + path)
        if not folder.exists():
            folder.mkdir()
            memory = {"memory.current": "0", "memory.max": "max", "memory.numa_stat": ""}
            for name, text in {**_CGROUP, **memory}.items():
                (folder / name).write_text(f"{text}\n")

    def remove_folder(self, path: str) -> None:
        folder = Path(self.root + path)
        if not folder.exists():
            raise refused(path, "", errno.ENOENT)
        if processes(folder) or any(one.is_dir() for one in folder.iterdir()):
            raise refused(path, "", errno.EBUSY)
        shutil.rmtree(folder)

    def _move(self, file: Path, pid: str) -> None:
        """A process moves, unless it has ended; not to where controllers are for cgroups below."""
        if not alive(pid):
            raise refused(str(file), pid, errno.ESRCH)
        top = Path(f"{self.root}/sys/fs/cgroup")
        if file.parent != top and (file.parent / "cgroup.subtree_control").read_text().strip():
            raise refused(str(file), pid, errno.EBUSY)
        for folder in (top, *(one for one in top.rglob("*") if one.is_dir())):
            inside = [one for one in processes(folder) if one != pid]
            (folder / "cgroup.procs").write_text("".join(f"{one}\n" for one in inside))
        with file.open("a") as procs:
            procs.write(f"{pid}\n")

    def _effect(self, file: Path, value: str) -> None:
        if (
            file.name.startswith("nr_")
            and file.name in _TEMPLATES
            and file.parent.name != "monitoring_attrs"
        ):
            self._count(file, int(value))
        if file.name == "cgroup.subtree_control":
            below = [one / file.name for one in file.parent.iterdir() if one.is_dir()]
            if value == "-memory" and any("memory" in one.read_text().split() for one in below):
                raise refused(str(file), value, errno.EBUSY)
            words = set(file.read_text().split())
            words = words | {value[1:]} if value[0] == "+" else words - {value[1:]}
            value = " ".join(sorted(words))
        if file.name == "state" and value not in ("on", "off"):
            return
        file.write_text(value + "\n")

    def _count(self, file: Path, number: int) -> None:
        for old in [one for one in file.parent.iterdir() if one.is_dir()]:
            shutil.rmtree(old)
        template = dict(_TEMPLATES[file.name])
        if self.new and file.name == "nr_goals":
            template["nid"] = "0"
        if self.new and file.name == "nr_filters":
            template |= {"allow": "N", "min": "0", "max": "0"}
        if self.new and file.name == "nr_contexts":
            goal = "monitoring_attrs/intervals/intervals_goal"
            template |= {
                f"{goal}/{one}": "0"
                for one in ("access_bp", "aggrs", "min_sample_us", "max_sample_us")
            }
        if file.name == "nr_schemes":
            names = ("core_filters", "ops_filters") if self.new else ("filters",)
            template |= {f"{name}/nr_filters": "0" for name in names}
            template |= (
                {"dests/nr_dests": "0", "stats/sz_ops_filter_passed": "0"} if self.new else {}
            )
        for place in range(number):
            for name, text in template.items():
                path = file.parent / str(place) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n")

    def _states(self) -> list[str]:
        return [path.read_text().strip() for path in self.folder.glob("*/state")]


def snapshot(root: Path) -> dict[str, str]:
    """Every file of /sys and /proc below a root, with its text: what a restore is held to.

    Processes that have ended are in no cgroup, and supervisors are about to end.
    """
    return {
        str(path.relative_to(root)): (
            " ".join(one for one in processes(path.parent) if not supervisor.alive(int(one)))
            if path.name == "cgroup.procs"
            else path.read_text()
        )
        for top in ("sys", "proc")
        for path in (root / top).rglob("*")
        if path.is_file()
    }
