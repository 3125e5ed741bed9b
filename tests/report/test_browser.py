"""Reports and comparisons in a real browser: nothing missing, nothing broken, nothing let in."""

import csv
import io
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests import synthetic
from tests.report.browser import Page, browser
from tests.report.hostile import STRINGS, hostile_run

from tierscope.analysis.compare import compare
from tierscope.kinds.views import VIEWS
from tierscope.report.html.compare import render_comparison
from tierscope.report.html.page import render_report

WIDTHS = (390, 800, 1400)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report([("synthetic", synthetic.full())], VIEWS))
    return path


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [(name, synthetic.full(seed)) for seed, name in enumerate(("first", "second", "third"))]
    found = [compare(runs[0], run, 0.02, comparisons=2) for run in runs[1:]]
    path = tmp_path_factory.mktemp("comparison") / "comparison.html"
    path.write_text(render_comparison(runs, found))
    return path


@pytest.fixture(params=["report", "comparison"])
def opened(request: pytest.FixtureRequest, page: Page) -> Page:
    page.messages()
    page.requests()
    page.open(request.getfixturevalue(request.param))
    return page


def test_the_console_stays_silent_and_nothing_is_fetched(opened: Page) -> None:
    assert opened.messages() == []
    assert opened.requests() == []


def test_every_picture_is_there_and_has_a_size(opened: Page) -> None:
    sizes = opened.script(
        "return [...document.querySelectorAll('.picture svg, img')].map(e => {"
        "  const box = e.getBoundingClientRect(); return [box.width, box.height,"
        "  e.tagName === 'IMG' ? e.naturalWidth : e.querySelectorAll('path, rect, text').length] })"
    )
    assert len(sizes) >= 10
    assert all(width > 100 and height > 30 and marks > 3 for width, height, marks in sizes)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_of_the_screen(opened: Page, width: int, scheme: str) -> None:
    opened.look(width, scheme)
    assert opened.script("return document.documentElement.scrollWidth") <= width


def test_axe_finds_nothing_serious(opened: Page) -> None:
    opened.look(1024, "light")
    opened.script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert opened.violations() == []
    opened.look(1024, "dark")  # the same elements in other colours
    assert opened.violations("color-contrast") == []


def test_text_has_the_contrast_of_its_scheme(opened: Page) -> None:
    seen = {}
    for scheme in SCHEMES:
        opened.look(1024, scheme)
        seen[scheme] = opened.script(
            "return [getComputedStyle(document.body).color,"
            " getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.role-axis-label text')).fill]"
        )
    assert seen["light"] != seen["dark"]
    assert all(a != b for a, b in zip(seen["light"], seen["dark"], strict=True))


def test_a_button_saves_the_picture_s_rows_as_csv(page: Page, report: Path) -> None:
    page.open(report)
    button = page.driver.find_element(By.CSS_SELECTOR, "figure button.csv")
    text = _saved(page, button)
    rows = list(csv.DictReader(io.StringIO(text)))
    shown = page.script("return document.querySelector('figure details tbody').rows.length")
    assert len(rows) == shown
    assert all(float(row["estimate"]) > 0 and row["kind"] == "bandwidth" for row in rows)


def test_the_whole_run_is_one_csv(page: Page, report: Path) -> None:
    page.open(report)
    text = _saved(page, page.driver.find_element(By.CSS_SELECTOR, ".fold button.csv"))
    figures = sum(len(m.figures) or 1 for m in synthetic.full().measurements)
    assert len(list(csv.DictReader(io.StringIO(text)))) == figures


def _saved(page: Page, button: object) -> str:
    before = set(page.downloads.iterdir())
    page.script("arguments[0].click()", button)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        done = [f for f in set(page.downloads.iterdir()) - before if f.suffix == ".csv"]
        if done:
            return done[0].read_text()
        time.sleep(0.1)
    raise AssertionError("no file was saved")


def test_the_keyboard_opens_the_evidence(page: Page, report: Path) -> None:
    page.open(report)
    summary = page.driver.find_element(By.CSS_SELECTOR, "figure summary")
    page.script("arguments[0].focus()", summary)
    summary.send_keys(Keys.ENTER)
    assert page.script("return document.querySelector('figure details').open")
    assert "on node 0" in page.script("return document.querySelector('figure details').innerText")


