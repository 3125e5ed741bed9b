"""Sources of counters for a watch: memory, pressure, migrations, drives, network, GPUs, traffic."""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tierscope.engine.traffic import CounterSource, TrafficCount, TrafficProcess
from tierscope.machine.files import Files
from tierscope.machine.links import gpu_memory_limit
from tierscope.machine.network import nfs_counts, port_counts, read_ports
from tierscope.machine.nodes import NODES
from tierscope.machine.nvidia import Nvml, open_nvml, visible_gpus
from tierscope.model.errors import UserError
from tierscope.model.evidence import LackingCounters
from tierscope.model.topology import Topology
from tierscope.place import cgroups
from tierscope.place.pages import bytes_by_node

_SECTOR = 512  # bytes, whatever a drive's own are (Documentation/admin-guide/iostats.rst)
_MIGRATIONS = ("pgmigrate_", "pgpromote_", "pgdemote_", "numa_")
MIGRATED = "pgmigrate_success"
_MEMORY = {"AnonPages": "anonymous", "FilePages": "file", "MemFree": "free"}
_UNSIGNED_INT_MS = (1 << 32) / 1e3
"""Seconds after which a counter of milliseconds in 32 bits begins anew."""
_KIB = 1024
_ALL_LINKS = 0xFFFFFFFF
_MIB = 1 << 20
_GPUS_MEMORY = "DRAM_BW_UTIL"
_MEANS = {
    ("receive_throughput", "PCIe"): "PCIE_RX_PER_SEC",
    ("send_throughput", "PCIe"): "PCIE_TX_PER_SEC",
    ("receive_throughput", "NVLink"): "NVLINK_TOTAL_RX_PER_SEC",
    ("send_throughput", "NVLink"): "NVLINK_TOTAL_TX_PER_SEC",
}
"""By metric and link: the mean in MiB/s that GPUs have from Hopper on."""
_PCIE_UTIL = {"send_throughput": 0, "receive_throughput": 1}  # NVML_PCIE_UTIL_TX_BYTES, _RX_BYTES
_STATES = (
    ("temperature", "Temperature", 0, 1),  # NVML_TEMPERATURE_GPU, degrees Celsius
    ("sm_clock", "ClockInfo", 1, 1e6),  # NVML_CLOCK_SM, MHz
    ("memory_clock", "ClockInfo", 2, 1e6),  # NVML_CLOCK_MEM, MHz
)
_COUNTERS = {
    ("receive_throughput", "PCIe"): ("PCIE_COUNT_RX_BYTES", 0, 1),
    ("send_throughput", "PCIe"): ("PCIE_COUNT_TX_BYTES", 0, 1),
    ("receive_throughput", "NVLink"): ("NVLINK_THROUGHPUT_DATA_RX", _ALL_LINKS, _KIB),
    ("send_throughput", "NVLink"): ("NVLINK_THROUGHPUT_DATA_TX", _ALL_LINKS, _KIB),
}
"""By metric and link: the field that counts, its scope, and bytes of one count."""
WHAT = "memory bandwidth"
_NVIDIA_FS = {
    "read_throughput": (r"\breadMiB=(\d+)", _MIB),
    "write_throughput": (r"\bwriteMiB=(\d+)", _MIB),
    "read_iops": (r"(?m)^Reads\s*:\s*n=(\d+)", 1),
    "write_iops": (r"(?m)^Writes\s*:\s*n=(\d+)", 1),
}
"""Counters in /proc/driver/nvidia-fs/stats; all but errors stay 0 unless rw_stats_enabled is 1."""
_PEERS = re.compile(r"(?m)^GPU :(\S+?)\s*:\s*([0-9 ]*[0-9])\s*$")
"""A GPU's line in /proc/driver/nvidia-fs/peer_affinity: its DMA operations by the PCI distance of
the peer, from 1 on; the last number is of those through the root complex."""
_CROSSED = re.compile(r"(?m)^GPU (\S+)\s.*cross_root_port\(%\)=(\d+)")
_CXL = re.compile(r"cxl_pmu_(mem\d+)\.\d+/(\w+)")
_READS = ("read", "s2m_drs_")
_WRITES = ("write", "m2s_rwd_")


