"""The report as a file: complete in itself, of bearable size, honest about what a run is."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests import synthetic
from tests.report.hostile import STRINGS, hostile_run

from tierscope.cli.app import app
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.path import Limit
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.best import best_to
from tierscope.report.html.page import figure_table, render_report
from tierscope.report.summary import sentences

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def page() -> str:
    return render_report([("synthetic", synthetic.full())], VIEWS)


def test_it_names_no_address_to_load_anything_from(page: str) -> None:
    addresses = set(re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"'\s>)]+)""", page))
    assert {a for a in addresses if not a.startswith(("#", "data:", "URL."))} == set()


def test_it_forbids_itself_to_run_or_load_anything_else(page: str) -> None:
    assert re.search(r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-", page)


def test_every_picture_has_a_button_for_its_data_and_its_section_the_method_once(page: str) -> None:
    figures = re.findall(r'<figure class="card".*?</figure>', page, re.DOTALL)
    assert len(figures) >= 15
    assert all('class="csv"' in f and "<svg" in f for f in figures)
    sections = re.findall(r'<h2 id="run1-[a-z-]+">[^<]+</h2>\s*<details class="how">', page)
    assert len(sections) == page.count("How it is measured") == 9


def test_the_first_screen_has_key_figures_and_tiers_before_any_chart(page: str) -> None:
    keys, tiers = page.index('<ul class="keys">'), page.index('class="card tier mapped"')
    first_chart, paths = page.index('<figure class="card"'), page.index("All paths with their")
    assert keys < tiers < paths < first_chart
    labels = re.findall(r'class="label">([^<]+)', page)
    assert labels == ["Peak bandwidth", "Peak of a GPU", "Idle latency", "Slowest tier",
                      "Loaded latency", "Lowest efficiency", "Verdict"]  # fmt: skip


def test_runs_of_one_machine_share_its_drawing_and_settings() -> None:
    few = synthetic.latency_measurements(synthetic.Maker())[:1]
    one, two = synthetic.run(few), synthetic.run(few)
    page = render_report([("one", one), ("two", two)], VIEWS)
    assert page.count('class="machine-drawing"') == 1
    assert page.count('href="#run1-topology"') == 2
    assert page.count("The same as of") == 1
    other = one.model_copy(update={"header": synthetic.header(host="node018")})
    assert (
        render_report([("one", one), ("two", other)], VIEWS).count('class="machine-drawing"') == 2
    )


def test_the_page_s_csv_has_every_figure(page: str) -> None:
    packed = json.loads(re.findall(r'id="run1-data">(.*?)</script>', page)[0])
    lines = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert len(lines) == 1 + sum(len(m.figures) or 1 for m in synthetic.full().measurements)


def test_ten_thousand_results_stay_under_three_megabytes() -> None:
    maker = synthetic.Maker(n=12)
    made = [
        maker.make(
            "bandwidth", f"node:{k % 25}", f"node:{k // 25 % 25}",
            {"operation": "read", "order": "random", "access_size": 64 << (k // 2500),
             "size": 1 << 30, "pages": "thp", "threads": 1 + k // 625},
            5e10 + 1e6 * (k % 977),
        )
        for k in range(10_000)
    ]  # fmt: skip
    assert len(render_report([("big", synthetic.run(made))], VIEWS).encode()) < 3 * MEGABYTE


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def test_hostile_names_make_no_element_and_no_handler() -> None:
    found = _Elements()
    found.feed(render_report([(STRINGS[0], hostile_run())], VIEWS))
    assert found.scripts == 2
    assert found.handlers == []


def test_the_drawing_gets_the_best_figure_of_each_part() -> None:
    found = best_to(synthetic.full())
    assert found["node 0"][0].startswith("277")
    assert found["gpu:0"] == ("26.2 GB/s", "from node:0")


def test_paths_of_a_kind_have_a_sentence_and_one_names_the_furthest_from_its_limit() -> None:
    verdict, *said = sentences(synthetic.full(), VIEWS)
    assert verdict.startswith("Usable with care: 1 measurement failed")
    (local,) = [text for text in said if text.startswith("Local DRAM of node:0 reaches ")]
    assert "; its idle latency is 110" in local
    (own,) = [text for text in said if text.startswith("gpu:0's own memory reaches ")]
    assert "of 2 such paths, gpu:1's own memory is the slowest" in own
    (lowest,) = [text for text in said if text.startswith("Furthest below its limit")]
    assert "is node:1 → gpu:0" in lowest
    assert "67% of the 31.5 GB/s of PCIe 4.0 x16" in lowest


def test_paths_that_are_alike_have_no_slowest() -> None:
    maker = synthetic.Maker()
    made = [
        maker.make(
            "bandwidth", "node:0", f"node:1{number}", {"operation": "read"}, 30e9 + 3e7 * number
        )
        for number in range(6)
    ]
    first = sentences(synthetic.run(made), VIEWS)[1]
    assert first.startswith("node:0 → node:15 reaches 30.1")
    assert first.endswith("; all 6 such paths are within 1% of each other.")


def test_each_of_a_few_paths_has_a_sentence() -> None:
    maker = synthetic.Maker()
    limited = maker.make("bandwidth", "node:0", "node:0", {"operation": "read", "threads": 8},
                         0.7 * synthetic.DDR.value, limit=synthetic.DDR)  # fmt: skip
    pattern = {"order": "random", "size": 1 << 30, "pages": "thp"}
    run = synthetic.run(
        [limited, maker.make("latency", "node:0", "node:0", pattern, 100.0, "ns"),
         maker.make("bandwidth", "node:0", "node:1", {"operation": "read"}, 20e9)]
    )  # fmt: skip
    _, local, remote = sentences(run, VIEWS)
    assert local.startswith("Local DRAM of node:0 reaches ")
    assert "(read by 8 threads)" in local or "; read by 8 threads)" in local
    assert f"70% of the {figures.limit_text(synthetic.DDR)} of {synthetic.DDR.link}" in local
    assert "GB/s are unused; its idle latency is 99.98" in local
    assert remote.startswith("Remote DRAM (node:0 → node:1) reaches 19.98")


def _imprecise(maker: synthetic.Maker, **pattern: object) -> Measurement:
    """A measurement whose median is far above its interval's lower end."""
    made = maker.make("bandwidth", "node:0", "node:0", pattern, 40e9)
    return synthetic.changed(made, ci_low=15e9, ci_high=45e9)


def test_an_imprecise_figure_is_no_best_one() -> None:
    maker = synthetic.Maker()
    precise = maker.make("bandwidth", "node:0", "node:0", {"operation": "read"}, 30e9)
    run = synthetic.run([_imprecise(maker, operation="rmw"), precise])
    assert "30" in sentences(run, VIEWS)[1]
    assert "read" in sentences(run, VIEWS)[1]
    assert best_to(run)["node 0"][0].startswith("30")


def test_the_latency_said_is_memory_s_and_of_one_kind_for_all_paths() -> None:
    maker = synthetic.Maker()
    chases = [
        ("node:0", "page-random", 1 << 30, 80.0),
        ("node:0", "random", 1 << 30, 110.0),
        ("node:0", "random", 1 << 20, 4.0),
        ("node:1", "random", 1 << 30, 190.0),
    ]
    run = synthetic.run(
        [
            maker.make("latency", "node:0", target, {"order": order, "size": size, "pages": "thp"},
                       value, "ns", fits_caches=size < 1 << 30)
            for target, order, size, value in chases
        ]
    )  # fmt: skip
    near, far = sentences(run, VIEWS)[1:]
    assert near.startswith("The idle latency of local DRAM of node:0 is 110")
    assert far.startswith("The idle latency of remote DRAM (node:0 → node:1) is 190")


def test_the_latency_said_of_one_path_is_that_of_the_plain_chase() -> None:
    maker = synthetic.Maker()
    run = synthetic.run(
        [
            maker.make(
                "latency", "node:0", "node:0", {"order": order, "size": 1 << 30}, value, "ns"
            )
            for order, value in (("page-random", 80.0), ("random", 110.0))
        ]
    )
    assert "110" in sentences(run, VIEWS)[1]


def test_a_cache_s_latency_is_not_called_memory_s() -> None:
    pattern = {"size": 1 << 20}
    made = synthetic.Maker().make(
        "latency", "node:0", "node:0", pattern, 4.0, "ns", fits_caches=True
    )
    assert "latency is" not in sentences(synthetic.run([made]), VIEWS)[1].lower()


def test_what_the_caches_hold_is_not_called_a_path_s_best() -> None:
    maker = synthetic.Maker()
    small, large = (
        maker.make("bandwidth", "node:0", "node:0", {"operation": "read"}, value, fits_caches=fits)
        for value, fits in ((400e9, True), (33.5e9, False))
    )
    run = synthetic.run([small, large])
    assert " 33" in sentences(run, VIEWS)[1]
    assert best_to(run)["node 0"][0].startswith("33")
    assert "the caches can hold" in sentences(synthetic.run([small]), VIEWS)[1]


def test_what_an_l2_holds_is_not_called_a_gpu_s_best() -> None:
    maker = synthetic.Maker()
    made = [
        maker.make("gpu-memory", "gpu:0", "gpu:0", {"operation": "read", "size": size}, rate,
                   fits_caches=fits)
        for size, rate, fits in ((16 << 20, 7570e9, True), (4 << 30, 4330e9, False))
    ]  # fmt: skip
    assert "memory reaches 43" in sentences(synthetic.run(made), VIEWS)[1]
    assert "the caches can hold" in sentences(synthetic.run(made[:1]), VIEWS)[1]


def test_an_emulated_machine_has_no_limit() -> None:
    run = synthetic.run(synthetic.memory_measurements(synthetic.Maker()), emulated=True)
    verdict, *others = sentences(run, VIEWS)
    assert verdict.startswith("Measure again, because the machine is emulated")
    assert "limit" not in " ".join(others)


def test_a_set_is_named_by_its_ends_and_has_its_limit() -> None:
    maker = synthetic.Maker()
    limit = Limit(value=252e9, unit="B/s", link="four links", formula="", source="")
    pattern = {"transfers": "sum of gpu:0 → node:0, gpu:1 → node:0"}
    sets = [
        maker.make("gpu-copy", source, destination, pattern, rate, limit=limit)
        for source, destination, rate in (("gpu:0-1", "node:0", 150e9), ("node:0", "gpu:0-1", 2e11))
    ]
    _, first, second = sentences(synthetic.run(sets), VIEWS)
    assert "the highest concurrent figure is node:0 → gpu:0-1, " in first
    assert second.startswith("With concurrent copies, gpu:0-1 → node:0, 150")
    assert second.endswith("is 60% of the 252 GB/s of four links.")


def test_latencies_are_not_said_to_lack_a_link_s_rate() -> None:
    run = synthetic.run(synthetic.latency_measurements(synthetic.Maker()))
    assert "limit" not in " ".join(sentences(run, VIEWS))


def test_a_run_that_is_all_right_has_no_warnings() -> None:
    run = synthetic.run(synthetic.memory_measurements(synthetic.Maker()))
    assert sentences(run, VIEWS)[0].startswith("Usable: everything was measured")


def _impossible() -> Measurement:
    return synthetic.Maker().make("bandwidth", "node:0", "node:0", {}, 1.3 * synthetic.DDR.value,
                                limit=synthetic.DDR)  # fmt: skip


def _short() -> Measurement:
    link = synthetic.PCIE.model_copy(update={"link": "PCIe 4.0 x8", "degraded": True})
    return synthetic.Maker().make("gpu-copy", "node:0", "gpu:0", {}, 12e9, limit=link)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (synthetic.run([], finished=False), "was cut off when 0 of"),
        (synthetic.run([], emulated=True), "emulated in software"),
        (synthetic.run([], environment={"governor": "powersave"}), "governor is powersave"),
        (synthetic.run([], [_impossible()]), "reaches 130"),
        (synthetic.run([], [_short()]), "runs below its capability, PCIe 4.0 x8"),
    ],
)
def test_warnings(run: Run, said: str) -> None:
    assert said in sentences(run, VIEWS)[0]


@pytest.mark.parametrize(("share", "warned"), [(1.3, False), (1.6, True)])
def test_avoiding_write_allocate_is_no_error(share: float, warned: bool) -> None:
    """A copy's limit includes it; without it, half as much again is possible."""
    rate = synthetic.DDR.value
    limit = synthetic.DDR.model_copy(update={"value": rate / 1.5, "without_write_allocate": rate})
    copy = synthetic.Maker().make(
        "bandwidth", "node:0", "node:0", {"operation": "copy"}, share * rate / 1.5, limit=limit
    )
    assert ("of its limit" in sentences(synthetic.run([copy]), VIEWS)[0]) == warned


def test_traffic_by_node_is_shown_as_shares() -> None:
    evidence = Evidence(pages={"0": 3, "2": 1}, traffic={"0": 3e9, "2": 1e9})
    (measurement, *_) = synthetic.memory_measurements(synthetic.Maker())
    table = figure_table([measurement.model_copy(update={"evidence": evidence})])
    assert "traffic 75% on node 0, 25% on node 2" in table.rows[0].more


def test_a_run_without_figures_says_so() -> None:
    assert "Measure again, because nothing was measured." in render_report(
        [("run", synthetic.run([]))], VIEWS
    )


def test_a_torn_file_is_reported_as_far_as_it_goes(tmp_path: Path) -> None:
    file = synthetic.write(synthetic.full(), tmp_path / "torn.jsonl")
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    out = tmp_path / "torn.html"
    done = CliRunner().invoke(app, ["report", str(file), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "This run was cut off." in out.read_text()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = synthetic.write(synthetic.run([]), tmp_path / "run.jsonl")
    done = CliRunner().invoke(app, ["report", str(file), "-o", str(tmp_path / "no" / "x.html")])
    assert isinstance(done.exception, UserError)
    assert "cannot be written" in str(done.exception)
