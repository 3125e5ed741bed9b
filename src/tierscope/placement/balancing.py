"""The kernel's own tiering: NUMA balancing promotes what is accessed, reclaim demotes.

Source: Linux, Documentation/admin-guide/sysctl/kernel.rst (numa_balancing) and
Documentation/ABI/testing/sysfs-kernel-mm-numa (demotion_enabled).
"""

from tierscope.placement.kernel import Kernel

MODE = "/proc/sys/kernel/numa_balancing"
RATE_LIMIT = "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"
DEMOTION = "/sys/kernel/mm/numa/demotion_enabled"
_TIERS = "/sys/devices/virtual/memory_tiering"
_TIERING = 2
"""The bit of MODE that promotes from slow to fast nodes."""

SETTINGS = ((DEMOTION, "true"), (MODE, str(_TIERING)))
"""What the preset numa-balancing sets."""


def is_on(kernel: Kernel) -> bool:
    """Whether NUMA balancing moves pages by itself, in any mode."""
    return bool(kernel.number(MODE))


def tiers(kernel: Kernel) -> list[list[int]]:
    """Return the nodes of each of the kernel's memory tiers, the fastest first."""
    return [
        nodes
        for _, path in kernel.numbered(_TIERS, "memory_tier")
        if (nodes := kernel.ranges(f"{path}/nodelist"))
    ]


def moved(kernel: Kernel) -> tuple[int, int]:
    """Return the pages that were promoted and demoted since boot."""
    counters = kernel.fields("/proc/vmstat")
    demoted = sum(value for name, value in counters.items() if name.startswith("pgdemote_"))
    return counters.get("pgpromote_success", 0), demoted


def why_nothing_moves(kernel: Kernel) -> list[str]:
    """Return what keeps NUMA balancing and reclaim from moving pages between tiers."""
    found = []
    mode = kernel.number(MODE)
    if mode is None:
        found.append("this kernel has no NUMA balancing (CONFIG_NUMA_BALANCING): nothing promotes")
    elif not mode & _TIERING:
        found.append(f"{MODE} is {mode}: promotion needs mode {_TIERING}")
    demotion = kernel.text(DEMOTION)
    if demotion not in ("true", "1"):
        found.append(f"{DEMOTION} is {demotion or 'absent'}: reclaim does not demote")
    groups = tiers(kernel)
    if len(groups) < 2:
        nodes = ", ".join(str(node) for group in groups for node in group)
        found.append(
            f"all nodes ({nodes}) are in one memory tier: pages move between tiers only; "
            "the kernel takes tiers from firmware's HMAT, and a CPU-less node that it onlined at "
            "boot counts as DRAM"
        )
    limit = kernel.number(RATE_LIMIT)
    if limit is not None and limit < 100:
        found.append(f"{RATE_LIMIT} is {limit} MB/s: promotion stays below it")
    if not found:
        found.append(
            "reclaim demotes only where the fast node is short of memory, and promotion follows "
            "page faults of the program: neither moves pages on a machine with free memory"
        )
    return found