class Key(NamedTuple):
    """Identity of a value."""

    metric: str
    """One of ``model.metric.METRICS``."""
    part: str = ""
    """The node, drive, port, ...; empty: the whole."""


class Count(NamedTuple):
    """A counter that only rises, until it wraps around or what it counts is replaced."""

    value: float
    """In the metric's unit times seconds: bytes, operations, seconds of a state."""
    at: float | None = None
    """The time in seconds of a counter that has a clock of its own; others have their reading's."""
    wraps_at: float | None = None
    """The value after which it begins at 0 again; None: it is too large to be reached."""


@dataclass
class Reading:
    """Everything that one source of counters said at one time."""

    counts: dict[Key, Count] = field(default_factory=dict)
    levels: dict[Key, float] = field(default_factory=dict)
    """Values as they are: bytes in use, shares that a driver averaged itself."""
    each: dict[Key, tuple[float, float]] = field(default_factory=dict)
    """Sums of what single operations took, and how many there were; both only rise."""
    at: float = field(default_factory=lambda: time.monotonic())
    """When it was read, in seconds: one time for all counters, so that a rate times the time
    between two readings is the increase, however long reading takes."""


def rates(before: Reading, after: Reading) -> dict[Key, float]:
    """Return the rates of all counters in both readings, means of the operations between them, and
    the levels of the later one.

    A counter that was not there before, that was set back or whose time stood still has no rate;
    without operations there is no mean.
    """
    found: dict[Key, float] = {}
    for key, count in after.counts.items():
        earlier = before.counts.get(key)
        if earlier is None:
            continue
        seconds = _time_of(count, after) - _time_of(earlier, before)
        increase = increase_of(earlier, count)
        if seconds > 0 and increase is not None:
            found[key] = increase / seconds
    for key, (total, operations) in after.each.items():
        before_total, before_operations = before.each.get(key, (total, operations))
        more, longer = operations - before_operations, total - before_total
        if more > 0 and longer >= 0:
            found[key] = longer / more
    return found | after.levels


def _time_of(count: Count, reading: Reading) -> float:
    return reading.at if count.at is None else count.at


def increase_of(before: Count, after: Count) -> float | None:
    """Return how much a counter rose, over its end where it has one; None where it was set back."""
    increase = after.value - before.value
    if increase < 0 and after.wraps_at is not None:
        increase += after.wraps_at
    return increase if increase >= 0 else None


def _nothing_to_close() -> None:
    pass


@dataclass(frozen=True)
class Source:
    """Counters that are read together."""

    name: str
    """Names its rows in run files: ``drives``."""
    read: Callable[[], Reading]
    """Reads what can be read now; what came or went since shows as new or absent keys."""
    lacking: Sequence[LackingCounters] = ()
    """Counters that cannot be read here; all of them where ``available`` is False."""
    available: bool = True
    close: Callable[[], None] = field(default=_nothing_to_close)


def absent(name: str, lacking: Sequence[LackingCounters]) -> Source:
    """A source of which nothing can be read here."""
    return Source(name, Reading, lacking, available=False)


def lacks(what: str, reason: str, remedy: str = "") -> LackingCounters:
    """Counters that cannot be read, why, and what would make them readable."""
    return LackingCounters(what=what, reason=reason, remedy=remedy)


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


def cpus_source(files: Files) -> Source:
    """Shares of the time of all CPUs: busy, idle while I/O was pending, taken by a hypervisor."""

    def read() -> Reading:
        lines = map(str.split, (files.text("/proc/stat") or "").splitlines())
        ticks = next((words[1:9] for words in lines if words[:1] == ["cpu"]), [])
        if len(ticks) < 8:
            return Reading()
        user, nice, system, idle, waiting, interrupts, soft, stolen = map(int, ticks)
        busy = user + nice + system + interrupts + soft
        shares = {"busy": busy, "iowait": waiting, "steal": stolen}
        every = busy + idle + waiting + stolen
        return Reading(each={Key(metric): (share, every) for metric, share in shares.items()})

    if read().each:
        return Source("cpus", read)
    return absent("cpus", [lacks("CPUs", "/proc/stat has no times of CPUs")])


