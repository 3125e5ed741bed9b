import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.plans import grammar


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64", 64),
        ("4k", 4096),
        ("1.5m", 3 << 19),
        ("2G", 2 << 30),
        ("2MiB", 2 << 20),
        ("1t", 1 << 40),
    ],
)
def test_a_size_takes_powers_of_1024(text: str, size: int) -> None:
    assert grammar.parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "k", "-1", "1e3", "1.0001", "4 x", "0x10", "²", "9" * 30, "1025t"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="size"):
        grammar.parse_size(text)


@given(st.integers(min_value=0, max_value=1 << 50))
def test_a_formatted_size_parses_back(size: int) -> None:
    assert grammar.parse_size(grammar.format_size(size)) == size


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("64..512", [64, 128, 256, 512]),
        ("64..500", [64, 128, 256, 500]),
        ("64,4k", [64, 4096]),
        ("64..256+64", [64, 128, 192, 256]),
        ("1k..16k*4", [1024, 4096, 16384]),
        ("1.5k..6k", [1536, 3072, 6144]),
        ("64,64..128", [64, 128]),
        ("4k..4k", [4096]),
    ],
)
def test_sizes_double_unless_told(text: str, sizes: list[int]) -> None:
    assert grammar.expand_sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("1..4", [1, 2, 3, 4]),
        ("all", [12]),
        ("1..all*2", [1, 2, 4, 8, 12]),
        ("1..8+3", [1, 4, 7, 8]),
        ("3,1", [3, 1]),
    ],
)
def test_counts_go_up_by_one_unless_told(text: str, counts: list[int]) -> None:
    assert grammar.expand_counts(text, every=12) == counts


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("8..1", "backwards"),
        ("1..8*1", "never ends"),
        ("1..8+0", "never ends"),
        ("1..100000", "more than 10000 values"),
        ("1,,2", "neither a count"),
        ("0", "0 is too few"),
        ("1..2..3", "neither a count"),
        ("-1", "neither a count"),
    ],
)
def test_a_wrong_range_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        grammar.expand_counts(text, every=12)


@given(first=st.integers(1, 1 << 20), last=st.integers(1, 1 << 40), factor=st.integers(2, 16))
def test_a_range_ascends_and_has_both_its_ends(first: int, last: int, factor: int) -> None:
    low, high = sorted((first, last))
    values = grammar.expand_sizes(f"{low}..{high}*{factor}")
    assert values[0] == low
    assert values[-1] == high
    assert values == sorted(set(values))


@given(st.text(max_size=30))
def test_any_text_is_a_list_of_sizes_or_a_user_error(text: str) -> None:
    try:
        values = grammar.expand_sizes(text)
    except UserError:
        return
    assert values
    assert all(isinstance(value, int) and value >= 0 for value in values)


@given(st.text(max_size=30))
def test_any_text_is_a_list_of_counts_or_a_user_error(text: str) -> None:
    try:
        values = grammar.expand_counts(text, every=4)
    except UserError:
        return
    assert all(value >= 1 for value in values)


def test_a_comma_inside_an_endpoint_does_not_separate_endpoints() -> None:
    text = "node:0,2@3:1,node:1,cpus:0-3,5,file:/a,b"
    assert grammar.split_endpoints(text) == [
        "node:0,2@3:1",
        "node:1",
        "cpus:0-3,5",
        "file:/a,b",
    ]


_NUMBERS = st.lists(st.integers(0, 99), min_size=1, max_size=5, unique=True)


@given(numbers=_NUMBERS, weights=st.lists(st.integers(1, 255), min_size=5, max_size=5))
def test_an_endpoint_s_text_parses_back_to_it(numbers: list[int], weights: list[int]) -> None:
    nodes = ",".join(map(str, numbers))
    shares = ":".join(map(str, weights[: len(numbers)]))
    for text in (f"node:{nodes}", f"node:{nodes}@{shares}", f"cpus:{nodes}"):
        endpoint = parse_endpoint(text)
        assert parse_endpoint(str(endpoint)) == endpoint


@given(
    st.text(max_size=30) | st.from_regex(r"(node|cpus|gpu|file):[0-9,@:/-]{0,20}", fullmatch=True)
)
def test_any_text_is_an_endpoint_or_a_user_error(text: str) -> None:
    try:
        endpoint = parse_endpoint(text)
    except UserError:
        return
    assert parse_endpoint(str(endpoint)) == endpoint


def test_a_wrong_word_names_the_nearest_right_one() -> None:
    with pytest.raises(UserError, match="did you mean 'triad'"):
        grammar.parse_choice("traid", ("read", "triad"))
