"""Evidence of cuFile over several repetitions."""

import pytest

from tierscope.analysis.observed import merged_evidence
from tierscope.model.event import Column, Evidence, Repetition, Series
from tierscope.model.evidence import CufileState


def repetition(proof: str | None) -> Repetition:
    cufile = CufileState.model_validate(
        {"version": "1.12", "allow_compat_mode": False, "set_by": "tierscope", "log": "/x",
         "driver_open_s": 0.5, "register_s": 0.1, "proof": proof}
    )  # fmt: skip
    column = Column(metric="bandwidth", values=[1.0])
    rows = Series(name="windows", starts=[0.0], durations=[1.0], columns=[column])
    return Repetition(
        id="x", seconds=1.0, fresh=False, interrupted=False, series=[rows],
        evidence=Evidence(cufile=cufile),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("proofs", "of_all"),
    [
        (["nvidia-fs", "nvidia-fs"], "nvidia-fs"),
        (["nvidia-fs", None], None),
        ([None, "nvidia-fs"], None),
        (["nvidia-fs", None, "nvidia-fs"], None),
    ],
)
def test_a_way_is_proven_where_every_repetition_s_is(
    proofs: list[str | None], of_all: str | None
) -> None:
    merged = merged_evidence([repetition(one) for one in proofs])
    assert merged.cufile is not None
    assert merged.cufile.proof == of_all
