import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tierscope.model.endpoint import (
    INITIATORS,
    STORAGE,
    TARGETS,
    EndpointKind,
    Initiator,
    Target,
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
    assume(path == path.strip() and not re.search(":|,[ ]*[/.]", path))
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
        ("gpu:0", "'gpu:0' is a GPU; latency accepts targets of the form node:0"),
        ("dev:/dev/sda", "'dev:/dev/sda' is a block device; latency accepts targets of the form"),
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
    | st.from_regex(r"(node|cpus?|gpu|file|dev|pmem|dax):?[0-9,@:/-]{0,20}", fullmatch=True)
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


def test_endpoints_keep_their_sides() -> None:
    with pytest.raises(ValueError, match="holds no data"):
        Target(kind=EndpointKind.CPUS, numbers=(0,))
    with pytest.raises(ValueError, match="issues no accesses"):
        Initiator(kind=EndpointKind.FILE, path="/data/x")
    with pytest.raises(ValueError, match="weights are for targets"):
        Initiator(kind=EndpointKind.NODE, numbers=(0,), weights=(1,))


def test_any_ratio_is_a_mix() -> None:
    assert grammar.parse_mix("2:1") == grammar.parse_mix("67:33") == (33, "ordinary")
    assert grammar.parse_mix("1:1nt") == (50, "nt")
    assert grammar.parse_mix("0:3clwb") == (100, "clwb")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0:0", "is not reads:writes such as"),
        ("2-1", "is not reads:writes such as"),
        ("999:1", "the least is 99:1"),
        ("1:999", "the least is 99:1"),
        ("1:0nt", "without writes"),
    ],
)
def test_a_wrong_mix_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        grammar.parse_mix(text)


@given(reads=st.integers(0, 100), stores=st.sampled_from(["", "nt", "clwb", "clflushopt"]))
def test_a_mix_of_percents_is_taken_as_it_is(reads: int, stores: str) -> None:
    assume(reads < 100 or not stores)
    expected = (100 - reads, stores or "ordinary")
    assert grammar.parse_mix(f"{reads}:{100 - reads}{stores}") == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10", 10), ("10s", 10), ("10ms", 0.01), ("1.5 min", 90), ("2m", 120), ("1h", 3600),
     ("250us", 250e-6), ("1e3ns", 1e-6)],
)  # fmt: skip
def test_a_time_has_a_unit(text: str, seconds: float) -> None:
    assert grammar.parse_duration(text, 0, 86400) == pytest.approx(seconds)


@given(value=st.floats(1e-6, 1e4), unit=st.sampled_from(["ns", "us", "ms", "s", "min", "h"]))
def test_units_of_time_scale(value: float, unit: str) -> None:
    one = grammar.parse_duration(f"1{unit}", 0, 1e9)
    assert grammar.parse_duration(f"{value!r}{unit}", 0, 1e9) == pytest.approx(value * one)


