"""Settings of this machine that change what figures mean, read without root.

``read_settings`` takes one look; the same look goes into every run file's header and into the
doctor's findings. What a machine does not have or hides is absent, never guessed.
"""

import os
import platform
import resource
import time

from tierscope.model.topology import Topology
from tierscope.topology.cgroup import cpu_limit, memory_limit
from tierscope.topology.files import Files
from tierscope.topology.firmware import firmware_settings
from tierscope.topology.prefetchers import PrefetcherError, state_of

_CPU = "/sys/devices/system/cpu"
_POWERCAP = "/sys/class/powercap"
_EDAC = "/sys/devices/system/edac/mc"
_THP = "/sys/kernel/mm/transparent_hugepage"


def read_settings(topology: Topology, root: str = "/") -> dict[str, str]:
    """Return settings by name: kernel, governor, turbo, thp, numa-balancing, smt, ..."""
    files = Files(root)
    settings = {
        "kernel": f"{platform.system()} {platform.release()}",
        "governor": _over_cpus(files, topology, "cpufreq/scaling_governor"),
        "frequency-driver": _over_cpus(files, topology, "cpufreq/scaling_driver"),
        "turbo": _turbo(files),
        "smt": _smt(topology, files),
        "prefetchers": _prefetchers(topology, root),
        "thp": chosen(files.text(f"{_THP}/enabled") or ""),
        "thp-defrag": chosen(files.text(f"{_THP}/defrag") or ""),
        "numa-balancing": files.text("/proc/sys/kernel/numa_balancing") or "",
        "demotion": files.text("/sys/kernel/mm/numa/demotion_enabled") or "",
        "zone-reclaim": files.text("/proc/sys/vm/zone_reclaim_mode") or "",
        "clocksource": files.text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        )
        or "",
        "hypervisor": topology.virtual,
        "power-cap": _power_cap(files),
        "memory-errors": _memory_errors(files),
        "load": _load(files),
        "cpu-limit": _cpu_limit(),
        "memory-limit": _memory_limit(),
        "memlock": _memlock(),
        "perf-paranoid": files.text("/proc/sys/kernel/perf_event_paranoid") or "",
        **_hugetlb(files, topology),
        **firmware_settings(topology),
    }
    return {name: value for name, value in settings.items() if value}


def thp_available(root: str = "/") -> bool:
    """Whether a program that asks for transparent huge pages gets them."""
    return chosen(Files(root).text(f"{_THP}/enabled") or "") in ("always", "madvise")


def chosen(text: str) -> str:
    """Return the bracketed word of ``always [madvise] never``."""
    start, end = text.find("["), text.find("]")
    return text[start + 1 : end] if 0 <= start < end else ""


def foreign_load(seconds: float, root: str = "/") -> tuple[float, float] | None:
    """Share of all CPU time in the next ``seconds`` that others used, and that was stolen.

    This process sleeps meanwhile, so whatever is busy is somebody else. None where /proc/stat
    cannot be read.
    """
    before = _cpu_times(Files(root))
    time.sleep(seconds)
    after = _cpu_times(Files(root))
    if before is None or after is None:
        return None
    spent = [late - early for early, late in zip(before, after, strict=True)]
    total = sum(spent)
    if total <= 0:
        return None
    idle, stolen = spent[3] + spent[4], spent[7]
    return (total - idle - stolen) / total, stolen / total


def _cpu_times(files: Files) -> list[int] | None:
    """user, nice, system, idle, iowait, irq, softirq, steal in ticks, over all CPUs."""
    fields = (files.text("/proc/stat") or "").partition("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        return None
    return [int(field) for field in fields[1:9]]


def _over_cpus(files: Files, topology: Topology, name: str) -> str:
    """Return the values that the usable CPUs have, most frequent first."""
    values = [files.text(f"{_CPU}/cpu{cpu}/{name}") for cpu in topology.cpus]
    found = [value for value in values if value]
    return ", ".join(sorted(set(found), key=found.count, reverse=True))


def _turbo(files: Files) -> str:
    no_turbo = files.text(f"{_CPU}/intel_pstate/no_turbo")
    if no_turbo is not None:
        return "off" if no_turbo == "1" else "on"
    boost = files.text(f"{_CPU}/cpufreq/boost")
    return {"0": "off", "1": "on"}.get(boost or "", "")


def _smt(topology: Topology, files: Files) -> str:
    if any(len(core) > 1 for core in topology.siblings):
        return "on"
    return files.text(f"{_CPU}/smt/control") or "off"


def _prefetchers(topology: Topology, root: str) -> str:
    try:
        return state_of(root, topology.cpus)
    except PrefetcherError:
        return ""


def _power_cap(files: Files) -> str:
    """Return what each package may draw for long (RAPL's first constraint), in watts."""
    found = {}
    for _, zone in files.numbered(_POWERCAP, "intel-rapl:"):
        name = files.text(f"{zone}/name")
        watts = files.number(f"{zone}/constraint_0_power_limit_uw")
        if name and watts:
            found[name] = f"{name} {watts / 1e6:g} W"
    return ", ".join(found[name] for name in sorted(found))


def _memory_errors(files: Files) -> str:
    """Return what EDAC counted since the machine started; empty where it counts nothing."""
    controllers = [path for _, path in files.numbered(_EDAC, "mc")]
    corrected, others = (
        [files.number(f"{path}/{name}") for path in controllers]
        for name in ("ce_count", "ue_count")
    )
    if not controllers or None in corrected or None in others:
        return ""
    counts = [sum(filter(None, counted)) for counted in (corrected, others)]
    return f"{counts[0]} corrected, {counts[1]} uncorrected" if any(counts) else "none"


def _load(files: Files) -> str:
    words = (files.text("/proc/loadavg") or "").split()
    return words[0] if words else ""


def _cpu_limit() -> str:
    limit = cpu_limit()
    return f"{limit:g} CPUs" if limit is not None else ""


def _memory_limit() -> str:
    limit = memory_limit()
    return f"{_gib(limit.limit_bytes)}, {_gib(limit.left_bytes)} left" if limit else ""


def _gib(size: int) -> str:
    value = size / (1 << 30)
    return f"{value:.4g} GiB" if value >= 1 else f"{value * 1024:.4g} MiB"


def _memlock() -> str:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return "unlimited" if soft == resource.RLIM_INFINITY else _gib(soft)


def _hugetlb(files: Files, topology: Topology) -> dict[str, str]:
    found = {}
    for size in topology.huge_page_bytes:
        folder = f"/sys/kernel/mm/hugepages/hugepages-{size >> 10}kB"
        total = files.text(f"{folder}/nr_hugepages")
        free = files.text(f"{folder}/free_hugepages")
        if total is not None and free is not None:
            name = f"{size >> 30}g" if size >= 1 << 30 else f"{size >> 20}m"
            found[f"hugetlb-{name}"] = f"{free} of {total} pages free"
    return found


def is_root() -> bool:
    """Whether this process has root's rights."""
    return os.geteuid() == 0
