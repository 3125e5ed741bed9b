"""What a watched program's looks say of where its memory landed."""

import io
from pathlib import Path

import pytest
from fixture_machine import write

from tierscope.analysis.effect import Landing, Watched, landing
from tierscope.machine.files import Files
from tierscope.place.look import Look, look_at
from tierscope.place.policy import Mode, Policy
from tierscope.report.placement import show_watched, watched_json
from tierscope.report.style import make_console

PAGE, MIB = 4096, 1 << 20


def look(by_node: dict[int, int], threads: int = 1, huge: int = 0) -> Look:
    return Look(1.5, by_node, {0: 3 * MIB}, 1, threads, huge)


def watched(policy: Policy | None, *looks: Look, mechanism: str = "kernel") -> Watched:
    weights = policy.weights if policy else ()
    return Watched(("stream", "-n"), policy, mechanism, weights, 0, looks)


@pytest.mark.parametrize(
    ("policy", "by_node", "as_asked"),
    [
        (Policy("bind", (2,)), {2: 8 * MIB}, True),
        (Policy("bind", (2,)), {0: PAGE, 2: 8 * MIB}, False),
        (Policy("bind", (0, 2)), {0: MIB, 2: 8 * MIB}, None),
        (Policy("preferred", (2,)), {0: MIB, 2: 8 * MIB}, None),
        (Policy("local"), {0: MIB}, None),
        (Policy("interleave", (0, 2)), {0: 4 * MIB + 2 * PAGE, 2: 4 * MIB}, True),
        (Policy("interleave", (0, 2)), {0: 4 * MIB + 32 * PAGE, 2: 4 * MIB}, False),
        (Policy("weighted", (0, 2), (3, 1)), {0: 6 * MIB, 2: 2 * MIB}, True),
        (Policy("weighted", (0, 2), (3, 1)), {0: 4 * MIB, 2: 4 * MIB}, False),
        (Policy("weighted", (0, 2), (3, 1)), {0: 6 * MIB, 2: MIB, 4: MIB}, False),
    ],
)  # fmt: skip
def test_memory_is_where_it_was_asked_for_but_for_rounds_that_were_begun(
    policy: Policy, by_node: dict[int, int], as_asked: bool | None
) -> None:
    judged = landing(watched(policy, look({0: PAGE}), look(by_node)))
    assert judged is not None
    assert judged.as_asked is as_asked
    assert sum(judged.share.values()) == pytest.approx(1)


def test_threads_and_huge_pages_widen_what_rounds_may_be_off() -> None:
    policy = Policy("interleave", (0, 2))
    by_node = {0: 500 * MIB, 2: 524 * MIB}
    tolerances = []
    for threads, huge in ((1, 0), (8, 0), (8, 100 * MIB)):
        judged = landing(watched(policy, look(by_node, threads, huge)))
        assert judged is not None
        tolerances.append(judged.tolerance)
        assert bool(huge) == any("huge page" in note for note in judged.approximated)
    assert tolerances == sorted(tolerances)
    assert tolerances[0] == pytest.approx(0.005 + 2 * PAGE / (1024 * MIB))


HUGE = 2 * MIB


