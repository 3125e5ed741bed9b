"""Page ratios of a few nodes, whose limits are simple enough to follow by hand."""

import pytest

from tierscope.analysis.spread import (
    Limit,
    Rates,
    Spread,
    best_spread,
    directions,
    nearest_weights,
    node_limit,
    predict,
    shares_of,
    threads_limit,
    whole_weights,
)


@pytest.mark.parametrize(
    ("rates", "writes", "expected"),
    [
        (Rates(read=30, write=20), 0.0, [("x, reads", 30, (1.0, 0.5))]),
        (Rates(read=30, write=20), 1.0, [("x, writes", 20, (1.0, 0.5))]),
        (Rates(read=30, write=20, both=40), 0.25,
         [("x, reads", 30, (0.75, 0.375)), ("x, writes", 20, (0.25, 0.125)), ("x", 40, (1, 0.5))]),
        (Rates(write=20), 0.5, [("x, writes", 20, (0.5, 0.25))]),
        (Rates(), 0.5, []),
    ],
)  # fmt: skip
def test_each_direction_that_is_used_and_limited_is_a_limit(
    rates: Rates, writes: float, expected: list[tuple[str, float, tuple[float, ...]]]
) -> None:
    found = directions("x", rates, (1, 0.5), writes)
    assert [(one.name, one.rate, one.use) for one in found] == expected
    assert not any(one.of_threads for one in found)


@pytest.mark.parametrize(
    ("waiting", "rate"), [(0, 100), (5, 90), (10, 80), (15, 60), (20, 40), (90, 40)]
)
def test_a_rate_falls_from_point_to_point_as_threads_wait(waiting: float, rate: float) -> None:
    assert Limit("x", 100, (1,), ((10, 80), (20, 40))).rate_at(waiting) == pytest.approx(rate)
    assert Limit("x", 100, (1,), ((0, 100), (10, 80), (20, 40))).rate_at(waiting) == (
        pytest.approx(rate)
    )
    assert Limit("x", 100, (1,)).rate_at(waiting) == 100


@pytest.mark.parametrize(
    ("curve", "rate", "past"),
    [
        # 8 threads at 30 are as many as 3 that do not wait: 5 do. At the peak, none of 4.
        ({1: 10, 4: 40, 8: 30}, 40, ((0, 40), (5, 30))),
        # Two take 10; of 4 at 18, 0.4 wait, of 16 at 12, 13.6; 8 have the peak, too.
        ({2: 10, 4: 18, 8: 18, 16: 12}, 18, ((0.4, 18), (13.6, 12))),
        # 4 threads wait less than 3 did: they are no point further on.
        ({1: 10, 2: 20, 3: 5, 4: 19, 5: 10}, 20, ((0, 20), (2.5, 5), (4, 10))),
        # More than one thread promises: nobody is said to wait.
        ({1: 10, 4: 80, 5: 79}, 80, ((0, 80),)),
        ({1: 10, 4: 40}, 40, ()),
        ({4: 40}, 40, ()),
    ],
)
def test_a_node_falls_as_its_threads_did(
    curve: dict[int, float], rate: float, past: tuple[tuple[float, float], ...]
) -> None:
    found = node_limit("n", (1.0, 0.0), curve)
    assert (found.name, found.rate, found.use, found.of_threads) == ("n", rate, (1.0, 0.0), False)
    assert [*found.past] == [pytest.approx(point) for point in past]


def test_the_threads_that_wait_are_those_that_the_bandwidth_does_not_take() -> None:
    """30 threads, half of one for each unit, B: 50 - 1.25 x (30 - B / 2) is B at 33.3. Of 10 more
    of another initiator, all of whom wait, 50 - 1.25 x (40 - B / 2) is B at 0: the floor of 25."""
    falls = Limit("far", 50, (1,), ((0, 50), (20, 25)))
    found = predict([falls, threads_limit("t", 30, (0.5,))], (1,))
    assert (found.bound_by, found.shares) == ("far", (1,))
    assert found.bandwidth == pytest.approx(100 / 3)
    two = [falls, threads_limit("t", 30, (0.5,)), threads_limit("u", 10, (0.01,))]
    assert predict(two, (1,)).bandwidth == pytest.approx(25)
    # Threads that are the limit do not wait.
    few = predict([falls, threads_limit("t", 20, (0.5,))], (1,))
    assert (few.bound_by, few.bandwidth) == ("t", 40)


