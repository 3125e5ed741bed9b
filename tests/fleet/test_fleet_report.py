"""The report of a fleet: what it says of hosts and paths, and that it stays one small file."""

import base64
import gzip
import json
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import synthetic
from tests.fleet.fleet_tables import make_fleet, measurements

from fleet_jobs import TIERSCOPE
from forked import tierscope
from tierscope.fleet.view import read_view
from tierscope.model.errors import UserError
from tierscope.model.fleet import FleetHost, FleetIndex
from tierscope.report.fleet import FleetView, Golden, differing_settings, natural, signed_percent
from tierscope.report.html.fleet import MAX_NAMED, render_fleet
from tierscope.report.pictures.fleet import distribution


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fleet") / "fleet"
    make_fleet(place, hosts=200, paths=12, models=2)
    return place


@pytest.fixture(scope="module")
def view(folder: Path) -> FleetView:
    return read_view(str(folder))


def data_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'id="fleet-data">(.*?)</script>', page)
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(json.loads(text))))
    return found


def test_slow_hosts_are_told_with_what_they_are_slow_at(tmp_path: Path) -> None:
    planted = make_fleet(tmp_path, hosts=300, paths=6, seed=3, by=0.08)
    page = render_fleet(read_view(str(tmp_path)))
    (table,) = re.findall(r'aria-labelledby="outliers">\s*<table.*?</table>', page, re.DOTALL)
    rows = re.findall(r'<tr role="row"><th role="rowheader".*?</tr>', table, re.DOTALL)
    hosts = [re.findall(r"#host=(\w+)", row)[0] for row in rows]
    assert sorted(hosts) == sorted(one.host for one in planted)
    for row, host in zip(rows, hosts, strict=True):
        one = next(one for one in planted if one.host == host)
        spec = next(spec for spec in measurements(6) if spec["id"] == one.id)
        assert f"node:0 → {spec['target']}, {spec['kind']}" in row
        assert re.search(r"[-+](5|6|7|8|9|10|11)\.\d%", row)
    assert "governor: powersave (group: performance)" in page


def test_captions_have_the_words_of_properties(tmp_path: Path) -> None:
    make_fleet(tmp_path / "fleet", hosts=12, paths=12)
    # By a process that has not imported any kind yet.
    words = [TIERSCOPE, "fleet", "report", tmp_path / "fleet", "--out", tmp_path / "page.html"]
    subprocess.run(words, check=True, capture_output=True)
    page = (tmp_path / "page.html").read_text()
    assert "latency, 1 MiB" in page
    assert "size 1048576" not in page


def test_hosts_are_compared_with_hosts_of_their_model(view: FleetView) -> None:
    assert len([name for name in view.groups if "Example" in name]) == 2
    known = [one for path in view.deviations for one in path if one is not None]
    assert max(abs(one) for one in known) < 0.12, "models differ by 30%, hosts of one by 1%"
    assert all(0.005 < spread < 0.015 for spread in view.spreads)


def test_the_map_begins_with_the_slow_hosts(view: FleetView) -> None:
    slow = {one.host for one in view.outliers}
    first = [view.hosts[number].name for number in view.by_deviation[: len(slow)]]
    assert set(first) == slow
    assert sorted(view.by_deviation) == list(range(len(view.hosts)))


def test_the_page_has_every_figure_and_every_host(view: FleetView) -> None:
    data = data_of(render_fleet(view))
    assert [host[0] for host in data["hosts"]] == [host.name for host in view.hosts]
    for path, shown in zip(view.paths, data["paths"], strict=True):
        factor = path.scale[1]
        wanted = [None if value is None else value / factor for value in path.values]
        assert [value is None for value in shown["value"]] == [one is None for one in wanted]
        known = [value for value in shown["value"] if value is not None]
        assert known == pytest.approx([one for one in wanted if one is not None], rel=1e-4)
        assert {host: reason for host, _, reason in shown["missing"]} == {
            number: reason for number, (_, reason) in path.missing.items()
        }


def test_hosts_without_figures_say_why(view: FleetView) -> None:
    page = render_fleet(view)
    assert "its rank stopped answering after 12 s" in page
    assert re.search(r"Hosts measured</span>\s*<b>197<small> of 200", page)


def test_a_host_that_skipped_a_path_is_told_from_one_that_did_not_plan_it(view: FleetView) -> None:
    path = view.paths[4]
    numbers = {host.name: number for number, host in enumerate(view.hosts)}
    assert path.missing[numbers["node0003"]] == ("skipped", "not enough free memory")
    seven = view.paths[7]
    assert seven.values[numbers["node0005"]] is None
    assert numbers["node0005"] not in seven.missing


def test_settings_in_which_hosts_differ_are_listed(view: FleetView) -> None:
    (one,) = [one for one in differing_settings(view) if one.name == "governor"]
    (usual, many), (other, few) = one.values
    assert (usual, other, len(few)) == ("performance", "powersave", 1)
    assert len(many) > 90


def test_a_page_of_few_hosts_names_them_all(tmp_path: Path) -> None:
    make_fleet(tmp_path, hosts=4, paths=3)
    page = render_fleet(read_view(str(tmp_path)))
    assert '<canvas id="map"' not in page
    assert page.count('class="upright"') == 4 < MAX_NAMED
    assert "with fewer than 5 alike, half the speed would not stand out" in page