def test_a_value_shows_at_the_pointer(page: Page, report: Path) -> None:
    page.open(report)
    page.script(
        "const mark = document.querySelector('[data-tip]');"
        "mark.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 50}))"
    )
    assert "GB/s" in page.script("return document.getElementById('tip').textContent")


def test_it_prints_on_a4(opened: Page) -> None:
    opened.look(800, "dark")
    document = opened.pdf()
    assert document.startswith(b"%PDF")
    assert len(document) > 20_000
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", document)
    assert {(round(float(w)), round(float(h))) for w, h in boxes} == {(595, 842)}


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_wider_than_its_box_scrolls_with_a_cue(opened: Page, width: int) -> None:
    opened.look(width, "light")
    wide = opened.script(
        "return [...document.querySelectorAll('main *')].filter(e => e.clientWidth > 0 &&"
        "  e.scrollWidth > e.clientWidth + 1 && !e.closest('svg, .hidden, thead'))"
        "  .map(e => [getComputedStyle(e).overflowX, e.tabIndex, e.className,"
        "             getComputedStyle(e).backgroundImage.includes('gradient')])"
    )
    assert all(overflow == "auto" and tab == 0 and cue for overflow, tab, _, cue in wide), wide


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_of_the_tier_map_lie_apart_and_are_legible(
    page: Page, report: Path, width: int, scheme: str
) -> None:
    page.open(report)
    page.look(width, scheme)
    boxes = page.script(
        "return [...document.querySelectorAll('.tier .picture text')]"
        "  .filter(e => e.textContent && !e.getAttribute('stroke'))"
        "  .map(e => { const b = e.getBoundingClientRect();"
        "    return [e.textContent, b.left, b.top, b.right, b.bottom] })"
    )
    assert {"local DRAM node:0", "remote DRAM node:1", "CXL node:2"} <= {box[0] for box in boxes}
    for number, (text, left, top, right, bottom) in enumerate(boxes):
        assert right <= width
        assert min(right - left, bottom - top) >= 9, text
        for other, *sides in boxes[:number]:
            apart = left >= sides[2] or right <= sides[0] or top >= sides[3] or bottom <= sides[1]
            assert apart, (text, other)


def test_the_first_screen_tells_the_tiers(page: Page, report: Path) -> None:
    page.open(report)
    page.look(1400, "light")
    ends = page.script(
        "return ['.keys', '.tier .picture svg', '.tier table'].map("
        "  s => document.querySelector(s).getBoundingClientRect().bottom)"
    )
    assert max(ends) < 1000


def test_hostile_names_do_nothing(page: Page, tmp_path: Path) -> None:
    run = hostile_run()
    path = tmp_path / "hostile.html"
    path.write_text(render_report([(STRINGS[0], run)], VIEWS))
    page.messages()
    page.requests()
    page.open(path)
    counts = "return [window.hacked ?? 0, document.scripts.length, document.querySelectorAll("
    hacked, scripts, foreign = page.script(
        counts + "'iframe, object, embed, base, form, [onload], [onerror], [onclick]').length]"
    )
    assert (hacked, foreign) == (0, 0)
    assert scripts == 2
    assert page.messages() == []
    assert page.requests() == []
    assert "<script>" in page.script("return document.body.innerText")


def test_hostile_names_do_nothing_in_a_comparison(page: Page, tmp_path: Path) -> None:
    runs = [(name, hostile_run()) for name in STRINGS[:2]]
    path = tmp_path / "hostile.html"
    path.write_text(render_comparison(runs, [compare(*runs, 0.02)]))
    page.messages()
    page.requests()
    page.open(path)
    assert page.script("return [window.hacked ?? 0, document.scripts.length]") == [0, 2]
    assert page.messages() == []
    assert page.requests() == []


def test_a_cut_run_and_an_emulated_one_say_so(page: Page, tmp_path: Path) -> None:
    cut = synthetic.run(synthetic.memory_measurements(synthetic.Maker())[:20], finished=False)
    latency = synthetic.Maker().make("latency", "node:0", "node:0", {}, 90.0, "ns")
    emulated = synthetic.run([latency], emulated=True)
    path = tmp_path / "two.html"
    path.write_text(render_report([("cut", cut), ("emulated", emulated)], VIEWS))
    page.open(path)
    texts = page.script("return [...document.querySelectorAll('article')].map(a => a.innerText)")
    assert "This run was cut" in texts[0]
    assert "mean nothing" in texts[1]
    assert page.messages() == []