@pytest.mark.parametrize(
    "text", ["", "s", "10q", "1s2", "ten", "nan", "inf", "-1s", "0", "25h", "1_0s", "\u0661s"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"is not a time|is out of range"):
        grammar.parse_duration(text, 0, 86400)


@pytest.mark.parametrize(("text", "taken"), [("9us", False), ("10us", True), ("1ns", False)])
def test_a_time_is_taken_from_its_minimum_on(text: str, taken: bool) -> None:
    if taken:
        assert grammar.parse_duration(text, 1e-5, 60) == pytest.approx(1e-5)
        return
    with pytest.raises(UserError, match="is out of range: from 10 us, at most 60 s"):
        grammar.parse_duration(text, 1e-5, 60)


@pytest.mark.parametrize("text", ["1_000", "inf", "nan", "\u0661", "0x10", "1e", "", "%"])
def test_what_is_no_decimal_number_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a number"):
        grammar.parse_number(text, 0, 1e9)


def test_delays_are_nanoseconds_unless_told() -> None:
    assert grammar.expand_nanoseconds("0,100,1us", 10**9) == [0, 100, 1000]
    assert grammar.expand_nanoseconds("250ns..1us", 10**9) == [250, 500, 1000]
    for text in ("1.5", "2s", "1k", "-1"):
        with pytest.raises(UserError):
            grammar.expand_nanoseconds(text, 10**9)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1", "did you mean '1%'"),
        ("50", "did you mean '50%'"),
        ("0.9", "did you mean '0.9%'"),
        ("60", "50%$"),
    ],
)
def test_a_share_without_its_sign_is_told(text: str, hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        grammar.parse_share(text, 0, 0.5)


def test_a_range_with_a_dash_is_told() -> None:
    with pytest.raises(UserError, match=r"a range is written 1k\.\.4k"):
        grammar.expand_sizes("1k-4k")
    with pytest.raises(UserError, match=r"a range is written 1\.\.8"):
        grammar.expand_counts("1-8", every=12)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("node0", "node:0"),
        ("node0,2@3:1", "node:0,2@3:1"),
        ("cpu:0", "cpus:0"),
        ("cpu3-5", "cpus:3-5"),
        ("gpu1", "gpu:1"),
        ("node:0@3,2", "node:0,2@3:1"),
        ("node:0,2@5", None),
        ("node:0@3,2@5", "node:0,2@3:5"),
    ],
)
def test_other_spellings_of_endpoints(typed: str, meant: str | None) -> None:
    if meant is None:
        with pytest.raises(UserError, match="one weight"):
            parse_endpoint(typed)
    else:
        assert str(parse_endpoint(typed)) == meant


def test_short_endpoints_are_told_apart_in_a_list() -> None:
    assert grammar.split_endpoints("node0,1,node2,cpu:0-3,gpu1") == [
        "node0,1",
        "node2",
        "cpu:0-3",
        "gpu1",
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1", "did you mean 'node:1'"),
        ("nodes:1", "did you mean 'node:1'"),
        ("disk", "forms node:0, node:0,2@3:1$"),
    ],
)
def test_an_unknown_endpoint_is_told_only_what_is_accepted(text: str, hint: str) -> None:
    with pytest.raises(UserError, match=hint) as refused:
        parse_target(text, (EndpointKind.NODE,), "latency")
    assert "gpu" not in str(refused.value)
    assert "cpus" not in str(refused.value)


def test_ranges_of_weights_are_ratios() -> None:
    ratios = ["node:0,2@1:1", "node:0,2@2:1", "node:0,2@3:1"]
    assert grammar.expand_weights("node:0,2@1..3:1") == ratios
    behind = grammar.expand_weights("node:0@1..3,2")
    assert [str(parse_target(word)) for word in behind] == ratios
    assert grammar.expand_weights("node:0,2@1..8*2:1..2") == [
        f"node:0,2@{one}:{other}" for one in (1, 2, 4, 8) for other in (1, 2)
    ]


@given(
    nodes=st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True),
    weights=st.lists(st.integers(1, 255), min_size=4, max_size=4),
    last=st.integers(1, 255),
)
def test_a_ratio_without_ranges_is_itself_and_one_with_has_its_ends(
    nodes: list[int], weights: list[int], last: int
) -> None:
    shares = [*map(str, weights[: len(nodes)])]
    text = f"node:{','.join(map(str, nodes))}@{':'.join(shares)}"
    assert grammar.expand_weights(text) == [text]
    low, high = sorted((weights[0], last))
    swept = grammar.expand_weights(text.replace(f"@{shares[0]}", f"@{low}..{high}", 1))
    assert [parse_target(word).weights[0] for word in swept] == [*range(low, high + 1)]


def test_a_wrong_word_names_the_nearest_right_one() -> None:
    with pytest.raises(UserError, match="did you mean 'triad'"):
        grammar.parse_choice("traid", ("read", "triad"))
