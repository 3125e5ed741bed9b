"""Predictions of models that are loaded to a GPU, or stay partly elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis import offload
from tierscope.model.errors import UserError
from tierscope.model.run import Figure, Measurement
from tierscope.suites.apps import predicting_plan

LOAD = """\
set_up: 0.5 s
size: 2000000000 B
piece: 8000000 B
threads: 4
storage_mmap: 1.25 s
storage_mmap_rate: 1.6 GB/s
storage_staged: 1.0 s
storage_cufile: 1e+00 s
cache_mmap: 0.5 s
cache_staged: 0.25 s
"""
LLM = """\
layers: 2
batch: 16
layer_size: 1000000000 B
kv_size: 500000000 B
kernels: 19
piece: 8000000 B
threads: 4
decode_gpu: 16000 1/s
decode_gpu_step: 0.001 s
decode_host_step: 0.04 s
decode_storage_step: 1.0 s
kv_host_step: 0.02 s
parameters: 120000000
state_piece: 144000000 B
slots: 3
train_gpu_step: 0.022 s
train_gpu_passes: 0.02 s
train_host_step: 0.05 s
train_storage_step: 1.0 s
"""
RATES = {name: Figure(metric="bandwidth", unit="B/s", estimate=rate) for name, rate in {
    "h2d": 50e9,
    "both": 48e9,
    "pageable": 10e9,
    "launch": 131.072e9,
    "gpu-read": 4e12,
    "gpu-triad": 4e12,
    "cache": 40e9,
    "cache-mapped": 8e9,
    "cache-touched": 10e9,
    "storage": 2e9,
    "storage-mapped": 1.6e9,
    "storage-cufile": 2.5e9,
    "storage-both": 2e9,
}.items()}  # fmt: skip
rates = st.floats(1e8, 1e11)


def measurement(name: str, kind: str, *figures: Figure) -> Measurement:
    return Measurement(
        id=name,
        kind=kind,
        initiator="node:0",
        target="gpu:0",
        cpus=[0],
        pattern={},
        status="measured",
        figures=[*figures],
    )


def bandwidth(estimate: float, part: str = "", metric: str = "bandwidth") -> Figure:
    return Figure(metric=metric, part=part, unit="B/s", estimate=estimate)


@given(read=rates, copy=rates, pieces=st.integers(1, 200))
def test_staging_takes_as_long_as_a_pipeline_piece_by_piece(
    read: float, copy: float, pieces: int
) -> None:
    size = 1e7
    copied = 0.0
    for piece in range(pieces):
        copied = max((piece + 1) * size / read, copied) + size / copy
    assert offload.staged(pieces * size, read, copy, size, 1) == pytest.approx(copied)


def test_pages_are_copied_and_faulted_in() -> None:
    # 0.1 ns/B for the copy, 0.125 - 0.1 for the faults.
    assert offload.mapped(1e9, 10e9, 8e9, 10e9) == pytest.approx(0.125)
    assert offload.mapped(1e9, 10e9, 11e9, 10e9) == pytest.approx(0.1), "faults take no less than 0"
    assert offload.mapped_from_storage(1e9, 2e9, 0.125) == pytest.approx(0.5)
    assert offload.mapped_from_storage(1e9, 20e9, 0.125) == pytest.approx(0.125)


def trained_piece_by_piece(passes: float, way: float, pieces: int, slots: int) -> float:
    """A step's time once steps are alike; pieces of 1 byte, updates that take no time."""
    arrived = left = passed = 0.0
    leaving: list[float] = []
    ends = []
    for _ in range(40):
        passed += passes
        for _ in range(pieces):
            free = leaving[-slots] if len(leaving) >= slots else 0.0
            arrived = max(arrived, free) + 1 / way
            passed = max(passed, arrived)
            left = max(left, passed) + 1 / way
            leaving.append(left)
        ends.append(passed)
    return (ends[-1] - ends[19]) / 20


@pytest.mark.parametrize("pieces", [4, 15, 60])
@pytest.mark.parametrize("passes", [0.0, 1.0, 3.0, 10.0])
def test_pieces_hide_behind_the_passes_as_in_a_pipeline(pieces: int, passes: float) -> None:
    simulated = trained_piece_by_piece(passes, 1.0, pieces, 3)
    predicted = offload.trained_from_host(passes, 1.0, pieces, 3, 1.0)
    # Beyond three slots' time the passes hide two pieces; below, what they hide is between.
    assert predicted == pytest.approx(simulated, abs=2.0 if passes < 3 else 1e-9)


def test_an_update_moves_40_bytes_for_each_parameter() -> None:
    assert offload.trained(0.02, 1e8, 4e12) == pytest.approx(0.021)


