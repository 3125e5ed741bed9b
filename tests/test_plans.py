import re

import pytest

from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.plan import Plan
from tierscope.kinds.traffic.spec import TrafficSpec
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import UserError
from tierscope.model.path import ONE_WAY, Limit, Traffic
from tierscope.model.threads import Threads
from tierscope.model.topology import Cache, Topology
from tierscope.plans.expand import expand
from tierscope.plans.fit import check_memory, fit_time, longest_seconds
from tierscope.plans.machine import default_size
from tierscope.plans.pinning import one_per_core_first
from tierscope.plans.request import Request
from tierscope.suites.registry import SUITES
from tierscope.suites.suite import Prepared

GIB = 1 << 30


def ask(machine: Topology, kind: str = "bandwidth", **options: str) -> Plan:
    named = {name.rstrip("_").replace("_", "-"): value for name, value in options.items()}
    request = Request.model_validate({"kind": kind, "options": named})
    return expand([request], machine, thp=True)


def prepared(name: str, machine: Topology) -> Prepared:
    return SUITES[name].prepare(machine, thp=True)


class Rated(MachinePaths):
    """Paths of a machine on which every path has the same known rate."""

    def limit(self, _initiator: str, _target: str, _traffic: Traffic = ONE_WAY) -> Limit | None:
        return Limit(value=1e9, unit="B/s", link="a link", formula="a test's", source="a test")


def test_options_multiply(machine: Topology) -> None:
    plan = ask(machine, op="read,copy", threads="1..3", access_size="64,4k", order="random")
    assert len(plan.measurements) == 2 * 3 * 2
    assert len({spec.id for spec in plan.measurements}) == 12


def test_a_range_of_weights_is_a_sweep_of_ratios(machine: Topology) -> None:
    plan = ask(machine, to="node:0@1..3,1", op="read")
    assert [spec.target for spec in plan.measurements] == [
        f"node:0,1@{weight}:1" for weight in (1, 2, 3)
    ]


def test_threads_take_one_cpu_of_each_core_first() -> None:
    assert one_per_core_first([0, 1, 2, 3], [[0, 2], [1, 3]]) == [0, 1, 2, 3]
    assert one_per_core_first([0, 1, 2, 3], [[0, 1], [2, 3]]) == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("pin", "cpus"),
    [
        ("cores", [0, 1, 2, 3, 4, 5]),
        ("one-a-core", [0, 1, 2, 3, 4, 5]),
        ("compact", [0, 8, 1, 9, 2, 10]),
        ("spread", [0, 4, 1, 5, 2, 6]),
    ],
)
def test_threads_are_pinned_as_asked(machine: Topology, pin: str, cpus: list[int]) -> None:
    (spec,) = ask(machine, from_="cpus:0-15", to="node:0", threads="6", pin=pin).measurements
    assert isinstance(spec, BandwidthSpec)
    assert spec.cpus == cpus
    assert pin in spec.id


def test_one_a_core_leaves_siblings_out(machine: Topology) -> None:
    (spec,) = ask(machine, from_="cpus:0-15", to="node:0", pin="one-a-core").measurements
    assert isinstance(spec, BandwidthSpec)
    assert spec.cpus == [0, 1, 2, 3, 4, 5, 6, 7]


def test_a_node_s_threads_stay_on_the_node(machine: Topology) -> None:
    (spec,) = ask(machine, from_="node:1", to="node:0", threads="5").measurements
    assert isinstance(spec, BandwidthSpec)
    assert spec.cpus == [4, 5, 6, 7, 12]
    assert [share.node for share in spec.placement.nodes] == [0]


def test_defaults_are_the_first_node_with_cpus_and_its_own_memory(machine: Topology) -> None:
    (spec,) = ask(machine).measurements
    assert (spec.initiator, spec.target) == ("node:0", "node:0")
    assert spec.identity()["pages"] == "thp"


def test_without_thp_the_default_is_base_pages(machine: Topology) -> None:
    plan = expand([Request(kind="latency", options={})], machine, thp=False)
    assert plan.measurements[0].identity()["pages"] == "base"


def test_all_nodes_are_those_that_can_play_the_part(machine: Topology) -> None:
    plan = ask(machine, "latency", from_="node:*", to="node:*", size="1m")
    pairs = [(spec.initiator, spec.target) for spec in plan.measurements]
    assert pairs == [(f"node:{i}", f"node:{t}") for i in (0, 1) for t in (0, 1, 2)]


