"""No decision is taken from text: with every free text replaced, all decisions stay the same."""

import copy
import re
from typing import Any

import pytest
from tests import synthetic

from tierscope.analysis.compare import compare
from tierscope.analysis.expect import check, parse_rule
from tierscope.kinds.views import VIEWS
from tierscope.kinds.vocabulary import vocabulary
from tierscope.model.cause import Cause
from tierscope.model.event import Evidence
from tierscope.model.path import Limit
from tierscope.model.run import Measurement, Run
from tierscope.report.best import best_to
from tierscope.report.compare import headline, reasons_for, sorted_by_change
from tierscope.report.evidence import warnings
from tierscope.report.html.page import path_rows
from tierscope.report.naming import missing_by_cause
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.summary import warnings_line
from tierscope.report.view import kinds_in

RULES = ["node:0 <- node:0: >= 0.5 of limit", "node:* <- node:0 read: >= 10 GB/s",
         "every gpu:* <- node:0: >= 0.9 of limit", "node:3 <- node:0: >= 1 GB/s",
         "node:0 <- node:0 latency: <= 150 ns"]  # fmt: skip
_TEXTS = ("reason", "remedy", "link", "formula", "source", "verified")


class Placeholders:
    """Gives each text another one that says nothing; equal texts stay equal."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, text: str) -> str:
        return self.known.setdefault(text, f"text {len(self.known) + 1}") if text else text

    def in_measurement(self, measurement: Measurement) -> Measurement:
        values = copy.deepcopy(measurement.model_dump())
        self._replace(values)
        return Measurement.model_validate(values)

    def _replace(self, values: dict[str, Any]) -> None:
        for key, value in values.items():
            if key in _TEXTS and isinstance(value, str):
                values[key] = self.of(value)
            elif key in ("notes", "throttle") and isinstance(value, list):
                values[key] = [self.of(text) for text in value]
            elif isinstance(value, dict) and key != "pattern":
                self._replace(value)


def telling_run(seed: int) -> Run:
    """All kinds, with whatever text used to decide something."""
    run = synthetic.full(seed)
    maker = synthetic.Maker(seed)
    degraded = Limit(value=15.75e9, unit="B/s", link="PCIe 4.0 x8: able to x16", formula="8 x 16",
                     source="PCIe 4.0", degraded=True)  # fmt: skip
    slow = maker.make("gpu-copy", "node:1", "gpu:1", {"size": 1 << 30, "engine": "ce"}, 12e9,
                      limit=degraded)  # fmt: skip
    noted = maker.make("bandwidth", "node:1", "node:1", {"operation": "read"}, 30e9)
    evidence = Evidence(notes=["3 samples were slow"], disturbed=3, verified="all bytes")
    noted = noted.model_copy(update={"evidence": evidence, "stop": "budget"})
    outcomes = [("skipped", Cause.MEMORY, "node 1 has too little memory"),
                ("skipped", Cause.INTERRUPTED, "interrupted"),
                ("failed", Cause.VERIFICATION, "byte 3 is 0"),
                ("failed", Cause.CRASH, "the engine died")]  # fmt: skip
    missing = [
        Measurement.model_validate(
            {"id": f"missing{n}", "kind": "bandwidth", "initiator": "node:0", "target": "node:3",
             "cpus": [0], "pattern": {"operation": f"op{n}"}, "status": status, "cause": cause,
             "reason": reason, "remedy": "do something"}
        )
        for n, (status, cause, reason) in enumerate(outcomes)
    ]  # fmt: skip
    return run.model_copy(update={"measurements": [*run.measurements, slow, noted, *missing]})


def without_texts(text: str, texts: Placeholders) -> str:
    """Return what is shown with every free text, and its placeholder, taken out."""
    for given in sorted([*texts.known, *texts.known.values()], key=len, reverse=True):
        text = text.replace(given, "*")
    return re.sub(r"\*[*, ;()]*", "*", text)


@pytest.fixture(scope="module")
def runs() -> tuple[Placeholders, list[Run], list[Run]]:
    texts = Placeholders()
    told = [telling_run(1), telling_run(2)]
    masked = [
        run.model_copy(update={"measurements": [texts.in_measurement(m) for m in run.measurements]})
        for run in told
    ]
    return texts, told, masked


def test_check_finds_the_same(runs: tuple[Placeholders, list[Run], list[Run]]) -> None:
    _, told, masked = runs
    rules = [parse_rule(text, vocabulary()) for text in RULES]
    found = [
        [(f.rule, f.path, f.id, f.verdict) for f in check(run, rules)]
        for run in (told[0], masked[0])
    ]
    assert found[0] == found[1]
    assert {verdict for *_, verdict in found[0]} >= {"met", "missed"}


def test_compare_finds_the_same(runs: tuple[Placeholders, list[Run], list[Run]]) -> None:
    _, told, masked = runs
    found = [compare(("a", a), ("b", b), 0.003) for a, b in (told, masked)]
    verdicts = [[(d.verdict, d.cause, d.ratio, d.low) for d in c.differences] for c in found]
    assert verdicts[0] == verdicts[1]
    assert headline(found[0]) == headline(found[1])
    refused = [reasons_for("not comparable", c) for c in found]
    assert [count for _, count in refused[0]] == [count for _, count in refused[1]]
    assert [d.ratio for d in sorted_by_change(found[0])] == [
        d.ratio for d in sorted_by_change(found[1])
    ]
    assert len({verdict for verdict, *_ in verdicts[0]}) > 1


def test_reports_choose_the_same(runs: tuple[Placeholders, list[Run], list[Run]]) -> None:
    texts, told, masked = runs
    seen = []
    for run in (told[0], masked[0]):
        pictures = [
            (picture.key, picture.title, [m.id for m in picture.measurements])
            for kind in kinds_in(run, VIEWS)
            for picture in pictures_of(run, kind, VIEWS)
        ]
        rows = [
            (r.path, r.what, r.estimate, r.efficiency) for r in path_rows(run.measurements, VIEWS)
        ]
        groups = [
            (g.status, g.cause, [m.id for m in g.members])
            for g in missing_by_cause(run.measurements)
        ]
        said = without_texts(warnings_line(run), texts)
        lines = [without_texts(line, texts) for line in warnings(run.measurements)]
        seen.append((pictures, rows, groups, best_to(run), said, lines))
    assert seen[0] == seen[1]
    assert "a link runs below its capability" in seen[0][4]
    assert len(seen[0][2]) == 6
