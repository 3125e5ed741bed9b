"""The study of coherent GPUs, with CPU-less nodes in the GPU's place: pages are where it says."""

import subprocess

import pytest

from tierscope.engine.process import find_engine
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.machine.discover import discover
from tierscope.model.event import Event, EventAdapter, Repetition, Skipped
from tierscope.model.spec import Placement, Sampling
from tierscope.suites.registry import SUITES

pytestmark = pytest.mark.testbed


@pytest.fixture(scope="module")
def reduced() -> list[Spec]:
    """Of the whole plan one measurement for each kind and placement, with the fewest threads."""
    prepared = SUITES["coherent-gpu"].prepare(discover(), thp=True)
    assert any("stands in for it" in note for note in prepared.notes)
    chosen: dict[tuple[object, ...], Spec] = {}
    for spec in prepared.plan.measurements:
        if getattr(spec.pattern, "pages", "base") not in ("base", "thp"):
            continue
        policy = spec.regions()[0].placement.policy if spec.regions() else ""
        key = (spec.kind, spec.initiator, spec.target, policy)
        known = chosen.get(key)
        if known is None or len(spec.thread_cpus()) < len(known.thread_cpus()):
            chosen[key] = spec
    brief = Sampling(budget_s=0.05)
    return [spec.model_copy(update={"sampling": brief}) for spec in chosen.values()]


@pytest.fixture(scope="module")
def outcomes(reduced: list[Spec]) -> dict[str, Event]:
    plan = Plan(version=PLAN_VERSION, measurements=reduced)
    done = subprocess.run(
        [find_engine(), "run"],
        input=plan.model_dump_json().encode(),
        stdout=subprocess.PIPE,
        check=False,
    )
    events = map(EventAdapter.validate_json, done.stdout.splitlines())
    found = {event.id: event for event in events if isinstance(event, Repetition | Skipped)}
    assert set(found) == {spec.id for spec in reduced}
    return found


def test_every_placement_of_the_study_is_proven_by_pages(
    reduced: list[Spec], outcomes: dict[str, Event]
) -> None:
    seen = set()
    for spec in reduced:
        outcome = outcomes[spec.id]
        if spec.kind.startswith("gpu-"):
            assert isinstance(outcome, Skipped), spec.id
            assert outcome.reason
            continue
        assert isinstance(outcome, Repetition), outcome
        pages = outcome.evidence.pages
        assert pages, spec.id
        placements = [region.placement for region in spec.regions()]
        seen.add((spec.kind, placements[0].policy))
        apart = outcome.evidence.arrays
        for placement, found in zip(placements, apart.values() if apart else [pages], strict=False):
            assert_shares(spec.id, placement, {int(node): n for node, n in found.items()})
    assert {("bandwidth", "bind"), ("bandwidth", "partition"), ("bandwidth", "weighted"),
            ("loaded-latency", "bind"), ("latency", "bind"), ("chain", "bind"),
            ("ops", "bind")} <= seen  # fmt: skip


def assert_shares(name: str, placement: Placement, pages: dict[int, int]) -> None:
    """Each node has its share; rounds and partitions end within a few pages."""
    whole = sum(share.weight for share in placement.nodes)
    total = sum(pages.values())
    assert set(pages) <= {share.node for share in placement.nodes}, name
    for share in placement.nodes:
        expected = total * share.weight / whole
        assert abs(pages.get(share.node, 0) - expected) <= share.weight + 2, (name, pages)
