"""Chains: their grammar, what is planned, what is measured, and how it is shown."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.console import Console
from tests import synthetic
from tests.forked import tierscope

from tierscope.kinds.chain.spec import (
    EACH,
    LARGEST,
    PRESETS,
    ChainPattern,
    Operation,
    format_chain,
    lines_moved,
    parse_chains,
    reach,
)
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.histogram import bucket_of
from tierscope.model.path import ONE_WAY, Limit, Traffic
from tierscope.model.run import Measurement, MergedDistribution, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.run import show_run

# The grammar

_CACHES = st.sampled_from(["none", "write-back", "flush", "flush-opt", "non-temporal"])
_FENCES = st.sampled_from(["none", "stores", "all"])
_READS = st.builds(
    Operation,
    access=st.just("read"),
    size=st.integers(4, 16).map(lambda power: 1 << power),
    region=st.integers(0, 1),
    cache=_CACHES,
    fence=_FENCES,
)
_ATOMICS = st.builds(
    Operation,
    access=st.sampled_from(["compare-and-swap", "fetch-and-add"]),
    size=st.just(8),
    region=st.integers(0, 1),
    fence=_FENCES,
)
_WRITES = st.builds(
    Operation,
    access=st.just("write"),
    size=st.integers(3, 16).map(lambda power: 1 << power),
    cache=_CACHES,
    fence=_FENCES,
    offset=st.integers(-99, 99).map(lambda lines: 64 * lines),
)
_CHAINS = st.builds(
    lambda first, others: (first, *others),
    _READS | _ATOMICS,
    st.lists(_READS | _ATOMICS | _WRITES, max_size=5),
)


@given(_CHAINS)
def test_a_chain_comes_back_from_its_text(chain: tuple[Operation, ...]) -> None:
    assert parse_chains(format_chain(chain)) == [chain]


@given(st.text(alphabet="mrwcasfnohetidk_0123456789+-, ", max_size=40) | st.text(max_size=20))
def test_any_text_is_a_chain_or_an_error_of_one_line_that_names_the_place(text: str) -> None:
    chains: list[tuple[Operation, ...]] = []
    said = ""
    try:
        chains = parse_chains(text)
    except UserError as error:
        said = str(error)
    assert bool(chains) != (", character " in said)
    assert "\n" not in said
    for chain in chains:
        assert parse_chains(format_chain(chain)) == [chain]


def test_offsets_are_written_with_and_without_a_sign() -> None:
    assert parse_chains("r_64,w_64_none_512") == parse_chains("r_64,w_64_none_+512")
    (chain,) = parse_chains("r_64, w_64_none_512 ,w_64_none_-512,w_64_none")
    assert [operation.offset for operation in chain] == [0, 512, -512, 0]
    assert format_chain(chain) == "r_64,w_64_none_512,w_64_none_-512,w_64_none"


@pytest.mark.parametrize(
    ("text", "cache"),
    [
        ("none", "none"), ("cache", "write-back"), ("clwb", "write-back"), ("nt", "non-temporal"),
        ("nocache", "non-temporal"), ("stream", "non-temporal"), ("flush-opt", "flush-opt"),
        ("flush", "flush"),
    ],
)  # fmt: skip
def test_every_spelling_of_a_cache_instruction_is_read(text: str, cache: str) -> None:
    ((read, write),) = parse_chains(f"m1_r_4096_{text},w_64_{text}")
    assert (read.cache, read.region, read.size) == (cache, 1, 4096)
    assert (write.cache, write.access) == (cache, "write")


def test_presets_stand_for_chains_by_themselves() -> None:
    assert parse_chains("cas,faa") == [PRESETS["cas"], PRESETS["faa"]]
    assert parse_chains(EACH) == list(PRESETS.values())
    assert [len(chain) for chain in parse_chains("m0_cas,faa")] == [2]
    for chain in PRESETS.values():
        pattern = ChainPattern(operations=list(chain), size=4096)
        assert pattern.linked, "each has something that the next one waits for"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("w_64_none", "character 1, 'w_64_none': a chain begins with a read"),
        ("r_64,w_65_none", "character 6, 'w_65_none': size: is not a power of two"),
        ("r_64, r_131072", "character 7, 'r_131072': size: "),
        ("r_64,w_64", "character 6, 'w_64': a write says what it does with the cache"),
        ("r_64,w_64_catch", "'catch' is none of none, cache"),
        ("r_64,w_64_none_100", "'w_64_none_100': offset: it has to be a multiple of 64"),
        ("r_64_none_64", "character 1, 'r_64_none_64': offset goes with writes"),
        ("m2_r_64", "character 1, 'm2_r_64': m2 is not a region"),
        ("r_64,m1_w_64_none", "which is m0; leave out m1_"),
        ("r_64,,r_64", "character 6, '': is not an operation such as r_64"),
        ("r_64,mfence,sfence", "character 13, 'sfence': there is a fence already"),
        ("sfence", "a fence stands behind an operation"),
        ("r_8_nocache", "non-temporal loads have 16 bytes at least"),
        ("r_64,nt-store", "character 6, 'nt-store': a preset is a whole chain"),
        ("raed", "did you mean 'read'?"),
        (",".join(["r_64"] * 65), "a chain has at most 64 operations"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_chains(text)
    assert says in str(refused.value)


# What operations reach and move


@given(_CHAINS, st.integers(0, 1 << 14))
def test_a_size_is_taken_from_the_reach_on(chain: tuple[Operation, ...], more: int) -> None:
    least = max(reach(chain, 0), reach(chain, 1))
    fields = {"operations": list(chain), "linked": False}
    ChainPattern.model_validate({**fields, "size": -(-(least + 64 * more) // 64) * 64})
    with pytest.raises(ValidationError):
        ChainPattern.model_validate({**fields, "size": (least - 1) // 64 * 64 or 1})


def test_lines_are_counted_once_for_each_address() -> None:
    def moved(text: str) -> tuple[int, int, int]:
        return lines_moved(parse_chains(text)[0], 0)

    assert moved("r_8") == (1, 0, 0)
    assert moved("r_4096") == (64, 0, 0)
    assert moved("r_64,w_64_none,w_8_none") == (1, 0, 1)
    assert moved("r_64,w_64_none_64") == (1, 1, 1)
    assert moved("r_64,w_64_nocache_64") == (1, 0, 1)
    assert moved("r_64,w_32_nocache_64") == (1, 1, 1)
    assert moved("r_64,m1_r_64,w_64_none,cas") == (2, 0, 1)
    assert lines_moved(parse_chains("r_64,m1_r_64,w_64_none,cas")[0], 1) == (1, 0, 1)


# What a request asks for


def planned(machine: Topology, **options: str) -> list[Any]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return expand([Request(kind="chain", options=named)], machine, thp=True).measurements


def test_unasked_one_thread_reads_a_line_after_the_other(machine: Topology) -> None:
    (spec,) = planned(machine)
    assert spec.pattern.chain == "read"
    assert (len(spec.cpus), spec.pattern.linked, spec.pattern.interleave) == (1, True, 1)
    assert spec.headline() == "latency"


def test_each_combination_is_measured_once(machine: Topology) -> None:
    specs = planned(
        machine,
        chain="cas,faa\nr_64,w_64_none",
        linked="yes,no",
        interleave="1,4",
        sample_every="1,16",
        threads="1,2",
        size="1m,2m",
    )
    assert len({spec.id for spec in specs}) == len(specs) == 3 * 2**5
    assert {spec.headline() for spec in specs} == {"latency", "operations"}
    assert {spec.identity()["chain"] for spec in specs} == {"cas", "faa", "r_64,w_64_none"}


def test_m1_is_where_second_to_says(machine: Topology) -> None:
    both, one = planned(machine, chain="r_64,m1_r_64\nr_64", second_to="node:0", size="1m")
    assert both.placement_second == both.placement
    assert both.identity()["second"] == "node:0"
    assert both.host_bytes() == 2 << 20
    assert one.placement_second is None
    assert one.host_bytes() == 1 << 20
    (on_file,) = planned(machine, chain="r_64,m1_r_64", second_to="pmem:/data", size="1m")
    assert on_file.files() == ["/data"]


def test_m1_may_be_of_other_sizes(machine: Topology) -> None:
    specs = planned(
        machine, chain="r_64,m1_r_64\nr_64", second_to="node:0", size="1m", second_size="2m,4m"
    )
    assert [[region.total_bytes >> 20 for region in one.regions()] for one in specs] == [
        [1, 2], [1, 4], [1],
    ]  # fmt: skip
    assert len({one.id for one in specs}) == 3
    assert [one.identity().get("size_second") for one in specs] == [2 << 20, 4 << 20, None]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"chain": "r_64,w_64"}, "--chain: 'r_64,w_64', character 6, "),
        ({"chain": "m1_r_64"}, "--chain: 'm1_r_64' goes to m1: name the second target"),
        ({"second_to": "node:0"}, "--second-to: no chain goes to m1"),
        ({"second_size": "1m"}, "--second-size: no chain goes to m1"),
        (
            {"chain": "m1_r_4096", "second_to": "node:0", "size": "1m", "second_size": "64"},
            "--second-size: '64': is less than the 4096 bytes",
        ),
        ({"chain": "m1_r_64", "second_to": "node:0,pmem:/x"}, "--second-to: m1 is in one place"),
        (
            {"chain": "m1_r_64", "second_to": "dax:/dev/dax0.0"},
            "--second-to: measuring dax:/dev/dax0.0",
        ),
        ({"chain": "r_64,w_64_none_8192", "size": "4k"}, "--size: '4k': is less than"),
        ({"linked": "maybe"}, "--linked: 'maybe' is not one of"),
        ({"interleave": "33"}, "--interleave: 33 is too many; the maximum is 32"),
        ({"sample_every": "0"}, "--sample-every: 0 is too few"),
        ({"backed_by": "battery"}, "--backed-by: goes with pmem: and dax: targets"),
    ],
)
def test_what_cannot_be_asked_for_is_named(
    machine: Topology, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, **options)
    assert str(refused.value).startswith(says), refused.value


class OnePath:
    """A machine whose every path carries 128 GB/s, both directions together."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    def limit(self, _initiator: str, _target: str, traffic: Traffic = ONE_WAY) -> Limit:
        return synthetic.DDR.model_copy(update={"value": 128e9 / traffic.both})