def drives_source(files: Files) -> Source:
    """Bytes that each drive and array reads and writes, and the share of time with requests in
    flight."""

    def read() -> Reading:
        found = Reading()
        for name, fields in _drives(files):
            found.counts |= _drive(name, fields)
        return found

    if read().counts:
        return Source("drives", read)
    return absent("drives", [lacks("drives", "the kernel counts no drives here")])


def requests_source(files: Files) -> Source:
    """The time and the size of each drive's and array's requests."""

    def read() -> Reading:
        found = Reading()
        for name, fields in _drives(files):
            reads, _, sectors_read, read_ms, writes, _, sectors_written, write_ms, *_ = fields
            found.each |= {
                Key("read_await", name): (read_ms * 1e6, reads),
                Key("write_await", name): (write_ms * 1e6, writes),
                Key("read_request_size", name): (sectors_read * _SECTOR, reads),
                Key("write_request_size", name): (sectors_written * _SECTOR, writes),
            }
        return found

    return Source("requests", read) if read().each else absent("requests", [])


def _drives(files: Files) -> Iterator[tuple[str, list[int]]]:
    """Drives and md arrays; of partitions, loop, dm and zram others count what they do.

    Fields as Documentation/admin-guide/iostats.rst numbers them, from 1 on, less one.
    """
    for line in (files.text("/proc/diskstats") or "").splitlines():
        fields = line.split()
        if len(fields) >= 14 and any(
            files.exists(f"/sys/block/{fields[2]}/{entry}") for entry in ("device", "md")
        ):
            yield fields[2], [int(field) for field in fields[3:14]]


def _drive(name: str, fields: list[int]) -> dict[Key, Count]:
    reads, _, sectors_read, _, writes, _, sectors_written, *_ = fields
    busy_ms = fields[9]
    return {
        Key("read_throughput", name): Count(sectors_read * _SECTOR),
        Key("write_throughput", name): Count(sectors_written * _SECTOR),
        Key("read_iops", name): Count(reads),
        Key("write_iops", name): Count(writes),
        Key("busy", name): Count(busy_ms / 1e3, wraps_at=_UNSIGNED_INT_MS),
    }


def nfs_source(files: Files) -> Source:
    """Bytes and requests of each NFS mount, and what single requests took."""

    def read() -> Reading:
        found = Reading()
        for mount in nfs_counts(files):
            found.counts |= {
                Key("read_throughput", mount.name): Count(mount.read_bytes),
                Key("write_throughput", mount.name): Count(mount.write_bytes),
                Key("read_iops", mount.name): Count(mount.reads),
                Key("write_iops", mount.name): Count(mount.writes),
                Key("operations", mount.name): Count(mount.operations),
            }
            found.each |= {
                Key("read_await", mount.name): (mount.read_ms * 1e6, mount.reads),
                Key("write_await", mount.name): (mount.write_ms * 1e6, mount.writes),
            }
        return found

    return Source("nfs", read) if read().counts else absent("nfs", [])


def nvidia_fs_source(files: Files) -> Source:
    """Bytes and requests between storage and GPUs through nvidia-fs; for each GPU the share of
    them that crossed root ports, and its DMA operations by the distance of the peer."""

    def read() -> Reading:
        text = files.text("/proc/driver/nvidia-fs/stats") or ""
        found = Reading()
        for metric, (pattern, scale) in _NVIDIA_FS.items():
            if counted := re.search(pattern, text):
                found.counts[Key(metric)] = Count(int(counted[1]) * scale)
        for gpu, percent in _CROSSED.findall(text):
            found.levels[Key("crossing_root_ports", gpu)] = int(percent) / 100
        peers = files.text("/proc/driver/nvidia-fs/peer_affinity") or ""
        for gpu, numbers in _PEERS.findall(peers):
            *near, far = map(int, numbers.split())
            by_place = {f"distance {at}": dmas for at, dmas in enumerate(near, start=1)}
            for place, dmas in (by_place | {"root complex": far}).items():
                if dmas:
                    found.counts[Key("peer_dma", f"{gpu} {place}")] = Count(dmas)
        return found

    first = read()
    return Source("nvidia-fs", read) if first.counts or first.levels else absent("nvidia-fs", [])


