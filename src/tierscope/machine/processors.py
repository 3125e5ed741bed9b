"""CPUs, cores, packages and caches of this machine, from /sys/devices/system/cpu."""

import os
from typing import Literal

from tierscope.machine.files import Files
from tierscope.model.topology import Cache, Package

_CPU = "/sys/devices/system/cpu"
_CACHE_TYPES: dict[str | None, Literal["data", "instruction", "unified"]] = {
    "Data": "data",
    "Instruction": "instruction",
    "Unified": "unified",
}
_MODEL_KEYS = ("model name", "cpu", "Processor", "Hardware", "cpu model")
_ARM_PARTS = {  # (implementer, part): names that /proc/cpuinfo does not spell out
    (0x41, 0xD0C): "Arm Neoverse N1",
    (0x41, 0xD40): "Arm Neoverse V1",
    (0x41, 0xD49): "Arm Neoverse N2",
    (0x41, 0xD4F): "Arm Neoverse V2",
    (0x46, 0x001): "Fujitsu A64FX",
    (0xC0, 0xAC3): "Ampere AmpereOne",
}


def online_cpus(files: Files) -> list[int]:
    """CPUs that the kernel runs."""
    online = files.ranges(f"{_CPU}/online")
    return online or [  # before Linux 2.6.29; a CPU that cannot be turned off has no such file
        number
        for number, directory in files.numbered(_CPU, "cpu")
        if files.number(f"{directory}/online") != 0
    ]


def allowed_cpus(files: Files) -> list[int]:
    """Online CPUs that this process may use: its affinity, inside its cgroup's cpuset."""
    online = online_cpus(files)
    if not files.live:
        return online
    allowed = os.sched_getaffinity(0)
    return [cpu for cpu in online if cpu in allowed] or sorted(allowed)


def siblings(files: Files, cpus: list[int]) -> list[list[int]]:
    """CPUs of each core, in the order of their first CPU."""
    cores: dict[tuple[int, ...], None] = {}
    for cpu in cpus:
        topology = f"{_CPU}/cpu{cpu}/topology"
        shared = files.cpus(f"{topology}/core_cpus") or files.cpus(f"{topology}/thread_siblings")
        cores[tuple(other for other in shared if other in cpus) or (cpu,)] = None
    return [list(core) for core in cores]


def packages(files: Files, cpus: list[int], cores: list[list[int]], model: str) -> list[Package]:
    """Sockets in ascending order; one package 0 where the kernel reports none (-1 on some VMs)."""
    members: dict[int, list[int]] = {}
    for cpu in cpus:
        number = files.number(f"{_CPU}/cpu{cpu}/topology/physical_package_id")
        members.setdefault(max(number or 0, 0), []).append(cpu)
    first = {core[0] for core in cores}
    return [
        Package(
            number=number,
            cpus=sorted(of_package),
            cores=len(first & set(of_package)),
            cpu_model=model,
        )
        for number, of_package in sorted(members.items())
    ]


def caches(files: Files, cpus: list[int]) -> list[Cache]:
    """Every cache once, by level."""
    found: list[Cache] = []
    covered: dict[int, set[int]] = {}
    for cpu in cpus:
        directory = f"{_CPU}/cpu{cpu}/cache"
        for number, index in files.numbered(directory, "index"):
            if cpu in covered.setdefault(number, set()):
                continue  # a neighbour's entry listed it; on 256 CPUs that saves thousands of reads
            level = files.number(f"{index}/level")
            kind = _CACHE_TYPES.get(files.text(f"{index}/type"))
            size = parse_size(files.text(f"{index}/size"))
            shared = files.cpus(f"{index}/shared_cpu_map") or [cpu]
            covered[number].update(shared)
            if level is not None and kind is not None and size is not None:
                found.append(Cache(level=level, type=kind, size_bytes=size, cpus=shared))
    return sorted(found, key=lambda cache: (cache.level, cache.type, cache.cpus))


def parse_size(text: str | None) -> int | None:
    """Parse sysfs' ``48K`` or ``2M``; None where it is neither."""
    if not text:
        return None
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1)
    digits = text.rstrip("KMG")
    return int(digits) * factor if digits.isdigit() else None


def cpu_model(files: Files) -> str:
    """The CPU's name as the kernel reports it; else empty."""
    fields: dict[str, str] = {}
    for line in (files.text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    for key in _MODEL_KEYS:
        if fields.get(key) and not fields[key].isdigit():
            return " ".join(fields[key].split())
    return arm_name(fields.get("CPU implementer"), fields.get("CPU part"))


def arm_name(implementer: str | None, part: str | None) -> str:
    """Name of an Arm core by its MIDR fields; the fields themselves where we know no name."""
    try:
        identity = (int(implementer or "", 16), int(part or "", 16))
    except ValueError:
        return ""
    return _ARM_PARTS.get(identity, f"Arm implementer {identity[0]:#04x}, part {identity[1]:#05x}")
