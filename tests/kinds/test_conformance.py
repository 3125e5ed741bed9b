"""What every kind of the registry has to do; a new kind is held to all of it by its row."""

import copy
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from markupsafe import escape
from rich.console import Console
from tests import synthetic
from tests.runs.later import file_of, filled, words_in

from tierscope.analysis.compare import join
from tierscope.analysis.expect import check, parse_rule
from tierscope.engine.process import capabilities
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.kinds.registry import KINDS, Kind
from tierscope.kinds.vocabulary import vocabulary
from tierscope.machine.paths import MachinePaths
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.metric import METRICS
from tierscope.model.property import SELECTED, Declared, flagged
from tierscope.model.run import Figure, Measurement, MergedDistribution, Run
from tierscope.model.spec import MeasurementSpec
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.expand import expand
from tierscope.plans.forms import known_word
from tierscope.plans.request import Request
from tierscope.report.html.page import render_report
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.run import show_run
from tierscope.report.summary import sentences
from tierscope.runs.export import csv_records, to_json
from tierscope.runs.read import parse_run
from validators import schema

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EACH = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
pytestmark = pytest.mark.usefixtures("four_ranks")
NEEDED = {"effect": {"command": "true"}}
"""Options without which a kind measures nothing."""
LATER = "of-a-later-version"
ON_GPUS = [kind.name for kind in KINDS.values() if kind.command.startswith("gpu ")]


@pytest.fixture
def whole(machine: Topology, two_gpu_ranks: None) -> Topology:
    """The machine of all tests, with two GPUs and an MPI rank for each."""
    gpus = [
        Gpu(index=index, name="a GPU", address=f"0000:{index:02x}:00.0", memory_bytes=80 << 30)
        for index in range(2)
    ]
    return machine.model_copy(update={"gpus": gpus})


def planned(kind: Kind, topology: Topology, **options: str) -> list[MeasurementSpec]:
    asked = {**NEEDED.get(kind.name, {}), **options}
    return expand([Request(kind=kind.name, options=asked)], topology, thp=True).measurements


def run_of(specs: list[MeasurementSpec]) -> Run:
    """A run in which each spec has a figure."""
    measurements = [
        Measurement(
            id=spec.id,
            kind=spec.kind,
            initiator=spec.initiator,
            target=spec.target,
            cpus=spec.thread_cpus(),
            pattern=spec.identity(),
            status="measured",
            figures=synthetic.compared(
                spec.kind,
                [
                    Figure(
                        metric=spec.headline(),
                        unit=METRICS[spec.headline()].unit,
                        estimate=1e3,
                        ci_low=0.99e3,
                        ci_high=1.01e3,
                    )
                ],
            ),
            n=21,
            repetitions=1,
            stop="precision",
            samples=[0.99e3, 1e3, 1.01e3] * 7,
            evidence=Evidence(),
        )
        for spec in specs
    ]
    return Run(header=synthetic.header(), measurements=measurements, footer=None)


# The registry, the spec


@EACH
def test_the_row_and_the_spec_have_one_name_and_a_metric(kind: Kind) -> None:
    assert kind.spec.kind_name() == kind.name
    assert kind.spec.metric in METRICS
    assert kind.summary.endswith(".")
    assert known_word(kind.name) == kind.name


@EACH
def test_a_spec_keeps_the_schema_and_comes_back_through_it(kind: Kind, whole: Topology) -> None:
    plan = Plan(version=PLAN_VERSION, measurements=planned(kind, whole))
    text = plan.model_dump_json()
    schema("plan").validate(json.loads(text))
    assert Plan.model_validate_json(text) == plan
    wrong = {**plan.measurements[0].model_dump(mode="json"), "surprise": 1}
    with pytest.raises(ValueError, match="surprise"):
        Plan.model_validate({"version": PLAN_VERSION, "measurements": [wrong]})