def network_source(files: Files) -> Source:
    """Bytes and packets that each network port receives and sends."""

    def read() -> Reading:
        names = [port.interface for port in read_ports(files) if port.interface]
        found = Reading()
        for port in port_counts(files, names):
            found.counts[Key("receive_throughput", port.name)] = Count(port.received_bytes)
            found.counts[Key("send_throughput", port.name)] = Count(port.sent_bytes)
            found.counts[Key("receive_packets", port.name)] = Count(port.received_packets)
            found.counts[Key("send_packets", port.name)] = Count(port.sent_packets)
        return found

    if read().counts:
        return Source("network", read)
    return absent("network", [lacks("network", "no network port has a device here")])


def process_source(files: Files, pid: int) -> Source:
    """Bytes of a process by node; nothing once it has ended."""

    def read() -> Reading:
        return _by_node(bytes_by_node(pid, files=files), f"pid {pid}")

    try:
        read()
    except UserError as error:
        return absent("process", [lacks(f"the pages of process {pid}", str(error))])
    return Source("process", read)


def cgroup_sources(files: Files, directory: str) -> list[Source]:
    """Bytes by node and pressure of a cgroup of version 2."""

    def memory() -> Reading:
        return _by_node(cgroups.bytes_by_node(files, directory), "cgroup")

    pressure = pressure_source(files, directory)
    if files.exists(f"{directory}/memory.numa_stat"):
        return [Source("cgroup", memory), pressure]
    reason = f"{directory} has no memory.numa_stat"
    remedy = "enable its memory controller, in cgroup.subtree_control of the directory above"
    return [absent("cgroup", [lacks("the cgroup's memory", reason, remedy)]), pressure]


def _by_node(nodes: dict[int, int], whose: str) -> Reading:
    levels: dict[Key, float] = {Key("memory_used", whose): sum(nodes.values())}
    levels |= {Key("memory_used", f"{whose} node {node}"): size for node, size in nodes.items()}
    return Reading(levels=levels)


def gpus_source(files: Files, nvml: Nvml | None = None, wish: str | None = None) -> Source:
    """Every GPU that CUDA shows where CUDA_VISIBLE_DEVICES is ``wish``.

    ``nvml`` stands in for NVIDIA's library, which is otherwise opened where its driver is loaded.
    """
    missing: list[str] = []

    def close() -> None:
        pass

    if nvml is None:
        nvml, missing, close = open_nvml(files)
    lacking = [lacks("GPUs", text) for text in missing]
    if nvml is None:
        return absent("gpus", lacking or [lacks("GPUs", "no NVIDIA driver is loaded")])
    library = nvml
    shown = visible_gpus(library, wish)

    def read() -> Reading:
        found = Reading()
        for index, number in enumerate(shown):
            _read_gpu(library, number, f"gpu {index}", found)
        return found

    return Source("gpus", read, lacking, close=close)


def _read_gpu(nvml: Nvml, number: int, name: str, into: Reading) -> None:
    use = nvml.ask("UtilizationRates", number)
    if use is not None:  # percent of the driver's last sample period, up to a second
        into.levels[Key("busy", name)] = use.gpu / 100
        into.levels[Key("memory_busy", name)] = use.memory / 100
    memory = nvml.ask("MemoryInfo", number)
    if memory is not None:
        into.levels[Key("memory_used", name)] = memory.used
    window = nvml.ask("BAR1MemoryInfo", number)
    if window is not None:
        into.levels[Key("bar1_used", name)] = window.bar1Used
    for metric, function, which, scale in _STATES:
        state = nvml.ask(function, number, which)
        if state is not None:
            into.levels[Key(metric, name)] = state * scale
    means = nvml.averages((_GPUS_MEMORY, *_MEANS.values()), number)
    if _GPUS_MEMORY in means and (most := _memory_rate(nvml, number)):  # percent of it
        into.levels[Key("throughput", f"{name} memory")] = means[_GPUS_MEMORY] / 100 * most
    for (metric, link), metric_name in _MEANS.items():
        if metric_name in means:
            into.levels[Key(metric, f"{name} {link}")] = means[metric_name] * _MIB
        else:
            _read_link(nvml, number, metric, name, link, into)


