"""Which pictures a run gets, and that they can be drawn wherever they go."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests import synthetic
from tests.report.hostile import hostile_run

from tierscope.cli.app import app
from tierscope.kinds.views import VIEWS
from tierscope.model.run import Run
from tierscope.report.pictures.draw import DARK, LIGHT, svg_for_file, svg_for_page
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.pictures.picture import Picture
from tierscope.report.view import kinds_in


def all_pictures(run: Run) -> list[Picture]:
    return [picture for kind in kinds_in(run, VIEWS) for picture in pictures_of(run, kind, VIEWS)]


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    return all_pictures(synthetic.full())


@pytest.mark.parametrize(
    "title",
    [
        "Bandwidth by target, node:0",
        "Bandwidth by operation, node:0 → node:0",
        "Bandwidth over threads, read, node:0",
        "Read bandwidth by threads and access size, node:0 → node:0",
        "Bandwidth of nodes 0 and 2 combined, node:0",
        "Latency from initiator to target",
        "Latency over working set, node:0",
        "Latency by kind of access, node:0 → node:0",
        "Latency under load, node:0 → node:0",
        "Bandwidth from source to destination: sm, pinned",
        "Bandwidth over size, node:0 → gpu:0",
        "GPU memory: bandwidth",
        "Latency over working set, gpu:0 → gpu:0",
    ],
)
def test_each_kind_gets_the_field_s_picture(pictures: list[Picture], title: str) -> None:
    assert sum(picture.title.startswith(title) for picture in pictures) == 1


def test_every_picture_says_what_it_shows_and_has_a_key_of_its_own(
    pictures: list[Picture],
) -> None:
    assert len({picture.key for picture in pictures}) == len(pictures)
    assert all(picture.alt.strip() and picture.measurements for picture in pictures)
    assert all(set(p.key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for p in pictures)


def test_the_plateaus_are_named_with_their_latencies(pictures: list[Picture]) -> None:
    picture = next(p for p in pictures if p.title == "Latency over working set, node:0")
    assert "1.40 ns from 4 KiB to 32 KiB" in picture.alt
    assert "190 ns from 64 MiB to 1 GiB" in picture.alt
    series = {row["series"] for row in picture.spec["data"]["values"]}
    assert series == {"node:0", "node:1", "node:2"}


def test_the_size_of_half_the_peak_is_named(pictures: list[Picture]) -> None:
    picture = next(p for p in pictures if p.title == "Bandwidth over size, node:0 → gpu:0")
    assert re.search(r"3[34]\d KiB \(ce, pinned memory\)", picture.alt)


def test_a_kind_that_nobody_knows_gets_bars() -> None:
    maker = synthetic.Maker()
    run = synthetic.run([maker.make("page-faults", "node:0", "node:0", {"pages": pages}, 1e6, "1/s",
                                  metric="faults") for pages in ("base", "thp")])  # fmt: skip
    assert [picture.title for picture in all_pictures(run)] == ["Page faults: faults"]


def test_a_page_s_picture_is_coloured_by_roles_and_its_ids_are_its_own(
    pictures: list[Picture],
) -> None:
    svg = svg_for_page(pictures[0], "mine", "title alt")
    root = ElementTree.fromstring(svg)
    assert root.get("aria-labelledby") == "title alt"
    assert "var(--ink)" in svg
    assert not any(colour in svg for colour in LIGHT.values() if colour != "#ffffff")
    assert all(e.get("id", "mine-").startswith("mine-") for e in root.iter())
    assert not any("aria-label" in e.attrib for e in root.iter())


def test_a_file_s_picture_needs_no_page(pictures: list[Picture]) -> None:
    svg = svg_for_file(pictures[0]).decode()
    ElementTree.fromstring(svg)
    assert "var(" not in svg
    assert "role:" not in svg


def test_both_looks_have_the_same_roles_and_enough_contrast() -> None:
    assert LIGHT.keys() == DARK.keys()
    for look in (LIGHT, DARK):
        for role, colour in look.items():
            least = 4.5 if role in ("ink", "soft") else 3.0
            if role not in ("paper", "grid"):
                assert _contrast(colour, look["paper"]) >= least, (role, colour)


def _contrast(first: str, second: str) -> float:
    """Contrast of WCAG 2."""
    bright, dark = sorted(map(_luminance, (first, second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_hostile_text_stays_text_in_a_file() -> None:
    for picture in all_pictures(hostile_run()):
        root = ElementTree.fromstring(svg_for_file(picture))
        names = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert names <= {"svg", "g", "path", "rect", "text", "line", "defs", "clipPath", "tspan"}
        assert not any(name.startswith("on") for e in root.iter() for name in e.attrib)


@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("svg", b"<svg")])
def test_pictures_as_files(tmp_path: Path, form: str, start: bytes) -> None:
    run = synthetic.run(synthetic.memory_measurements(synthetic.Maker())[:30])
    file = synthetic.write(run, tmp_path / "run.jsonl")
    done = CliRunner().invoke(app, ["report", str(file), f"--{form}", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    written = sorted((tmp_path / "out").iterdir())
    assert len(written) == len(all_pictures(run)) + 1
    assert "topology" in {path.stem for path in written}
    contents = [path.read_bytes() for path in written]
    assert all(content.startswith(start) for content in contents)
    if form == "svg":
        assert all(b"node017, Example 9000; 2026-01-05; tierscope 0.1.0" in c for c in contents)
    else:
        assert all(10_000 < len(content) < 150_000 for content in contents)
        assert all(content.endswith(b"IEND\xaeB`\x82") for content in contents)
    assert not list(tmp_path.glob("*.html"))