@EACH
def test_a_spec_answers_for_itself(kind: Kind, whole: Topology) -> None:
    own: set[str] = set()
    for spec in planned(kind, whole):
        assert set(spec.thread_cpus()) <= set(whole.cpus)
        assert spec.thread_cpus()
        assert spec.host_bytes() == sum(region.total_bytes for region in spec.regions())
        assert isinstance(spec.fits_caches(whole.caches), bool)
        limit = spec.limit(MachinePaths(whole))
        assert limit is None or limit.unit == METRICS[spec.headline()].unit
        identity = spec.identity()
        assert all(isinstance(value, str | int | float | None) for value in identity.values()), (
            "run files record flat patterns"
        )
        own |= set(identity) - set(_pattern_fields(spec))
    assert own <= set(kind.spec.extra_properties)


def _pattern_fields(spec: MeasurementSpec) -> dict[str, Any]:
    fields = spec.model_dump()["pattern"]
    assert isinstance(fields, dict)
    return fields


# The request


@EACH
def test_options_have_all_that_help_needs(kind: Kind) -> None:
    form = kind.request
    names = [option.name for option in form.options]
    assert len(set(names)) == len(names)
    for option in form.options:
        assert option.help
        assert option.flag != bool(option.metavar)
    assert form.examples
    command = kind.command or kind.name
    assert all(example.startswith(command) for example in form.examples)


@EACH
def test_every_option_is_read_and_blamed_by_name(kind: Kind, whole: Topology) -> None:
    for option in kind.request.options:
        with pytest.raises(UserError) as refused:
            planned(kind, whole, **{option.name: "@nothing of the kind"})
        assert str(refused.value).startswith(f"--{option.name}: ")
    with pytest.raises(UserError, match=f"--surprise: {kind.name} has no such option"):
        planned(kind, whole, surprise="1")


@EACH
def test_targets_that_a_kind_does_not_accept_are_refused(kind: Kind, whole: Topology) -> None:
    taken = [option.name for option in kind.request.options if option.name in ("from", "to")]
    for option in taken:
        for word in ("file:/data/x", "dev:/dev/sda", "pmem:/mnt/pmem", "dax:/dev/dax0.0"):
            if option == "to" and parse_endpoint(word).kind in kind.spec.targets:
                continue
            with pytest.raises(UserError) as refused:
                planned(kind, whole, **{option: word})
            assert str(refused.value).startswith(f"--{option}: '{word}' is ")


TWO_VALUES = {
    "sizes": "64k,1m",
    "times": "100ns,1us",
    "counts": "1,2",
    "numbers": "0.5,2",
    "yes-no": "no,yes",
}
"""Of properties, by their grammar; those that are words have all of their words."""


@st.composite
def sweeps(draw: st.DrawFn, kind: Kind) -> dict[str, str]:
    """Options that sweep up to four of a kind's properties."""
    taken = {option.name for option in kind.request.options}
    swept = {
        one.flag: TWO_VALUES.get(one.grammar) or ",".join(map(str, one.choices))
        for one in flagged(kind.spec).values()
        if isinstance(one, Declared) and not one.about.single and one.grammar != "text"
    }
    flags = draw(st.sets(st.sampled_from(sorted(taken & set(swept)) or [""]), max_size=4))
    return {flag: swept[flag] for flag in flags if flag}


@EACH
@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[*HealthCheck])
def test_specs_of_one_request_have_ids_that_differ(
    kind: Kind, whole: Topology, data: st.DataObject
) -> None:
    options = {**NEEDED.get(kind.name, {}), **data.draw(sweeps(kind))}
    request = Request(kind=kind.name, options=options)
    try:
        ids = [spec.id for spec in itertools.islice(kind.request.expand(request, whole, True), 200)]
    except UserError:
        assume(False)
    assert len(set(ids)) == len(ids)


SHARED = ROOT / "src/tierscope"
OWN_ROOMS = ("kinds", "peers", "suites")
"""Folders that are about kinds: a peer's options and a suite's list make specs of them."""
KNOWN_READERS = {
    ("analysis/cost.py", "keys"),  # operations a second are compared between equally large tables
    ("analysis/best.py", "chases"),  # a load among others is slower than the path
}