def test_chains_that_overlap_have_the_limit_of_their_lines(machine: Topology) -> None:
    options = {"linked": "no", "size": "8g", "threads": "1"}

    def limit_of(chain: str, **more: str) -> float:
        (spec,) = planned(machine, chain=chain, **{**options, **more})
        found = spec.limit(OnePath(machine))
        assert found.unit == "1/s"
        return float(found.value)

    assert limit_of("r_64") == pytest.approx(128e9 / 64)
    assert limit_of("r_4096") == pytest.approx(128e9 / 4096)
    assert limit_of("r_64,w_64_none") == pytest.approx(128e9 / 128)
    assert limit_of("r_64,w_64_none_64") == pytest.approx(128e9 / 192)
    assert limit_of("r_256,m1_r_64", second_to="node:0") == pytest.approx(128e9 / 256)
    (linked,) = planned(machine, chain="r_64", size="8g")
    (cached,) = planned(machine, chain="r_64", linked="no", size="64k")
    assert linked.limit(OnePath(machine)) is None
    assert cached.limit(OnePath(machine)) is None


# What is measured


def measured(*options: str) -> list[dict[str, Any]]:
    quick = ("--size", "1m", "--pages", "base", "--budget", "0.2", "--sample", "2ms", "--json")
    done = tierscope("chain", *quick, *options)
    assert done.stdout, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return found