def test_what_is_not_used_bounds_nothing() -> None:
    limits = [Limit("a", 10, (1, 0)), Limit("b", 5, (0, 1))]
    assert predict(limits, (1, 0)) == Spread((1, 0), 10, "a")
    assert predict(limits, (0.5, 0.5)) == Spread((0.5, 0.5), 10, "b")
    assert shares_of((3, 1)) == [0.75, 0.25]
    with pytest.raises(ValueError, match="no limit bounds"):
        predict(limits[:1], (0, 1))


def test_three_nodes_behind_two_links_have_what_the_links_carry() -> None:
    """Nodes of 100, 40 and 40, the latter two behind one link of 50: 150 in all."""
    limits = [
        Limit("a", 100, (1, 0, 0)), Limit("b", 40, (0, 1, 0)), Limit("c", 40, (0, 0, 1)),
        Limit("link", 50, (0, 1, 1)),
    ]  # fmt: skip
    found = best_spread(limits)
    assert found.bandwidth == pytest.approx(150)
    assert found.shares[0] == pytest.approx(100 / 150)


@pytest.mark.parametrize(
    ("rates", "longest", "weights"),
    [
        ((100, 50), None, (2, 1)),
        ((100, 30), None, (10, 3)),
        # 4:1 and 3:1 are beside 10:3; 3 of 4 pages at 100 give 133, but 1 of 4 at 30 gives 120.
        ((100, 30), 5, (4, 1)),
        ((100, 30), 1, (1, 1)),
        ((255, 1), None, (255, 1)),
        # A node of less than a page in 255 is left out where that costs less than 0.25%.
        ((1000, 1), None, (1, 0)),
        ((100, 100, 100), None, (1, 1, 1)),
    ],
)  # fmt: skip
def test_weights_are_the_shortest_round_that_loses_little(
    rates: tuple[float, ...], longest: int | None, weights: tuple[int, ...]
) -> None:
    limits = [
        Limit(f"n{n}", rate, tuple(float(n == k) for k in range(len(rates))))
        for n, rate in enumerate(rates)
    ]
    assert whole_weights(limits, best_spread(limits), longest) == weights


@pytest.mark.parametrize(
    ("parts", "longest", "weights"),
    [
        # 8:3 is 0.2% and 0.6% off; 5:2 is 2%.
        ((2.69, 1), None, (8, 3)),
        ((2.69, 1), 4, (3, 1)),
        ((1, 0, 1), None, (1, 0, 1)),
        ((50, 25), None, (2, 1)),
        ((1000, 1), None, (255, 1)),
        # Of 98:1 the share of the second is 1/99, 1.01% off; of 253:1 it is 1/254, 0.75% off.
        ((99, 1), None, (99, 1)),
        ((1, 254.9), None, (1, 253)),
        ((1, 1), 1, (1, 1)),
    ],
)
def test_weights_of_parts_are_within_a_hundredth_or_the_nearest(
    parts: tuple[float, ...], longest: int | None, weights: tuple[int, ...]
) -> None:
    assert nearest_weights(parts, longest) == weights


def test_where_memories_fall_a_few_may_wait_at_the_best_ratio() -> None:
    """Against every ratio of a thousand; with nobody waiting it is 0.5% below."""
    limits = [
        Limit("a", 200, (1, 0), ((0, 200), (10, 160))),
        Limit("b", 100, (0, 1), ((0, 100), (10, 50))),
        threads_limit("t", 64, (0.1, 0.5)),
    ]
    most = max(predict(limits, (n / 1000, 1 - n / 1000)).bandwidth for n in range(1, 1000))
    assert 0.998 * most <= best_spread(limits).bandwidth <= most * 1.001
