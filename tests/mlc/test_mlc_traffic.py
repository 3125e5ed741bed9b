"""MLC's types of traffic against what our streams and loops move on the bus."""

import pytest

from tierscope.kinds.bandwidth.spec import BandwidthPattern, BandwidthSpec
from tierscope.model.errors import UserError
from tierscope.model.path import Traffic
from tierscope.model.stream import StreamPattern
from tierscope.peers.mlc.options import MIXES, PEAK, TWO_NODES, Mix, mix_of
from tierscope.peers.mlc.settings import bound


def traffic(mix: Mix) -> Traffic:
    return StreamPattern(writes=mix.percent, stores=mix.stores, size=1024).traffic()


@pytest.mark.parametrize(
    ("name", "writes", "bus"),
    [
        ("R", 0, 1.0),
        ("W2", 50, 1.5),  # 50 read, 50 fetched : 50 written is 2:1
        ("W3", 33, 1.33),  # 67 read, 33 fetched : 33 written is 3:1
        ("W4", 67, 1.67),  # 33 read, 67 fetched : 67 written is 3:2
        ("W5", 100, 2.0),  # 100 fetched : 100 written is 1:1
        ("W6", 100, 1.0),
        ("W7", 33, 1.0),
        ("W8", 50, 1.0),
        ("W9", 25, 1.0),
        ("W10", 33, 1.0),
        ("W11", 33, 1.33),
        ("W12", 25, 1.25),
        ("W19", 11, 1.11),
    ],
)
def test_what_the_program_writes_follows_from_the_ratio_on_the_bus(
    name: str, writes: int, bus: float
) -> None:
    mix = MIXES[name]
    assert mix.percent == writes
    assert mix.bus_bytes == pytest.approx(bus)
    moved = traffic(mix)
    assert moved.both == pytest.approx(mix.bus_bytes)
    # Whole percent of lines: a hundredth of the traffic is the most that a ratio is off.
    whole = mix.reads + mix.writes
    assert moved.reads / moved.both == pytest.approx(mix.reads / whole, abs=0.01)
    assert moved.writes / moved.both == pytest.approx(mix.writes / whole, abs=0.01)


def test_only_ordinary_stores_fetch_lines() -> None:
    for mix in MIXES.values():
        assert (traffic(mix).fetched > 0) == (mix.stores == "ordinary" and mix.percent > 0)


@pytest.mark.parametrize(("name", "operation"), [("W10", "triad-nt"), ("W11", "triad")])
def test_two_read_buffers_are_triad_s(name: str, operation: str) -> None:
    spec = BandwidthSpec(
        id="x",
        initiator="node:0",
        target="node:0",
        cpus=[0],
        placement=bound(0),
        pattern=BandwidthPattern(operation=operation, size=1 << 20),  # type: ignore[arg-type]
    )
    mix, moved = MIXES[name], spec.traffic()
    assert moved.reads / moved.writes == pytest.approx(mix.reads / mix.writes)


def test_peak_injection_has_the_ratios_that_its_lines_name() -> None:
    for label, mix in PEAK.items():
        ratio, _, rest = label.partition(" ")
        if rest.startswith("Reads-Writes"):
            assert ratio == f"{mix.reads}:{mix.writes}"
    assert [mix.name for mix in PEAK.values()] == ["R", "W3", "W2", "W5", "W10"]


def test_types_on_two_nodes_are_like_others() -> None:
    assert {name: mix.name for name, mix in TWO_NODES.items()} == {
        "W21": "R", "W23": "W3", "W27": "W7",
    }  # fmt: skip


@pytest.mark.parametrize("word", ["0", "1", "20", "-5", "", "R", "5x"])
def test_other_types_are_refused_with_those_there_are(word: str) -> None:
    with pytest.raises(UserError, match="is not a type of traffic; types: 2, 3, 4, 5, 6"):
        mix_of(word)
