"""STREAM: which arrays go where, the rule for their size, and the text that other programs read."""

import io
import re

import pytest
from rich.console import Console
from tests import synthetic

from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.path import ONE_WAY, Limit, Traffic
from tierscope.model.run import Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.suites import stream
from tierscope.suites.stream import rule_text, settings_of, show_stream, stream_text

MIB, GIB = 1 << 20, 1 << 30


def specs(machine: Topology, **given: str) -> list[BandwidthSpec]:
    options = {name.replace("_", "-"): text for name, text in given.items()}
    made = stream.with_size(stream.requests(options), machine, True)
    found = expand(made, machine, True).measurements
    assert all(isinstance(spec, BandwidthSpec) for spec in found)
    return [spec for spec in found if isinstance(spec, BandwidthSpec)]


def by_operation(machine: Topology, **given: str) -> dict[str, BandwidthSpec]:
    return {spec.pattern.operation: spec for spec in specs(machine, **given)}


def run_of(machine: Topology, threads: str = "1", **given: str) -> Run:
    """What a machine of 10 GB/s for each thread gives."""
    maker = synthetic.Maker()
    measured = [
        maker.make(
            "bandwidth", spec.initiator, spec.target, spec.identity(), 1e10 * len(spec.cpus),
            id=spec.id, limit=synthetic.DDR,
        ).model_copy(update={"cpus": spec.cpus})
        for spec in specs(machine, threads=threads, **given)
    ]  # fmt: skip
    header = synthetic.header(topology=machine)
    return Run(header=header, measurements=measured, footer=None)


def test_all_stores_are_measured_unless_some_are_named(machine: Topology) -> None:
    every = {"copy", "copy-nt", "memcpy", "scale", "scale-nt", "add", "add-nt", "triad", "triad-nt"}
    assert set(by_operation(machine)) == every
    gcc = ["memcpy", "scale", "add", "triad"]
    assert [spec.pattern.operation for spec in specs(machine, stores="memcpy")] == gcc
    assert set(by_operation(machine, stores="non-temporal")) == {o for o in every if "-nt" in o}
    with pytest.raises(UserError, match="--stores"):
        stream.requests({"stores": "streaming"})


def test_an_instruction_set_leaves_the_c_library_out(machine: Topology) -> None:
    assert "memcpy" not in by_operation(machine, isa="avx2")
    (copy, *_) = stream.requests({"isa": "avx2"}, (stream.MEMCPY,))
    assert copy.options["op"] == "copy"


def test_arrays_can_be_on_persistent_memory(machine: Topology) -> None:
    translated = by_operation(machine, to="pmem:/mnt/pmem", backing="pool-objects")
    assert set(translated) == {"copy", "scale", "add", "triad"}
    found = by_operation(machine, to="node:0", c="pmem:/mnt/pmem", backing="pool")
    triad = found["triad"]
    assert triad.identity()["array_c"] == "pmem:/mnt/pmem"
    assert triad.identity()["backing"] == "pool"
    assert triad.files() == ["/mnt/pmem"]
    both = [spec.identity()["backing"] for spec in specs(
        machine, to="pmem:node:2", backing="file,pool", stores="ordinary")]  # fmt: skip
    assert sorted(both) == ["file"] * 4 + ["pool"] * 4
    run = run_of(machine, to="pmem:node:2", backing="file,pool", stores="ordinary")
    assert len(settings_of(run)) == 2


def test_each_array_is_where_it_was_asked_for_whatever_the_function_does_with_it(
    machine: Topology,
) -> None:
    found = by_operation(machine, a="node:0", b="node:1", c="node:2", stores="ordinary")
    nodes = {
        name: [[share.node for share in placed.nodes] for placed in spec.placements()]
        for name, spec in found.items()
    }
    assert nodes == {
        "copy": [[2], [0]],
        "scale": [[1], [2]],
        "add": [[2], [0], [1]],
        "triad": [[0], [1], [2]],
    }
    (setting,) = settings_of(run_of(machine, a="node:0", b="node:1", c="node:2"))
    assert setting.where == {"a": "node:0", "b": "node:1", "c": "node:2"}
    assert len(setting.members) == 9


