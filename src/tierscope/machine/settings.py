"""Settings of this machine that change what figures mean, read without root.

``read_settings`` takes one look; the same look goes into every run file's header and into the
doctor's findings. What a machine does not have or hides is absent, never guessed.
"""

import platform
import resource
import time
from collections.abc import Callable, Iterator

from tierscope.machine.cgroup import cpu_limit, memory_limit
from tierscope.machine.files import Files
from tierscope.machine.firmware import firmware_settings
from tierscope.machine.prefetchers import PrefetcherError, state_of
from tierscope.model.endpoint import format_ranges
from tierscope.model.finding import Finding
from tierscope.model.topology import Topology, emulated_parts

_CPU = "/sys/devices/system/cpu"
_POWERCAP = "/sys/class/powercap"
_EDAC = "/sys/devices/system/edac/mc"
_THP = "/sys/kernel/mm/transparent_hugepage"
_BUSY = 0.05
"""Share of the machine's CPU time that others may use before figures suffer visibly."""
_STOLEN = 0.01
_SLOW_CLOCKS = ("hpet", "acpi_pm", "refined-jiffies", "jiffies")

Settings = dict[str, str]


def read_settings(topology: Topology, root: str = "/") -> Settings:
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


def settings_findings(
    topology: Topology, settings: Settings, load: tuple[float, float] | None, root: str = "/"
) -> list[Finding]:
    """Judge what ``read_settings`` and ``foreign_load`` gave."""
    checks: tuple[Callable[[Topology, Settings], Iterator[Finding]], ...] = (
        _machine, _frequency, _pages, _balancing, _threads, _limits,
    )  # fmt: skip
    findings = [finding for check in checks for finding in check(topology, settings)]
    findings += [
        *_neighbours(load),
        _prefetcher_state(topology, root),
        *_clock(settings, Files(root)),
    ]
    return findings


def _machine(topology: Topology, _settings: Settings) -> Iterator[Finding]:
    if topology.emulated:
        yield Finding(
            severity="problem",
            subject="emulation",
            found=f"this machine's {emulated_parts(topology.virtual)} are emulated in software",
            meaning="figures show that measuring works; they say nothing about speed",
            remedy="measure on real hardware",
        )
    elif topology.virtual:
        yield Finding(
            severity="note",
            subject="virtual machine",
            found=f"this machine is virtual ({topology.virtual})",
            meaning="its cores may not get the caches and nodes that it reports, and the "
            "host's other guests share its memory bandwidth",
        )


def _frequency(_topology: Topology, settings: Settings) -> Iterator[Finding]:
    governor = settings.get("governor")
    if governor is None:
        yield Finding(
            severity="note",
            subject="frequency governor",
            found="not visible",
            meaning="whether CPU frequency changes during measurements is unknown",
        )
    elif governor == "performance":
        yield Finding(severity="good", subject="frequency governor", found=governor)
    else:
        yield Finding(
            severity="problem",
            subject="frequency governor",
            found=governor,
            meaning="CPU frequency follows load, so latencies depend on what ran before",
            remedy="sudo cpupower frequency-set -g performance",
        )
    if settings.get("turbo") == "on":
        yield Finding(
            severity="note",
            subject="turbo",
            found="on",
            meaning="frequency depends on temperature and on how many cores are busy, and figures "
            "of caches depend on frequency",
            remedy="for repeatability: echo 1 | sudo tee "
            "/sys/devices/system/cpu/intel_pstate/no_turbo (or 0 to cpufreq/boost)",
        )


def _pages(topology: Topology, settings: Settings) -> Iterator[Finding]:
    thp = settings.get("thp")
    if thp in ("always", "madvise"):
        yield Finding(severity="good", subject="transparent huge pages", found=thp)
    elif thp or topology.siblings:  # without /sys neither is known
        yield Finding(
            severity="problem",
            subject="transparent huge pages",
            found=thp or "not in this kernel",
            meaning="measurements fall back to base pages, so TLB misses are in every figure",
            remedy="echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
            if thp
            else "",
        )


