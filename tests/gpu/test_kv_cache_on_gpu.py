"""Pieces of a cache whose pool is on a GPU, on a machine with one: `make test-gpu`. Nothing here
asserts how long it takes: `tierscope storage --kv-cache` sets the figures against a plain copy."""

from pathlib import Path

import pytest
from gpu_machine import plan_of

from tierscope.engine.repetitions import living_engine
from tierscope.kinds.kv_cache.spec import GPU_METHODS, KvCacheEvidence, KvTransfers
from tierscope.machine.discover import discover
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.spec import Sampling

pytestmark = pytest.mark.gpu

SECONDS = 0.3
SIZES = {"piece": "32k", "pieces": "256", "objects": "8"}


@pytest.fixture(scope="module")
def topology():
    found = discover()
    assert found.gpus, "these tests are for a machine with GPUs"
    return found


def repeated(topology, to: str, **options: str) -> list[Repetition | Skipped | Failed]:
    plan = plan_of("kv-cache", topology, from_="gpu:0", to=to, **{**SIZES, **options})
    quick = Sampling(budget_s=SECONDS, precision=0.05)
    specs = [one.model_copy(update={"sampling": quick}) for one in plan.measurements]
    found = []
    with living_engine() as engine:
        engine.plan(specs)
        for spec in specs:
            for turn in range(2):
                events = engine.repetition(spec.id, SECONDS, turn == 1)
                found += [e for e in events if isinstance(e, Repetition | Skipped | Failed)]
    return found


def seen_of(found: Repetition | Skipped | Failed) -> KvTransfers:
    assert isinstance(found, Repetition), found
    seen = found.evidence.own(KvCacheEvidence).kv_cache
    assert seen is not None
    assert found.evidence.verified == (
        f"2048 pieces of the last of {seen.transfers} transfers, each at its place"
    )
    return seen


@pytest.mark.parametrize("method", GPU_METHODS)
def test_pieces_come_to_their_places_in_the_hosts_memory_and_back(topology, method: str) -> None:
    for found in repeated(topology, "node:0", method=method):
        if method == "batch" and isinstance(found, Skipped):
            assert "cuMemcpyBatchAsync" in found.reason
            continue
        seen = seen_of(found)
        assert seen.bytes == seen.transfers * (64 << 20)
        assert isinstance(found, Repetition)
        assert bool(found.evidence.grid_blocks) == (method == "kernel")


@pytest.mark.parametrize("piece", ["16", "1040", "18432", "64k"])
def test_a_kernel_moves_pieces_of_any_size(topology, piece: str) -> None:
    for found in repeated(topology, "node:0", piece=piece, method="kernel"):
        seen_of(found)


@pytest.mark.parametrize("backend", ["io_uring", "posix", "cufile", "cufile-stream"])
def test_files_go_through_the_host_or_past_it(topology, tmp_path: Path, backend: str) -> None:
    for found in repeated(topology, f"file:{tmp_path}", backend=backend, direct="no"):
        if isinstance(found, Skipped):
            assert backend != "posix", found
            assert found.reason
            continue
        seen_of(found)
        assert isinstance(found, Repetition)
        assert found.evidence.storage_io is not None
        assert bool(found.evidence.storage_io.ways) == backend.startswith("cufile")
    assert list(tmp_path.iterdir()) == []
