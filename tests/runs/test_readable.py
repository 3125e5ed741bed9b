"""What can be read of a damaged run file."""

import json

import pytest

from tierscope.runs.checksum import sealed
from tierscope.runs.read import parse_readable

RECORDS = [
    {"record": "header", "version": 4, "future": {"a": [1]}},
    {"record": "repetition", "n": 1},
    {"record": "of-the-future", "n": 2},
    {"record": "measurement", "n": 3},
    {"record": "footer", "n": 4},
]


def lines_of(records: list[dict[str, object]]) -> list[bytes]:
    texts = (json.dumps(record, separators=(",", ":")).encode() for record in records)
    return [sealed(text, number) for number, text in enumerate(texts, start=1)]


LINES = lines_of(RECORDS)


def read(lines: list[bytes]) -> tuple[list[tuple[int, dict[str, object]]], list[str]]:
    return parse_readable(b"".join(line + b"\n" for line in lines), "f")


@pytest.mark.parametrize("seals", [True, False])
def test_a_whole_file_is_read_whole_without_the_keys_that_check_it(seals: bool) -> None:
    lines = LINES if seals else [json.dumps(record).encode() for record in RECORDS]
    assert read(lines) == ([*enumerate(RECORDS, start=1)], [])


@pytest.mark.parametrize("at", range(len(LINES)))
def test_a_changed_byte_costs_its_line_only(at: int) -> None:
    for place in range(len(LINES[at])):
        broken = bytearray(LINES[at])
        broken[place] ^= 1
        records, (problem, *more) = read([*LINES[:at], bytes(broken), *LINES[at + 1 :]])
        if b"\n" in broken:
            continue  # two lines, both damaged
        kept = [one for one in enumerate(RECORDS, start=1) if one[0] != at + 1]
        assert records == kept, broken
        assert problem.startswith(f"f:{at + 1}: the run file is damaged here (")
        assert not more or "missing before it" in more[0]  # where its number was changed


def test_lines_that_are_missing_doubled_or_moved_are_named() -> None:
    records, (missing, doubled) = read([LINES[0], LINES[3], LINES[3], LINES[4]])
    assert [record["n"] for _, record in records[1:]] == [3, 4]
    assert missing == "f:2: the run file is damaged here (lines 2 to 3 are missing before it)"
    assert doubled.startswith("f:3: the run file is damaged here (line 4 stands here, after line 4")


def test_a_torn_end_and_bytes_that_are_no_text_are_named() -> None:
    for junk in (LINES[4][:20], b"\xff\xfe\x00", b"[1]", b"7", b"[" * 100_000):
        records, problems = parse_readable(b"\n".join([*LINES[:4], junk]), "f")
        assert [number for number, _ in records] == [1, 2, 3, 4]
        assert len(problems) == 1
        assert problems[0].startswith("f:5: ")


def test_files_without_checksums_are_read_as_far_as_they_are_json() -> None:
    content = b'\xef\xbb\xbf{"record":"header"}\r\n\n{"record":\n{"record":"footer"}\n'
    records, problems = parse_readable(content, "f")
    assert records == [(1, {"record": "header"}), (4, {"record": "footer"})]
    (problem,) = problems
    assert problem.startswith("f:3: ")
