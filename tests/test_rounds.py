"""Interleaved arrays hold whole rounds for each thread, by default sizes and pages."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synthetic import node
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.kinds.plan import Spec
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import UserError
from tierscope.model.path import ONE_WAY, Limit, Traffic
from tierscope.model.spec import NodeShare, Placement
from tierscope.model.topology import Topology
from tierscope.plans import machine as machine_of
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.plans.rounds import Arrays, sizes_and_pages

MIB = 1 << 20
GIB = 1 << 30
ALL = "cpus:0-15"
WEIGHTED = "node:0,2@20:1"


class Rated(MachinePaths):
    """Paths of a machine on which every path has the same known rate."""

    def limit(self, _initiator: str, _target: str, _traffic: Traffic = ONE_WAY) -> Limit | None:
        return Limit(value=1e9, unit="B/s", link="a link", formula="a test's", source="a test")


def ask(machine: Topology, kind: str = "bandwidth", **options: str) -> list[Spec]:
    named = {name.rstrip("_").replace("_", "-"): value for name, value in options.items()}
    return expand([Request(kind=kind, options=named)], machine, thp=True).measurements


def sizes_of(specs: list[Spec]) -> set[tuple[int, str]]:
    return {(region.array_bytes, region.pages) for spec in specs for region in spec.regions()}


def test_a_default_array_is_as_many_rounds_as_there_are_threads(machine: Topology) -> None:
    assert sizes_of(ask(machine, from_=ALL, to=WEIGHTED)) == {(16 * 21 * 2 * MIB, "thp")}


def test_a_sweep_over_threads_has_one_size(machine: Topology) -> None:
    specs = ask(machine, from_=ALL, to=WEIGHTED, threads="1..all")
    assert sizes_of(specs) == {(16 * 21 * 2 * MIB, "thp")}


def test_base_pages_where_the_nodes_have_no_room_for_that(machine: Topology) -> None:
    small = [node(2, [], 1 * GIB) if entry.number == 2 else entry for entry in machine.nodes]
    tight = machine.model_copy(update={"nodes": small})
    ((size, pages),) = sizes_of(ask(tight, from_=ALL, to=WEIGHTED))
    assert pages == "base"
    assert 16 * 21 * 4096 <= size <= GIB // 2 // 3


def test_base_pages_where_the_size_is_given(machine: Topology) -> None:
    specs = ask(machine, from_=ALL, to=WEIGHTED, size="256m")
    assert sizes_of(specs) == {(256 * MIB, "base")}


def test_what_is_asked_for_stays(machine: Topology) -> None:
    specs = ask(machine, from_=ALL, to=WEIGHTED, size="256m", pages="thp")
    assert sizes_of(specs) == {(256 * MIB, "thp")}  # The engine refuses it.


def test_one_thread_needs_one_round(machine: Topology) -> None:
    assert sizes_of(ask(machine, "latency", to=WEIGHTED)) == {(256 * MIB, "thp")}
    assert sizes_of(ask(machine, "latency", to=WEIGHTED, size="16m")) == {(16 * MIB, "base")}


def test_threads_that_share_the_arrays_need_one_round(machine: Topology) -> None:
    specs = ask(machine, from_=ALL, to=WEIGHTED, size="256m", sharing="shared")
    assert sizes_of(specs) == {(256 * MIB, "thp")}


def test_other_placements_keep_their_defaults(machine: Topology) -> None:
    for target, policy in (("node:0", "bind"), ("node:0,2@20:1", "partition")):
        specs = ask(machine, from_=ALL, to=target, policy=policy)
        assert sizes_of(specs) == {(256 * MIB, "thp")}


@pytest.mark.parametrize("kind", ["traffic", "atomics"])
def test_other_kinds_with_threads_do_so_too(machine: Topology, kind: str) -> None:
    assert sizes_of(ask(machine, kind, from_=ALL, to=WEIGHTED)) == {(16 * 21 * 2 * MIB, "thp")}


def test_the_load_of_a_chase_has_its_own_threads(machine: Topology) -> None:
    specs = ask(machine, "loaded-latency", from_=ALL, to="node:0", load_to=WEIGHTED)
    for spec in specs:
        assert isinstance(spec, LoadedLatencySpec)
        chase, load = spec.regions()
        assert chase.array_bytes == 256 * MIB
        assert load.array_bytes == len(spec.load.cpus) * 21 * 2 * MIB
    mixed = ask(
        machine, "loaded-latency", from_=ALL, to="node:0", load_to=WEIGHTED, load_size="64m"
    )
    assert {pages for _, pages in sizes_of(mixed)} == {"base"}


weights = st.lists(st.integers(1, 255), min_size=1, max_size=3)


@given(weights, st.integers(1, 256), st.sampled_from([64, 192, 4096, 1 << 20]), st.booleans())
def test_every_share_holds_a_round(taken: list[int], threads: int, access: int, thp: bool) -> None:
    from_file = Topology.model_validate(
        {"host": "", "source": "a file", "cpu_model": "", "architecture": "", "packages": [],
         "cpus": [0], "siblings": [[0]], "caches": [], "base_page_bytes": 4096,
         "thp_page_bytes": 2 * MIB, "nodes": [node(n, [], 1 << 50) for n in range(3)]}
    )  # fmt: skip
    placement = Placement(
        policy="weighted", nodes=[NodeShare(node=n, weight=w) for n, w in enumerate(taken)]
    )
    arrays = Arrays(placement, default=256 * MIB, shares=threads, access_size=access)
    request = Request(kind="bandwidth", options={})
    assume(placement.round_pages > 1)  # One page has no rounds.
    for size in sizes_and_pages(request, from_file, thp, arrays)[0]:
        page = machine_of.page_bytes(from_file, "thp" if thp else "base")
        assert size // (sum(taken) * page) >= threads


def test_sharing_is_part_of_what_is_compared_only_where_it_was_asked_for(
    machine: Topology,
) -> None:
    usual, shared = ask(machine, sharing="partitioned,shared")
    assert "sharing" not in usual.identity()
    assert shared.identity() == {**usual.identity(), "sharing": "shared"}
    assert "shared" in shared.id
    older = usual.model_dump()
    del older["pattern"]["sharing"]
    assert BandwidthSpec.model_validate(older) == usual


def test_no_link_bounds_what_threads_may_find_in_each_other_s_caches(machine: Topology) -> None:
    usual, shared = ask(machine, sharing="partitioned,shared")
    assert usual.limit(Rated(machine)) is not None
    assert shared.limit(Rated(machine)) is None


def test_updates_of_shared_arrays_are_refused(machine: Topology) -> None:
    with pytest.raises(UserError, match="--sharing: 'shared': shared does not go with rmw"):
        ask(machine, op="read,rmw", sharing="shared")