def test_each_single_operation_is_measured_by_one_command() -> None:
    found = measured("--chain", EACH)
    assert [one["pattern"]["chain"] for one in found] == list(PRESETS)
    for one in found:
        if one["status"] == "skipped":
            assert one["cause"] == "isa"
            continue
        assert one["status"] == "measured", one
        assert (one["figures"][0]["metric"], one["figures"][0]["unit"]) == ("latency", "ns")
        metrics = {figure["metric"] for figure in one["figures"]}
        assert {"operations", "bandwidth", "chain_latency_p50", "chain_latency_max"} <= metrics
        evidence = one["evidence"]
        assert "chains end where their replay over the known contents ends" in evidence["verified"]
        wrote = one["pattern"]["chain"] in ("write", "nt-store") or "w+" in one["pattern"]["chain"]
        assert ("looked at of what" in evidence["verified"]) == wrote
        assert evidence["timer_ns"] > 0
        assert evidence["address_ns"] > 0
    assert {"read", "write", "cas", "faa"} <= {
        one["pattern"]["chain"] for one in found if one["status"] == "measured"
    }


def test_chains_that_overlap_have_a_rate_and_no_latency() -> None:
    (found,) = measured("--chain", "r_128,w_64_none_-64,sfence,faa", "--linked", "no",
                        "--interleave", "3", "--sample-every", "7", "--threads", "2")  # fmt: skip
    headline = found["figures"][0]
    assert found["status"] == "measured"
    assert (headline["metric"], headline["unit"]) == ("operations", "1/s")
    assert "latency" not in {figure["metric"] for figure in found["figures"]}
    assert found["pattern"]["interleave"] == 3
    assert found["pattern"]["sample_every"] == 7
    rate = next(one["estimate"] for one in found["figures"] if one["metric"] == "bandwidth")
    assert rate == pytest.approx(headline["estimate"] * (128 + 64 + 8), rel=1e-3)


