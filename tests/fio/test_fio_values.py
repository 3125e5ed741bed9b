"""How fio writes values."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.model.errors import UserError
from tierscope.peers.fio import values
from tierscope.peers.fio.values import Blocks, Numbers, Policy, Spread, Steadiness

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("4096", 4096), ("4k", 4096), ("4K", 4096), ("4kb", 4096), ("4kB", 4096), ("4ki", 4000),
        ("4KiB", 4000), ("1m", MIB), ("1mi", 10**6), ("2g", 2 * GIB), ("1t", 1 << 40),
        ("0x1000", 4096), ("512b", 512), ("4 k", 4096),
    ],
)  # fmt: skip
def test_k_is_1024_and_ki_is_1000_unless_kb_base_says_otherwise(text: str, bytes_: int) -> None:
    assert Numbers().amount(text) == bytes_


def test_kb_base_turns_units_round() -> None:
    assert Numbers(1000).amount("4k") == 4000
    assert Numbers(1000).amount("4ki") == 4096
    assert Numbers(1000).amount("7") == 7


@given(st.integers(0, 1 << 40), st.sampled_from("kmg"))
def test_units_scale(number: int, unit: str) -> None:
    factor = {"k": KIB, "m": MIB, "g": GIB}[unit]
    if number * factor <= 1 << 60:
        assert Numbers().amount(f"{number}{unit}") == number * factor
    else:
        with pytest.raises(UserError, match="is above"):
            Numbers().amount(f"{number}{unit}")


@pytest.mark.parametrize("text", ["8*1024", "(4k)", "4k+1", "5/8", "2^4", "$size", "4-1"])
def test_arithmetic_is_refused_as_such(text: str) -> None:
    with pytest.raises(UserError, match="arithmetic is not evaluated"):
        Numbers().amount(text)


@pytest.mark.parametrize("text", ["", "k", "4q", "1.5g", "four", "4k4", "٤"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a number"):
        Numbers().amount(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10", 10), ("10s", 10), ("5m", 300), ("500ms", 0.5), ("20usec", 2e-5), ("1h", 3600),
     ("10sec", 10), ("1D", 86400)],
)  # fmt: skip
def test_times(text: str, seconds: float) -> None:
    assert values.seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "-1", "1.5", "10x", "99999999", "12d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        values.seconds(text)


def test_shares_of_block_sizes() -> None:
    numbers = Numbers()
    split = numbers.split("4k/10:64k/50:32k/40")
    assert split.reads == split.writes == ((4096, 1000), (65536, 5000), (32768, 4000))
    rest = numbers.split("4k/:8k/30:16k/,1k/100").reads
    assert rest == ((4096, 3500), (8192, 3000), (16384, 3500))
    assert numbers.split("4k/10:8k/90,512/100").writes == ((512, 10000),)
    with pytest.raises(UserError, match="add up to 90%"):
        numbers.split("4k/10:8k/80")
    with pytest.raises(UserError, match="percentage"):
        numbers.split("4k/x")
    with pytest.raises(UserError, match="different sizes"):
        numbers.split("4k/50:4k/50")


def test_block_sizes_of_reads_and_writes() -> None:
    numbers = Numbers()
    assert numbers.blocks("8k") == Blocks(*[((8192, 1),)] * 3)
    assert numbers.blocks("8k,64k,1m") == Blocks(((8192, 1),), ((65536, 1),), ((MIB, 1),))
    assert numbers.blocks(",64k") == Blocks(((4096, 1),), *[((65536, 1),)] * 2)
    assert numbers.range("4k-16k").reads == tuple((4096 * n, 1) for n in (1, 2, 3, 4))
    assert numbers.range("16k:4k,1m-1m") == Blocks(
        numbers.range("4k-16k").reads, *[((MIB, 1),)] * 2
    )
    with pytest.raises(UserError, match="512"):
        numbers.blocks("100")


@pytest.mark.parametrize("word", ["trimwrite", "randtrimwrite", "trimread"])
def test_trims_are_not_mixed(word: str) -> None:
    with pytest.raises(UserError, match=r"is not one of read, .*, trim, randtrim"):
        Numbers().work(word)


def test_shares_of_priorities() -> None:
    reads, writes = Numbers().priorities("64k/25/1/1:64k/75/3/2:1m/0,1m/10")
    assert [(one.bytes, one.percent, one.named) for one in reads] == [
        (65536, 25, (1, 1)), (65536, 75, (3, 2)),
    ]  # fmt: skip
    assert [(one.bytes, one.percent, one.named) for one in writes] == [(MIB, 10, None)]
    assert Numbers().priorities("4k/5")[0] == Numbers().priorities("4k/5")[1]
    for text, why in (
        ("64k", "is not SIZE/PERCENT"), ("64k/1/2", "is not SIZE/PERCENT"),
        ("64k/50:64k/51", "above 100%"), ("64k/10/4/0", "classes are 0 to 3"),
        ("64k/10/1/8", "levels 0 to 7"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=why):
            Numbers().priorities(text)
    assert values.each_direction(0, 100)(Numbers(), "20,5") == (20, 5)
    assert values.each_direction(0, 100)(Numbers(), "20") == (20, 20)
    with pytest.raises(UserError, match="from 0 to 100"):
        values.each_direction(0, 100)(Numbers(), "101")


def test_words_of_rw() -> None:
    work = Numbers().work
    assert [work(word).operation for word in ("read", "randwrite", "rw", "trim")] == [
        "read", "write", "mix", "trim",
    ]  # fmt: skip
    assert work("randrw").random
    assert [work(word).stride for word in ("read", "read:8k", "write:-4k")] == [0, 8192, -4096]
    assert [work(word).run for word in ("randread", "randread:8")] == [1, 8]
    with pytest.raises(UserError, match="share an offset"):
        work("randread:0")


def test_distributions() -> None:
    assert values.spread("random") == Spread()
    assert values.spread("zipf") == Spread(zipf=1.1)
    assert values.spread("zipf:0.5") == Spread(zipf=0.5)
    assert values.spread("pareto:0.9").pareto == 0.9
    assert values.spread("normal:20").normal == 20
    assert values.spread("zoned:50/5:30/15:20/").zones == ((50, 5), (30, 15), (20, 80))
    for text in ("zipf:0", "pareto:1", "zoned:50/5", "zoned:50/60:50/60", "sequence:1,2"):
        with pytest.raises(UserError):
            values.spread(text)


def test_steadiness() -> None:
    assert Numbers().steadiness("iops:10%") == Steadiness("iops", False, 10, True)
    assert Numbers().steadiness("bw_slope:0.5") == Steadiness("bandwidth", True, 0.5, False)
    for text in ("iops", "iops:", "depth:3", "iops:x%"):
        with pytest.raises(UserError):
            Numbers().steadiness(text)


def test_lists_masks_policies_and_distributions() -> None:
    assert values.whole_list("0-2,8,1") == (0, 1, 2, 8)
    assert values.mask("0x5") == (0, 2)
    assert values.colons("0:2") == (0, 2)
    assert values.policy("interleave:0-1") == Policy("interleave", (0, 1))
    assert values.policy("local") == Policy("local", ())
    assert values.percentiles("99.9:50") == (50.0, 99.9)
    assert values.names("a:b\\:c") == ("a", "b:c")
    for parse, text in (
        (values.whole_list, "3-1"), (values.mask, "0"), (values.policy, "weird:1"),
        (values.policy, "prefer:0-1"), (values.percentiles, "0"), (values.percentiles, ":"),
        (values.names, "a\0b"),
        (values.switch, "2"),
    ):  # fmt: skip
        with pytest.raises(UserError):
            parse(text)


@given(st.text(max_size=30))
def test_any_text_is_a_value_or_refused_in_a_line(text: str) -> None:
    numbers = Numbers()
    parsers = (
        numbers.amount, numbers.size, numbers.blocks, numbers.split, numbers.range, numbers.rates,
        values.seconds, values.switch, numbers.work, values.whole_list, values.mask, values.policy,
        values.spread, values.percentiles, values.names, numbers.steadiness, values.pattern,
        values.microseconds, values.milliseconds, values.zone_mode,
    )  # fmt: skip
    for parse in parsers:
        with suppress(UserError):
            parse(text)


def test_a_number_of_many_digits_is_refused() -> None:
    with pytest.raises(UserError, match="is above"):
        Numbers().amount("9" * 5000)
