"""The report of a fleet in a real browser: map, search and hosts' pages work, offline."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.fleet.fleet_tables import Planted, make_fleet
from tests.report.browser import Page, browser
from tests.report.hostile import STRINGS

from tierscope.fleet.view import read_view
from tierscope.report.html.fleet import render_fleet

HOSTS, PATHS = 120, 8


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Planted, Path]:
    folder = tmp_path_factory.mktemp("fleet")
    (one,) = make_fleet(folder, HOSTS, PATHS, by=0.12)
    file = folder / "fleet.html"
    file.write_text(render_fleet(read_view(str(folder))))
    return one, file


@pytest.fixture
def opened(page: Page, planted: tuple[Planted, Path]) -> Page:
    page.messages()
    page.requests()
    show(page, planted[1])
    return page


def show(page: Page, file: Path) -> None:
    """Open a page afresh and wait for its script."""
    page.driver.get("about:blank")
    page.open(file)
    wait_for(page, "return document.documentElement.dataset.ready === 'yes'")


def wait_for(page: Page, script: str) -> None:
    deadline = time.monotonic() + 60
    while not page.script(script):
        assert time.monotonic() < deadline, script
        time.sleep(0.05)


def test_it_is_silent_and_fetches_nothing(opened: Page) -> None:
    assert opened.messages() == []
    assert opened.requests() == []


def test_the_map_has_a_column_a_host_and_shows_the_slow_one(
    opened: Page, planted: tuple[Planted, Path]
) -> None:
    width, height, rows = opened.script(
        "const map = document.getElementById('map');"
        "return [map.width, map.height, document.querySelectorAll('#map-rows li').length]"
    )
    assert (width % HOSTS, height % PATHS, rows) == (0, 0, PATHS)
    order = opened.driver.find_element(By.ID, "map-order")
    opened.script(
        "arguments[0].value = 'far'; arguments[0].dispatchEvent(new Event('change'))", order
    )
    step = width // HOSTS
    painted = opened.script(
        "const map = document.getElementById('map'), context = map.getContext('2d');"
        "const has = (x, y) => context.getImageData(x, y, 1, 1).data[3] > 0;"
        "return [...Array(arguments[1]).keys()].filter(row => has(arguments[0] / 2, row * 14 + 3))",
        step,
        PATHS,
    )
    assert painted, "the first column is the slow host's"
    tip = opened.script(
        "const map = document.getElementById('map'), box = map.getBoundingClientRect();"
        "map.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,"
        "  clientX: box.left + 1, clientY: box.top + arguments[0] * 14 + 3}));"
        "return document.getElementById('tip').textContent",
        painted[0],
    )
    assert tip.startswith(f"{planted[0].host}, node:0 → ")


def test_a_host_is_found_by_its_name_and_has_a_page(
    opened: Page, planted: tuple[Planted, Path]
) -> None:
    box = opened.driver.find_element(By.ID, "find")
    box.send_keys("0017")
    assert opened.script("return document.getElementById('found-count').textContent") == "1 found"
    box.send_keys(Keys.ENTER)
    wait_for(opened, "return document.getElementById('host-name').textContent === 'node0017'")
    assert opened.script("return document.getElementById('fleet').hidden")
    assert opened.script("return document.querySelector('#host-paths').rows.length") == PATHS
    opened.script("location.hash = '#host=' + arguments[0]", planted[0].host)
    wait_for(
        opened, f"return document.getElementById('host').innerText.includes('{planted[0].host}')"
    )
    text = opened.script("return document.getElementById('host').innerText")
    assert "Slow: node:0 → " in text
    assert "governor: powersave" in text
    opened.script("location.hash = '#paths'")
    wait_for(opened, "return document.getElementById('host').hidden")
    assert not opened.script("return document.getElementById('fleet').hidden")


def test_a_link_leads_to_a_host_s_page(page: Page, planted: tuple[Planted, Path]) -> None:
    page.driver.get("about:blank")
    page.driver.get(f"{planted[1].as_uri()}#host=node{HOSTS - 1:04}")
    wait_for(page, "return document.documentElement.dataset.ready === 'yes'")
    text = page.script("return document.getElementById('host').innerText")
    assert "node:1 has no memory" in text, "a host that cannot be measured says why"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_either_page(
    opened: Page, planted: tuple[Planted, Path], scheme: str
) -> None:
    opened.look(1024, scheme)
    opened.script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert opened.violations() == []
    opened.script("location.hash = '#host=' + arguments[0]", planted[0].host)
    wait_for(opened, "return !document.getElementById('host').hidden")
    assert opened.violations() == []


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_sticks_out_of_the_screen(
    opened: Page, planted: tuple[Planted, Path], width: int
) -> None:
    opened.look(width, "light")
    assert opened.script("return document.documentElement.scrollWidth") <= width
    opened.script("location.hash = '#host=' + arguments[0]", planted[0].host)
    wait_for(opened, "return !document.getElementById('host').hidden")
    assert opened.script("return document.documentElement.scrollWidth") <= width


def test_it_prints(opened: Page) -> None:
    opened.look(800, "dark")
    document = opened.pdf()
    assert document.startswith(b"%PDF")
    assert len(document) > 20_000


def test_hostile_names_do_nothing(page: Page, planted: tuple[Planted, Path]) -> None:
    view = read_view(str(planted[1].parent))
    hosts = [
        replace(host, name=text, reason=text, run=text, state=text, group=text,
                settings={text: text})
        for host, text in zip(view.hosts, STRINGS, strict=False)
    ]  # fmt: skip
    named = replace(view, hosts=[*hosts, *view.hosts[len(hosts) :]], name=STRINGS[0],
                    command=STRINGS, remarks=list(STRINGS), outliers=[])  # fmt: skip
    file = planted[1].with_name("hostile.html")
    file.write_text(render_fleet(named))
    page.messages()
    page.requests()
    show(page, file)
    for text in STRINGS:
        page.script("location.hash = linkTo(arguments[0])", text)
        wait_for(page, "return !document.getElementById('host').hidden")
        wait_for(page, f"return document.getElementById('host-name').textContent === {text!r}")
    counts = "return [window.hacked ?? 0, document.querySelectorAll("
    selector = "'iframe, object, embed, base, form, [onload], [onerror], [onclick]').length]"
    assert page.script(counts + selector) == [0, 0]
    assert page.messages() == []
    assert page.requests() == []