def test_weights_make_a_weighted_placement(machine: Topology) -> None:
    (spec,) = ask(machine, to="node:0,2@3:1", size="64m").measurements
    assert spec.identity()["policy"] == "weighted"
    assert spec.regions()[0].bytes_by_node() == {0: 48 << 20, 2: 16 << 20}


def test_several_nodes_without_weights_interleave(machine: Topology) -> None:
    (spec,) = ask(machine, to="node:0,1", size="64m").measurements
    assert spec.identity()["policy"] == "interleave"


def test_a_stride_multiplies_only_the_strided_order(machine: Topology) -> None:
    plan = ask(machine, order="sequential,strided", stride="4k,8k")
    patterns = [(s.identity()["order"], s.identity().get("stride")) for s in plan.measurements]
    assert sorted(patterns, key=str) == [
        ("sequential", None),
        ("strided", 4096),
        ("strided", 8192),
    ]


def test_the_same_measurement_twice_gets_two_ids(machine: Topology) -> None:
    request = Request(kind="latency", options={"size": "1m"})
    plan = expand([request, request], machine, thp=True)
    assert len({spec.id for spec in plan.measurements}) == 2


def test_ids_are_the_same_whatever_else_is_in_the_plan(machine: Topology) -> None:
    alone = ask(machine, op="copy", size="1m").measurements[0].id
    among = [spec.id for spec in ask(machine, op="read,copy,triad", size="1m").measurements]
    assert alone in among