def test_two_regions_have_pages_of_their_own() -> None:
    (found,) = measured("--chain", "r_64,m1_r_4096,w_4096_nocache", "--second-to", "pmem:node:0")
    assert found["status"] == "measured", found
    assert found["evidence"]["arrays"] == {"m0": {"0": 256}, "m1": {"0": 256}}
    assert found["evidence"]["region_bytes"] == 2 << 20


def test_a_file_is_a_target_and_a_dax_device_only_where_it_may_be_overwritten() -> None:
    (found,) = measured("--chain", "r_64,w_64_clwb", "--to", "pmem:node:0")
    assert found["status"] in ("measured", "skipped"), found
    assert found["cause"] in (None, "isa")
    refused = tierscope("chain", "--to", "dax:/dev/dax0.0")
    assert refused.returncode == 2
    assert "name the device in --destroy-data" in refused.stderr


# How it is shown


def made(text: str, value: float, linked: bool = True, **pattern: Any) -> Measurement:
    shape = {"chain": text, "linked": linked, "size": 1 << 30, "pages": "thp", "threads": 1,
             **pattern}  # fmt: skip
    names = ("p50", "p90", "p99", "p99.9", "p99.99")
    figures = [
        synthetic.figure("operations", "1/s", 1e9 / value),
        synthetic.figure("bandwidth", "B/s", 64e9 / value),
        *(
            synthetic.figure(f"chain_latency_{p}", "ns", value * (1.0 + place))
            for place, p in enumerate(names)
        ),
    ]
    if not linked:
        figures = figures[1:]
    buckets: dict[int, int] = {}
    for place in range(17):
        bucket = bucket_of(int(value * (1 + place / 4)))
        buckets[bucket] = buckets.get(bucket, 0) + (1 << (17 - place))
    counted = [number for item in sorted(buckets.items()) for number in item]
    whole = MergedDistribution(metric="chain_latency", histogram=counted)
    found = synthetic.Maker(noise=1e-3).make(
        "chain", "node:0", "node:2", shape, value if linked else 1e9 / value,
        "ns" if linked else "1/s", id=f"{text}{linked}{pattern}",
        metric="latency" if linked else "operations", figures=figures,
    )  # fmt: skip
    return found.model_copy(update={"distributions": [whole]})


def run_of(measurements: list[Measurement]) -> Run:
    return Run(header=synthetic.header(), measurements=measurements, footer=None)


def test_the_table_keeps_times_and_rates_apart() -> None:
    measurements = [made("read", 300.0), made("w+clwb", 650.0), made("read", 40.0, linked=False)]
    console = Console(file=io.StringIO(), width=100)
    show_run(console, run_of(measurements), Path("run.jsonl"), VIEWS)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert ", linked, " in text
    assert ", overlapping, " in text
    assert max(map(len, text.splitlines())) <= 100
    row = next(line for line in text.splitlines() if line.split()[:1] == ["w+clwb"])
    assert row.split()[-1] == "3250"
    assert "Chains: node:0 → node:2, read takes 300" in text


def test_the_ccdf_falls_from_all_chains_to_one_in_ten_thousand() -> None:
    measurements = [made("read", 300.0), made("w+clwb", 650.0), made("cas", 350.0, linked=False)]
    pictures = [p for p in pictures_of(run_of(measurements), "chain", VIEWS) if "ccdf" in p.key]
    assert [len(p.measurements) for p in pictures] == [2, 1]
    first = pictures[0]
    assert first.title == "Share of linked chains that take longer, node:0 → node:2"
    assert "p99.99 1500 ns" in first.alt
    layers = first.spec["layer"]
    rows = next(
        layer["data"]["values"] for layer in layers if layer.get("mark", {}).get("type") == "line"
    )
    for series in {row["series"] for row in rows}:
        line = [row for row in rows if row["series"] == series]
        assert [row["x"] for row in line] == sorted(row["x"] for row in line)
        shares = [row["value"] for row in line]
        assert shares == sorted(shares, reverse=True)
        assert 0.4 < shares[0] <= 1
        assert shares[-1] < 1e-3


def test_the_largest_access_is_that_of_the_grammar() -> None:
    assert parse_chains(f"r_{LARGEST}")
