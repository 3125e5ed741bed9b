from pathlib import Path

import pytest

from tierscope.machine.cgroup import MemoryLimit, cpu_limit, memory_limit, with_available
from tierscope.machine.settings import chosen, read_settings, settings_findings, thp_available
from tierscope.model.finding import Finding
from tierscope.model.topology import Topology

GIB = 1 << 30
CALM = (0.0, 0.0)


def write(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def found(findings: list[Finding], subject: str) -> Finding:
    (finding,) = [f for f in findings if f.subject == subject]
    return finding


@pytest.mark.parametrize(
    ("text", "word"), [("always [madvise] never", "madvise"), ("", ""), ("][", ""), ("[x", "")]
)
def test_the_bracketed_word_is_the_chosen_one(text: str, word: str) -> None:
    assert chosen(text) == word


@pytest.mark.parametrize(
    ("text", "available"), [("[always] madvise never", True), ("always madvise [never]", False)]
)
def test_thp_is_there_unless_never(tmp_path: Path, text: str, available: bool) -> None:
    root = write(tmp_path, {"/sys/kernel/mm/transparent_hugepage/enabled": text})
    assert thp_available(root) is available


def test_settings_are_read_and_absent_ones_left_out(tmp_path: Path, machine: Topology) -> None:
    root = write(
        tmp_path,
        {
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
            "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
            "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave\n",
            "/sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
            "/proc/sys/kernel/numa_balancing": "1\n",
        },
    )
    settings = read_settings(machine, root)
    assert settings["governor"] == "powersave, performance"
    assert (settings["turbo"], settings["smt"]) == ("on", "on")
    assert "clocksource" not in settings
    assert all(settings.values())


@pytest.mark.parametrize(
    ("settings", "load", "subject", "severity"),
    [
        ({"governor": "powersave"}, CALM, "frequency governor", "problem"),
        ({"governor": "performance"}, CALM, "frequency governor", "good"),
        ({}, CALM, "frequency governor", "note"),
        ({"turbo": "on"}, CALM, "turbo", "note"),
        ({"thp": "never"}, CALM, "transparent huge pages", "problem"),
        ({"thp": "madvise"}, CALM, "transparent huge pages", "good"),
        ({"numa-balancing": "1"}, CALM, "NUMA balancing", "note"),
        ({"zone-reclaim": "1"}, CALM, "zone reclaim", "note"),
        ({"smt": "on"}, CALM, "SMT siblings", "note"),
        ({"cpu-limit": "2 CPUs"}, CALM, "CPU limit", "problem"),
        ({"memory-limit": "256 GiB, 255.8 GiB left"}, CALM, "memory limit", "note"),
        ({"clocksource": "hpet"}, CALM, "clock", "problem"),
        ({}, (0.4, 0.0), "load of others", "problem"),
        ({}, (0.01, 0.0), "load of others", "good"),
        ({}, (0.0, 0.2), "stolen time", "problem"),
    ],
)
def test_each_setting_is_judged(
    tmp_path: Path,
    machine: Topology,
    settings: dict[str, str],
    load: tuple[float, float],
    subject: str,
    severity: str,
) -> None:
    findings = settings_findings(machine, settings, load, str(tmp_path))
    assert found(findings, subject).severity == severity


@pytest.mark.parametrize("subject", ["NUMA balancing", "CPU limit", "stolen time", "turbo"])
def test_what_is_in_order_is_not_complained_of(
    tmp_path: Path, machine: Topology, subject: str
) -> None:
    settings = {"numa-balancing": "0", "cpu-limit": "16 CPUs", "turbo": "off"}
    findings = settings_findings(machine, settings, CALM, str(tmp_path))
    assert subject not in [finding.subject for finding in findings]


def test_cpus_closed_to_this_process_are_named(tmp_path: Path, machine: Topology) -> None:
    confined = machine.model_copy(update={"cpus": [0, 1, 8, 9]})
    finding = found(settings_findings(confined, {}, CALM, str(tmp_path)), "CPU affinity")
    assert "2-7,10-15" in finding.found


def test_a_version_2_cgroup_s_tightest_limit_counts(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    write(
        tmp_path,
        {
            "/proc/self/cgroup": "0::/outer/inner\n",
            "/proc/self/mounts": f"cgroup2 {mount} cgroup2 rw 0 0\n",
            "/cgroup/outer/memory.max": f"{4 * GIB}\n",
            "/cgroup/outer/memory.current": f"{3 * GIB}\n",
            "/cgroup/outer/memory.stat": f"anon 5\ninactive_file {GIB // 2}\n",
            "/cgroup/outer/cpu.max": "150000 100000\n",
            "/cgroup/outer/inner/memory.max": "max\n",
            "/cgroup/outer/inner/cpu.max": "max 100000\n",
        },
    )
    assert memory_limit(tmp_path / "proc") == MemoryLimit(4 * GIB, GIB + GIB // 2)
    assert cpu_limit(tmp_path / "proc") == 1.5


def test_a_version_1_cgroup_is_read_too(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "/proc/self/cgroup": "4:memory:/box\n3:cpu,cpuacct:/box\n0::/\n",
            "/proc/self/mounts": f"cgroup {tmp_path}/m cgroup rw,memory 0 0\n"
            f"cgroup {tmp_path}/c cgroup rw,cpu,cpuacct 0 0\n",
            "/m/box/memory.limit_in_bytes": f"{GIB}\n",
            "/m/box/memory.usage_in_bytes": "0\n",
            "/m/memory.limit_in_bytes": "9223372036854771712\n",
            "/c/box/cpu.cfs_quota_us": "50000\n",
            "/c/box/cpu.cfs_period_us": "100000\n",
        },
    )
    assert memory_limit(tmp_path / "proc") == MemoryLimit(GIB, GIB)
    assert cpu_limit(tmp_path / "proc") == 0.5


def test_without_a_cgroup_there_is_no_limit(tmp_path: Path) -> None:
    assert memory_limit(tmp_path) is None
    assert cpu_limit(tmp_path) is None


def test_reclaimable_memory_counts_as_available(tmp_path: Path, machine: Topology) -> None:
    root = write(
        tmp_path,
        {
            "/sys/devices/system/node/node0/meminfo": "Node 0 MemFree: 1000 kB\n"
            "Node 0 Active(file): 400 kB\nNode 0 Inactive(file): 300 kB\n"
            "Node 0 SReclaimable: 200 kB\n"
        },
    )
    node = with_available(machine, root).node(0)
    assert node is not None
    assert node.free_bytes == (1000 + 300 + 300) << 10


def test_a_single_node_has_all_of_the_machine_s_memory(tmp_path: Path, machine: Topology) -> None:
    alone = machine.model_copy(update={"nodes": machine.nodes[:1]})
    meminfo = "MemTotal: 2000 kB\nMemFree: 1 kB\nMemAvailable: 1500 kB\n"
    root = write(tmp_path, {"/proc/meminfo": meminfo})
    node = with_available(alone, root).node(0)
    assert node is not None
    assert (node.total_bytes, node.free_bytes) == (2000 << 10, 1500 << 10)