def _balancing(topology: Topology, settings: Settings) -> Iterator[Finding]:
    several = sum(node.total_bytes > 0 for node in topology.nodes) > 1
    if several and settings.get("numa-balancing", "0") != "0":
        yield Finding(
            severity="note",
            subject="NUMA balancing",
            found=f"numa_balancing = {settings['numa-balancing']}",
            meaning="the kernel unmaps and moves pages while programs run; measured regions are "
            "bound and read back, yet its scans cost time",
            remedy="echo 0 | sudo tee /proc/sys/kernel/numa_balancing",
        )
    if several and settings.get("zone-reclaim", "0") != "0":
        yield Finding(
            severity="note",
            subject="zone reclaim",
            found=f"zone_reclaim_mode = {settings['zone-reclaim']}",
            meaning="filling a node evicts its page cache first, which slows set-up",
            remedy="echo 0 | sudo tee /proc/sys/vm/zone_reclaim_mode",
        )


def _threads(topology: Topology, settings: Settings) -> Iterator[Finding]:
    if settings.get("smt") == "on":
        yield Finding(
            severity="note",
            subject="SMT siblings",
            found="cores have more than one CPU",
            meaning="threads take one CPU of each core first, so counts above "
            f"{len(topology.siblings)} share cores",
        )
    online = sorted(cpu for core in topology.siblings for cpu in core)
    missing = [cpu for cpu in online if cpu not in topology.cpus]
    if missing:
        yield Finding(
            severity="note",
            subject="CPU affinity",
            found=f"CPUs {format_ranges(tuple(missing))} are not available to this process",
            meaning="initiators use only the others",
            remedy="start it without taskset, or outside the cpuset",
        )


def _limits(topology: Topology, settings: Settings) -> Iterator[Finding]:
    quota = settings.get("cpu-limit")
    if quota is not None and float(quota.split()[0]) < len(topology.cpus):
        yield Finding(
            severity="problem",
            subject="CPU limit",
            found=f"cgroup CPU limit {quota} of {len(topology.cpus)}",
            meaning="the kernel stops threads in the middle of samples",
            remedy="use fewer threads, or raise the limit",
        )
    if "memory-limit" in settings:
        yield Finding(
            severity="note",
            subject="memory limit",
            found=f"cgroup memory limit {settings['memory-limit']}",
            meaning="larger working sets are refused before anything is touched",
        )


def _neighbours(load: tuple[float, float] | None) -> Iterator[Finding]:
    if load is None:
        return
    busy, stolen = load
    if busy > _BUSY:
        yield Finding(
            severity="problem",
            subject="load of others",
            found=f"{busy:.0%} of all CPU time went to other programs just now",
            meaning="they take bandwidth and CPUs; disturbed samples are flagged",
            remedy="measure when the machine is idle",
        )
    else:
        yield Finding(
            severity="good", subject="load of others", found=f"{busy:.1%} of all CPU time"
        )
    if stolen > _STOLEN:
        yield Finding(
            severity="problem",
            subject="stolen time",
            found=f"the hypervisor gave {stolen:.1%} of CPU time to other guests just now",
            meaning="samples take longer than they should",
            remedy="measure on a host that is not overcommitted",
        )


def _prefetcher_state(topology: Topology, root: str) -> Finding:
    name = "hardware prefetchers"
    try:
        state = state_of(root, topology.cpus)
    except PrefetcherError as error:
        return Finding(
            severity="note",
            subject=name,
            found=f"not visible: {error}",
            meaning="whether they are on is unknown, and --prefetchers cannot switch them",
            remedy=error.remedy,
        )
    if state == "on":
        return Finding(severity="good", subject=name, found=state)
    return Finding(
        severity="note",
        subject=name,
        found=state,
        meaning="sequential reads are slower than with all of them on",
    )


def _clock(settings: Settings, files: Files) -> Iterator[Finding]:
    source = settings.get("clocksource", "")
    if source in _SLOW_CLOCKS:
        yield Finding(
            severity="problem",
            subject="clock",
            found=f"the kernel's clock is {source}",
            meaning="reading it costs microseconds, and the TSC was found unreliable",
            remedy="look for 'clocksource' in the kernel's log",
        )
    flags = next(
        (
            line.split()
            for line in (files.text("/proc/cpuinfo") or "").splitlines()
            if line.startswith("flags")
        ),
        [],
    )
    if flags and not {"constant_tsc", "nonstop_tsc"} <= set(flags):
        yield Finding(
            severity="note",
            subject="TSC",
            found="not stated to be invariant",
            meaning="the engine times with the kernel's clock instead",
        )
