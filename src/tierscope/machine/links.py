"""Theoretical one-way rate of every kind of link, each with its formula and its source.

Rates are of data in bytes/s, one direction, after the link's own line code and before whatever
headers its packets carry; what headers leave is a second figure (``pcie_payload``).
"""

from typing import NamedTuple

from tierscope.model.errors import counted
from tierscope.model.path import STATED, Limit
from tierscope.model.topology import PcieLink, StatedSocketLink

_PCIE_SOURCE = "PCI Express Base Specification 6.0: line codes and flit layout"
# Of a packet of up to MaxPayload bytes to a 64-bit address: start and sequence (4), header (16),
# link CRC (4); a flit carries start and CRC itself. Acknowledgements and flow control are left
# out, so this is what headers leave, not what a device reaches.
_PACKET_OVERHEAD = 24
_FLIT_PACKET_OVERHEAD = 16


class NvLinkGeneration(NamedTuple):
    """What one link of a generation is, each way."""

    rate: float
    """bytes/s."""
    lanes: int
    """Differential pairs."""
    gpus: str

    @property
    def lane_gbit(self) -> float:
        """Gbit/s of a lane."""
        return self.rate * 8 / self.lanes / 1e9


NVLINK = {
    1: NvLinkGeneration(20e9, 8, "Pascal"),
    2: NvLinkGeneration(25e9, 8, "Volta, Turing"),
    3: NvLinkGeneration(25e9, 4, "Ampere"),
    4: NvLinkGeneration(25e9, 2, "Hopper"),
    5: NvLinkGeneration(50e9, 2, "Blackwell"),
}
"""By version."""
_NVLINK_SOURCE = "NVIDIA's data sheets of the GPUs of that generation"
_NVLINK_GPUS = {
    1: ("P100",),
    2: ("V100", "GV100", "TITAN V", "Quadro RTX", "TITAN RTX", "RTX 2080", "RTX 2070 SUPER"),
    3: ("A100", "A800", "A30", "A40", "RTX A", "RTX 3090"),
    4: ("H100", "H200", "H800", "H20", "GH200"),
    5: ("B100", "B200", "B300", "GB200", "GB300"),
}
_GA102 = ("A40", "RTX A", "RTX 3090")
GA102_RATE = 14.0625e9
"""bytes/s each way of a link of these Ampere GPUs (NVIDIA Ampere GA102 GPU Architecture)."""
C2C_RATE = 450e9
"""bytes/s each way between a Grace CPU and its GPU."""
_WITH_C2C = ("GH200", "GB200", "GB300")
_HBM = (  # name, memory up to (bytes), bytes/s of one GPU, where
    ("GH200", 100 << 30, 4.0e12, "NVIDIA GH200 data sheet: HBM3"),
    ("GH200", 1 << 50, 4.9e12, "NVIDIA GH200 data sheet: HBM3e"),
    ("GB200", 1 << 50, 8.0e12, "NVIDIA GB200 NVL72 data sheet, half of a superchip's"),
    ("GB300", 1 << 50, 8.0e12, "NVIDIA GB300 NVL72 data sheet, half of a superchip's"),
)


class _PcieGeneration(NamedTuple):
    number: int
    good: int
    """Bytes or bits that carry data ..."""
    total: int
    """... of so many on the wire."""
    code: str

    @property
    def name(self) -> str:
        return f"{self.number}.0"


PCIE = {  # by GT/s a lane
    2.5: _PcieGeneration(1, 8, 10, "8b/10b"),
    5.0: _PcieGeneration(2, 8, 10, "8b/10b"),
    8.0: _PcieGeneration(3, 128, 130, "128b/130b"),
    16.0: _PcieGeneration(4, 128, 130, "128b/130b"),
    32.0: _PcieGeneration(5, 128, 130, "128b/130b"),
    64.0: _PcieGeneration(6, 236, 256, "236 bytes of packets in a flit of 256"),
}


def pcie_name(link: PcieLink) -> str:
    """``PCIe 4.0 x16``; the speed itself where it is of no generation that we know."""
    generation = PCIE.get(link.speed)
    return f"PCIe {generation.name if generation else f'{link.speed:g} GT/s'} x{link.width}"


def pcie_link(generation: int, width: int) -> PcieLink | None:
    """A link by its generation's number, as drivers report it; None of one that we do not know."""
    for speed, known in PCIE.items():
        if known.number == generation and width:
            return PcieLink(speed=speed, width=width)
    return None