def test_nothing_outside_a_kind_reads_its_properties() -> None:
    owners: dict[str, set[str]] = {}
    for kind in KINDS.values():
        for field in flagged(kind.spec):
            owners.setdefault(field, set()).add(kind.name)
    own = {field for field, kinds in owners.items() if len(kinds) == 1} - set(SELECTED)
    found = {
        (str(path.relative_to(SHARED)), key)
        for path in SHARED.rglob("*.py")
        if path.relative_to(SHARED).parts[0] not in OWN_ROOMS
        for key in re.findall(r"""\.pattern(?:\.get\(|\[)["'](\w+)["']""", path.read_text())
        if key in own
    }
    assert found == KNOWN_READERS


# The view and what is done with figures


@EACH
def test_a_table_shows_each_figure(kind: Kind, whole: Topology) -> None:
    run = run_of(planned(kind, whole)[:1])
    console = Console(file=io.StringIO(), width=200)
    show_run(console, run, Path("run.jsonl"), {kind.name: kind.view})
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    (figure,) = run.measurements
    assert figure.target in shown
    assert "1 measured, 0 skipped, 0 failed" in shown


def swept(measurement: Measurement) -> list[Measurement]:
    """Sweeps over each of a measurement's numbers."""
    figures = [synthetic.figure("bandwidth", "B/s", 1e9)]
    pattern = measurement.pattern
    numbers = [key for key, value in pattern.items() if type(value) is int]
    return [
        measurement.model_copy(
            update={
                "id": f"{measurement.id}.{key}.{power}",
                "pattern": {**pattern, key: pattern[key] << power},
                "figures": figures,
            }
        )
        for key in numbers
        for power in range(1, 6)
    ]


@EACH
def test_pictures_are_drawn_and_stand_in_the_report(kind: Kind, whole: Topology) -> None:
    run = run_of(planned(kind, whole))
    measurements = [*run.measurements, *swept(run.measurements[-2 % len(run.measurements)])]
    run = run.model_copy(update={"measurements": measurements})
    views = {kind.name: kind.view}
    pictures = list(pictures_of(run, kind.name, views))
    assert pictures
    assert len({picture.key for picture in pictures}) == len(pictures)
    for picture in pictures:
        assert picture.alt
        assert picture.measurements
        assert svg_for_file(picture).startswith(b"<svg")
    page = render_report([("run", run)], views)
    assert str(escape(kind.view.method)) in page
    assert all(str(escape(picture.title)) in page for picture in pictures[:2])


def with_one_change(record: dict[str, Any], kind: Kind) -> Iterator[dict[str, Any]]:
    """Yield a measurement with each of its words another one, each number 0, and each property
    left out that a record need not have."""
    for key, value in record["pattern"].items():
        others = [LATER] if isinstance(value, str) else [0] if type(value) is int else []
        for other in [*others, *([] if key in kind.spec.recorded else [None])]:
            yield {**record, "pattern": {**record["pattern"], key: other}}
    for number in range(len(list(words_in(record)))):
        later = copy.deepcopy(record)
        place, key = list(words_in(later))[number]
        place[key] = LATER
        yield later


@EACH
def test_what_a_later_version_may_write_is_shown(kind: Kind, whole: Topology) -> None:
    run = run_of(planned(kind, whole)[:1])
    header, record = (json.loads(one.model_dump_json()) for one in (run.header, *run.measurements))
    evidence = {**filled(Evidence), **filled(kind.spec.own_evidence)}
    record |= {"evidence": evidence, "bound_by": "not-the-device"}
    later = [record, *with_one_change(record, kind)]
    assert len(later) > 30
    records = [{**one, "id": f"{one['id']}.{number}"} for number, one in enumerate(later)]
    read = parse_run(file_of([header, *records]), "later")
    assert [m.id for m in read.measurements] == [one["id"] for one in records]
    views = {kind.name: kind.view}
    show_run(Console(file=io.StringIO(), width=200), read, Path("run.jsonl"), views)
    assert render_report([("run", read)], views)


