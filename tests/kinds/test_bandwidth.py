"""Bandwidth: orders and accesses that are asked for, figures that their own loop bounds, and
operations of the C library."""

import io
import json
from typing import Any

import pytest
from rich.console import Console
from tests import synthetic

from tierscope.kinds.bandwidth.show import show_table
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.event import CountedTraffic, Evidence
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.evidence import evidence_line, warnings, with_counts
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.style import make_console
from tierscope.runs.export import to_json


def spec_of(threads: int = 1, **pattern: Any) -> BandwidthSpec:
    return BandwidthSpec.model_validate(
        {
            "id": "b",
            "initiator": "node:0",
            "target": "node:0",
            "cpus": list(range(threads)),
            "placement": {"policy": "bind", "nodes": [{"node": 0}]},
            "pattern": {"operation": "read", "order": "random", "size": 1 << 20, **pattern},
        }
    )


def ask(machine: Topology, **options: str) -> list[BandwidthSpec]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    request = Request.model_validate({"kind": "bandwidth", "options": named})
    plan = expand([request], machine, thp=True)
    return [spec for spec in plan.measurements if isinstance(spec, BandwidthSpec)]


def test_each_alpha_of_zipf_is_a_measurement_and_other_orders_have_none(machine: Topology) -> None:
    specs = ask(machine, order="random,zipf", zipf_alpha="0.5,1.2")
    assert [(one.pattern.order, one.identity().get("zipf_alpha")) for one in specs] == [
        ("random", None), ("zipf", 0.5), ("zipf", 1.2),
    ]  # fmt: skip
    assert len({one.id for one in specs}) == 3
    (usual,) = ask(machine, order="zipf")
    assert usual.identity()["zipf_alpha"] == 0.99


def test_narrow_accesses_are_swept_beside_wide_ones(machine: Topology) -> None:
    specs = ask(machine, op="read,write", access_size="8..64", threads="1")
    assert [one.pattern.access_size for one in specs] == [8, 16, 32, 64] * 2
    assert len({one.id for one in specs}) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zipf_alpha": "0.9"}, "--zipf-alpha: goes with order zipf"),
        ({"order": "zipf", "zipf_alpha": "11"}, "--zipf-alpha: '11' is out of range"),
        (
            {"order": "zipf", "op": "memset"},
            "--op: 'memset': memset and memcpy go in order sequential only",
        ),
        ({"access_size": "24"}, "--access-size: '24': has to be 8, 16, 32 or a multiple of 64"),
        ({"access_size": "8", "op": "copy", "size": "1m"}, "--access-size: '8': 8, 16"),
        ({"access_size": "8", "order": "random"}, "--access-size: '8': 8, 16 and 32"),
    ],
)
def test_orders_and_accesses_that_cannot_be_are_refused_by_option(
    machine: Topology, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        ask(machine, **options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("pattern", "threads", "counted_bytes"),
    [
        ({}, 1, 64),
        ({"access_size": 256}, 1, 256),
        ({"operation": "triad-nt"}, 1, 192),
        ({"operation": "rmw"}, 1, 128),
        ({}, 4, 256),
    ],
)
def test_a_loop_bounds_figures_that_take_less_than_one_and_a_half_times_as_long(
    pattern: dict[str, Any], threads: int, counted_bytes: int
) -> None:
    """``counted_bytes``: those of all threads in the time of one access."""
    spec = spec_of(threads, **pattern)
    for access_ns, bound in ((2.0, "address-generation"), (2.9, "address-generation"), (3.1, None)):
        estimate = counted_bytes / access_ns * 1e9
        assert spec.bound_by(estimate, Evidence(address_ns=2.0)) == bound
    assert spec.bound_by(1e15, Evidence()) is None


def measurements() -> list[Measurement]:
    """Three access sizes in random order, by one and by two threads; two figures are bound."""
    maker = synthetic.Maker()
    found = []
    for threads in (1, 2):
        for access_size in (64, 256, 1024):
            pattern = {
                "operation": "read", "order": "random", "access_size": access_size,
                "size": 1 << 15, "pages": "thp", "isa": "auto", "threads": threads,
            }  # fmt: skip
            made = maker.make(
                "bandwidth", "node:0", "node:0", pattern, 1e11 * threads + access_size, "B/s"
            )
            bound = "address-generation" if access_size == 64 else None
            found.append(made.model_copy(update={"bound_by": bound}))
    return found


def table_of(console: Console) -> None:
    show_table(console, measurements(), synthetic.run(measurements()))


def test_bound_figures_are_marked_in_the_table_and_the_mark_is_explained() -> None:
    text = io.StringIO()
    table_of(Console(file=text, width=100))
    lines = [line for line in text.getvalue().splitlines() if "†" in line]
    assert len(lines) == 2
    assert lines[0].count("†") == 2
    assert lines[0].lstrip().startswith("64 B")
    assert "2 of 6: bound by address generation (†)" in lines[1]


def test_the_mark_has_a_form_in_ascii() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    table_of(make_console(file))
    file.flush()
    assert "bound by address generation (*)" in raw.getvalue().decode("ascii")


def test_json_has_the_bound_as_a_word() -> None:
    results = json.loads(to_json(synthetic.run(measurements())))["results"]
    assert [one["bound_by"] for one in results] == ["address-generation", None, None] * 2


def test_pictures_mark_bound_figures_and_say_why() -> None:
    one_count = [m for m in measurements() if m.pattern["threads"] == 1]
    for measured in (measurements(), one_count):
        pictures = list(pictures_of(synthetic.run(measured), "bandwidth", VIEWS))
        assert pictures
        for picture in pictures:
            rows = picture.spec["data"]["values"]
            marked = [row for row in rows if row["mark"] == "†" or "†" in row.get("text", "")]
            bound = [m for m in picture.measurements if m.bound_by]
            assert len(marked) == len(bound)
            assert ("† bound by address generation" in picture.subtitle) == bool(bound)
            assert all("bound by address generation" in row["tip"] for row in marked)


def test_what_the_c_library_did_is_named_and_not_held_to_bytes_on_the_bus() -> None:
    evidence = Evidence(
        library="glibc 2.36",
        counters=[CountedTraffic(source="resctrl", bytes=100, program_bytes=100)],
    )
    found = measurements()[1].model_copy(update={"evidence": evidence})
    assert "glibc 2.36" in evidence_line([found])
    assert with_counts([evidence]) == []
    assert not any("bound by" in line for line in warnings([found]))