def pcie_rate(link: PcieLink) -> float | None:
    """bytes/s each way after the line code; None at a speed of no generation that we know."""
    generation = PCIE.get(link.speed)
    if generation is None:
        return None
    return link.speed * 1e9 * link.width * generation.good / generation.total / 8


def pcie_payload(link: PcieLink, max_payload: int) -> float | None:
    """bytes/s each way that packet headers leave to data at that MaxPayload."""
    rate = pcie_rate(link)
    overhead = _FLIT_PACKET_OVERHEAD if link.speed >= 64 else _PACKET_OVERHEAD
    return None if rate is None else rate * max_payload / (max_payload + overhead)


def pcie_limit(link: PcieLink, where: str, max_payload: int | None = None) -> Limit | None:
    """Limit of a PCIe link named ``where``."""
    rate, generation = pcie_rate(link), PCIE.get(link.speed)
    if rate is None or generation is None:
        return None
    code = f"{generation.good}/{generation.total}"
    formula = f"{link.speed:g} GT/s x {link.width} lanes x {code} / 8 = {rate / 1e9:.2f} GB/s"
    payload = pcie_payload(link, max_payload) if max_payload else None
    if payload is not None:
        formula += f"; packet headers at MaxPayload {max_payload} leave {payload / 1e9:.2f} GB/s"
    return _limit(rate, f"{pcie_name(link)}{where}", formula, _PCIE_SOURCE)


def cxl_limit(link: PcieLink, where: str) -> Limit | None:
    """Limit of CXL.mem over a PCIe link: what flits leave to data, all of them full."""
    rate = pcie_rate(link)
    generation = PCIE.get(link.speed)
    if rate is None or generation is None:
        return None
    if link.speed >= 64:  # 256-byte flits: 15 slots of 16 bytes; CRC and FEC are flit overhead
        raw = link.speed * 1e9 * link.width / 8
        good, total, value = 240, 256, raw * 240 / 256
    else:
        good, total, value = 64, 68, rate * 64 / 68
    base = "" if link.speed >= 64 else f" x {generation.good}/{generation.total}"
    return _limit(
        value,
        f"CXL on {pcie_name(link)}{where}",
        f"{link.speed:g} GT/s x {link.width} lanes{base} x {good}/{total} (flit) / 8"
        f" = {value / 1e9:.2f} GB/s",
        "Compute Express Link Specification 3.1: 68-byte and 256-byte flits",
    )


def nvlink_version(gpu_name: str) -> tuple[int, float] | None:
    """NVLink generation of a GPU by its name, and bytes/s a link; None where it has none."""
    for version, names in _NVLINK_GPUS.items():
        if _is_one_of(gpu_name, names):
            return version, NVLINK[version].rate
    return None


def _is_one_of(gpu_name: str, names: tuple[str, ...]) -> bool:
    words = gpu_name.replace("-", " ").split()
    return any(name in gpu_name if " " in name else name in words for name in names)


def nvlink_limit(
    version: int, links: int, where: str, gpu_name: str = "", reported: float | None = None
) -> Limit | None:
    """Limit of several NVLinks taken together; ``reported`` is the driver's bytes/s of one link.

    The driver's figure is the raw rate, in some generations up to 6% above the data sheets' (GB200:
    53.125 GB/s for 50); where it is below theirs, links run slower.
    """
    if version not in NVLINK:
        return None
    link, source = NVLINK[version], _NVLINK_SOURCE
    if version == 3 and _is_one_of(gpu_name, _GA102):
        link = link._replace(rate=GA102_RATE)
    if reported is not None and reported < link.rate:
        link, source = link._replace(rate=reported), "NVML NVLINK_SPEED_MBPS_COMMON"
    return _limit(
        link.rate * links,
        f"NVLink {version} x{links}{where}",
        f"{links} links x {link.lanes} lanes x {link.lane_gbit:g} Gbit/s / 8 = "
        f"{links * link.rate / 1e9:g} GB/s",
        source,
    )


def c2c_limit(reported: float | None, where: str) -> Limit:
    """Limit of NVLink-C2C: what the driver reports, else the specified rate."""
    if reported:
        formula = f"sum of the links' maximum = {reported / 1e9:g} GB/s"
        return _limit(reported, f"NVLink-C2C{where}", formula, "NVML C2C_LINK_GET_MAX_BW")
    formula = "900 GB/s both ways / 2 = 450 GB/s"
    return _limit(C2C_RATE, f"NVLink-C2C{where}", formula, "NVIDIA Grace Hopper data sheet")


