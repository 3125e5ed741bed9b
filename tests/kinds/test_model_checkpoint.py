"""Checkpoints of large models: their bytes, what a request asks for, what is measured."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from tests import synthetic

from forked import tierscope
from tierscope.kinds.model_checkpoint.models import Model, models
from tierscope.kinds.model_checkpoint.show import sentences, summary_of
from tierscope.kinds.model_checkpoint.spec import ModelCheckpointPattern
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request

GIB = 2**30


def planned(machine: Topology, **options: str) -> list[Any]:
    options = {"to": "file:/data", **options}
    request = Request(kind="model-checkpoint", options=options)
    return expand([request], machine, thp=True).measurements


# Models


@pytest.mark.parametrize(
    ("name", "weights", "optimizer"),
    [("llama3-8b", 15, 90), ("llama3-70b", 130, 781), ("llama3-405b", 755, 4533)],
)
def test_whole_checkpoints_have_the_sizes_that_mlperf_states(
    name: str, weights: int, optimizer: int
) -> None:
    model = models()[name]
    files = [model.rank_files(rank) for rank in range(model.ranks)]
    states = sum(rank[-1] for rank in files)
    assert states / GIB == pytest.approx(optimizer, rel=0.005)
    assert (sum(map(sum, files)) - states) / GIB == pytest.approx(weights, rel=0.005)


def test_each_name_is_in_the_file() -> None:
    assert get_args(ModelCheckpointPattern.model_fields["model"].annotation) == tuple(models())


def test_files_follow_from_how_a_job_splits_the_model() -> None:
    small = {"layers": 5, "hidden": 64, "ffn": 128, "heads": 4, "kv_heads": 2, "vocabulary": 100}
    model = Model(**small, tensor=2, pipeline=2, zero=1, ranks=8)
    layer = 2 * (2 * 64 + (64 * 128 + 64 * 64 + 3 * 64 * 128) // 2)
    embedding, norm = 64 * 100 // 2 * 2, 2 * 64
    states = 12 * (model.parameters // 8 + 5 * 64)
    assert model.rank_files(0) == [embedding, layer, layer, layer, states]
    assert model.rank_files(3) == [layer, layer, embedding, norm, states]
    assert model.rank_files(4) == [states], "only the first data-parallel ranks write weights"
    sharded = Model(**small, tensor=2, pipeline=1, zero=3, ranks=4)
    assert [len(sharded.rank_files(rank)) for rank in range(4)] == [2] * 4


# What a request asks for


def test_a_subset_of_the_ranks_writes_unless_more_are_asked_for(machine: Topology) -> None:
    (subset,) = planned(machine, model="llama3-405b")
    assert len(subset.pattern.ranks) == 8
    assert [len(rank.bytes) for rank in subset.pattern.ranks] == [6] * 8
    assert subset.bytes / GIB == pytest.approx(98.5, rel=0.01)
    (scaled,) = planned(machine, model="llama3-405b", scale="0.001", ranks="all")
    assert len(scaled.pattern.ranks) == 512
    assert scaled.bytes == pytest.approx(
        sum(sum(models()["llama3-405b"].rank_files(rank)) for rank in range(512)) / 1000, rel=0.01
    )
    assert scaled.rounds() == 10


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": "gpt"}, "--model: 'gpt' is not one of llama3-8b"),
        ({"ranks": "9"}, "--ranks: 9 are more than the job's 8"),
        ({"scale": "2"}, "--scale: '2' is out of range"),
        ({"scale": "0"}, "--scale: '0' is out of range"),
    ],
)
def test_what_cannot_be_asked_for_is_named(
    machine: Topology, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, **options)
    assert str(refused.value).startswith(says)


# What is measured


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty directory to measure in."""
    path = tmp_path / "place"
    path.mkdir()
    return path


def test_checkpoints_are_written_read_and_removed(place: Path) -> None:
    (place / "theirs").write_text("precious")
    options = ("--model", "llama3-8b", "--scale", "0.00001", "--count", "6", "--json")
    done = tierscope("checkpoint", str(place), *options)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    figures = {figure["metric"]: figure for figure in result["figures"]}
    assert set(figures) >= {"bandwidth", "checkpoint_time", "restart_bandwidth", "restart_time"}
    seen, asked = (result["evidence"][key] for key in ("rank_files", "storage_io"))
    assert seen["files"] == 16
    assert seen["bytes"] == result["pattern"]["checkpoint_size"] > 1 << 20
    assert asked["bytes_written"] == asked["bytes_read"] == 6 * seen["bytes"]
    assert asked["writes"] == 6 * 16
    assert result["bound_by"] is None, "drives moved what was asked"
    assert [path.name for path in place.iterdir()] == ["theirs"]


def test_what_does_not_fit_is_refused_with_the_bytes(place: Path) -> None:
    done = tierscope("checkpoint", str(place), "--model", "llama3-1t", "--ranks", "all")
    assert done.returncode == 3
    assert "15.1 TiB more would be taken" in done.stderr
    assert "--scale" in done.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--ranks", "8"), "--ranks: goes with --model"),
        (("--model", "llama3-8b", "--size", "1g"), "--size: has no effect with --model"),
    ],
)
def test_options_of_states_and_of_models_are_kept_apart(
    tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    done = tierscope("checkpoint", str(tmp_path), *options)
    assert done.returncode == 2
    assert says in done.stderr


# How it is shown


def test_notes_say_what_was_written_and_where_reads_came_from(machine: Topology) -> None:
    (spec,) = planned(machine, model="llama3-70b", scale="0.01")
    asked = {"files": ["/data/x"], "reads": 160, "writes": 160, "bytes_read": 10 << 30,
             "bytes_written": 10 << 30, "cached_bytes": 0, "set_up_s": 0.0}  # fmt: skip
    made = synthetic.Maker(noise=1e-6).make(
        "model-checkpoint", "node:0", "file:/data", spec.identity(), 2e9, "B/s",
        metric="bandwidth", figures=[synthetic.figure("restart_bandwidth", "B/s", 3e9)],
    )  # fmt: skip

    def noted(**changes: int) -> str:
        evidence = Evidence.model_validate(
            {"rank_files": {"files": 16, "bytes": 1 << 30}, "storage_io": {**asked, **changes},
             "device_bytes_read": 10 << 30, "device_bytes_written": 11 << 30}
        )  # fmt: skip
        return " ".join(sentences([made.model_copy(update={"evidence": evidence})]))

    assert "8 of 64 ranks wrote 16 files, 1 GiB a checkpoint, each file scaled by 0.01" in noted()
    assert "the drives read 10 GiB of 10 GiB asked (of all programs" in noted()
    assert "the drives wrote 11 GiB of 10 GiB asked" in noted()
    assert "the page cache kept 1 MiB" in noted(cached_bytes=1 << 20)
    assert "written at 2" in summary_of([made])
    assert "read at 3" in summary_of([made])
