import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tierscope.model.endpoint import (
    INITIATORS,
    STORAGE,
    TARGETS,
    EndpointKind,
    parse_endpoint,
    parse_initiator,
    parse_target,
)
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


_PATHS = st.text(
    st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=30
).map("/".__add__)


@given(kind=st.sampled_from(STORAGE), path=_PATHS)
def test_what_stores_data_outside_of_memory_is_a_target_by_its_path(
    kind: EndpointKind, path: str
) -> None:
    target = parse_target(f"{kind}:{path}")
    assert (target.kind, target.path, str(target)) == (kind, path, f"{kind}:{path}")
    with pytest.raises(UserError, match="issues no accesses; this accepts initiators of the forms"):
        parse_initiator(str(target))


@given(kind=st.sampled_from(STORAGE), path=_PATHS, number=st.integers(0, 99))
def test_endpoints_of_every_kind_are_told_apart_in_a_list(
    kind: EndpointKind, path: str, number: int
) -> None:
    assume(path == path.strip() and ":" not in path)
    words = [f"{kind}:{path}", f"gpu:{number}", f"node:{number}", f"{kind}:{path}x"]
    assert grammar.split_endpoints(",".join(words)) == words


@pytest.mark.parametrize("kind", STORAGE)
@pytest.mark.parametrize("path", ["x", "./x", "/a\x00b", "/a\nb", ""])
def test_a_path_is_absolute_and_printable(kind: EndpointKind, path: str) -> None:
    with pytest.raises(UserError, match="endpoint"):
        parse_endpoint(f"{kind}:{path}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gpu:0", "'gpu:0' is a GPU; latency accepts targets of the forms node:0"),
        ("dev:/dev/sda", "'dev:/dev/sda' is a block device; latency accepts targets of the forms"),
        ("cpus:0", "'cpus:0' is a set of CPUs and holds no data; latency accepts targets of the"),
    ],
)
def test_a_refused_target_is_named_beside_what_is_accepted(text: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_target(text, (EndpointKind.NODE,), "latency")
    assert says in str(refused.value)


def test_an_initiator_takes_no_weights() -> None:
    assert parse_target("node:0,1@2:1").weights == (2, 1)
    with pytest.raises(UserError, match="weights, which only targets take"):
        parse_initiator("node:0,1@2:1")


@given(
    st.text(max_size=30)
    | st.from_regex(r"(node|cpus|gpu|file|dev|pmem|dax):[0-9,@:/-]{0,20}", fullmatch=True)
)
def test_any_text_is_an_endpoint_or_a_user_error(text: str) -> None:
    try:
        endpoint = parse_endpoint(text)
    except UserError:
        return
    assert parse_endpoint(str(endpoint)) == endpoint
    for parse, kinds in ((parse_initiator, INITIATORS), (parse_target, TARGETS)):
        try:
            assert str(parse(text)) == str(endpoint)
        except UserError:
            assert endpoint.kind not in kinds or endpoint.weights


def test_a_wrong_word_names_the_nearest_right_one() -> None:
    with pytest.raises(UserError, match="did you mean 'triad'"):
        grammar.parse_choice("traid", ("read", "triad"))
