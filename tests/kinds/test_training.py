"""Training: workloads, what a request asks for, what is measured and shown."""

import json
import signal
import string
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import synthetic

from forked import tierscope
from tierscope.engine.process import find_engine
from tierscope.kinds.training.show import met, sentences, waits_for
from tierscope.kinds.training.spec import TrainingSpec
from tierscope.kinds.training.workload import parse_workload, workload_of, workloads
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from waiting import wait_until

TINY = """\
model: {name: tiny}
dataset: {format: npz, num_files_train: 24, record_length_bytes: 50000,
          record_length_bytes_stdev: 9000}
reader: {batch_size: 4, read_threads: 2, file_shuffle: seed, data_loader: pytorch}
train: {computation_time: 0.001, epochs: 5}
metric: {au: 0.9}
"""


def planned(machine: Topology, **options: str) -> list[Any]:
    options = {"to": "file:/data", **options}
    return expand([Request(kind="training", options=options)], machine, thp=True).measurements


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """A workload of some files."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return str(path)


# Workloads


def test_workloads_with_a_name_are_those_of_mlperf() -> None:
    unet3d, resnet50, cosmoflow = (workloads()[n] for n in ("unet3d", "resnet50", "cosmoflow"))
    assert (unet3d.format, unet3d.files, unet3d.sample_size, unet3d.batch) == (
        "npz", 168, 146600628, 7
    )  # fmt: skip
    assert unet3d.steps == {"h100": 0.323, "a100": 0.636}
    assert (resnet50.samples, resnet50.sample_size, resnet50.readers) == (1251, 114660, 8)
    assert not resnet50.shuffle
    assert (cosmoflow.needed, cosmoflow.files) == (0.7, 524288)


def test_a_file_has_the_keys_of_dlio(tiny: str) -> None:
    found = workload_of(tiny)
    assert (found.name, found.files, found.samples, found.sample_stdev) == ("tiny", 24, 1, 9000)
    assert found.steps == {"": 0.001}
    assert (found.ahead(2), found.ahead(8), found.buffer) == (2, 8, 256 << 10)


def test_keys_of_older_versions_of_dlio_are_read() -> None:
    older = TINY.replace("record_length_bytes", "record_length")
    assert parse_workload(older, "w.yaml", "w") == parse_workload(TINY, "w.yaml", "w")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("format: npz", "format: hdf5", "2: key 'format': 'hdf5' is none of npz, tfrecord"),
        ("_train: 24", "_train: 0", "2: key 'num_files_train': '0' is not a number from 1 to"),
        ("num_files_train: 24, ", "", "1: section 'dataset' has no key 'num_files_train'"),
        ("batch_size: 4", "batch_size: four", "4: key 'batch_size': 'four' is not a number"),
        ("batch_size: 4", "batch: 4", "4: unknown key 'batch' in section 'reader'"),
        ("computation_time: 0.001", "computation_time: {b200: 1}", "5: unknown key 'b200'"),
        ("metric: {au: 0.9}", "", "1: the workload has no section 'metric'"),
        ("au: 0.9", "au: 90", "6: key 'au': '90' is not a number above 0 to 1"),
        ("model: {", "models: {", "1: unknown key 'models' in the workload"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_named_with_its_line(old: str, new: str, says: str) -> None:
    assert old in TINY
    with pytest.raises(UserError) as refused:
        parse_workload(TINY.replace(old, new), "w.yaml", "w")
    assert str(refused.value).startswith(f"w.yaml:{says}")


@given(st.text(string.printable, max_size=60), st.integers(0, len(TINY)), st.integers(0, 40))
def test_any_text_is_a_workload_or_an_error_of_one_line(put: str, at: int, cut: int) -> None:
    text = TINY[:at] + put + TINY[at + cut :]
    try:
        found = parse_workload(text, "w.yaml", "w")
    except UserError as error:
        said = str(error)
        found = None
    if found is None:
        assert said.startswith("w.yaml:")
        assert "\n" not in said
        return
    assert found.files >= 1
    assert found.batch >= 1
    assert 0 < found.needed <= 1
    assert all(seconds > 0 for seconds in found.steps.values())


# What a request asks for


def test_the_dataset_is_scaled_by_its_number_of_files(machine: Topology) -> None:
    (usual,) = planned(machine)
    assert (usual.pattern.workload, usual.pattern.accelerator) == ("unet3d", "h100")
    assert usual.pattern.steps == 5
    assert not usual.large
    (large,) = planned(machine, size="100g", accelerators="2")
    assert large.pattern.files == 168
    assert large.pattern.steps == 12
    assert large.large
    (resnet,) = planned(machine, workload="resnet50", size="1g")
    assert resnet.pattern.files == (1 << 30) // resnet.pattern.file_bytes == 7


def test_accelerators_share_a_dataset_and_their_step_times_differ(machine: Topology) -> None:
    specs = planned(machine, accelerators="1,2", accelerator="h100,a100", readers="4,8")
    assert len({spec.id for spec in specs}) == len(specs) == 8
    assert {spec.pattern.files for spec in specs} == {70}
    assert {s.pattern.step_s for s in specs} == {0.323, 0.636}
    assert {(s.pattern.readers, s.pattern.prefetch) for s in specs} == {(4, 4), (8, 8)}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"workload": "bert"}, "--workload: 'bert' is neither one of unet3d, resnet50, cosmoflow"),
        ({"workload": "./none.yaml"}, "--workload: workload 'none.yaml' cannot be read"),
        (
            {"size": "512m"},
            "--size: 512m does not hold a batch of unet3d for each accelerator; give",
        ),
        ({"size": "1g,2g"}, "--size: takes a single value"),
        ({"accelerators": "100", "readers": "100"}, "--accelerators: "),
        ({"to": "node:0"}, "--to: 'node:0' is "),
    ],
)
def test_what_cannot_be_asked_for_is_named(
    machine: Topology, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, **options)
    assert str(refused.value).startswith(says)


def test_a_file_has_one_step_time(machine: Topology, tiny: str) -> None:
    (spec,) = planned(machine, workload=tiny)
    assert (spec.pattern.accelerator, spec.pattern.step_s) == (None, 0.001)
    with pytest.raises(UserError, match="--accelerator: workload tiny has one step time"):
        planned(machine, workload=tiny, accelerator="h100")


# What is measured


def test_epochs_are_read_from_a_dataset_that_is_removed(tmp_path: Path, tiny: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "theirs").write_text("precious")
    options = ("--training", tiny, "--accelerators", "1,2", "--json")
    done = tierscope("storage", str(place), *options)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert [result["pattern"]["accelerators"] for result in results] == [1, 2]
    for result in results:
        figures = {figure["metric"]: figure for figure in result["figures"]}
        assert figures["samples"]["estimate"] > 0
        assert figures["samples"]["ci_low"] is not None, "6 epochs make an interval"
        assert 0 < figures["utilisation"]["estimate"] <= 1
        assert 0 < figures["reading"]["estimate"] <= 1
        assert "io_latency_p50" in figures
        seen, asked = (result["evidence"][key] for key in ("training", "storage_io"))
        assert seen["files"] == 24
        assert seen["steps"] == 6 // result["pattern"]["accelerators"]
        assert 0 < asked["bytes_read"] <= 6 * seen["bytes"]
        assert asked["reads"] >= 6 * 24 // 2
        assert result["bound_by"] is None, "drives moved what was asked"
        assert result["evidence"]["verified"]
    assert [path.name for path in place.iterdir()] == ["theirs"]


def test_options_of_the_tour_and_of_training_are_kept_apart(tmp_path: Path, tiny: str) -> None:
    for options, says in (
        (("--readers", "2"), "--readers has no effect here; it goes with --training"),
        (("--training", tiny, "--keep"), "--keep has no effect here; --training makes a dataset"),
    ):
        done = tierscope("storage", str(tmp_path), *options)
        assert done.returncode == 2
        assert says in done.stderr
    assert "name a directory" in tierscope("storage", "--training", tiny).stderr


def test_a_dataset_that_does_not_fit_is_refused_with_the_numbers(tmp_path: Path) -> None:
    workload = tmp_path / "huge.yaml"
    workload.write_text(TINY.replace("50000", "1e12").replace("9000", "1"))
    done = tierscope("storage", str(tmp_path), "--training", str(workload), "--size", "20t")
    assert done.returncode == 3
    assert "more would be taken" in done.stderr
    assert not list(tmp_path.glob("tierscope*"))


def test_what_a_killed_run_leaves_is_proven_and_cleaned(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    spec = TrainingSpec.model_validate(
        {
            "id": "x", "initiator": "node:0", "target": f"file:{place}", "cpus": [0],
            "directory": str(place),
            "pattern": {"workload": "w", "format": "npz", "files": 20, "sample_size": 9000,
                        "sample_stdev": 2000, "step_s": 60},
        }
    )  # fmt: skip
    plan = {"version": 2, "measurements": [spec.model_dump(mode="json")]}
    with subprocess.Popen(
        [find_engine(), "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as engine:
        assert engine.stdin is not None
        engine.stdin.write(json.dumps(plan).encode())
        engine.stdin.close()
        wait_until(lambda: len(list(place.glob("tierscope-files.*/*"))) >= 20, "files are there")
        engine.send_signal(signal.SIGKILL)
    (left,) = place.glob("tierscope-files.*")
    (place / "theirs").write_text("precious")
    cleaned = tierscope("storage", str(place), "--clean")
    assert f"{left.name}: removed, 20 files" in cleaned.stdout
    assert [path.name for path in place.iterdir()] == ["theirs"]


# How it is shown


def measured(evidence: dict[str, Any], **values: float) -> Measurement:
    pattern = {"workload": "unet3d", "needed": 0.9, "accelerators": 1, "readers": 4}
    figures = [
        synthetic.figure(name, "count" if name == "accelerators_fed" else "ratio", value)
        for name, value in values.items()
    ]
    made = synthetic.Maker(noise=1e-6).make(
        "training", "node:0", "file:/data", pattern, 20.0, "1/s", metric="samples", figures=figures
    )
    seen = {"files": 35, "bytes": evidence.pop("bytes", 5 << 30), "steps": 5,
            "memory_bytes": 20 << 30, "first_wait_s": 3.0}  # fmt: skip
    asked = {"files": ["/data/x"], "reads": 35, "writes": 0, "bytes_read": 30 << 30,
             "bytes_written": 0, "cached_bytes": 0, "set_up_s": 9.0, **evidence}  # fmt: skip
    observed = Evidence.model_validate(
        {"training": seen, "storage_io": asked, "device_bytes_read": 31 << 30,
         "process_bytes_read": 30 << 30}
    )  # fmt: skip
    return made.model_copy(update={"evidence": observed})


@pytest.mark.parametrize(
    ("utilisation", "reading", "busy", "waits", "share"),
    [
        (0.95, 0.2, 0.2, "nothing", "106%"),
        (0.45, 0.99, 0.95, "the drive", "50%"),
        (0.45, 0.99, 0.5, "readers", "50%"),
        (0.45, 0.5, 0.5, "the first batch", "50%"),
    ],
)
def test_what_accelerators_wait_for_follows_from_the_figures(
    utilisation: float, reading: float, busy: float, waits: str, share: str
) -> None:
    m = measured({}, utilisation=utilisation, reading=reading, busy=busy)
    assert waits_for(m) == waits
    assert met(m) == share


def test_notes_say_where_bytes_came_from() -> None:
    figures = {"utilisation": 0.5, "reading": 0.99, "busy": 0.1}
    text = " ".join(sentences([measured({}, **figures)]))
    assert "the drives read 30 GiB of 30 GiB asked (of this program, by /proc/self/io; " in text
    assert "for all programs 31 GiB)" in text
    assert "An epoch has 5 steps" in text
    assert "more --readers" in text
    kept = {"cached_bytes": 4 << 30}
    assert "figures are not the drive's" in " ".join(sentences([measured(kept, **figures)]))
    large = {**kept, "bytes": 200 << 30}
    assert "10 times the free memory" in " ".join(sentences([measured(large, **figures)]))
