"""The odds of finding data by samples, as docs/storage.md gives them, are those of the code."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORAGE = ROOT / "engine/storage"
BLOCK = 4096


def constant(file: str, name: str) -> int:
    """Value of a constant of the engine: a number, or one that is shifted."""
    text = (STORAGE / file).read_text()
    found = re.search(rf"{name} = (?:std::uint64_t\{{(\d+)\}}|(\d+))(?: << (\d+))?;", text)
    assert found, f"{file} has no {name} of this form"
    return int(found[1] or found[2]) << int(found[3] or 0)


def documented(pattern: str) -> tuple[int, ...]:
    text = " ".join((ROOT / "docs/storage.md").read_text().split())
    found = re.search(pattern, text)
    assert found, f"docs/storage.md does not say: {pattern}"
    return tuple(int(number.replace(",", "")) for number in found.groups())


def test_one_changed_page_of_a_kept_file() -> None:
    pages = constant("changes.cpp", "kSample")
    said = documented(r"(\d+) pages of 4 KiB are read")
    assert said == (pages,)
    odds = documented(r"Of a file of 1 GiB, one changed page is found in (\d+) of ([\d,]+) cases")
    assert odds == (pages, (1 << 30) // BLOCK)


def test_one_block_of_data_on_a_device() -> None:
    ends = 2 * constant("device_contents.cpp", "kEnd") // BLOCK
    spread = constant("device_contents.cpp", "kSamples")
    assert documented(r"the last MiB and ([\d,]+) blocks of 4 KiB") == (spread,)
    odds = documented(r"on a device of 1 TiB, is found in ([\d,]+) of ([\d,]+) cases")
    # The first of those that are spread is the first block of all.
    assert odds == (ends + spread - 1, (1 << 40) // BLOCK)