@pytest.mark.parametrize(
    ("mode", "weights", "threads", "huge", "mechanism", "tolerance"),
    [
        ("interleave", (), 3, 0, "kernel", 0.005 + 3 * 2 * PAGE / (64 * MIB)),
        ("weighted", (3, 1), 3, 0, "kernel", 0.005 + 3 * 4 * PAGE / (64 * MIB)),
        ("weighted", (3, 1), 1, HUGE, "kernel", 0.005 + 4 * (PAGE + HUGE) / (64 * MIB)),
        ("interleave", (), 1, 0, "user", 0.005 + 2 * (PAGE + HUGE) / (64 * MIB)),
        ("interleave", (), 99, HUGE, "kernel", 1.0),
        ("bind", (), 3, HUGE, "kernel", 0.0),
    ],
)  # fmt: skip
def test_shares_may_be_off_by_a_round_of_each_thread(
    mode: Mode, weights: tuple[int, ...], threads: int, huge: int, mechanism: str, tolerance: float
) -> None:
    """The most threads that any look saw, although most memory was there at another one."""
    policy = Policy(mode, (0, 2), weights)
    seen = look({0: 32 * MIB, 2: 31 * MIB, 4: MIB}, 1, huge), look({0: MIB}, threads)
    judged = landing(watched(policy, *seen, mechanism=mechanism))
    assert judged is not None
    assert judged.tolerance == pytest.approx(tolerance)
    assert judged.off_nodes == pytest.approx(1 / 64)
    rounds = 0 if mode == "bind" else 1 + bool(huge)
    assert len(judged.approximated) == rounds


def test_shares_that_are_off_by_just_the_tolerance_are_as_asked() -> None:
    for off, as_asked in ((0.25, True), (0.2500001, False)):
        one = Landing(look({}), {0: 0.5 + off, 2: 0.5 - off}, {0: 0.5, 2: 0.5}, 0.25, 0.0, ())
        assert one.as_asked is as_asked
    assert Landing(look({}), {}, {}, 0.0, 0.0, ()).as_asked is True


def test_a_program_that_ended_at_once_is_not_judged() -> None:
    nothing = watched(Policy("bind", (0,)))
    assert landing(nothing) is None
    assert watched_json(nothing)["landed"] is None
    assert printed(nothing) == "The program ended before its pages could be looked at."


def printed(seen: Watched) -> str:
    file = io.StringIO()
    show_watched(make_console(file), seen)
    return " ".join(file.getvalue().split())


def test_the_table_says_what_was_asked_and_what_came_of_it() -> None:
    policy = Policy("weighted", (0, 2), (3, 1))
    text = printed(watched(policy, look({0: 6 * MIB, 2: 2 * MIB}, threads=2)))
    assert "Pages of 'stream', weighted node:0,2@3:1" in text
    assert "0 6 MiB 75.0% 75.0% 3 MiB 2 2 MiB 25.0% 25.0% 0 B" in text
    assert "All of it is where it was asked for, within the rounding tolerance of 0.9%." in text
    text = printed(watched(policy, look({0: 4 * MIB, 2: 4 * MIB})))
    assert "Shares differ from what was asked by up to 25.0%, more than the rounding" in text
    text = printed(watched(Policy("preferred", (2,)), look({0: 2 * MIB, 2: 6 * MIB})))
    assert "75.0% of its memory is on the nodes asked for." in text


def test_a_look_sums_over_children_and_tells_files_apart(tmp_path: Path) -> None:
    write(tmp_path, "proc/7/stat", "7 (sh) S 1 7 7 0")
    write(tmp_path, "proc/7/task/7/comm", "sh")
    write(tmp_path, "proc/7/numa_maps", "55d0 default heap anon=2 N0=2 kernelpagesize_kB=4\n")
    write(tmp_path, "proc/8/stat", "8 (child) S 7 7 7 0")
    for thread in (8, 9):
        write(tmp_path, f"proc/8/task/{thread}/comm", "child")
    write(
        tmp_path, "proc/8/numa_maps",
        "55d0 default file=/bin/sh mapped=3 N1=3 kernelpagesize_kB=4\n"
        "7f00 bind:2 anon=512 N2=512 kernelpagesize_kB=4\n",
    )  # fmt: skip
    write(tmp_path, "proc/8/smaps_rollup", "Rss: 9 kB\nAnonHugePages:      2048 kB\n")
    seen = look_at(7, 0.5, Files(tmp_path))
    assert seen == Look(0.5, {0: 2 * PAGE, 2: 512 * PAGE}, {1: 3 * PAGE}, 2, 3, 2 * MIB)
    assert look_at(99, 0.5, Files(tmp_path)) is None