def _read_link(nvml: Nvml, number: int, metric: str, name: str, link: str, into: Reading) -> None:
    """Read a counter where there is one; of PCIe else a rate that the driver sampled."""
    key = Key(metric, f"{name} {link}")
    field, scope, scale = _COUNTERS[metric, link]
    counted = nvml.field(field, number, scope)
    if counted is not None:
        into.counts[key] = Count(counted * scale)
    elif link == "PCIe":
        sample: Any = nvml.ask("PcieThroughput", number, _PCIE_UTIL[metric])
        if sample is not None:  # kB/s over 20 ms
            into.levels[key] = sample * 1e3


def _memory_rate(nvml: Nvml, number: int) -> float | None:
    """Bytes a second that a GPU's memory can have, by its clock and width."""
    megahertz = nvml.ask("MaxClockInfo", number, 2)  # NVML_CLOCK_MEM
    bits = nvml.ask("MemoryBusWidth", number)
    if not megahertz or not bits:
        return None
    return gpu_memory_limit(megahertz * 1e6, bits, "").value


def traffic_source(topology: Topology) -> Source:
    """Traffic counted by memory controllers, CXL devices and last-level caches."""
    try:
        process = TrafficProcess()
    except UserError as error:
        return absent("bandwidth", [lacks(WHAT, str(error))])
    lacking = lacking_of(process.sources)
    if not any(source.available for source in process.sources):
        process.close()
        return absent("bandwidth", lacking)

    def read() -> Reading:
        return reading_of(process.counts(), topology)

    return Source("bandwidth", read, lacking, close=process.close)


def lacking_of(sources: Sequence[CounterSource]) -> list[LackingCounters]:
    """Return what of the counters cannot be read, and why."""
    return [
        lacks(f"{WHAT} by {source.name}", source.reason, source.remedy)
        for source in sources
        if not source.available
    ]


def reading_of(counts: Iterable[TrafficCount], topology: Topology) -> Reading:
    """Return counts by what they count; those of one place stay apart, for each has its own time.

    Parts are ``socket 0`` of memory controllers, ``socket 0 mem1`` of a CXL device, ``socket 0
    CPUs`` of resctrl, with the counter behind a tab; ``summed`` adds their rates up.
    """
    package = {cpu: one.number for one in topology.packages for cpu in one.cpus}
    found = Reading()
    for count in counts:
        named = _named(count, lambda cpu: package.get(cpu))
        if named is not None:
            metric, place = named
            key = Key(metric, f"{place}\t{count.counter}")
            found.counts[key] = Count(count.bytes, count.seconds)
    return found


def _named(count: TrafficCount, package_of: Callable[[int], int | None]) -> tuple[str, str] | None:
    """Return the metric and the place of a count; None of one that is no direction of any."""
    package = package_of(count.cpu)
    socket = "machine" if package is None else f"socket {package}"
    if count.source == "resctrl":
        metric = count.counter.rpartition("/")[2]
        # Of CPUs' traffic: what they take from all memory, and from that near to them.
        own = {"mbm_total_bytes": f"{socket} CPUs", "mbm_local_bytes": f"{socket} CPUs local"}
        return ("throughput", own[metric]) if metric in own else None
    event = count.counter.rpartition("/")[2]
    device = _CXL.match(count.counter)
    place = f"{socket} {device[1]}" if device else socket
    if any(word in event for word in _READS):
        return "read_throughput", place
    if any(word in event for word in _WRITES):
        return "write_throughput", place
    return None


def summed(
    found: dict[Key, float], wanted: Sequence[Key] | None = None
) -> dict[tuple[str, str], float]:
    """Add up rates whose parts have a counter behind a tab; leave others as they are.

    ``wanted`` are all counters there are: a place of which one has no rate has no sum.
    """
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for key, rate in found.items():
        sums[_place(key)] += rate
    for key in wanted or ():
        if key not in found:
            sums.pop(_place(key), None)
    return dict(sums)


def _place(key: Key) -> Key:
    return Key(key.metric, key.part.partition("\t")[0])
