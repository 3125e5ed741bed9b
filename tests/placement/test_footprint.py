"""What is accessed: regions over pieces of memory, and what could live on a slow node."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.cost import on_slow
from tierscope.place.damon.footprint import Observed, Piece
from tierscope.place.damon.status import Region


def test_regions_are_laid_over_the_memory_that_is_there() -> None:
    one = Observed("1 x", [Piece(0, 100, 100), Piece(100, 200, 50), Piece(1000, 1100, 100)])
    one.add([Region(0, 0, 150, 10, 0), Region(0, 150, 900, 0, 0), Region(0, 1050, 1200, 20, 0)], 20)
    assert one.heat == [[0.5, 0.25, 0.5]]
    assert one.working_sets() == [250]
    one.add([], 20)
    assert one.working_sets() == [250, 0]


@given(
    edges=st.lists(st.integers(0, 1000), min_size=2, max_size=12, unique=True),
    accesses=st.integers(0, 20),
)
def test_regions_of_one_rate_give_each_piece_that_rate(edges: list[int], accesses: int) -> None:
    edges = sorted(edges)
    one = Observed("x", [Piece(at, at + 10, 10) for at in range(edges[0], edges[-1], 10)])
    one.add([Region(0, a, b, accesses, 0) for a, b in itertools.pairwise(edges)], 20)
    whole = [
        share
        for share, piece in zip(one.heat[0], one.pieces, strict=True)
        if piece.end <= edges[-1]
    ]
    assert whole == pytest.approx([accesses / 20] * len(whole))


def test_the_least_accessed_go_to_the_slow_node_first() -> None:
    # 100 B never accessed, 100 B with 5 of 100 accesses, 10 B with 95.
    rows = {row.share: row for row in on_slow([(10, 95), (100, 0), (100, 5)], (100.0, 300.0))}
    assert (rows[0.0].bytes, rows[0.0].latency_ns) == (100, 100)
    assert (rows[0.02].bytes, rows[0.05].bytes) == (100, 200)
    assert rows[0.05].latency_ns == pytest.approx(110)
    assert rows[0.05].slowdown == pytest.approx(0.1)


@given(
    pieces=st.lists(st.tuples(st.floats(1, 1e9), st.floats(0, 1e9)), max_size=20),
    latencies=st.none() | st.tuples(st.floats(1, 1e3), st.floats(1, 1e4)),
)
def test_more_accesses_to_it_never_mean_less_memory_on_it(
    pieces: list[tuple[float, float]], latencies: tuple[float, float] | None
) -> None:
    rows = on_slow(pieces, latencies)
    if not any(accesses for _, accesses in pieces):
        assert rows == []
        return
    sizes = [row.bytes for row in rows]
    assert sizes == sorted(sizes)
    assert sizes[-1] <= sum(size for size, _ in pieces) * (1 + 1e-9)
    if latencies:
        low, high = sorted(latencies)
        assert all(row.latency_ns and low * 0.999 <= row.latency_ns <= high * 1.001 for row in rows)
