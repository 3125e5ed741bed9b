"""Studies of spread pages on simulated machines: ratios found, gains, tables, pictures, JSON."""

import json
import random

import pytest
from rich.console import Console
from tests.analysis.spread_simulation import Channel, best
from tests.spread_machine import LINK, SLOW, expander, machine_of, run_of, study
from tests.synthetic import Maker

from tierscope.kinds.traffic.show import (
    VIEW,
    gains,
    is_gain,
    normal,
    show_spreads,
    spreads_json,
    studies_of,
    verdict,
    weights_of,
    weights_text,
)
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Figure, Run
from tierscope.model.topology import CxlMemory, PciDevice, PcieLink, Topology
from tierscope.plans.request import Request
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.picture import Picture, PictureInput
from tierscope.suites.expand import REQUEST

READS = {"mix": "100:0"}


def pictures(run: Run) -> list[Picture]:
    return list(gains(PictureInput("traffic", "Streams", run.measurements, run)))


def printed(run: Run, width: int = 100) -> str:
    with open("/dev/null", "w") as nowhere:  # noqa: PTH123
        console = Console(record=True, width=width, file=nowhere)
        show_spreads(console, run)
        return console.export_text()


@pytest.mark.parametrize("mix", ["100:0", "67:33", "0:100nt"])
@pytest.mark.parametrize(
    "channels", [(LINK,), (SLOW,), (LINK, SLOW)], ids=["link", "falling", "three nodes"]
)
def test_a_study_finds_the_machines_best(channels: tuple[Channel, ...], mix: str) -> None:
    machine = expander(*channels)
    run, _ = study(machine, {"mix": mix})
    (found,) = studies_of(run)
    writes = found.pattern["writes"] / 100
    most, _ = best(machine, writes, seed=1)
    _, measured = found.best_at(32)
    assert measured.estimate is not None
    assert measured.estimate >= 0.97 * most
    predicted = found.predicted(32)
    assert predicted is not None
    # Thread counts that double may miss the peak of a memory that falls past it.
    assert predicted.bandwidth == pytest.approx(most, rel=0.05)


def test_predicted_shares_come_first_and_no_more_than_were_asked_for() -> None:
    run, added = study(expander(LINK), {**READS, "further": "4"})
    assert 1 <= len(added) <= 4
    (found,) = studies_of(run)
    predicted = found.predicted(32)
    assert predicted is not None
    assert weights_of(added[0].target) == predicted.weights
    _, none = study(expander(LINK), {**READS, "further": "0"})
    assert none == []


def test_further_ratios_differ_from_each_other_and_fit_each_threads_share() -> None:
    _, added = study(expander(LINK), {**READS, "further": "12", "size": "8m"})
    targets = [spec.target for spec in added]
    assert len(set(targets)) == len(targets)
    for spec in added:
        pages = spec.pattern.size // 4096 // len(spec.cpus)
        assert spec.placement.round_pages <= pages


def test_a_study_of_several_patterns_refines_each() -> None:
    run, added = study(expander(LINK), {"mix": "100:0,0:100", "order": "sequential,random"})
    assert len(studies_of(run)) == 4
    assert {(spec.pattern.writes, spec.pattern.order) for spec in added} == {
        (0, "sequential"), (0, "random"), (100, "sequential"), (100, "random")
    }  # fmt: skip


def test_gains_are_over_the_own_node_at_the_same_and_at_its_best_threads() -> None:
    machine = expander(LINK)
    run, _ = study(machine, READS)
    (row,) = spreads_json(run)
    assert row["local"] == 0
    assert row["pays"] is True
    gain = row["best"]["gain"]["local"]
    assert gain["low"] < gain["value"] < gain["high"]
    assert gain["value"] == pytest.approx(308 / 280, rel=0.02)
    assert row["best"]["gain"]["even"]["value"] > 5
    said = printed(run)
    assert "Spreading pays: " in said
    assert "Predicted from the nodes by themselves: 10:1 on nodes 0,1" in said
    assert max(map(len, said.splitlines())) <= 100