def test_a_run_gives_a_rate_for_each_name() -> None:
    found = [
        measurement("h2d.node:0.to.gpu:0.ce", "gpu-copy", bandwidth(55e9)),
        measurement(
            "both.node:0.to.gpu:0.ce.both-ways",
            "gpu-copy",
            bandwidth(98e9),
            bandwidth(46e9, "node:0 -> gpu:0"),
            bandwidth(52e9, "gpu:0 -> node:0"),
        ),
        measurement(
            "pageable.node:0.to.gpu:0.ce.pageable.2g",
            "gpu-copy",
            bandwidth(10e9),
            bandwidth(8e9, metric="first_copy_bandwidth"),
        ),
        measurement(
            "storage.node:0.file:_var_tmp.read", "io", bandwidth(2e9), bandwidth(1e9, "file")
        ),
        measurement("cache.node:0.file:_var_tmp.read", "io").model_copy(
            update={"status": "skipped"}
        ),
    ]
    run = type("Run", (), {"measurements": found})()
    rates = {name: one.estimate for name, one in offload.figures_of(run).items()}
    assert rates == {"h2d": 55e9, "both": 46e9, "pageable": 8e9, "storage": 2e9}


def test_a_load_is_predicted_from_each_source_in_each_way() -> None:
    found = {row.name: row for row in offload.predictions(RATES, offload.facts_of(LOAD))}
    assert {name: round(row.seconds, 6) for name, row in found.items()} == {
        "storage_mmap": 1.25,
        "storage_staged": 1.00016,
        "storage_cufile": 0.8,
        "cache_mmap": 0.25,
        "cache_staged": 0.05016,
    }
    assert found["storage_cufile"].error == pytest.approx(-0.2)
    assert found["storage_mmap"].error == 0


def test_the_whole_way_counts_where_it_was_measured() -> None:
    (row,) = offload.predictions(
        {**RATES, "cache-staged": bandwidth(32e9)}, {"size": 1.6e9, "cache_staged": 0.04}
    )
    assert (row.seconds, row.formula) == (0.05, "size / cache-staged")


def test_decoding_and_training_are_predicted_for_each_place() -> None:
    found = {row.name: row.seconds for row in offload.predictions(RATES, offload.facts_of(LLM))}
    assert found == pytest.approx(
        {
            "decode_gpu": 3e9 / 4e12 + 38 * 2e-6,
            "decode_host": 0.04,
            "decode_storage": 1.0,
            "kv_host": 0.02,
            "train_gpu": 0.02 + 0.0012,
            "train_host": 0.02 + 8 * 0.003,
            "train_storage": 2 * 1.44e9 / 2e9,
        }
    )


def test_nothing_is_faster_than_with_all_in_the_gpus_memory() -> None:
    fast = {**RATES, "h2d": bandwidth(1e15)}
    found = {row.name: row.seconds for row in offload.predictions(fast, offload.facts_of(LLM))}
    assert found["decode_host"] == found["kv_host"] == found["decode_gpu"]


def test_intervals_leave_a_prediction_between_two_times() -> None:
    """By hand: each figure's end alone, added in quadrature."""
    facts = {"size": 1e9, "cache_mmap": 0.1}
    known = {
        "pageable": (10e9, 8e9, 12.5e9),  # 100 ms, +25, -20
        "cache-mapped": (8e9, 5e9, 10e9),  # 125 ms, +75, -25
        "cache-touched": (10e9, 10e9, 10e9),
        "h2d": (50e9, 1e9, 99e9),  # not of this time
    }
    figures = {
        name: bandwidth(estimate).model_copy(update={"ci_low": low, "ci_high": high})
        for name, (estimate, low, high) in known.items()
    }
    (row,) = offload.predictions(figures, facts)
    less, more = (20**2 + 25**2) ** 0.5, (25**2 + 75**2) ** 0.5
    assert row.within == pytest.approx((0.125 - less / 1e3, 0.125 + more / 1e3))
    (row,) = offload.predictions({**figures, "pageable": bandwidth(10e9)}, facts)
    assert row.within is None
    (row,) = offload.predictions({**figures, "h2d": bandwidth(50e9)}, facts)
    assert row.within


def test_the_plan_measures_what_predictions_need() -> None:
    named = dict.fromkeys((str(one.name) for one in predicting_plan("offload")), bandwidth(1e9))
    memory = LOAD.replace("cache", "memory")
    for output in (LOAD, LLM, memory):
        assert offload.predictions(named, offload.facts_of(output))


def test_a_figure_that_the_run_lacks_is_named() -> None:
    without = {name: rate for name, rate in RATES.items() if name != "storage-mapped"}
    with pytest.raises(UserError, match=r"no figure 'storage-mapped'; 'apps run'"):
        offload.predictions(without, offload.facts_of(LOAD))
