"""Settings of a machine that distort figures, or that a reader of the figures has to know."""

from collections.abc import Callable, Iterator

from tierscope.model.endpoint import format_ranges
from tierscope.model.finding import Finding
from tierscope.model.topology import Topology, emulated_parts
from tierscope.topology.files import Files
from tierscope.topology.prefetchers import PrefetcherError, state_of

_BUSY = 0.05
"""Share of the machine's CPU time that others may use before figures suffer visibly."""
_STOLEN = 0.01
_SLOW_CLOCKS = ("hpet", "acpi_pm", "refined-jiffies", "jiffies")

Settings = dict[str, str]


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
        _prefetchers(topology, root),
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


def _prefetchers(topology: Topology, root: str) -> Finding:
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