def test_a_long_endpoint_still_gives_a_valid_id(machine: Topology) -> None:
    plan = ask(machine, from_="cpus:0,2,4,6,8,10,12,14", op="read,write", size="1m", pages="2m")
    ids = [spec.id for spec in plan.measurements]
    assert len(set(ids)) == 2
    assert all(len(identity) <= 64 for identity in ids)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"to": "node:7"}, "--to: .*there is no node 7.*nodes are 0-3"),
        ({"to": "node:3"}, "--to: .*node 3 has no memory online; nodes with memory: 0-2"),
        ({"from_": "node:2"}, "--from: .*node 2 has no CPUs; nodes with CPUs: 0-1"),
        ({"from_": "cpus:99"}, "--from: .*CPU 99 is not online"),
        ({"from_": "gpu:0"}, "--from: 'gpu:0' is a GPU; bandwidth accepts initiators of the forms"),
        ({"from_": "file:/x"}, "--from: 'file:/x' is a file and issues no accesses; "),
        ({"to": "file:/x"}, "--to: 'file:/x' is a file; bandwidth accepts targets of the form"),
        ({"to": "cpus:0"}, "--to: 'cpus:0' is a set of CPUs and holds no data; "),
        ({"from_": "node:0@3"}, "--from: 'node:0@3' has weights, which only targets take"),
        ({"opp": "read"}, "--opp: bandwidth has no such option; did you mean 'op'"),
        ({"threads": "9"}, "--threads: 9 threads, but node:0 has 8 usable CPUs"),
        ({"threads": "0"}, "--threads: 0 is too few"),
        ({"op": "reed"}, "--op: 'reed' .*did you mean 'read'"),
        ({"order": "strided"}, "--order: .*needs a stride"),
        ({"stride": "4k"}, "--stride: goes with order strided"),
        (
            {"op": "read,memset", "order": "random"},
            "--op: '.*memset': memset and memcpy go in order sequential only",
        ),
        (
            {"op": "memset,memcpy", "isa": "auto,avx2"},
            "--op: 'memset,memcpy': memset and memcpy go with isa auto: the C library chooses",
        ),
        ({"order": "strided", "stride": "100"}, "--stride: '100': .*multiple of 64"),
        ({"size": "100"}, "--size: '100': .*multiple of 64"),
        ({"size": "64"}, "--size: '64': .*fewer accesses than there are threads"),
        ({"to": "node:0,1", "policy": "bind"}, "--policy: .*exactly one node"),
        ({"to": "node:0,1@2:1", "policy": "interleave"}, "--policy: .*weights"),
        ({"precision": "90%"}, "--precision: .*out of range"),
        ({"precision": "1"}, "--precision: .*did you mean '1%'"),
        ({"to": "0"}, "--to: .*forms node:0, pmem.*, node:0,2@3:1; did you mean 'node:0'"),
        ({"to": "node:0,1@0..2:1"}, "--to: 0 is too few"),
        ({"to": "node:0,1@250..256:1"}, "--to: .*one weight from 1 to 255"),
        ({"budget": "soon"}, "--budget: 'soon' is not a time such as 10s"),
        (
            {"to": "node:0,1", "policy": "partition", "mechanism": "kernel"},
            "--policy: .*user space",
        ),
    ],
)
def test_what_the_machine_or_the_grammar_refuses(
    machine: Topology, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        ask(machine, **options)


def test_a_cpu_outside_the_cgroup_is_told_from_one_that_does_not_exist(machine: Topology) -> None:
    confined = machine.model_copy(update={"cpus": [0, 1]})
    with pytest.raises(UserError, match="CPU 5 is outside the CPUs that this process may use, 0-1"):
        ask(confined, from_="cpus:5")


def test_a_node_without_usable_cpus_says_so(machine: Topology) -> None:
    confined = machine.model_copy(update={"cpus": [0, 1]})
    with pytest.raises(UserError, match="none of node 1's CPUs"):
        ask(confined, from_="node:1")


def test_4k_pages_are_refused_where_the_base_page_is_larger(machine: Topology) -> None:
    arm = machine.model_copy(update={"base_page_bytes": 65536})
    with pytest.raises(UserError, match="base page is 64k"):
        ask(arm, pages="4k")


def test_memory_is_counted_over_all_arrays(machine: Topology) -> None:
    specs = ask(machine, op="read,copy,triad", size="1g").measurements
    assert [spec.host_bytes() for spec in specs] == [GIB, 2 * GIB, 3 * GIB]


def test_a_region_larger_than_its_node_is_refused_with_the_numbers(machine: Topology) -> None:
    plan = ask(machine, to="node:2", op="triad", size="3g")
    with pytest.raises(UserError, match=r"needs 9 GiB on node 2, which can give 7.875 GiB"):
        check_memory(plan, machine)


def test_a_region_larger_than_the_cgroup_allows_is_refused(machine: Topology) -> None:
    plan = ask(machine, size="2g")
    with pytest.raises(UserError, match=r"memory limit leaves 1 GiB"):
        check_memory(plan, machine.model_copy(update={"memory_left_bytes": GIB}))


def test_what_fits_is_let_through(machine: Topology) -> None:
    limited = machine.model_copy(update={"memory_left_bytes": 4 * GIB})
    check_memory(ask(machine, op="triad", size="1g"), limited)


def test_fit_time_shrinks_budgets_to_the_time_given(machine: Topology) -> None:
    plan = ask(machine, op="read,write,copy", threads="1..8", size="64m", budget="10")
    fitted = fit_time(plan, 20)
    assert sum(longest_seconds(fitted.measurements)) == pytest.approx(20, rel=0.01)
    assert {s.sampling.budget_s for s in fitted.measurements} != {10.0}


def test_fit_time_leaves_a_plan_that_fits_alone(machine: Topology) -> None:
    plan = ask(machine, size="64m", budget="1")
    assert fit_time(plan, 60) is plan


def test_fit_time_refuses_what_cannot_be_done_in_time(machine: Topology) -> None:
    plan = ask(machine, threads="1..8", size="1g")
    with pytest.raises(UserError, match="8 measurements need at least") as refusal:
        fit_time(plan, 1)
    (seconds,) = re.findall(r"at least (\d+) s, not 1 s", str(refusal.value))
    assert fit_time(plan, int(seconds)).measurements


def test_fit_time_can_do_what_is_possible_instead(machine: Topology) -> None:
    fitted = fit_time(ask(machine, threads="1..8", size="1g"), 1, strictly=False)
    assert {spec.sampling.budget_s for spec in fitted.measurements} == {0.05}


def test_quick_fits_a_minute_and_this_machine(machine: Topology) -> None:
    profile = prepared("quick", machine)
    assert profile.seconds is not None
    plan = fit_time(profile.plan, profile.seconds)
    check_memory(plan, machine)
    assert sum(longest_seconds(plan.measurements)) < 60


@pytest.mark.parametrize(("size", "held"), [("10m", True), ("11m", False)])
def test_a_working_set_that_the_caches_can_hold_has_no_limit(
    machine: Topology, size: str, held: bool
) -> None:
    options = {"op": "triad", "from": "node:0", "to": "node:0", "threads": "1", "size": size}
    plan = expand([Request(kind="bandwidth", options=options)], machine, True)
    (spec,) = plan.measurements
    assert spec.fits_caches(machine.caches) == held
    assert (spec.limit(Rated(machine)) is None) == held


@pytest.mark.parametrize("name", ["quick", "standard", "full"])
def test_a_profile_covers_every_pair_of_cpus_and_memory(machine: Topology, name: str) -> None:
    plan = prepared(name, machine).plan
    for kind in ("bandwidth", "latency"):
        pairs = {(s.initiator, s.target) for s in plan.measurements if s.kind == kind}
        assert pairs == {(f"node:{i}", f"node:{t}") for i in (0, 1) for t in (0, 1, 2)}


@pytest.mark.parametrize("name", ["standard", "full"])
def test_longer_profiles_measure_every_kind_on_each_kind_of_memory(
    machine: Topology, name: str
) -> None:
    plan = prepared(name, machine).plan
    for kind in ("loaded-latency", "traffic", "atomics", "mapping"):
        targets = {s.target for s in plan.measurements if s.kind == kind}
        assert {"node:0", "node:2"} <= targets
    together = [s for s in plan.measurements if isinstance(s, TrafficSpec) and s.beside]
    assert {(s.target, s.beside[0].target) for s in together} == {("node:1", "node:2")}


def test_a_profile_loads_no_memory_where_the_only_cpu_chases(machine: Topology) -> None:
    single = machine.model_copy(update={"cpus": [0]})
    plan = prepared("full", single).plan
    assert "loaded-latency" not in {spec.kind for spec in plan.measurements}
    assert "mapping" in {spec.kind for spec in plan.measurements}


def test_an_emulated_machine_gets_small_working_sets(machine: Topology) -> None:
    emulated = machine.model_copy(update={"emulated": True})
    plan = prepared("quick", emulated).plan
    assert max(spec.host_bytes() for spec in plan.measurements) <= 8 << 20


def test_the_default_size_is_four_times_the_last_level_caches(machine: Topology) -> None:
    caches = [Cache(level=3, type="unified", size_bytes=96 << 20, cpus=[cpu]) for cpu in range(4)]
    bare = machine.model_copy(update={"caches": caches})
    size = default_size(bare, [0, 1, 2], [0], 3)
    assert 4 * 3 * (96 << 20) <= size <= 4 * GIB


def test_a_virtual_machine_s_word_for_its_caches_is_not_taken(machine: Topology) -> None:
    caches = [Cache(level=3, type="unified", size_bytes=4 * GIB, cpus=[0])]
    virtual = machine.model_copy(update={"caches": caches, "virtual": "kvm"})
    assert default_size(virtual, [0], [0], 3) == GIB


def test_the_default_size_leaves_half_of_a_cgroup_s_memory(machine: Topology) -> None:
    limited = machine.model_copy(update={"memory_left_bytes": 600 << 20})
    assert default_size(limited, [0], [0], 1) == 256 << 20


def test_the_default_size_leaves_half_of_a_small_node_free(machine: Topology) -> None:
    assert 3 * default_size(machine, list(range(16)), [2], 3) <= 4 * GIB


def test_arrays_that_the_engine_keeps_are_set_up_once(machine: Topology) -> None:
    plan = ask(machine, op="read", threads="4,8", size="4g", budget="1")
    first, second = longest_seconds(plan.measurements)
    assert second < first


@pytest.mark.parametrize("kind", ["bandwidth", "chain"])
def test_threads_may_run_on_any_cpu_of_their_node(machine: Topology, kind: str) -> None:
    asked = Request(kind=kind, options={"from": "node:1", "threads": "1,3", "pin": "any"})
    for spec, count in zip(expand([asked], machine, thp=True).measurements, (1, 3), strict=True):
        assert isinstance(spec, Threads)
        cpus = [4, 5, 6, 7, 12, 13, 14, 15]
        assert (spec.cpus, spec.cpu_sets) == (cpus, [cpus] * count)
        assert spec.identity()["cpu_sets"] == "4-7,12-15"


def test_kinds_whose_threads_have_a_cpu_each_refuse_any(machine: Topology) -> None:
    asked = Request(kind="atomics", options={"pin": "any"})
    with pytest.raises(UserError, match="'any' is not one of cores"):
        expand([asked], machine, thp=True)