def has_c2c(gpu_name: str) -> bool:
    """Whether GPUs of this name are joined to a Grace CPU by NVLink-C2C."""
    return _is_one_of(gpu_name, _WITH_C2C)


def hbm_limit(gpu_name: str, memory_bytes: int | None, where: str) -> Limit | None:
    """Limit of a coherent GPU's memory by its data sheet, for where NVML tells no clock."""
    for name, most, rate, source in _HBM:
        if _is_one_of(gpu_name, (name,)) and (memory_bytes or 0) <= most:
            formula = f"data sheet: {rate / 1e12:g} TB/s"
            return _limit(rate, f"GPU memory{where}", formula, source)
    return None


def dram_limit(
    kind: str, transfers: float, channels: int, bits: int, where: str, source: str
) -> Limit:
    """Limit of DRAM by its transfer rate (transfers/s) and its channels of ``bits`` data bits."""
    value = transfers * channels * bits / 8
    return _limit(
        value,
        f"{kind}-{transfers / 1e6:.0f} x {counted(channels, 'channel')}{where}",
        f"{transfers / 1e6:.0f} MT/s x {counted(channels, 'channel')} x {bits} bits / 8"
        f" = {value / 1e9:.1f} GB/s",
        source,
    )


def memory_on_package_limit(
    kind: str, transfers: float, bits: int, nodes: int, where: str, source: str
) -> Limit:
    """Limit of a node's part of a package's HBM, whose ``bits`` all of its nodes share evenly."""
    value = transfers * bits / 8 / nodes
    share = f" / {nodes} nodes" if nodes > 1 else ""
    return _limit(
        value,
        f"{kind}{where}",
        f"{transfers / 1e6:.0f} MT/s x {bits} bits / 8{share} = {value / 1e9:.1f} GB/s",
        source,
    )


def gpu_memory_limit(clock_hz: float, bus_bits: int, where: str) -> Limit:
    """Limit of a GPU's own memory: two transfers a clock on a bus of that many bits."""
    value = 2 * clock_hz * bus_bits / 8
    return _limit(
        value,
        f"GPU memory{where}",
        f"2 x {clock_hz / 1e6:.0f} MHz x {bus_bits} bits / 8 = {value / 1e9:.0f} GB/s",
        "NVML: maximum memory clock and bus width",
    )


def network_limit(bits_per_second: float, where: str) -> Limit:
    """Limit of a network port by its negotiated speed."""
    value = bits_per_second / 8
    return _limit(
        value,
        f"network port{where}",
        f"{bits_per_second / 1e9:g} Gb/s / 8 = {value / 1e9:g} GB/s",
        "the kernel's report of the port's speed",
    )


def socket_link_limit(
    stated: StatedSocketLink, where: str = " between each pair of sockets", sockets: int = 1
) -> Limit:
    """Limit of what the user states between sockets, of ``sockets`` that access another one.

    By lanes it is the rate on the wires: neither vendor publishes what line code and headers take.
    """
    value = stated.links * sockets * stated.rate
    each = f"{stated.rate / 1e9:g} GB/s"
    if stated.lanes is not None:
        each = f"{stated.lanes} lanes x {stated.rate * 8 / stated.lanes / 1e9:g} GT/s / 8"
    links = counted(stated.links, "link")
    several = f"{sockets} sockets x " if sockets > 1 else ""
    return _limit(
        value,
        f"stated {links}{where}",
        f"{several}{links} x {each} = {value / 1e9:.1f} GB/s",
        STATED,
    )


def firmware_limit(bandwidth: float, where: str) -> Limit:
    """Limit that firmware or a device claims (HMAT, CDAT), where the memory's parts are unknown."""
    return _limit(
        bandwidth,
        f"memory{where}, as firmware claims",
        f"{bandwidth / 1e6:.0f} MB/s = {bandwidth / 1e9:g} GB/s",
        "ACPI HMAT or CXL CDAT, as the kernel shows it",
    )


def _limit(value: float, link: str, formula: str, source: str) -> Limit:
    return Limit(value=value, unit="B/s", link=link, formula=formula, source=source)
