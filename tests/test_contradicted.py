"""Figures that the drives' counters contradict are marked wherever they stand."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import synthetic
from forked import tierscope
from tierscope.kinds.io.show import show_table
from tierscope.kinds.io.spec import IoSpec
from tierscope.kinds.views import VIEWS
from tierscope.model.event import Evidence, IoEvidence
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report import figures
from tierscope.report.evidence import cautions
from tierscope.report.run import show_run

MAKER = synthetic.Maker()
MARK = "contradicted by the device's counters"


def spec_of(machine: Topology, **options: str) -> IoSpec:
    given = {"to": "file:/tmp", "backend": "libaio", **options}
    (spec,) = expand([Request(kind="io", options=given)], machine, thp=True).measurements
    assert isinstance(spec, IoSpec)
    return spec


def observed(read: int, written: int, **moved: Any) -> Evidence:
    io_evidence = IoEvidence(
        files=["/tmp/x"], reads=1, writes=1, bytes_read=read, bytes_written=written, set_up_s=0.1
    )
    return Evidence(storage_io=io_evidence, **moved)


@pytest.mark.parametrize(
    ("evidence", "bound"),
    [
        (observed(1000, 0, device_bytes_read=499), "not-the-device"),
        (observed(1000, 0, device_bytes_read=500), None),
        (observed(0, 1000, device_bytes_written=0), "not-the-device"),
        (observed(0, 1000, device_bytes_written=3000), None),
        (observed(1000, 1000, device_bytes_read=1000, device_bytes_written=1), "not-the-device"),
        (observed(1000, 1000), None),
        (Evidence(), None),
    ],
)
def test_less_than_half_of_the_bytes_contradicts(
    machine: Topology, evidence: Evidence, bound: str | None
) -> None:
    assert spec_of(machine).bound_by(1e9, evidence) == bound
    assert spec_of(machine, direct="no").bound_by(1e9, evidence) is None, "the page cache's"


@pytest.mark.parametrize("kind", ["training", "kv-cache", "model-checkpoint", "checkpoint"])
def test_what_training_caches_and_checkpoints_move_is_compared_too(
    machine: Topology, kind: str
) -> None:
    requests = [Request(kind=kind, options={"to": "file:/tmp"})]
    spec = expand(requests, machine, thp=True).measurements[0]
    whole = {"device_bytes_read": 1000, "device_bytes_written": 1000}
    assert spec.bound_by(1.0, observed(1000, 1000, **whole)) is None
    few = observed(1000, 1000, **whole | {"device_bytes_written": 499})
    assert spec.bound_by(1.0, few) == "not-the-device"


def test_figures_of_reading_back_have_a_mark_of_their_own(machine: Topology) -> None:
    requests = [Request(kind="model-checkpoint", options={"to": "file:/tmp", "scale": "0.001"})]
    (spec,) = expand(requests, machine, thp=True).measurements
    evidence = observed(1000, 1000, device_bytes_read=1, device_bytes_written=1000)
    bound = spec.bound_by(1.0, evidence)
    made = MAKER.make(
        "model-checkpoint", "node:0", "file:/tmp", spec.identity(), 2e9, "B/s", metric="bandwidth",
        figures=[synthetic.figure("restart_bandwidth", "B/s", 3e9)],
    ).model_copy(update={"evidence": evidence, "bound_by": bound})  # fmt: skip
    assert [figures.mark(made, one) for one in made.figures] == ["", figures.BOUND]
    (line,) = [one for one in cautions([made]) if MARK in one]
    assert line.startswith("1 of 1: ")
    text = io.StringIO()
    show_run(Console(file=text, width=160), synthetic.run([made]), Path("run.jsonl"), VIEWS)
    assert "3.000 ±0.003†" in text.getvalue()
    assert "2.002 ±0.003†" not in text.getvalue()


def marked() -> list[Measurement]:
    wrong, right = (synthetic.storage_measurement(MAKER, rate) for rate in (4e5, 1e5))
    return [wrong.model_copy(update={"bound_by": "not-the-device"}), right]


@pytest.mark.parametrize(("backend", "bound"), [("posix", "not-the-device"), ("ftruncate", None),
    ("null", None)])  # fmt: skip
def test_nothing_contradicts_operations_without_data(
    machine: Topology, backend: str, bound: str | None
) -> None:
    spec = spec_of(machine, op="write", backend=backend)
    assert spec.bound_by(1.0, observed(0, 1000, device_bytes_written=0)) == bound


def test_the_table_marks_the_figure_and_says_why() -> None:
    text = io.StringIO()
    show_table(Console(file=text, width=120), marked(), synthetic.run(marked()))
    assert text.getvalue().count(figures.BOUND) >= 1
    (line,) = [one for one in cautions(marked()) if MARK in one]
    assert line.startswith(f"1 of 2: {MARK} (†): they have less than half of the bytes")
    assert [figures.is_doubtful(one) for one in marked()] == [True, False]


@pytest.fixture
def holes(tmp_path: Path) -> Path:
    """A file of holes, which no drive has to read."""
    path = tmp_path / "holes"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    return path


def test_direct_reads_of_holes_are_marked_by_io_fio_and_gdsio(tmp_path: Path, holes: Path) -> None:
    words = ("io", "--to", f"file:{holes}", "--backend", "libaio", "--block-size", "1m",
             "--budget", "0.4", "--json")  # fmt: skip
    done = tierscope(*words, folder=tmp_path)
    (result,) = json.loads(done.stdout)["results"]
    if "device_bytes_read" not in result["evidence"]:
        pytest.skip(f"{tmp_path} is on no drive that counts")
    assert result["bound_by"] == "not-the-device"
    fio = f"--name=x --filename={holes} --rw=read --bs=1m --direct=1 --time_based --runtime=1"
    done = tierscope("fio", *fio.split(), folder=tmp_path)
    assert f"({MARK})" in done.stdout, done.stderr
    done = tierscope("fio", *fio.split(), "--output-format=json", folder=tmp_path)
    assert json.loads(done.stdout)["jobs"][0]["bound_by"] == "not-the-device"
    gdsio = f"gdsio -f {holes} -n 0 -x 1 -w 1 -s 64M -i 1M -I 0 -T 1"
    done = tierscope(*gdsio.split(), folder=tmp_path)
    assert done.stdout.endswith(f" secs ({MARK})\n"), done.stderr