def test_mixes_of_one_machine_are_one_table_of_host_slow_and_ratios() -> None:
    """The host, the slow memory, 1:1 and 2:1 by the five mixes that MLC measures."""
    mixes = ["100:0", "67:33", "50:50", "0:100", "67:33nt"]
    options = {"mix": ",".join(mixes), "ratios": "1:1,2:1", "further": "0"}
    run, _ = study(expander(LINK), options)
    text = printed(run)
    assert text.count("All mixes, node:0, 32 threads") == 1
    table = text[text.index("All mixes") :]
    heading = " ".join(" ".join(table.splitlines()[2:5]).split())
    for column in ("all on", "1:1 on", "2:1 on"):
        assert column in heading
    rows = [line.split() for line in table.splitlines() if line.split()[:1] in ([m] for m in mixes)]
    assert [row[:2] for row in rows] == [
        ["100:0", "100%"], ["67:33", "75%"], ["50:50", "67%"], ["0:100", "50%"], ["67:33nt", "67%"]
    ]  # fmt: skip
    host, slow, twice, even = (float(rows[0][n]) for n in (2, 4, 6, 8))
    assert (host, slow) == (pytest.approx(280, rel=0.02), pytest.approx(28, rel=0.02))
    assert (twice, even) == (pytest.approx(84, rel=0.02), pytest.approx(56, rel=0.02))
    assert max(map(len, text.splitlines())) <= 100
    assert "All mixes" not in printed(study(expander(LINK), READS)[0])


def test_no_gain_is_called_none() -> None:
    """A node so slow that its share never helps, with noise of 3%."""
    run, _ = study(expander(Channel("far", both=0.8e9)), READS, Maker(seed=5, noise=0.03))
    (found,) = studies_of(run)
    assert verdict(found, 32).startswith(("Spreading does not pay", "No gain is shown"))
    (row,) = spreads_json(run)
    assert row["pays"] in (False, None)


def test_a_machine_alike_everywhere_is_rarely_said_to_gain() -> None:
    """Threads bind, so all shares are alike; the best of many is not a gain by chance."""
    machine = expander(Channel("twin", both=280e9))
    slow = dict.fromkeys(machine.seconds, 1 / 2000000000.0)
    alike = type(machine)((32,), machine.ways, slow, 2, machine.channels)
    claimed = 0
    for seed in range(20):
        run, _ = study(alike, READS, Maker(seed=seed, noise=0.01))
        claimed += spreads_json(run)[0]["pays"] is True
    assert claimed <= 2


def test_the_picture_has_a_line_a_pattern_and_predictions() -> None:
    run, _ = study(expander(LINK), {"mix": "100:0,0:100"})
    (picture,) = pictures(run)
    text = svg_for_file(picture).decode()
    assert "80:1" in text
    assert "100:0 read:write" in text
    assert "lines: predicted" in picture.subtitle
    assert VIEW.pictures[0] is gains


def test_other_runs_get_neither_table_nor_picture_nor_json() -> None:
    run, _ = study(expander(LINK), READS)
    single = [m for m in run.measurements if "," not in m.target]
    rest = run_of(single, machine_of(2))
    assert studies_of(rest) == []
    assert pictures(rest) == []
    assert printed(rest) == ""
    assert VIEW.more is not None
    assert VIEW.more(rest) == {}
    assert json.dumps(VIEW.more(run))