def test_an_array_can_be_a_mix_and_the_others_go_where_to_says(machine: Topology) -> None:
    found = by_operation(machine, to="node:0", c="node:0,2@3:1", stores="ordinary")
    assert [placed.policy for placed in found["add"].placements()] == ["weighted", "bind", "bind"]
    assert found["triad"].identity()["array_c"] == "node:0,2@3:1"
    assert "array_b" not in found["triad"].identity(), "as the written one"
    assert found["scale"].identity()["array_b"] == "node:0,2@3:1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": "node:0"}, r"--a: name the other arrays' place in --to, or in --b and --c"),
        ({"first-touch": "yes", "to": "node:1"}, "--to: goes not with --first-touch"),
        ({"first-touch": "yes", "a": "node:1"}, "--a: goes not with --first-touch"),
    ],
)
def test_contradictions_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        stream.requests(given)


def test_an_error_names_the_option_that_was_given(machine: Topology) -> None:
    for name in ("a", "b", "c"):
        with pytest.raises(UserError, match=f"^--{name}: .*node 7"):
            specs(machine, to="node:0", **{name: "node:7"})


def test_pages_that_threads_touch_first_are_where_the_threads_are(machine: Topology) -> None:
    given = {"from": "node:0,1", "threads": "6,16", "stores": "ordinary", "pin": "cores"}
    for spec in specs(machine, first_touch="yes", **given):
        few = len(spec.cpus) == 6
        assert spec.placement.policy == "first-touch"
        assert {share.node: share.weight for share in spec.placement.nodes} == (
            {0: 2, 1: 1} if few else {0: 1, 1: 1}
        )
        assert spec.identity()["policy"] == "first-touch"


def test_arrays_keep_the_rule_where_there_is_memory(machine: Topology) -> None:
    large = machine.caches[1].model_copy(update={"size_bytes": 3 * GIB, "level": 3})
    big = machine.model_copy(update={"caches": [large]})
    (size,) = {spec.pattern.size for spec in specs(big)}
    assert size == 4 * 3 * GIB, "beyond what other measurements take by default"
    assert "is kept" in rule_text(big, [0], size, asked=False)
    assert {spec.pattern.size for spec in specs(machine)} == {256 * MIB}


def test_smaller_arrays_have_a_reason(machine: Topology) -> None:
    large = machine.caches[1].model_copy(update={"size_bytes": GIB, "level": 3})
    big = machine.model_copy(update={"caches": [large]})
    (size,) = {spec.pattern.size for spec in specs(big, to="node:2")}
    assert size < 4 * GIB
    assert 3 * size <= 8 * GIB
    assert "no more memory free" in rule_text(big, [0], size, asked=False)
    assert "--size asked for it" in rule_text(big, [0], MIB, asked=True)


class _TwoLinks:
    """Node 0 carries 100 bytes/s in both directions together, node 2 carries 10."""

    topology = synthetic.topology()

    def limit(self, _initiator: str, target: str, traffic: Traffic = ONE_WAY) -> Limit | None:
        rate = {"node:0": 100.0, "node:2": 10.0}[target] / traffic.both
        return synthetic.DDR.model_copy(update={"value": rate})


@pytest.mark.parametrize(
    ("operation", "places", "limit"),
    [
        ("triad", {}, 100 / (4 / 3)),  # three arrays, and the lines that stores fetch
        ("triad-nt", {"c": 2}, 30),  # a third of the bytes over the slow link
        ("add", {"b": 2, "c": 2}, 15),
        ("copy", {"b": 2}, 20),
    ],
)
def test_the_slowest_array_limits(operation: str, places: dict[str, int], limit: float) -> None:
    at = {n: {"policy": "bind", "nodes": [{"node": n}]} for n in (0, 2)}
    spec = BandwidthSpec.model_validate(
        {
            "id": "b", "initiator": "node:0", "target": "node:0", "cpus": [0], "placement": at[0],
            "pattern": {"operation": operation, "size": 1 << 30},
            **{f"placement_{name}": at[node] for name, node in places.items()},
        }
    )  # fmt: skip
    found = spec.limit(_TwoLinks())  # type: ignore[arg-type]
    assert found is not None
    assert found.value == pytest.approx(limit)


def text_of(run: Run) -> str:
    return stream_text(run)


NUMBER = r"\d+\.\d+"


def test_reframe_style_expressions_read_it(machine: Topology) -> None:
    """Site checks search for a name and take the word behind it, and for the validation."""
    text = text_of(run_of(machine, stores="memcpy"))
    for name in ("Copy", "Scale", "Add", "Triad"):
        found = re.findall(rf"{name}:\s+(\S+)\s+.*", text)
        assert len(found) == 1
        assert float(found[0]) == pytest.approx(1e4, rel=0.05), "MB/s"
    assert re.search("Solution Validates", text)


