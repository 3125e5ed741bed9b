"""Caches of keys and values: what a request asks for, what is measured, shown and left behind."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests import synthetic
from tests.gpu.gpu_machine import machine as machine_with_gpus
from tests.gpu.gpu_machine import measured, run_with

from forked import tierscope
from tierscope.kinds.kv_cache.show import sentences
from tierscope.kinds.kv_cache.spec import KvCacheSpec
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence, IoEvidence
from tierscope.model.run import Figure, Measurement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.suites.kv_cache import (
    KvAsked,
    KvTour,
    break_evens,
    kv_json,
    kv_tour,
    show_kv,
)
from tierscope.suites.kv_models import model_of

KIB = 1 << 10
LLAMA = model_of("llama3-8b")


def planned(machine: Topology, **options: str) -> list[Any]:
    named = {name.rstrip("_"): text for name, text in options.items()}
    return expand([Request(kind="kv-cache", options=named)], machine, thp=True).measurements


# What a request asks for


def test_memory_has_no_backend_and_a_file_has_one(machine: Topology) -> None:
    specs = planned(machine, to="node:0,file:/data", op="fetch", depth="2,4", threads="1")
    assert [(s.target, s.pattern.depth) for s in specs] == [
        ("node:0", 1), ("file:/data", 2), ("file:/data", 4)
    ]  # fmt: skip
    assert specs[0].directory is None
    assert not {"backend", "direct", "depth", "multiprocessors", "seed"} & set(specs[0].identity())
    assert specs[1].identity()["backend"] == "io_uring"
    assert specs[1].files() == ["/data"]


def test_pool_and_objects_both_count_as_memory(machine: Topology) -> None:
    sizes = {"piece": "48", "pieces": "10", "objects": "3", "op": "fetch", "threads": "1"}
    (memory,) = planned(machine, to="node:0", **sizes)
    assert [region.array_bytes for region in memory.regions()] == [48 * 30, 4096 * 3]
    (file,) = planned(machine, to="file:/data", depth="2", **sizes)
    assert [region.array_bytes for region in file.regions()] == [48 * 30, 4096 * 2]


def test_a_pool_on_a_gpu_goes_by_its_methods() -> None:
    gpus = machine_with_gpus(gpus=1)
    ways = "memcpy,copy-engine,batch,kernel"
    specs = planned(gpus, from_="gpu:0", to="node:1", op="fetch", method=ways)
    assert [s.pattern.method for s in specs] == ["copy-engine", "batch", "kernel"]
    (file,) = planned(gpus, from_="gpu:0", to="file:/data", op="fetch", backend="cufile")
    assert (file.pattern.depth, file.pattern.method) == (1, "kernel")
    assert file.regions() == [], "nothing of it is in the host's memory"
    limit = specs[0].limit(MachinePaths(gpus))
    assert limit is not None
    assert limit.link


def test_a_node_that_has_both_reads_and_writes_each_byte() -> None:
    two = machine_with_gpus(gpus=0)
    sizes = {"piece": "64k", "pieces": "4096", "objects": "8", "op": "fetch"}
    own, other = planned(two, from_="node:0", to="node:0,node:1", **sizes)
    assert own._traffic().reads + own._traffic().writes == 2
    assert other._traffic().reads + other._traffic().writes == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "kernel"}, "--method: none of these goes with a pool in host memory"),
        ({"backend": "cufile", "to": "file:/data"}, "--backend: 'cufile'"),
        ({"piece": "33"}, "--piece: '33'"),
        ({"pieces": "1"}, "--pieces: .*1"),
        ({"piece": "1m", "pieces": "2000"}, "--pieces: '2000'.*more than 1 GiB"),
        ({"to": "tape:1"}, "--to: .*'tape:1'"),
        ({"threads": "99999"}, "--threads"),
    ],
)
def test_what_cannot_be_asked_for_is_named(
    machine: Topology, options: dict[str, str], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        planned(machine, **{"to": "node:0", **options})


@given(
    piece=st.integers(1, 1 << 12).map(lambda words: 16 * words),
    pieces=st.integers(2, 1 << 12),
    objects=st.integers(1, 1 << 10),
)
def test_every_object_of_less_than_a_gib_makes_a_plan(
    piece: int, pieces: int, objects: int
) -> None:
    options = {"piece": str(piece), "pieces": str(pieces), "objects": str(objects)}
    (spec,) = planned(synthetic.topology(), to="node:0", op="store", threads="1", **options)
    assert KvCacheSpec.model_validate_json(spec.model_dump_json()) == spec
    assert spec.pattern.stride % 4096 == 0
    assert 0 <= spec.pattern.stride - piece * pieces < 4096


# The tour of a model


def asked(**changes: Any) -> KvAsked:
    return KvAsked(model=LLAMA, **changes)


def test_a_model_gives_the_sizes_and_each_length_its_objects() -> None:
    gpus = machine_with_gpus(gpus=1, nodes=1)
    made = kv_tour(gpus, asked(prefixes=(64, 1024), directories=("/data",)))
    fetched = [
        (s.target, s.pattern.pieces, s.pattern.objects, s.pattern.method)
        for s in made.plan.measurements
        if s.kind == "kv-cache" and s.pattern.operation == "fetch"
    ]
    whole, part = 16 * 64, 4 * 64
    assert [one for one in fetched if one[0] == "node:0"] == [
        ("node:0", pieces, objects, method)
        for pieces, objects in ((part, 1), (whole, 4))
        for method in ("kernel", "batch", "copy-engine")
    ]
    files = [s for s in made.plan.measurements if s.target == "file:/data"]
    assert {s.pattern.backend for s in files} == {"io_uring", "cufile"}
    assert all(s.pattern.piece == 32 * KIB for s in files)
    stores = [s for s in files if s.pattern.operation == "store"]
    assert {s.pattern.objects for s in stores} == {4}, "stores are of the longest prefix"
    assert [s.kind for s in made.plan.measurements].count("gpu-copy") == 2


def test_a_machine_without_a_gpu_says_so_in_a_result(machine: Topology) -> None:
    last = kv_tour(machine, asked(prefixes=(256,))).plan.measurements[-1]
    assert (last.initiator, last.pattern.method) == ("gpu:0", "kernel")
    own = kv_tour(machine, asked(prefixes=(256,), initiator="node:0")).plan.measurements
    assert all(one.initiator == "node:0" for one in own), "nobody asked for a GPU"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prefixes": (300,)}, "--prefix: 300 tokens are not a multiple of 256"),
        (
            {"prefixes": (24,)},
            "--prefix: 24 tokens are not a multiple of 16, the tokens of a block",
        ),
    ],
)
def test_lengths_are_whole_objects(machine: Topology, changes: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        kv_tour(machine, asked(**changes))


def fetches(tour: KvTour, machine: Topology) -> Iterator[Measurement]:
    """Yield fetches of 1 ms and 10 us a token."""
    for spec in tour.plan.measurements:
        if spec.pattern.operation != "fetch" or spec.initiator == "gpu:0":
            continue
        each = 1e-3 + spec.pattern.all_bytes / (128 * KIB) * 1e-5
        entry = measured(spec, machine, spec.pattern.all_bytes / each)
        time = Figure(metric="transfer_time", part="", unit="ns", estimate=each * 1e9)
        yield entry.model_copy(update={"figures": [*entry.figures, time]})


@pytest.mark.parametrize(
    ("rate", "tokens"),
    [
        (50_000.0, 100),  # 20 us a token computed.
        (None, None),
        (200_000.0, None),  # 5 us a token: never.
    ],
)
def test_what_breaks_even_follows_from_two_lengths(
    machine: Topology, rate: float | None, tokens: int | None
) -> None:
    tour = kv_tour(machine, asked(prefixes=(256, 1024), prefill_rate=rate))
    run = run_with(tour.plan, machine, [*fetches(tour, machine)])
    first = break_evens(run, tour)[0]
    assert first.rate == pytest.approx(1024 / (1e-3 + 1024 * 1e-5))
    if tokens is None:
        assert first.tokens is None
    else:
        assert first.tokens == pytest.approx(tokens, abs=1)
    said = io.StringIO()
    show_kv(Console(file=said, width=140), run, tour)
    words = {
        50_000.0: "tokens on",
        None: "breaks even",
        200_000.0: "at any length measured",
    }
    assert words[rate] in " ".join(said.getvalue().split())
    assert kv_json(run, tour)["kv_cache"]["token_bytes"] == 128 * KIB


def test_ways_of_a_gpu_are_set_against_a_plain_copy() -> None:
    gpus = machine_with_gpus(gpus=1, nodes=1)
    tour = kv_tour(gpus, asked(prefixes=(256,)))
    rates = {"kernel": 48e9, "batch": 45e9, "copy-engine": 20e9}
    entries = [
        measured(s, gpus, rates[s.pattern.method] if s.kind == "kv-cache" else 50e9)
        for s in tour.plan.measurements
    ]
    said = io.StringIO()
    show_kv(Console(file=said, width=200), run_with(tour.plan, gpus, entries), tour)
    text = " ".join(said.getvalue().split())
    assert "node:0 to gpu:0, 256 tokens: kernel 48.0" in text
    assert "(96%), batch 45.0" in text
    assert "gpu:0 to node:0, 256 tokens: kernel" in text


# What evidence says


def test_a_drive_that_moved_less_than_was_asked_is_named(machine: Topology) -> None:
    (spec,) = planned(machine, to="file:/data", op="fetch", threads="1")
    entry = measured(spec, machine)

    def with_bytes(read: int, cached: int) -> Measurement:
        asked = IoEvidence(files=["/data/x"], reads=2, writes=0, bytes_read=1 << 30,
                           bytes_written=0, cached_bytes=cached, set_up_s=0.1)  # fmt: skip
        evidence = Evidence(storage_io=asked, device_bytes_read=read)
        return entry.model_copy(update={"evidence": evidence})

    assert list(sentences([with_bytes(1 << 30, 0)])) == []
    (few,) = sentences([with_bytes(1 << 20, 0)])
    assert "file:/data, fetch: the drives read 1 MiB of 1 GiB asked" in few
    assert few.endswith(", so a cache or holes had the rest")
    gpu = entry.model_copy(update={"evidence": Evidence(grid_blocks=8)})
    assert next(iter(sentences([gpu]))).startswith("Kernels took 8 multiprocessors at most")
    (kept,) = sentences([with_bytes(1 << 30, 4096)])
    assert "the page cache kept 4 KiB" in kept


# The real command


def test_pieces_are_measured_proven_and_nothing_is_left(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "theirs").write_text("precious")
    done = tierscope(
        *("storage", "--kv-cache", "qwen2.5-7b", place, "--prefix", "64", "--from", "node:0"),
        *("--prefill-rate", "5000", "--time-limit", "2s", "--json"),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["pattern"]["operation"] for one in told["results"] if one["target"] != "node:0"]
    for result in told["results"]:
        if result["status"] == "skipped":  # A file system without O_DIRECT.
            assert result["reason"]
            continue
        assert result["status"] == "measured", result
        seen = result["evidence"]["kv_cache"]
        if result["target"] != "node:0":
            asked, way = result["evidence"]["storage_io"], result["pattern"]["operation"]
            assert asked["bytes_read" if way == "fetch" else "bytes_written"] >= seen["bytes"]
            assert asked["cached_bytes"] >= 0
            assert result["bound_by"] is None, "drives moved what was asked"
        assert seen["pieces"] == 4 * 2 * 28
        assert seen["bytes"] == seen["transfers"] * seen["pieces"] * 16 * KIB
        assert result["evidence"]["verified"].startswith(f"{seen['pieces']} pieces of the last of")
        rate = result["figures"][0]["estimate"]
        (time,) = [f for f in result["figures"] if f["metric"] == "transfer_time"]
        assert rate > 0
        assert time["estimate"] > 0
    assert told["kv_cache"]["token_bytes"] == 56 * KIB
    assert {one["tokens"] for one in told["kv_cache"]["transfers"]} == {64}
    assert [path.name for path in place.iterdir()] == ["theirs"]


def test_without_a_gpu_the_reason_is_a_result() -> None:
    done = tierscope(
        *("storage", "--kv-cache", "llama3-8b", "--prefix", "16", "--time-limit", "1s", "--json"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr
    skipped = [one for one in json.loads(done.stdout)["results"] if one["status"] == "skipped"]
    assert [one["initiator"] for one in skipped] == ["gpu:0"]
    assert skipped[0]["reason"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kv-cache", "llama4"), "--kv-cache: 'llama4' is neither a file nor a model known here"),
        (("--kv-cache", "llama3-8b", "--prefix", "17"), "--prefix: 17 tokens are not a multiple"),
        (("--kv-cache", "llama3-8b", "--block-tokens", "0"), "--block-tokens"),
        (("--kv-cache", "llama3-8b", "--block-tokens", "7"), "--object-tokens: 256 is not a"),
        (("--kv-cache", "llama3-8b", "--prefill-rate", "fast"), "--prefill-rate"),
        (("--kv-cache", "llama3-8b", "--size", "1g"), "--size has no effect here"),
        (("--kv-cache", "llama3-8b", "/dev/null"), "/dev/null"),
        (("/tmp", "--prefix", "1k"), "--prefix has no effect here; it goes with --kv-cache"),
    ],
)
def test_errors_of_the_command_are_one_line(words: tuple[str, ...], said: str) -> None:
    done = tierscope("storage", *words)
    assert done.returncode == 2, done
    assert said in done.stderr
    assert "Traceback" not in done.stderr