def test_one_node_is_told_in_a_line_with_exit_code_3() -> None:
    for given in ({}, {"to": "node:0"}):
        with pytest.raises(UserError, match="has one node with memory, node 0; ") as caught:
            list(REQUEST.expand(Request(kind="expand", options=given), machine_of(1), True))
        assert caught.value.exit_code is ExitCode.NOTHING_MEASURED
        assert "'tierscope whatif --tier 250ns,30GB/s'" in str(caught.value)
    with pytest.raises(UserError, match="two nodes with memory or more: --to names node 0 only"):
        list(REQUEST.expand(Request(kind="expand", options={"to": "node:0"}), machine_of(2), True))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ratios": "3"}, "--ratios: '3' is not two numbers of pages"),
        ({"ratios": "0:1"}, "go from 1 to 255"),
        ({"ratios": "300:1"}, "go from 1 to 255"),
        ({"to": "node:0,1@3:1"}, "has weights"),
        ({"to": "node:0"}, "names node 0 only"),
        ({"shares": "node:0,7@1:1"}, "none of the nodes spread over"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        list(REQUEST.expand(Request(kind="expand", options=options), machine_of(2), True))


def test_more_than_two_nodes_are_spread_over_together() -> None:
    run, added = study(expander(LINK, SLOW), READS)
    assert any(len(weights_of(spec.target) or ()) == 3 for spec in added)
    assert len(pictures(run)) == 2, "one of each other node"


def test_weights_are_written_one_way() -> None:
    assert normal([(2, 2), (0, 6)]) == ((0, 3), (2, 1))
    assert normal([(2, 0), (0, 6)]) == ((0, 1),)
    assert weights_of("node:2,0@1:3") == ((0, 3), (2, 1))
    assert weights_text(((0, 3), (2, 1))) == "3:1 on nodes 0,2"
    assert weights_of("gpu:0") is None


def test_gain_pays_only_where_its_interval_says_so() -> None:
    rand = random.Random(1)
    for _ in range(100):
        low = rand.uniform(0.5, 1.5)
        high = low + rand.uniform(0, 1)
        ratio = Figure(
            metric="ratio", unit="ratio", estimate=(low + high) / 2, ci_low=low, ci_high=high
        )
        assert is_gain(ratio) is (True if low > 1 else False if high <= 1 else None)


def behind_a_switch() -> Topology:
    """Two CXL nodes behind one switch, whose uplink has half of what both links have."""
    gen5 = {width: PcieLink(speed=32, width=width) for width in (4, 8)}

    def function(address: str, parent: str | None, bridge: bool = True) -> PciDevice:
        link = gen5[4] if address == "0000:11:00.0" else gen5[8]
        has_link = not bridge or address == "0000:11:00.0"
        return PciDevice(
            address=address, parent=parent, root="0000:10", class_code=0x0604 if bridge else 0x0502,
            bridge=bridge, link=link if has_link else None, link_max=link,
        )  # fmt: skip

    found = machine_of(3)
    nodes = [
        node.model_copy(update={"backed_by": [f"mem{node.number}"] if node.number else []})
        for node in found.nodes
    ]
    return found.model_copy(
        update={
            "nodes": nodes,
            "cxl_memories": [
                CxlMemory(name=f"mem{n}", address=f"0000:{13 + n}:00.0", ram_bytes=96 << 30,
                          pmem_bytes=0)
                for n in (1, 2)
            ],
            "pci": [
                function("0000:10:00.0", None),
                function("0000:11:00.0", "0000:10:00.0"),
                function("0000:12:00.0", "0000:11:00.0"),
                function("0000:12:01.0", "0000:11:00.0"),
                function("0000:14:00.0", "0000:12:00.0", bridge=False),
                function("0000:15:00.0", "0000:12:01.0", bridge=False),
            ],
        }
    )  # fmt: skip


def test_a_link_that_two_nodes_share_bounds_their_sum() -> None:
    machine = expander(Channel("a", both=14e9), Channel("b", both=14e9))
    run, added = study(machine, READS, here=behind_a_switch())
    (found,) = studies_of(run)
    shared = [one for one in found.limits(32) if sum(one.use) == 2 and not one.of_threads]
    assert [one.name for one in shared] == ["switch 0000:11:00.0"]
    predicted = found.predicted(32)
    assert predicted is not None
    assert predicted.bandwidth == pytest.approx(280e9 + shared[0].rate, rel=0.01)
    assert shared[0].rate < 2 * 14e9
    assert weights_of(added[0].target) == predicted.weights


def test_hmsdks_machine_gets_two_pages_of_three_on_the_host() -> None:
    """CXL on PCIe Gen5 x8 with two modules of 96 GB behind it; the host has twice its bandwidth."""
    link = Channel("CXL x8", read=30e9, write=30e9)
    machine = expander(link)
    host = Channel("DDR5", both=60e9)
    ways = {(0, 0): (host,), (0, 1): (link,)}
    small = type(machine)(machine.threads, ways, machine.seconds, 2, (host, link))
    run, _ = study(small, READS)
    (found,) = studies_of(run)
    best, measured = found.best_at(32)
    ratio = dict(best)[0] / dict(best)[1]
    assert ratio == pytest.approx(2, rel=0.03)
    assert measured.estimate == pytest.approx(90e9, rel=0.02)
