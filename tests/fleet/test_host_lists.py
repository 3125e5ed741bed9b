"""Padding, ranges and limits of lists of hosts, against a list of all of their names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.fleet.groups import compress, expand
from tierscope.model.errors import UserError


@given(st.integers(1, 4), st.integers(0, 30), st.integers(0, 1200))
def test_a_range_counts_with_the_digits_of_its_first_number(
    width: int, first: int, more: int
) -> None:
    last = first + more
    names = [f"n{number:0{width}}x" for number in range(first, last + 1)]
    assert expand(f"n[{first:0{width}}-{last}]x") == names
    assert expand(f"n[{first:0{width}}-{last:0{width}}]x") == names


@given(
    st.lists(st.tuples(st.sampled_from(["n", "m", "n-"]), st.integers(0, 120), st.integers(1, 4),
                       st.sampled_from(["", ".x"])), min_size=1, max_size=40)
)  # fmt: skip
def test_a_list_has_every_name_once_with_its_zeros(
    parts: list[tuple[str, int, int, str]],
) -> None:
    names = [f"{prefix}{number:0{width}}{suffix}" for prefix, number, width, suffix in parts]
    found = expand(compress(names))
    assert len(found) == len(set(found))
    assert set(found) == set(names)


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        (["n8", "n9", "n10", "n11", "n13"], "n[8-11,13]"),
        (["n08", "n09", "n10", "n11", "n012"], "n[08-11,012]"),
        (["n099", "n100"], "n[099-100]"),
        (["n99", "n100"], "n[99-100]"),
        (["n99", "n0100"], "n[99,0100]"),
        (["n0", "n00", "n000"], "n[0,00,000]"),
        (["n1", "n3", "n5"], "n[1,3,5]"),
        (["n7"], "n7"),
        (["n2", "n1", "n2"], "n[1-2]"),
        (["x2y3", "x2y4"], "x2y[3-4]"),
        (["b", "a"], "a,b"),
        ([], ""),
    ],
)
def test_numbers_that_follow_each_other_with_the_same_digits_are_a_range(
    hosts: list[str], text: str
) -> None:
    assert compress(hosts) == text


def test_a_million_is_the_most() -> None:
    assert len(expand("n[1-1000000]")) == 1_000_000
    for text in ("n[0-1000000]", "n[0-999]m[0-1000]", "n[0-499999],m[0-500000]"):
        with pytest.raises(UserError, match="more than 1000000"):
            expand(text)
    with pytest.raises(UserError, match="not a range"):
        expand("n[2-1]")
    assert expand("n[2-2]") == ["n2"]
    assert expand("n[3,1]") == ["n3", "n1"]
    assert expand("a[1-2]b[3-4]") == ["a1b3", "a1b4", "a2b3", "a2b4"]
