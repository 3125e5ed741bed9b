"""What the published figures say, and what is said of figures with intervals."""

import pytest

from streamer.published import CSV, study, way
from tierscope.peers.streamer.findings import (
    LIMITS,
    between_machines,
    findings,
    paper_findings,
    percent,
)
from tierscope.peers.streamer.importer import read_results
from tierscope.peers.streamer.study import (
    CLOSE,
    SPREAD,
    Configuration,
    Finding,
    Memory,
    MemoryLimit,
    Point,
    Study,
    Way,
    ratios_of,
)

NUMA, PMEM = False, True
LOCAL = Memory((0,), "DRAM", 0, persistent=False)
FAR = Memory((2,), "CXL", None, persistent=False)


def changes(found: Study, base: Way, other: Way, threads: int) -> list[str]:
    ratios = ratios_of(found.curves(base), found.curves(other), threads)
    return [percent(one.value - 1) for one in ratios.values()]


@pytest.mark.parametrize(
    ("base", "other", "threads", "expected"),
    [
        ((0, 1, NUMA), (0, 1, PMEM), 10, ["-1.6%", "-3.7%", "-3.3%", "-2.9%"]),
        ((0, 2, NUMA), (0, 2, PMEM), 10, ["-9.5%", "-12%", "-15%", "-16%"]),
        ((0, 0, NUMA), (0, 0, PMEM), 1, ["-27%", "-41%", "-48%", "-45%"]),
        ((0, 1, PMEM), (0, 2, PMEM), 10, ["-39%", "-40%", "-44%", "-45%"]),
        ((0, 0, PMEM), (0, 2, PMEM), 10, ["-59%", "-59%", "-59%", "-60%"]),
        ((0, 0, PMEM), (0, 1, PMEM), 10, ["-32%", "-31%", "-27%", "-26%"]),
        ((0, 2, PMEM), (1, 2, PMEM), 1, ["-38%", "-39%", "-44%", "-42%"]),
    ],
)
def test_the_published_figures_give_the_known_percentages(
    base: tuple[int, int, bool], other: tuple[int, int, bool], threads: int, expected: list[str]
) -> None:
    found = study()
    assert changes(found, way(found, *base), way(found, *other), threads) == expected


def said(topic: str, found: list[Finding]) -> list[str]:
    return [one.text for one in found if one.topic == topic]


def test_each_sentence_names_baseline_operation_and_threads() -> None:
    found = findings(study(), LIMITS)
    assert said("pmdk", found)[5] == (
        "Socket 0, 10 threads: pmem#2 CXL DDR4 (far) against numa#2 CXL DDR4 (far, baseline): "
        "Copy -9.5%, Scale -12%, Add -15%, Triad -16%."
    )
    assert said("saturation", found)[0] == (
        "1a, socket 0 to pmem#0 DDR5 (local): saturates (95% of the best bandwidth) with this many "
        "threads: Copy 4 (best 21.4 GB/s), Scale 7 (best 20.5 GB/s), Add 6 (best 23.4 GB/s), "
        "Triad 4 (best 23.2 GB/s)."
    )
    for one in found:
        assert all(name in one.text for name in ("Copy", "Scale", "Add", "Triad"))
        assert one.threads is not None
        assert one.values
        if one.topic in ("remote", "far", "sockets", "pmdk", "split"):
            assert "baseline" in one.text


@pytest.mark.parametrize(
    ("memory", "verb"), [("pmem#0", "falls"), ("pmem#1", "rises"), ("pmem#2", "stays level")]
)
def test_close_affinity_bends_where_the_second_socket_joins(memory: str, verb: str) -> None:
    (text,) = [t for t in said("close", findings(study(), {})) if f"to {memory}" in t]
    assert "from 10 threads on, where socket 0 is full and socket 1 joins" in text
    assert f"the curve {verb}" in text


def test_close_and_spread_meet_with_nearly_all_cores() -> None:
    found = {
        one.text.split()[1]: one.values for one in findings(study(), {}) if one.topic == "meet"
    }
    assert found["pmem#0"] == {"copy": 19, "scale": 19, "add": 18, "triad": 18}
    assert found["pmem#2"] == {"copy": 5, "scale": 5, "add": 12, "triad": 9}


