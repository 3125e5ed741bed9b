"""SMBIOS memory devices, from tables built byte by byte as the specification lays them out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.dimms import channels, parse_smbios
from tierscope.model.topology import Dimm


def memory_device(
    slot: str, *, megabytes: int = 65536, speed: int = 4800, kind: int = 0x22
) -> bytes:
    body = bytearray(0x5C)
    body[0], body[1] = 17, len(body)
    body[0x0A:0x0C] = (64).to_bytes(2, "little")
    body[0x0C:0x0E] = (0x7FFF).to_bytes(2, "little") if megabytes else b"\0\0"
    body[0x10] = 1
    body[0x12] = 0x22  # DDR5
    body[0x1C:0x20] = megabytes.to_bytes(4, "little")
    body[0x20:0x22] = speed.to_bytes(2, "little")
    return bytes(body) + slot.encode() + b"\0\0"


END = bytes([127, 4, 0, 0]) + b"\0\0"


def test_a_populated_slot_has_type_size_and_configured_speed() -> None:
    dimm, name = parse_smbios(memory_device("CPU1_DIMM_A1") + END)[0]
    assert (dimm.slot, dimm.type, dimm.size_bytes, dimm.speed, dimm.bits) == (
        "CPU1_DIMM_A1",
        "DDR5",
        64 << 30,
        4.8e9,
        64,
    )
    assert name.startswith("CPU1_DIMM_A1")


def test_empty_slots_are_left_out() -> None:
    table = memory_device("A1", megabytes=0) + memory_device("A2") + END
    assert [dimm.slot for dimm, _ in parse_smbios(table)] == ["A2"]


def test_unknown_speed_stays_unknown() -> None:
    assert parse_smbios(memory_device("A1", speed=0) + END)[0][0].speed is None


def with_strings(*texts: str, manufacturer: int, part: int, firmware: int) -> bytes:
    device = bytearray(memory_device("A1")[:0x5C])
    device[0x17], device[0x1A], device[0x2B] = manufacturer, part, firmware
    return bytes(device) + b"".join(text.encode() + b"\0" for text in ("A1", *texts)) + b"\0"


def test_a_module_names_its_maker_part_and_firmware() -> None:
    table = with_strings("Samsung ", "M321R8GA0BB0-CQKZJ  ", "01.02", manufacturer=2, part=3,
                         firmware=4)  # fmt: skip
    ((dimm, _),) = parse_smbios(table + END)
    assert (dimm.manufacturer, dimm.part_number) == ("Samsung", "M321R8GA0BB0-CQKZJ")
    assert dimm.firmware == "01.02"


def test_what_boards_fill_in_names_nothing() -> None:
    table = with_strings("Unknown", "Not Specified", manufacturer=2, part=3, firmware=0)
    ((dimm, _),) = parse_smbios(table + END)
    assert (dimm.manufacturer, dimm.part_number, dimm.firmware) == ("", "", "")


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_a_crash(table: bytes) -> None:
    parse_smbios(table)


@given(st.integers(0, 200))
def test_a_table_that_is_cut_gives_no_more_than_it_holds(length: int) -> None:
    table = memory_device("A1") + memory_device("A2") + END
    assert len(parse_smbios(table[:length])) <= 2


def dimms(slots: list[str]) -> list[Dimm]:
    return [Dimm(slot=slot, type="DDR5", size_bytes=1, speed=4.8e9) for slot in slots]


@pytest.mark.parametrize(
    ("slots", "count"),
    [
        ([f"CPU1_DIMM_{letter}1" for letter in "ABCDEFGH"], 8),
        (["CPU1_DIMM_A1", "CPU1_DIMM_A2", "CPU1_DIMM_B1"], 2),
        (["P0 CHANNEL A", "P0 CHANNEL B"], 2),
        (["P1-DIMMA1", "P1-DIMMB1"], 2),
        (["PROC 1 DIMM 1", "PROC 1 DIMM 3"], None),
        (["A1", "A2"], None),
        ([], None),
    ],
)
def test_channels_by_slot_names_or_not_at_all(slots: list[str], count: int | None) -> None:
    assert channels(dimms(slots)) == count
