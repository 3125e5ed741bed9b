"""Counters of the kernel in procfs and sysfs: memory, pressure, migrations, drives, ports."""

from collections.abc import Iterable

from tierscope.counters.reading import Count, Key, Reading
from tierscope.counters.source import Source, absent, lacks
from tierscope.topology.files import Files
from tierscope.topology.network import read_ports
from tierscope.topology.nfs import port_counts
from tierscope.topology.nodes import NODES

_SECTOR = 512  # bytes, whatever a drive's own are (Documentation/admin-guide/iostats.rst)
_MIGRATIONS = ("pgmigrate_", "pgpromote_", "pgdemote_", "numa_")
MIGRATED = "pgmigrate_success"
_MEMORY = {"AnonPages": "anonymous", "FilePages": "file", "MemFree": "free"}
_UNSIGNED_INT_MS = (1 << 32) / 1e3
"""Seconds after which a counter of milliseconds in 32 bits begins anew."""


def memory_source(files: Files) -> Source:
    """Bytes in use on each node; what of them is anonymous and what is files'."""

    def read() -> Reading:
        levels: dict[Key, float] = {}
        used = 0
        for number, path in files.numbered(NODES, "node"):
            fields = files.fields(f"{path}/meminfo")
            total, free = fields.get("MemTotal", 0), fields.get("MemFree", 0)
            used += total - free
            levels[Key("memory_used", f"node {number}")] = total - free
            for name, word in _MEMORY.items():
                levels[Key(f"memory_{word}", f"node {number}")] = fields.get(name, 0)
        if not levels:  # a kernel without NUMA
            fields = files.fields("/proc/meminfo")
            used = fields.get("MemTotal", 0) - fields.get("MemFree", 0)
        return Reading(levels={Key("memory_used"): used, **levels})

    return Source("memory", read)


def pressure_source(files: Files, directory: str = "") -> Source:
    """Shares of time in which some or all tasks waited for memory, I/O or CPUs (PSI).

    ``directory`` is a cgroup's, which has the same of its own tasks.
    """
    name, whose = ("cgroup-pressure", "cgroup ") if directory else ("pressure", "")
    paths = {
        what: f"{directory}/{what}.pressure" if directory else f"/proc/pressure/{what}"
        for what in ("memory", "io", "cpu")
    }

    def read() -> Reading:
        counts: dict[Key, Count] = {}
        for what, path in paths.items():
            for line in (files.text(path) or "").splitlines():
                kind, *words = line.split()
                total = dict(word.partition("=")[::2] for word in words).get("total", "")
                # The machine as a whole always has a task that runs: "full" of its CPUs is 0.
                if total.isdigit() and (what, kind) != ("cpu", "full"):
                    counts[Key("stalled", f"{whose}{what} {kind}")] = Count(int(total) * 1e-6)
        return Reading(counts)

    if read().counts:
        return Source(name, read)
    if directory:
        reason, remedy = f"{directory} has no memory.pressure", "use a cgroup of version 2"
    elif files.exists("/proc/pressure/memory"):
        reason, remedy = "this kernel was started without it", "boot with psi=1"
    else:
        reason, remedy = "this kernel has none", "use one that was built with CONFIG_PSI"
    return absent(name, [lacks(f"{whose}pressure (PSI)", reason, remedy)])


def migrations_source(files: Files) -> Source:
    """Pages that were moved between nodes, promoted and demoted, and NUMA balancing's events."""

    def read() -> Reading:
        events = files.fields("/proc/vmstat")
        counts: dict[Key, Count] = {}
        for name, value in events.items():
            if name.startswith(_MIGRATIONS):
                metric = "pages_migrated" if name == MIGRATED else "page_events"
                part = "" if name == MIGRATED else name
                counts[Key(metric, part)] = Count(value)
        return Reading(counts)

    if read().counts:
        return Source("migrations", read)
    reason = "this kernel's /proc/vmstat counts no migrations"
    return absent("migrations", [lacks("migrations", reason, "use one built with CONFIG_NUMA")])


def drives_source(files: Files) -> Source:
    """What each drive reads and writes, and the share of time in which it had requests."""

    def read() -> Reading:
        text = files.text("/proc/diskstats") or ""
        found = Reading()
        for line in text.splitlines():
            fields = line.split()
            if len(fields) < 14 or not files.exists(f"/sys/block/{fields[2]}/device"):
                continue  # partitions, and loop, dm, md, zram: others count what they do
            found.counts |= _drive(fields[2], [int(field) for field in fields[3:14]])
        return found

    if read().counts:
        return Source("drives", read)
    return absent("drives", [lacks("drives", "the kernel counts no drives here")])


def _drive(name: str, fields: list[int]) -> Iterable[tuple[Key, Count]]:
    """Fields as Documentation/admin-guide/iostats.rst numbers them, from 1 on, less one."""
    reads, _, sectors_read, _, writes, _, sectors_written, *_ = fields
    busy_ms = fields[9]
    return {
        Key("read_throughput", name): Count(sectors_read * _SECTOR),
        Key("write_throughput", name): Count(sectors_written * _SECTOR),
        Key("read_iops", name): Count(reads),
        Key("write_iops", name): Count(writes),
        Key("busy", name): Count(busy_ms / 1e3, wraps_at=_UNSIGNED_INT_MS),
    }.items()


def network_source(files: Files) -> Source:
    """What each network port receives and sends."""

    def read() -> Reading:
        names = [port.interface for port in read_ports(files) if port.interface]
        found = Reading()
        for port in port_counts(files, names):
            found.counts[Key("receive_throughput", port.name)] = Count(port.received_bytes)
            found.counts[Key("send_throughput", port.name)] = Count(port.sent_bytes)
        return found

    if read().counts:
        return Source("network", read)
    return absent("network", [lacks("network", "no network port has a device here")])
