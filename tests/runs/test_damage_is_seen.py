"""Whatever happens to the bytes of a run file: it is refused with the line, or is a part of the
run up to some line; figures are never others."""

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runs.later import CORPUS
from tests.seals import resealed

from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.runs.export import to_json
from tierscope.runs.read import parse_readable, parse_run

CONTENT = (CORPUS / "0.1.0.jsonl").read_bytes()
LINES = CONTENT.splitlines(keepends=True)
CUT = b"".join(line for line in LINES if b'"record":"measurement"' not in line[:30])
"""The same run without its measurements, so that its repetitions make the figures."""


def prefixes(lines: list[bytes]) -> list[str]:
    """Return the run after each of its lines."""
    return [to_json(parse_run(b"".join(lines[:n]), "x")) for n in range(1, len(lines) + 1)]


WHOLE = CONTENT, prefixes(LINES)
REPEATED = resealed(CUT), prefixes(resealed(CUT).splitlines(keepends=True))


def damaged(random: Random, content: bytes) -> bytes:
    """Flip, cut, insert, or double some bytes."""
    at = random.randrange(len(content))
    size = random.choice([1, 1, 2, 9, 300, 5000])
    part = content[at : at + size]
    how = random.choice(["flip", "digit", "cut", "insert", "double", "line", "swap", "torn"])
    if how == "flip":
        return content[:at] + bytes([content[at] ^ 1 << random.randrange(8)]) + content[at + 1 :]
    if how == "digit":  # what is most dangerous: JSON stays JSON
        digits = [found.start() for found in re.finditer(rb"[1-8]", content)]
        at = random.choice(digits)
        return content[:at] + bytes([content[at] + 1]) + content[at + 1 :]
    if how == "cut":
        return content[:at] + content[at + size :]
    if how == "insert":
        return content[:at] + random.choice([b"\0", b" ", b"\n", b"1", b'"', part]) + content[at:]
    if how == "double":
        return content[: at + size] + part + content[at + size :]
    if how == "torn":
        return content[:at]
    lines = content.splitlines(keepends=True)
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    if how == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif random.random() < 0.5:
        lines.insert(other, lines[one])
    else:
        del lines[one]
    return b"".join(lines)


def read(content: bytes) -> Run | None:
    """Return a run; None where it is refused in one line that names the line."""
    try:
        return parse_run(content, "x")
    except UserError as error:
        said = str(error)
    assert re.match(r"x:\d+: |x holds no run|x is not a|x is empty", said)
    assert "\n" not in said
    return None


@settings(max_examples=400)
@given(random=st.randoms(use_true_random=False), of=st.sampled_from([WHOLE, REPEATED]))
def test_damage_is_named_or_leaves_the_run_up_to_a_line(
    random: Random, of: tuple[bytes, list[str]]
) -> None:
    content, expected = of
    changed = damaged(random, content)
    run = read(changed)
    assert run is None or to_json(run) in expected
    # What can be read of it are the run's own records.
    whole, _ = parse_readable(content, "x")
    kept, problems = parse_readable(changed, "x")
    assert all(record in [one for _, one in whole] for _, record in kept)
    if run is None and changed:  # a file that is empty has no line that is damaged
        assert problems


@pytest.mark.parametrize("number", range(1, len(LINES) - 1))
def test_a_digit_that_changed_inside_a_repetition_is_named(number: int) -> None:
    """Without checksums, lines of repetitions were matched by their beginning only."""
    line = LINES[number]
    at = next(m.start() for m in re.finditer(rb"\d\.\d*[1-8]", line) if m.start() > 100)
    at = re.compile(rb"[1-8]").search(line, at).start()  # type: ignore[union-attr]
    lines = list(LINES)
    lines[number] = line[:at] + bytes([line[at] + 1]) + line[at + 1 :]
    with pytest.raises(UserError, match=rf"^x:{number + 1}: the run file is damaged here"):
        parse_run(b"".join(lines), "x")


def test_a_program_that_rewrites_a_file_is_told_what_to_do(tmp_path: Path) -> None:
    again = CONTENT.replace(b'","', b'", "')
    with pytest.raises(UserError, match='has to leave "line" and "crc32" out of every line'):
        parse_run(again, "x")
