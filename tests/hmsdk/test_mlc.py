"""MLC's matrix of bandwidths, and the weights that come of it."""

import contextlib
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.model.errors import UserError
from tierscope.peers.hmsdk.weights import (
    best_weights,
    hmsdk_weights,
    parse_groups,
    ratio_error,
    weigh,
)
from tierscope.peers.mlc_text import parse_matrix

HEAD = """Intel(R) Memory Latency Checker - v3.11
Command line parameters: --bandwidth_matrix

Using buffer size of 100.000MiB/thread for reads and an additional 100.000MiB/thread for writes
"""
TITLE = """Measuring Memory Bandwidths between nodes within system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
\t\tNuma node
"""
LATENCIES = """Measuring idle latencies for sequential access (in ns)...
\t\tNuma node
Numa node\t     0\t     1
       0\t  82.1\t 141.0

"""
RATES = st.floats(0.1, 1e7).map(lambda rate: round(rate, 1))


def grid(matrix: dict[int, dict[int, float]]) -> str:
    targets = next(iter(matrix.values()))
    lines = ["\t".join(["Numa node", *(f"{node:6}" for node in targets)])]
    lines += [
        "\t".join([f"{node:8}", *(f"{rate:7.1f}" for rate in row.values())])
        for node, row in matrix.items()
    ]
    return "\n".join(lines) + "\n"


@st.composite
def matrices(draw: st.DrawFn) -> dict[int, dict[int, float]]:
    nodes = st.lists(st.integers(0, 1023), min_size=1, max_size=6, unique=True)
    targets = draw(nodes)
    return {node: {to: draw(RATES) for to in targets} for node in draw(nodes)}


@given(matrices(), st.sampled_from(["", HEAD, HEAD + LATENCIES]), st.booleans())
def test_what_mlc_prints_is_read_back(
    matrix: dict[int, dict[int, float]], before: str, more: bool
) -> None:
    text = before + TITLE + grid(matrix) + ("\nMeasuring Loaded Latencies\nDelay\n" if more else "")
    found = parse_matrix(text, "mlc.txt")
    assert {n: {to: round(r / 1e6, 1) for to, r in row.items()} for n, row in found.items()} == (
        matrix
    )


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_in_one_line_with_its_place(text: str) -> None:
    for prefix in ("", TITLE, TITLE + "Numa node\t0\t1\n"):
        said = refusal(prefix + text)
        assert said == "" or said.startswith("mlc.txt:")
        assert len(said.splitlines()) <= 1


def refusal(text: str) -> str:
    """Why a text is refused; empty where it is read."""
    try:
        found = parse_matrix(text, "mlc.txt")
    except UserError as error:
        return str(error)
    assert all(0 <= rate < math.inf for row in found.values() for rate in row.values())
    return ""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("Numa node\t0\t1\n0\t5.0\n", "mlc.txt:7: node 0 has 1 bandwidths, not 2"),
        ("Numa node\t0\n0\tnan\n", "mlc.txt:7: 'nan' is not a bandwidth in MB/s"),
        ("Numa node\t0\n0\t1e300\n", "mlc.txt:7: '1e300' is not a bandwidth in MB/s"),
        ("Numa node\t0\t0\n", "mlc.txt:6: 'Numa node' is not followed by"),
        ("Numa node\t0\n0\t5.0\n0\t5.0\n", "mlc.txt:8: a second row of node 0"),
        ("Numa node\t0\nhello\t5.0\n", "mlc.txt:7: 'hello' is not the number of a node"),
        ("", "mlc.txt: the matrix of bandwidths has no rows"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(body: str, why: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_matrix(TITLE + body, "mlc.txt")
    assert str(refused.value).startswith(why)


def test_a_latency_matrix_is_no_matrix_of_bandwidths() -> None:
    with pytest.raises(UserError, match="--bandwidth_matrix"):
        parse_matrix(LATENCIES, "mlc.txt")


# Weights


@given(st.dictionaries(st.integers(0, 7), st.integers(1, 255), min_size=1, max_size=5))
def test_bandwidths_in_the_ratio_of_weights_give_this_ratio(weights: dict[int, int]) -> None:
    found = best_weights({node: 1e9 * weight for node, weight in weights.items()})
    common = math.gcd(*weights.values())
    assert found == {node: weight // common for node, weight in weights.items()}


@given(RATES, RATES, st.integers(2, 24))
def test_of_two_nodes_no_weights_are_nearer(one: float, other: float, most: int) -> None:
    bandwidths = {0: one, 2: other}
    found = ratio_error(best_weights(bandwidths, most), bandwidths)
    every = ({0: a, 2: b} for a in range(1, most + 1) for b in range(1, most + 1))
    assert found <= min(ratio_error(weights, bandwidths) for weights in every) + 1e-9


@given(st.lists(RATES, min_size=1, max_size=6))
def test_weights_are_the_kernels_and_have_nothing_in_common(rates: list[float]) -> None:
    found = best_weights(dict(enumerate(rates)))
    assert all(1 <= weight <= 255 for weight in found.values())
    assert math.gcd(*found.values()) == 1


def test_hmsdk_s_rule_misses_what_the_best_weights_hit() -> None:
    bandwidths = {0: 79670.3e6, 2: 29617.2e6}  # 2.69
    assert hmsdk_weights(bandwidths) == {0: 5, 2: 2}
    best = best_weights(bandwidths)
    assert abs(Fraction(best[0], best[2]) - Fraction(796703, 296172)) < Fraction(1, 2000)
    assert (
        ratio_error(best, bandwidths) < 0.001 < ratio_error(hmsdk_weights(bandwidths), bandwidths)
    )


@given(st.lists(st.floats(1e9, 1e12), min_size=2, max_size=4))
def test_hmsdk_s_rule_has_weights_up_to_ten(rates: list[float]) -> None:
    found = hmsdk_weights(dict(enumerate(rates)))
    assert all(1 <= weight <= 10 for weight in found.values())


@given(st.text(max_size=40))
def test_any_text_is_groups_or_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        assert all(parse_groups(text))


def test_groups_as_hmsdk_writes_them() -> None:
    assert parse_groups("[[0,2],[1,3]]") == [[0, 2], [1, 3]]
    for text in ("[[0,2],[2,3]]", "[0,2]", "[[]]", "[[true]]", "[[-1]]", "{}", "[" * 100_000):
        with pytest.raises(UserError):
            parse_groups(text)


def test_a_matrix_without_a_node_of_a_group_is_refused() -> None:
    matrix = {0: {0: 5e9, 2: 0.0}}
    with pytest.raises(UserError, match="from node 0 to node 2"):
        weigh(0, [0, 2], matrix, 255, hmsdk=False)
    with pytest.raises(UserError, match="no row of node 1"):
        weigh(1, [1], matrix, 255, hmsdk=False)