def test_a_loss_is_split_by_limits_and_not_without_them() -> None:
    (split, _) = [one for one in findings(study(), LIMITS) if one.topic == "split"]
    local, far = 21356.9e6, 8817.3e6
    assert split.values["copy"] == pytest.approx(local * 2666 / 4800 - far)
    assert "an estimate" in split.text
    assert "Copy 9.49 GB/s by the media and 3.04 GB/s by the link" in split.text
    unknown = said("split", findings(study(), {(0,): MemoryLimit(38.4e9)}))
    assert "the limit of pmem#2's media is not known" in unknown[0]


@pytest.mark.parametrize(
    ("far", "words"),
    [(6.0, "all 4.00 GB/s by the media"), (10.5, "no loss"),
     (4.0, "5.00 GB/s by the media and 1.00 GB/s by the link"), (9.99, "all 10 MB/s by the media")],
)  # fmt: skip
def test_a_loss_within_the_medias_is_not_the_links(far: float, words: str) -> None:
    here = Study("here", [line(LOCAL, {4: 10.0}), line(FAR, {4: far})])
    limits = {(0,): MemoryLimit(40e9), (2,): MemoryLimit(20e9)}
    (text,) = said("split", findings(here, limits))
    assert text.endswith(f"Copy {words}.")


def test_the_papers_text_is_held_against_its_figures() -> None:
    texts = said("paper", paper_findings(read_results(CSV, "STREAMer")))

    def verdict(words: str) -> str:
        (text,) = [text for text in texts if words in text]
        return text.split(". ", 1)[1].split(":")[0]

    assert verdict("PMDK costs 10 to 15% on the remote") == "The figures contradict that"
    assert verdict("PMDK costs 10 to 15% on CXL") == "The figures agree"
    assert verdict("50% less than the remote socket's DDR5") == "The figures contradict that"
    assert verdict("about 60% less than local DDR5") == "The figures agree"
    assert verdict("around 50% less than local DDR5") == "The figures contradict that"
    assert verdict("30% less than local DDR5") == "The figures agree"
    assert verdict("saturates at 20 to 22 GB/s").startswith("The figures agree in part, those of")


def test_a_part_of_the_published_figures_is_held_against_what_it_covers() -> None:
    part = Study("x", [one for one in study() if one.group == "1a"])
    assert ["saturates at 20" in text for text in said("paper", paper_findings([part]))] == [True]
    assert paper_findings([]) == []


def line(
    memory: Memory, rates: dict[int, float], half: float = 0.0, affinity: str = CLOSE
) -> Configuration:
    points = {n: Point(r * 1e9, (r - half) * 1e9, (r + half) * 1e9) for n, r in rates.items()}
    sockets = (0,) if affinity == CLOSE else (0, 1)
    return Configuration("2b", "here", sockets, (4,), memory, affinity, {"copy": points})


def test_differences_within_the_intervals_are_said_to_be_that() -> None:
    wide = Study("here", [line(LOCAL, {4: 10.0}, 2.0), line(FAR, {4: 9.0}, 2.0)])
    narrow = Study("here", [line(LOCAL, {4: 10.0}, 0.1), line(FAR, {4: 9.0}, 0.1)])
    assert said("far", findings(wide, {}))[0].endswith("Copy -10% (within the intervals).")
    assert said("far", findings(narrow, {}))[0].endswith("Copy -10%.")


def test_a_curve_that_rises_to_its_end_does_not_saturate() -> None:
    rising = Study("here", [line(LOCAL, {1: 2.0, 2: 4.0, 3: 6.0, 4: 8.0})])
    assert "Copy 4 (best 8.00 GB/s, still rising)" in said("saturation", findings(rising, {}))[0]


def test_spread_without_close_is_not_compared() -> None:
    alone = Study("here", [line(LOCAL, {1: 2.0, 2: 4.0}, affinity=SPREAD)])
    assert findings(alone, {}) == []


def test_machines_are_compared_by_what_their_memory_is_to_the_cores() -> None:
    here = Study("here", [line(LOCAL, {10: 40.0}), line(FAR, {10: 20.0})])
    found = between_machines(here, study())
    assert [one.text.split(": ")[0] for one in found] == [
        "10 threads, local memory", "10 threads, far memory"
    ]  # fmt: skip
    assert found[0].values == {"copy": pytest.approx(40e9 / 21824.8e6)}
    assert "STREAMer, socket 0 to numa#0 DDR5 (baseline)" in found[0].text


def test_nothing_is_said_of_nothing() -> None:
    assert findings(Study("here", []), {}) == []