@EACH
def test_the_first_table_and_sentence_need_one_figure_only(kind: Kind, whole: Topology) -> None:
    run = run_of(planned(kind, whole)[:1])
    assert kind.view.title
    assert kind.view.method.endswith(".")
    verdict, *others = sentences(run, {kind.name: kind.view})
    assert verdict.startswith(("Usable with care: the run was cut off", "Measure again, because"))
    assert others
    assert all(sentence.endswith(".") for sentence in others)


def idle(m: Measurement) -> bool:
    """Whether it is a control without load, which a rule has to name."""
    return m.pattern.get("load_threads") == 0


@EACH
def test_check_takes_the_kinds_words(kind: Kind, whole: Topology) -> None:
    words = vocabulary()
    run = run_of(planned(kind, whole))
    run.measurements[:] = [first] = [m for m in run.measurements if not idle(m)][:1]
    text = f"{first.initiator} -> {first.target} {kind.name}: > 1 {first.unit}"
    findings = check(run, [parse_rule(text, words)])
    assert [finding.verdict for finding in findings] == ["met"]
    assert set(kind.spec.extra_properties) <= set(words.properties)


@EACH
def test_every_property_can_be_written_in_a_rule_and_matches(kind: Kind, whole: Topology) -> None:
    words = vocabulary()
    run = run_of(planned(kind, whole))
    run.measurements[:] = [m] = [m for m in run.measurements if not idle(m)][:1]
    for key, value in m.pattern.items():
        if value is None:
            continue
        text = f"{m.initiator} -> {m.target} {key}={str(value).replace(' ', '-')}: > 1 {m.unit}"
        assert [f.id for f in check(run, [parse_rule(text, words)])] == [m.id], text


@EACH
def test_a_run_is_joined_with_itself(kind: Kind, whole: Topology) -> None:
    run = run_of(planned(kind, whole))
    again = run.model_copy(update={"measurements": run.measurements[::-1]})
    for one, other in join(run, again):
        assert one is not None
        assert other is not None
        assert (one.target, one.pattern) == (other.target, other.pattern)


@EACH
def test_percentiles_are_checked_compared_and_exported(kind: Kind, whole: Topology) -> None:
    bare = run_of(planned(kind, whole)[:1])
    (m,) = bare.measurements
    tail = Figure(
        metric="io_latency_p99", unit="ns", estimate=9e4, ci_low=8e4, ci_high=1e5, compared=True
    )
    counted = MergedDistribution(metric="io_latency", histogram=[100, 990, 1347, 11])
    timed = synthetic.changed(m, figures=[tail], distributions=[counted])
    run = bare.model_copy(update={"measurements": [timed]})
    rule = f"{m.initiator} -> {m.target} {kind.name} load_threads=0 metric=io_latency_p99: <= 1 ms"
    rule = rule if idle(m) else rule.replace(" load_threads=0", "")
    assert [f.verdict for f in check(run, [parse_rule(rule, vocabulary())])] == ["met"]
    joined = [(old, new) for old, new in join(run, run) if old and new]
    assert [old.metric for old, _ in joined] == [m.metric, "io_latency_p99"]
    (result,) = json.loads(to_json(run))["results"]
    assert result["distributions"] == [counted.model_dump()]


@EACH
def test_exports_are_flat(kind: Kind, whole: Topology) -> None:
    run = run_of(planned(kind, whole)[:1])
    results = json.loads(to_json(run))["results"]
    assert [result["kind"] for result in results] == [kind.name]
    heading, line = csv_records(run)
    assert len(heading) == len(line)
    assert kind.name in line


@EACH
def test_the_docs_name_it(kind: Kind) -> None:
    assert f"tierscope {kind.command or kind.name}" in "\n".join(
        path.read_text() for path in DOCS.glob("*.md")
    )


# The engine


def test_the_engine_s_capabilities_name_every_kind() -> None:
    named = {entry.name for entry in capabilities().capabilities}
    own = {name for name, kind in KINDS.items() if kind.own_measurer}
    assert {name for name in KINDS if name not in ON_GPUS} - own <= named
    assert "gpu" in named
