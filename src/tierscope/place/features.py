"""Kernel features for placement: first version, detection, and the fallback without them.

A probe looks at this kernel's own files, so that backports and kernels built without a part are
judged rightly; where no file tells, the version does.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tierscope.machine.files import Files

WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave"
AUTO_FILES = ("auto", "__auto_type")
"""Names of the switch of automatic weights; some 6.18 kernels have the second one."""
DAMON = "/sys/kernel/mm/damon/admin"

Probe = Callable[[Files], bool | None]
"""Whether a kernel has a feature; None where its files do not tell."""


@dataclass(frozen=True)
class Feature:
    """Something that not every kernel can do."""

    title: str
    since: tuple[int, int]
    """The first kernel that has it."""
    probe: Probe
    instead: str
    """Fallback or remedy where a kernel lacks it."""


def _version_decides(_files: Files) -> bool | None:
    return None


def _damon(files: Files) -> bool | None:
    return None if files.names(DAMON) else False


def _weighted(files: Files) -> bool | None:
    if not files.names("/sys/kernel/mm"):
        return None
    return bool(files.names(WEIGHTS, "node"))


def _auto(files: Files) -> bool | None:
    if not files.names("/sys/kernel/mm"):
        return None
    return any(name in files.names(WEIGHTS) for name in AUTO_FILES)


FEATURES = {
    "balancing": Feature(
        "NUMA balancing of bound memory", (5, 12), _version_decides,
        "leave --balancing out",
    ),
    "preferred-many": Feature(
        "the policy preferred-many", (5, 15), _version_decides,
        "use preferred, with one node",
    ),
    "balancing-preferred-many": Feature(
        "NUMA balancing with preferred-many", (6, 10), _version_decides,
        "leave --balancing out, or use bind",
    ),
    "weighted-interleave": Feature(
        "weighted interleave", (6, 9), _weighted,
        "a preloaded library places memory by weights in user space",
    ),
    "auto-weights": Feature(
        "automatic weights", (6, 16), _auto,
        "set the weights of nodes by hand",
    ),
    "damos-memcg-filter": Feature(
        "DAMOS's filter by cgroup", (6, 3), _damon,
        "schemes apply to the whole machine",
    ),
    "damos-apply-interval": Feature(
        "intervals of DAMOS schemes", (6, 7), _damon,
        "schemes apply at each aggregation interval",
    ),
    "damos-goals": Feature(
        "goals of DAMOS quotas", (6, 8), _damon,
        "set fixed quotas",
    ),
    "damos-goal-metrics": Feature(
        "metrics of DAMOS quota goals", (6, 9), _damon,
        "set fixed quotas",
    ),
    "damos-young-filter": Feature(
        "DAMOS's filter of young pages", (6, 10), _damon,
        "leave the filter out",
    ),
    "damos-migrate": Feature(
        "DAMOS's actions migrate_hot and migrate_cold", (6, 11), _damon,
        "use NUMA balancing's tiering mode",
    ),
    "damos-allow-filters": Feature(
        "DAMOS filters that allow", (6, 14), _damon,
        "use filters that reject",
    ),
    "intervals-goal": Feature(
        "DAMON's goal of intervals", (6, 15), _damon,
        "set fixed intervals",
    ),
    "damos-hugepage-filter": Feature(
        "DAMOS's filter by the size of huge pages", (6, 15), _damon,
        "leave the filter out",
    ),
    "node-mem-goals": Feature(
        "goals of DAMOS quotas by a node's used or free memory", (6, 16), _damon,
        "use watermarks and fixed quotas",
    ),
    "damos-dests": Feature(
        "several weighted destinations of a DAMOS scheme", (6, 17), _damon,
        "use one destination",
    ),
    "damos-vaddr-migrate": Feature(
        "DAMOS's migration by a process's addresses", (6, 17), _damon,
        "use physical addresses and a filter by cgroup",
    ),
    "node-memcg-goals": Feature(
        "goals of DAMOS quotas by a cgroup's memory on a node", (6, 19), _damon,
        "use goals of the whole node",
    ),
}  # fmt: skip
"""By name, as commands ask for them."""


def has_feature(name: str, files: Files | None = None) -> bool:
    """Whether this kernel has a feature of the table."""
    files = files or Files()
    feature = FEATURES[name]
    found = feature.probe(files)
    return kernel_version(files) >= feature.since if found is None else found


def missing(name: str, files: Files | None = None) -> str:
    """Say which feature this kernel lacks, since when there is one, and what to do; else empty."""
    files = files or Files()
    if has_feature(name, files):
        return ""
    feature = FEATURES[name]
    release = files.text("/proc/sys/kernel/osrelease") or "of unknown version"
    since = ".".join(map(str, feature.since))
    built = " (this kernel was built without it)" if kernel_version(files) >= feature.since else ""
    return (
        f"Linux {release} does not have {feature.title}, which came with {since}{built}; "
        f"{feature.instead}"
    )


def kernel_version(files: Files | None = None) -> tuple[int, int]:
    """Return the running kernel's version, as (6, 12); (0, 0) where it is unknown."""
    release = (files or Files()).text("/proc/sys/kernel/osrelease") or ""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)