def test_a_fleet_without_any_figure_has_a_page(tmp_path: Path) -> None:
    make_fleet(tmp_path, hosts=3, paths=0)
    page = render_fleet(read_view(str(tmp_path)))
    assert "3 hosts" in page
    assert "<svg" not in page


def test_pictures_differ_for_few_and_many_hosts(view: FleetView, tmp_path: Path) -> None:
    make_fleet(tmp_path, hosts=20, paths=2)
    few = distribution(read_view(str(tmp_path)), 0)
    assert len(few.spec["layer"][0]["data"]["values"]) == 20
    many = distribution(view, 0)
    bars = many.spec["layer"][0]["data"]["values"]
    assert sum(bar["y2"] - bar["y"] for bar in bars) == len(view.paths[0].measured)
    assert f"{len(view.paths[0].measured)} hosts" in many.alt


@pytest.mark.parametrize(
    ("comparison", "met", "missed"),
    [(">=", (5.0, 6.0), (4.9,)), (">", (5.1,), (5.0, 4.0)), ("<=", (5.0, 4.0), (5.1,)),
     ("<", (4.9,), (5.0, 6.0))],
)  # fmt: skip
def test_golden_values_are_met_or_missed(
    comparison: str, met: tuple[float, ...], missed: tuple[float, ...]
) -> None:
    golden = Golden("rule", comparison, 5.0)
    assert all(golden.met_by(value) for value in met)
    assert not any(golden.met_by(value) for value in missed)


def test_names_sort_by_their_numbers() -> None:
    names = ["node10", "node9", "n", "10.0.0.2", "10.0.0.10", "node9b"]
    assert sorted(names, key=natural) == ["10.0.0.2", "10.0.0.10", "n", "node9", "node9b", "node10"]
    assert signed_percent(-0.0312) == "-3.1%"
    assert signed_percent(12.0) == "+1200%"


def run_files(place: Path, hosts: int) -> None:
    """Write a fleet's folder with ordinary run files; the last host is 20% slow."""
    chance = random.Random(5)
    known = []
    for number in range(hosts):
        maker = synthetic.Maker(seed=number)
        slow = 0.8 if number == hosts - 1 else 1.0
        pattern = {"operation": "read", "order": "sequential", "threads": 4, "size": 1 << 30,
                   "access_size": 64, "pages": "thp", "isa": "auto"}  # fmt: skip
        rates = [
            maker.make("bandwidth", "node:0", f"node:{node}", pattern,
                       2e11 * chance.gauss(1, 0.005) * slow, limit=synthetic.DDR,
                       id=f"read.{node}")
            for node in (0, 1)
        ]  # fmt: skip
        name = f"n{number + 1}"
        (place / "hosts").mkdir(parents=True, exist_ok=True)
        synthetic.write(synthetic.run(rates, host=name), place / f"hosts/{name}.jsonl")
        known.append(FleetHost(host=name, state="measured", run=f"hosts/{name}.jsonl"))
    index = FleetIndex(started="2026-01-05T14:00:00+00:00", hosts=known, plan="quick")
    (place / "fleet.json").write_text(index.model_dump_json())


def test_a_folder_of_run_files_becomes_a_report_with_golden_values(tmp_path: Path) -> None:
    run_files(tmp_path / "fleet", 12)
    rules = tmp_path / "golden.yaml"
    rules.write_text('rules:\n  - "node:0 -> node:0 read: >= 0.6 of limit"\n')
    words = ["fleet", "report", "fleet", "--expect", rules, "--json"]
    done = tierscope(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "report": "fleet.html", "hosts": 12, "measured": 12, "slow": ["n12"],
    }  # fmt: skip
    page = (tmp_path / "fleet.html").read_text()
    assert "quick" in page
    data = data_of(page)
    assert [path["golden"] for path in data["paths"]] == [">= 184.3", ""]
    assert re.search(r"Golden values missed</span>\s*<b>1</b>\s*<span[^>]*>on 1 path", page)
    for name in ("fleet.json", "figures.parquet", "hosts/n1.jsonl"):
        done = tierscope("fleet", "report", "fleet", "-o", f"fleet/{name}", folder=tmp_path)
        assert done.returncode == 2
        assert "this command reads it" in done.stderr or "never replaced" in done.stderr


def test_what_cannot_be_reported_is_told_in_a_line(tmp_path: Path) -> None:
    for words, said in (
        (["nowhere"], "'nowhere' is not a directory"),
        (["."], "neither run files"),
        ([".", "--expect", "none.yaml"], "none.yaml"),
        ([".", "--minimum", "2"], "--minimum"),
    ):
        done = tierscope("fleet", "report", *words, folder=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert said in done.stderr
    (tmp_path / "hosts.parquet").write_bytes(b"PAR1")
    (tmp_path / "figures.parquet").write_bytes(b"PAR1")
    (tmp_path / "together.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="cannot be read"):
        read_view(str(tmp_path))


def test_its_size_grows_by_a_few_bytes_a_figure(view: FleetView, folder: Path) -> None:
    figures = sum(len(path.measured) for path in view.paths)
    page = render_fleet(view)
    assert len(page) < 400_000 + 40 * figures
