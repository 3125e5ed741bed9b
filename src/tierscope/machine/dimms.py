"""Memory modules: SMBIOS type 17 where root reads it, EDAC's counts where anyone does."""

import re
from collections.abc import Sequence

from tierscope.machine.files import Files
from tierscope.model.topology import Dimm, Package

_TABLE = "/sys/firmware/dmi/tables/DMI"
_EDAC = "/sys/devices/system/edac/mc"
_MEMORY_DEVICE = 17
_END = 127
PERSISTENT = "NVDIMM"
"""Type of modules of persistent memory: SMBIOS's "logical non-volatile device", as Optane is."""
_TYPES = {  # SMBIOS 3.7, table "Memory Device: Type"
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x1F: PERSISTENT,
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
    0x24: "HBM3",
}
_UNKNOWN = (
    *("unknown", "not specified", "no dimm", "none", "undefined"),
    "to be filled by o.e.m.",
)
_SOCKET = re.compile(r"(?:CPU|PROC|SOCKET|NODE|P)[ _]?(\d+)", re.IGNORECASE)

UNREADABLE = (
    "DIMM type, speed and channels: SMBIOS tables are readable by root only; run as root to see "
    "the limit of local memory"
)


def read_dimms(files: Files, packages: Sequence[Package]) -> tuple[list[Dimm], list[str]]:
    """The populated slots, and why there are none where there are none."""
    table = files.data(_TABLE, 1 << 20)
    if table:
        return _assign_packages(parse_smbios(table), packages), []
    found = _edac(files)
    hidden = files.exists(_TABLE)
    return found, [UNREADABLE] if hidden else []


def parse_smbios(table: bytes) -> list[tuple[Dimm, str]]:
    """Populated memory devices and their locators; a table that is cut gives what it holds."""
    found: list[tuple[Dimm, str]] = []
    offset = 0
    while offset + 4 <= len(table):
        kind, length = table[offset], table[offset + 1]
        if length < 4 or kind == _END:
            break
        body = table[offset : offset + length]
        end = table.find(b"\0\0", offset + length)
        strings = table[offset + length : end if end >= 0 else len(table)].split(b"\0")
        if kind == _MEMORY_DEVICE and len(body) >= 0x17:
            device = _memory_device(body, strings)
            if device is not None:
                found.append(device)
        if end < 0:
            break
        offset = end + 2
    return found


def _memory_device(body: bytes, strings: list[bytes]) -> tuple[Dimm, str] | None:
    def word(offset: int) -> int:
        return int.from_bytes(body[offset : offset + 2], "little")

    def string(offset: int) -> str:
        index = body[offset] - 1
        return strings[index].decode(errors="replace").strip() if 0 <= index < len(strings) else ""

    size = word(0x0C)
    if size in (0, 0xFFFF):
        return None
    bytes_ = (size & 0x7FFF) << (10 if size & 0x8000 else 20)
    if size == 0x7FFF and len(body) >= 0x20:
        bytes_ = (int.from_bytes(body[0x1C:0x20], "little") & 0x7FFFFFFF) << 20
    speed = word(0x20) if len(body) >= 0x22 else 0  # configured; 0x15 is what the part could
    if speed == 0xFFFF and len(body) >= 0x5C:
        speed = int.from_bytes(body[0x58:0x5C], "little")
    data_bits = word(0x0A)
    slot, bank = string(0x10), string(0x11)
    dimm = Dimm(
        slot=slot,
        type=_TYPES.get(body[0x12], "unknown"),
        size_bytes=bytes_,
        speed=speed * 1e6 if speed not in (0, 0xFFFF) else None,
        bits=data_bits if data_bits not in (0, 0xFFFF) else None,
        manufacturer=_named(string(0x17)) if len(body) > 0x17 else "",
        part_number=_named(string(0x1A)) if len(body) > 0x1A else "",
        firmware=_named(string(0x2B)) if len(body) > 0x2B else "",  # since SMBIOS 3.2
    )
    return dimm, f"{slot} {bank}"


def _named(text: str) -> str:
    """Drop placeholders that boards use for unknown values."""
    unknown = {
        "",
        "unknown",
        "not specified",
        "no dimm",
        "none",
        "undefined",
        "to be filled by o.e.m.",
    }
    return "" if text.lower() in unknown else text


def _assign_packages(found: list[tuple[Dimm, str]], packages: Sequence[Package]) -> list[Dimm]:
    """Which package a slot belongs to, from its name, where all names agree with the machine."""
    dimms = [dimm for dimm, _ in found]
    if len(packages) == 1:
        return [dimm.model_copy(update={"package": packages[0].number}) for dimm in dimms]
    numbers = [match[1] if (match := _SOCKET.search(name)) else None for _, name in found]
    distinct = sorted({number for number in numbers if number is not None}, key=int)
    if None in numbers or len(distinct) != len(packages):
        return dimms
    home = {number: package.number for number, package in zip(distinct, packages, strict=True)}
    return [
        dimm.model_copy(update={"package": home[number]})
        for dimm, number in zip(dimms, numbers, strict=True)
        if number is not None
    ]


def _edac(files: Files) -> list[Dimm]:
    """EDAC reports slot, type and size without root, but not the speed."""
    found: list[Dimm] = []
    for _, controller in files.numbered(_EDAC, "mc"):
        for prefix in ("dimm", "rank"):
            for _, dimm in files.numbered(controller, prefix):
                megabytes = files.number(f"{dimm}/size")
                if megabytes:
                    kind = (files.text(f"{dimm}/dimm_mem_type") or "unknown").split("-")
                    name = files.text(f"{dimm}/dimm_label") or dimm.rpartition("/")[2]
                    found.append(
                        Dimm(slot=name, type=kind[-1], size_bytes=megabytes << 20, speed=None)
                    )
    return found


def channels(dimms: Sequence[Dimm]) -> int | None:
    """Populated channels: slots whose names differ before their last digit share one.

    None where the names contain no channels, which is better than a wrong limit.
    """
    names = {_channel_name(dimm.slot) for dimm in dimms}
    if None in names or not names:
        return None
    return len(names)


def _channel_name(slot: str) -> str | None:
    """``CPU1_DIMM_A1`` -> ``CPU1_DIMM_A``; ``P0 CHANNEL B``, ``DIMM_P0_C1`` name one as well."""
    for pattern in (r"(.*CH(?:ANNEL)?[ _]?[A-Z0-9])(?![A-Z0-9])", r"(.*DIMM[ _]?[A-Z])\d*$"):
        if match := re.match(pattern, slot, re.IGNORECASE):
            return match[1].upper()
    return None
