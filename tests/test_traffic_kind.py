"""Streams, atomics and mapping: from options to specs, and what is refused."""

import json

import pytest
from pydantic import ValidationError

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.kinds.traffic.spec import TrafficSpec
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request


def ask(machine: Topology, kind: str, **options: str) -> Plan:
    named = {name.rstrip("_").replace("_", "-"): value for name, value in options.items()}
    request = Request.model_validate({"kind": kind, "options": named})
    return expand([request], machine, thp=True)


def traffic(machine: Topology, **options: str) -> list[TrafficSpec]:
    plan = ask(machine, "traffic", **options)
    return [spec for spec in plan.measurements if isinstance(spec, TrafficSpec)]


def test_options_multiply_and_ids_differ(machine: Topology) -> None:
    specs = traffic(machine, mix="100:0,0:100nt", order="random,zipf", zipf_alpha="0.5,1.2")
    assert len(specs) == 2 * 3  # random has no alpha
    assert len({spec.id for spec in specs}) == 6


def test_two_streams_share_the_cpus_of_one_node(machine: Topology) -> None:
    (spec,) = traffic(machine, beside="name=writer mix=0:100nt")
    (writer,) = spec.beside
    assert (writer.name, writer.pattern.writes, writer.pattern.stores) == ("writer", 100, "nt")
    assert len(spec.cpus) == len(writer.cpus) == 4
    assert not set(spec.cpus) & set(writer.cpus)
    assert spec.thread_cpus() == [*spec.cpus, *writer.cpus]


def test_a_stream_beside_may_have_another_initiator_and_target(machine: Topology) -> None:
    (spec,) = traffic(machine, to="node:0", beside="from=node:1 to=node:2 threads=3")
    (other,) = spec.beside
    assert len(spec.cpus) == 8
    assert other.cpus == [4, 5, 6]
    assert [region.placement.nodes[0].node for region in spec.regions()] == [0, 2]


def test_three_streams_have_each_their_own_cpus(machine: Topology) -> None:
    (spec,) = traffic(machine, beside="mix=0:100; mix=50:50")
    cpus = spec.thread_cpus()
    assert len(cpus) == len(set(cpus)) == 8
    assert len(spec.cpus) == 4  # what cannot be divided
    assert [stream.name for stream in spec.beside] == ["stream2", "stream3"]


def test_the_identity_names_the_concurrent_streams(machine: Topology) -> None:
    (spec,) = traffic(machine, mix="67:33clwb", beside="name=reader to=node:2 threads=2")
    assert spec.identity()["mix"] == "67:33clwb"
    assert spec.identity()["beside"] == "reader: node:0 → node:2, 100:0 by 2, sequential"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beside": "mix"}, "--beside: 'mix' is not KEY=VALUE with one of name, from, to, mix"),
        ({"beside": "mixx=1"}, "did you mean 'mix'?"),
        ({"beside": "mix=1-2"}, "--beside: '1-2' is not reads:writes"),
        ({"beside": "mix=0:100 mix=100:0"}, "gives mix twice"),
        ({"beside": "threads=5"}, "--beside: 5 threads, but its share of node:0 is 4 CPUs"),
        ({"from_": "cpus:0", "beside": "mix=0:100"}, "2 streams are to share 1 CPU; name others"),
        ({"beside": "from=cpus:0-1"}, "streams overlap in some of their CPUs"),
        ({"beside": "to=gpu:0"}, "--beside: 'gpu:0' is a GPU; a stream accepts targets of"),
        ({"prefetch": "256", "order": "random"}, "--prefetch: '256': goes with order sequential"),
        ({"zipf_alpha": "0.9"}, "--zipf-alpha: goes with order zipf"),
        ({"zipf_alpha": "0", "order": "zipf"}, "--zipf-alpha: '0' is out of range"),
        ({"mix": "100:0clwb"}, "--mix: '100:0clwb': without writes, none can be clwb"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    machine: Topology, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        traffic(machine, **options)
    assert message in str(refused.value)


def test_shared_counters_lie_in_one_line_unless_told(machine: Topology) -> None:
    plan = ask(machine, "atomics", shared="no,yes", threads="2")
    sizes = {spec.identity()["shared"]: spec.identity()["size"] for spec in plan.measurements}
    assert sizes[True] == 64
    assert sizes[False] > 1 << 20


def test_a_mapping_goes_by_the_huge_pages_that_the_kernel_has(machine: Topology) -> None:
    """An Arm kernel with base pages of 64 KiB has huge ones of 512 MiB."""
    arm = machine.model_copy(update={"base_page_bytes": 64 << 10, "thp_page_bytes": 512 << 20})
    (spec,) = ask(arm, "mapping", pages="thp").measurements
    assert spec.identity()["size"] == 512 << 20
    with pytest.raises(UserError, match="--size: 64m is not a whole number of thp pages"):
        ask(arm, "mapping", size="64m", pages="thp")


def test_a_mapping_is_whole_pages(machine: Topology) -> None:
    with pytest.raises(UserError, match="--size: 3m is not a whole number of thp pages"):
        ask(machine, "mapping", size="3m", pages="thp")
    with pytest.raises(UserError, match="--policy: 'preferred': a mapping is placed by bind or"):
        ask(machine, "mapping", policy="preferred")


@pytest.mark.parametrize(
    "change",
    [
        {"cpus": [0, 0]},
        {"pattern": {"size": 64, "access_size": 512}},
        {"pattern": {"size": 1 << 20, "prefetch": 64, "order": "zipf"}},
        {"pattern": {"size": 1 << 20, "prefetch": 100}},
        {"pattern": {"size": 1 << 20, "zipf_alpha": 0.0}},
        {"pattern": {"size": 1 << 20, "writes": 101}},
        {"beside": [{"name": "main"}]},
        {"beside": [{"name": "other", "cpus": [0]}]},
    ],
)
def test_the_door_refuses_what_the_engine_would(change: dict[str, object]) -> None:
    stream: dict[str, object] = {
        "initiator": "node:0",
        "target": "node:0",
        "cpus": [1],
        "placement": {"policy": "bind", "nodes": [{"node": 0}]},
        "pattern": {"size": 1 << 20},
    }
    spec = {"id": "s", "kind": "traffic", **stream, "cpus": [0], **change}
    beside = change.get("beside")
    if isinstance(beside, list):
        spec["beside"] = [{**stream, **entry} for entry in beside]
    text = json.dumps({"version": PLAN_VERSION, "measurements": [spec]})
    with pytest.raises(ValidationError):
        Plan.model_validate_json(text)
