"""Checkpoints of a GPU's memory, on a machine with one: `make test-gpu`. Nothing here asserts how
long it takes."""

from ctypes.util import find_library
from pathlib import Path

import pytest
from gpu_machine import plan_of

from tierscope.engine.repetitions import living_engine
from tierscope.kinds.checkpoint.spec import CheckpointEvidence
from tierscope.machine.discover import discover
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.spec import Sampling

pytestmark = pytest.mark.gpu

SECONDS = 0.3
SIZE = 64 << 20


@pytest.fixture(scope="module")
def topology():
    found = discover()
    assert found.gpus, "these tests are for a machine with GPUs"
    return found


def repeated(topology, to: str, **options: str) -> Repetition | Skipped | Failed:
    plan = plan_of("checkpoint", topology, from_="gpu:0", to=to, size=str(SIZE), **options)
    quick = Sampling(budget_s=SECONDS, precision=0.05)
    (spec,) = (one.model_copy(update={"sampling": quick}) for one in plan.measurements)
    with living_engine() as engine:
        engine.plan([spec])
        events = engine.repetition(spec.id, SECONDS, False)
        (found,) = [one for one in events if isinstance(one, Repetition | Skipped | Failed)]
    return found


@pytest.mark.parametrize("backend", ["staged", "staged-async"])
def test_a_state_on_a_gpu_comes_back_from_a_file(topology, tmp_path: Path, backend: str) -> None:
    found = repeated(topology, f"file:{tmp_path}", backend=backend, direct="no")
    assert isinstance(found, Repetition), found
    evidence = found.evidence
    seen = evidence.own(CheckpointEvidence).checkpoint
    assert seen is not None
    assert seen.medium == "file"
    assert seen.restarts >= 2
    assert evidence.verified == f"all {SIZE} bytes of the state after each restart"
    assert evidence.gpus
    assert evidence.gpus[0].gpu == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("to", "backing", "medium"),
    [("node:0", "", "memory"), ("pmem:node:0", "file", "mapped"),
     ("pmem:node:0", "pool", "pool")],
)  # fmt: skip
def test_a_state_on_a_gpu_comes_back_from_memory(
    topology, to: str, backing: str, medium: str
) -> None:
    found = repeated(topology, to, **({"backing": backing} if backing else {}))
    if backing == "pool" and not find_library("pmemobj"):
        assert isinstance(found, Skipped), found
        assert "libpmemobj.so.1 is not installed" in found.reason
        return
    assert isinstance(found, Repetition), found
    seen = found.evidence.own(CheckpointEvidence).checkpoint
    assert seen is not None
    assert seen.medium == medium
    assert {one.name for one in found.series} == {"checkpoints", "restarts"}
