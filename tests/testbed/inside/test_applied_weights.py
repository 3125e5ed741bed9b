"""The kernel's interleave weights: applied, read back, seen in where pages go, restored."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from measured import THREADS, Measured, spec

from tierscope.engine.process import find_engine
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.event import EventAdapter, Repetition
from tierscope.model.spec import NodeShare, Placement, Sampling
from tierscope.place.weights import apply, read_table, revert

pytestmark = pytest.mark.testbed

FOLDER = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
WEIGHTS = {0: 5, 2: 3, 4: 2}


def contents() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(FOLDER.iterdir())}


def placed(placement: Placement) -> dict[int, int]:
    """Pages by node of an array that the engine places, by its own account (move_pages)."""
    short = spec(placement).model_copy(update={"sampling": Sampling(budget_s=0.1)})
    plan = Plan(version=PLAN_VERSION, measurements=[short])
    done = subprocess.run(
        [find_engine(), "run"], input=plan.model_dump_json().encode(), stdout=subprocess.PIPE
    )
    events = map(EventAdapter.validate_json, done.stdout.splitlines())
    (repetition,) = [event for event in events if isinstance(event, Repetition)]
    return Measured(repetition).evidence


@pytest.fixture
def before() -> Iterator[dict[str, str]]:
    """What the kernel has, which has to be there again at the end."""
    found = contents()
    yield found
    revert()
    assert contents() == found


def test_applied_weights_decide_where_pages_go_and_are_reverted(before: dict[str, str]) -> None:
    done = apply(WEIGHTS)
    assert done.before.weights == {int(node[4:]): int(text) for node, text in before.items()}
    assert done.after == read_table()
    assert [contents()[f"node{node}"] for node in WEIGHTS] == ["5\n", "3\n", "2\n"]
    nodes = [NodeShare(node=node, weight=weight) for node, weight in WEIGHTS.items()]
    pages = placed(Placement(policy="weighted", nodes=nodes, mechanism="kernel"))
    assert set(pages) == set(WEIGHTS)
    for node, weight in WEIGHTS.items():
        expected = sum(pages.values()) * weight / sum(WEIGHTS.values())
        assert abs(pages[node] - expected) <= weight * THREADS, pages
    reverted = revert()
    assert reverted is not None
    assert reverted[1] == []
    assert contents() == before


def test_what_a_killed_process_wrote_is_reverted(before: dict[str, str]) -> None:
    child = os.fork()
    if child == 0:
        try:
            apply(WEIGHTS)
            time.sleep(600)
        finally:
            os._exit(1)
    while contents() == before:
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert contents() != before
    assert revert() is not None
    assert contents() == before
