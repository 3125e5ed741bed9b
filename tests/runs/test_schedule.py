"""Which visit comes next: looks after a quarter, a half and all of the budget."""

from typing import Any

import pytest

from tierscope.model.event import Visit
from tierscope.model.spec import Sampling
from tierscope.runs.schedule import next_seconds

SAMPLING = Sampling(budget_s=4.0, sample_s=0.01, precision=0.01)


def visit(seconds: float, precise: bool = False, **changes: Any) -> Visit:
    values = [100.0 if precise else 100.0 + 20 * (i % 2) for i in range(50)]
    column = {"metric": "bandwidth", "part": "", "values": values}
    windows = {
        "name": "windows",
        "starts": [0.01 * i for i in range(50)],
        "durations": [0.01] * 50,
        "columns": [column],
    }
    return Visit.model_validate(
        {
            "id": "m", "seconds": seconds, "fresh": False, "interrupted": False,
            "series": [windows], "evidence": {}, **changes,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("visits", "seconds"),
    [
        ([], 1.0),
        ([visit(1.0)], 1.0),
        ([visit(1.0), visit(1.0)], 2.0),
        ([visit(1.0), visit(1.0), visit(2.0)], None),
        ([visit(1.0, precise=True)], None),
        ([visit(1.7)], pytest.approx(0.3)),  # a last row may take longer than asked for
        ([visit(1.95)], pytest.approx(2.05)),  # nothing worth a visit is left of the first half
        ([visit(4.5)], None),
    ],
)
def test_looks(visits: list[Visit], seconds: float | None) -> None:
    assert next_seconds(SAMPLING, visits) == seconds


def test_no_look_comes_before_enough_rows_could_be_there() -> None:
    sampling = Sampling(budget_s=0.2, sample_s=0.01)
    assert next_seconds(sampling, []) == 0.2
    assert next_seconds(sampling.model_copy(update={"budget_s": 0.5}), []) == 0.25


def test_an_interrupted_visit_does_not_count_as_a_look() -> None:
    visits = [visit(0.2, interrupted=True), visit(0.8), visit(1.0)]
    assert next_seconds(SAMPLING, visits) == pytest.approx(2.0)


def test_visits_that_take_no_time_come_to_an_end() -> None:
    assert next_seconds(SAMPLING, [visit(0.001)] * 2) is not None
    assert next_seconds(SAMPLING, [visit(0.001)] * 3) is None