def test_harness_style_expressions_read_it(machine: Topology) -> None:
    """Harnesses skip all up to the heading, then take four numbers of a whole line each."""
    lines = iter(text_of(run_of(machine, stores="memcpy")).splitlines())
    heading = "Function    Best Rate MB/s  Avg time     Min time     Max time"
    assert any(line == heading for line in lines)
    shape = rf"(\w+):[ \t]*({NUMBER}) +({NUMBER}) +({NUMBER}) +({NUMBER})"
    rows = [re.fullmatch(shape, next(lines))
            for _ in range(4)]  # fmt: skip
    assert [row[1] for row in rows if row] == ["Copy", "Scale", "Add", "Triad"]
    for row, arrays in zip(rows, (2, 2, 3, 3), strict=True):
        assert row is not None
        rate, mean, least, most = (float(row[n]) for n in range(2, 6))
        assert least <= mean <= most
        assert rate * 1e6 * least == pytest.approx(arrays * 256 * MIB, rel=1e-3)
    assert re.fullmatch("-{61}", next(lines))


def test_line_by_line_readers_find_sizes_threads_and_repetitions(machine: Topology) -> None:
    """Others look at how lines begin, and compute the rates anew."""
    text = text_of(run_of(machine, threads="4", stores="memcpy"))
    elements = re.search(r"^Array size = (\d+) \(elements\), Offset = (\d+)", text, re.M)
    assert elements
    assert int(elements[1]) * 8 == 256 * MIB
    for line, expected in (
        (r"^This system uses (\d+) bytes per array element\.$", 8),
        (r"^Number of Threads counted = (\d+)$", 4),
        (r"^Number of Threads requested = (\d+)$", 4),
        (r"^Each kernel will be executed (\d+) times\.$", 40),
    ):
        found = re.search(line, text, re.M)
        assert found
        assert int(found[1]) == expected
    assert re.search(r"^Memory per array = 256\.0 MiB \(= 0\.2 GiB\)\.$", text, re.M)
    assert re.search(r"^STREAM version \$Revision: 5\.10 \$$", text, re.M)


def test_each_thread_count_has_a_text_of_its_own(machine: Topology) -> None:
    text = text_of(run_of(machine, threads="1..4", stores="memcpy"))
    assert re.findall(r"counted = (\d)", text) == ["1", "2", "3", "4"]
    assert len(re.findall("^Triad:", text, re.M)) == 4


def test_a_wrong_element_does_not_validate(machine: Topology) -> None:
    run = run_of(machine, stores="memcpy")
    wrong = run.measurements[-1].model_copy(
        update={"status": "failed", "cause": Cause.VERIFICATION, "reason": "triad left 1 of 7",
                "samples": [], "n": 0, "figures": []}
    )  # fmt: skip
    text = text_of(run.model_copy(update={"measurements": [*run.measurements[:-1], wrong]}))
    assert "Solution Validates" not in text
    assert re.search(r"^Failed Validation on array", text, re.M)
    assert "Triad:" not in text
    assert "Copy:" in text


def test_what_was_not_compared_does_not_validate(machine: Topology) -> None:
    run = run_of(machine, stores="memcpy")
    bare = [
        m.model_copy(update={"evidence": m.evidence and m.evidence.model_copy(
            update={"verified": None})})
        for m in run.measurements
    ]  # fmt: skip
    assert "Validates" not in text_of(run.model_copy(update={"measurements": bare}))


def table_of(run: Run) -> str:
    printed = io.StringIO()
    show_stream(Console(file=printed, width=100), run, size_asked=False)
    return printed.getvalue()


def test_the_table_has_interval_best_limit_and_what_each_store_compares_with(
    machine: Topology,
) -> None:
    text = table_of(run_of(machine))
    for word in ("Copy", "Triad", "memcpy", "non-temporal", "ordinary", "median", "best", "limit"):
        assert word in text
    assert "±" in text
    assert "3.3%" in text, "of a limit of 307 GB/s"
    assert re.search(r"memcpy compares with\s+Copy of gcc", text)
    assert "STREAM's rule, 4 x, is kept" in text


def test_a_sweep_has_a_row_for_each_thread_count(machine: Topology) -> None:
    text = table_of(run_of(machine, threads="1..3"))
    rows = re.findall(r"^\s+([123])\s+(\d\S*.*)$", text, re.M)
    assert [row[0] for row in rows].count("2") == 3, "a table for each kind of stores"
