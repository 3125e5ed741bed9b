"""What rank 0 answers: who goes when, who is given up, what became of each host."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.fleet.coordinator import START_S, WAIT, Coordinator, Order

LEAD_S, PATIENCE_S, LONGEST_S, QUIET_S = 0.1, 10.0, 5.0, 3.0


def fleet(size: int, order: Order = "together", dry: bool = False) -> Coordinator:
    return Coordinator(size, order, PATIENCE_S, LEAD_S, now=0.0, dry=dry)


def checked(host: str) -> dict[str, Any]:
    return {"checked": {"host": host, "measurements": 2, "seconds": 3.0}}


def barrier(*turn: int, repetition: str = "a") -> dict[str, Any]:
    return {"barrier": {"turn": list(turn), "repetition": repetition, "longest_s": LONGEST_S}}


def ended(host: str, state: str = "measured", reason: str = "") -> dict[str, Any]:
    return {"ended": {"host": host, "state": state, "reason": reason, "run": "hosts/x.jsonl"}}


def measure(number: int, hosts: int) -> dict[str, Any]:
    return {"measure": {"number": number, "hosts": hosts}}


def begun(size: int, order: Order = "together") -> Coordinator:
    """Return a fleet of which every host was told to measure."""
    made = fleet(size, order)
    for _ in range(2):
        answers = [made.answer(rank, checked(f"h{rank}"), 1.0) for rank in range(size)]
    assert answers == [measure(number, size) for number in range(size)]
    return made


def states(made: Coordinator) -> list[str]:
    return [member.host.state for member in made.members]


def test_nobody_measures_before_all_are_checked() -> None:
    made = fleet(2)
    assert made.answer(0, checked("a"), 1.0) == WAIT
    assert made.answer(1, checked("b"), 2.0) == measure(1, 2)
    assert made.answer(0, checked("a"), 2.1) == measure(0, 2)


def test_a_host_that_cannot_is_not_waited_for() -> None:
    made = fleet(2)
    assert made.answer(0, ended("a", "cannot", "too little memory"), 1.0) == WAIT
    assert made.answer(1, checked("b"), 2.0) == measure(0, 1)
    assert states(made) == ["cannot", "measuring"]


@pytest.mark.parametrize("first", [checked("a"), ended("a", "cannot", "no")])
def test_two_ranks_on_one_host_are_refused(first: dict[str, Any]) -> None:
    made = fleet(2)
    made.answer(0, first, 1.0)
    refusal = {"refuse": "ranks 0 and 1 are both on host a"}
    assert made.answer(1, checked("a"), 1.0) == refusal
    assert made.awaits(1.0, QUIET_S)
    assert made.answer(0, first, 1.0) == refusal
    assert not made.awaits(1.0, QUIET_S)


def test_hosts_begin_a_repetition_together() -> None:
    made = begun(2)
    assert made.answer(0, barrier(1, 0, 5), 2.0) == WAIT
    made.watch(2.1)
    assert made.answer(0, barrier(1, 0, 5), 2.2) == WAIT
    assert made.answer(1, barrier(1, 0, 5), 3.0) == WAIT
    made.watch(3.0)
    go = {"go": 3.0 + LEAD_S}
    assert made.answer(1, barrier(1, 0, 5), 3.02) == go
    assert made.answer(0, barrier(1, 0, 5), 3.04) == go


def test_who_lacks_a_measurement_waits_for_its_own() -> None:
    made = begun(2)
    made.answer(0, barrier(1, 0, 9), 2.0)
    made.answer(1, barrier(1, 0, 3), 2.0)
    made.watch(2.0)
    assert made.answer(0, barrier(1, 0, 9), 2.1) == WAIT
    assert made.answer(1, barrier(1, 0, 3), 2.1) == {"go": 2.0 + LEAD_S}
    made.watch(2.2)
    assert made.answer(0, barrier(1, 0, 9), 2.3) == WAIT
    made.answer(1, barrier(1, 0, 9), 3.0)
    made.watch(3.0)
    assert made.answer(0, barrier(1, 0, 9), 3.1) == {"go": 3.0 + LEAD_S}


def test_who_does_not_come_back_is_lost_and_the_others_go_on() -> None:
    made = begun(3)
    for rank in range(3):
        made.answer(rank, barrier(1, 0, 1), 2.0)
    made.watch(2.0)
    for rank in range(3):
        made.answer(rank, barrier(1, 0, 1), 2.1)
    made.answer(0, barrier(1, 0, 2), 4.0)
    made.answer(1, barrier(1, 0, 2), 4.0)
    assert made.watch(4.0 + PATIENCE_S) == []
    (lost,) = made.watch(4.1 + PATIENCE_S)
    assert lost.host.host == "h2"
    assert lost.host.reason == "it did not come back from its repetition of a in time"
    assert made.answer(0, barrier(1, 0, 2), 14.2) == {"go": pytest.approx(14.1 + LEAD_S)}
    assert made.answer(2, barrier(1, 0, 2), 14.3) == {"drop": lost.host.reason}
    assert made.answer(2, ended("h2"), 15.0) == WAIT
    assert states(made) == ["measuring", "measuring", "partial"]


def lost_at_the_last_repetition() -> tuple[Coordinator, float]:
    """Return a fleet that is through but for rank 1, and when that was given up."""
    made = begun(2)
    for now in (2.0, 2.1):
        for rank in range(2):
            made.answer(rank, barrier(1, 0, 1), now)
        made.watch(now)
    made.answer(0, barrier(1, 0, 2), 4.0)
    given_up = 4.1 + PATIENCE_S
    made.answer(1, {"busy": {}}, given_up - 1)
    assert [one.host.host for one in made.watch(given_up)] == ["h1"]
    assert made.answer(0, ended("h0"), given_up + 1) == {"leave": False}
    return made, given_up


def test_who_was_given_up_and_lives_is_waited_for_until_it_says_what_became_of_it() -> None:
    """Its rank ends what hangs there, which takes longer than the others need to the end."""
    made, given_up = lost_at_the_last_repetition()
    drop = made.answer(1, {"busy": {}}, given_up + 2)
    assert drop == {"drop": "it did not come back from its repetition of a in time"}
    assert made.awaits(given_up + 2 + PATIENCE_S, QUIET_S)
    assert made.answer(1, ended("h1", "partial", "killed"), given_up + 12) == {"leave": False}
    assert made.members[1].host.state == "partial"
    assert made.members[1].host.reason == drop["drop"]
    assert not made.awaits(given_up + 12, QUIET_S)


def test_who_was_given_up_and_is_dead_is_not_waited_for() -> None:
    made, given_up = lost_at_the_last_repetition()
    assert made.awaits(given_up - 1.1 + PATIENCE_S, QUIET_S)
    assert not made.awaits(given_up - 0.9 + PATIENCE_S, QUIET_S)
    assert states(made) == ["measured", "lost"]


def test_who_dies_after_its_end_is_not_waited_for_long() -> None:
    made = begun(2)
    assert made.answer(1, ended("h1"), 2.0) == WAIT
    assert made.answer(0, ended("h0"), 3.0) == {"leave": True}
    assert made.awaits(2.0 + QUIET_S, QUIET_S)
    assert not made.awaits(2.1 + QUIET_S, QUIET_S)
    assert states(made) == ["measured", "measured"]


def test_who_waits_for_another_repetition_does_not_hurry_those_that_measure() -> None:
    made = begun(2)
    made.answer(0, barrier(1, 0, 9), 2.0)
    made.answer(1, barrier(1, 0, 3), 2.0)
    made.watch(2.0)
    made.answer(1, barrier(1, 0, 3), 2.1)
    opened = 2.0 + LEAD_S
    assert made.watch(opened + PATIENCE_S + LONGEST_S - 0.1) == []
    assert [one.host.host for one in made.watch(opened + PATIENCE_S + LONGEST_S + 0.1)] == ["h1"]


def test_who_dies_at_the_barrier_is_lost() -> None:
    made = begun(2)
    for rank in range(2):
        made.answer(rank, barrier(1, 0, 1), 2.0)
    made.watch(2.0)
    made.answer(0, barrier(1, 0, 1), 2.1)
    made.answer(0, barrier(1, 0, 2), 3.0)
    assert [one.host.host for one in made.watch(3.1 + PATIENCE_S)] == ["h1"]


def test_who_is_never_heard_of_is_lost() -> None:
    made = fleet(2)
    made.answer(0, checked("a"), 1.0)
    assert made.watch(START_S) == []
    assert [one.host.host for one in made.watch(2 * START_S + 1)] == ["rank-1"]
    assert made.watch(2 * START_S + 2) == []
    assert made.answer(0, checked("a"), 2 * START_S + 2) == measure(0, 1)


def test_one_measures_after_the_other() -> None:
    made = fleet(2, "one-by-one")
    made.answer(1, checked("b"), 1.0)
    assert made.answer(0, checked("a"), 1.0) == measure(0, 2)
    assert made.answer(1, checked("b"), 1.0) == WAIT
    assert made.answer(0, barrier(), 2.0) == {"go": None}
    assert made.answer(1, checked("b"), 3.0) == WAIT
    assert made.answer(0, ended("a"), 4.0) == WAIT
    assert made.answer(1, checked("b"), 5.0) == measure(1, 2)
    assert made.answer(1, ended("b"), 6.0) == {"leave": True}
    assert made.awaits(6.0, QUIET_S)
    assert made.answer(0, ended("a"), 6.1) == {"leave": True}
    assert not made.awaits(6.1, QUIET_S)


def test_one_by_one_a_dead_host_costs_its_turn_only() -> None:
    made = fleet(3, "one-by-one")
    for rank in (1, 2, 0):
        made.answer(rank, checked(f"h{rank}"), 1.0)
    made.answer(0, barrier(), 2.0)
    made.watch(2.0)
    made.answer(0, ended("h0"), 100.0)
    assert made.watch(100.0) == []  # now it is the turn of h1, which is dead
    assert made.watch(100.0 + START_S) == []
    assert [one.host.host for one in made.watch(100.1 + START_S)] == ["h1"]
    assert made.answer(2, checked("h2"), 101.0 + START_S) == measure(2, 3)


def test_a_dry_run_lets_all_leave() -> None:
    made = fleet(2, dry=True)
    assert made.answer(0, checked("a"), 1.0) == WAIT
    assert made.answer(1, checked("b"), 1.0) == {"leave": True}
    assert made.answer(0, checked("a"), 1.1) == {"leave": True}
    assert [one.host.reason for one in made.members] == ["2 measurements, 3 s at most"] * 2


PLANS = st.lists(
    st.lists(st.integers(1, 12), unique=True, max_size=6).map(sorted), min_size=1, max_size=5
)


@given(PLANS, st.lists(st.integers(0, 4), unique=True), st.randoms())
def test_every_living_host_makes_all_its_repetitions_in_step(
    plans: list[list[int]], dying: list[int], random: Any
) -> None:
    """Hosts with plans of their own, some of which die at any moment."""
    made = begun(len(plans))
    left = [list(plan) for plan in plans]
    deaths = {rank: random.randint(0, 40) for rank in dying if rank < len(plans)}
    began: dict[int, set[float]] = {}
    left_at: dict[int, bool] = {}
    now = 1.0
    for step in range(400):
        now += 1.0
        made.watch(now)
        for rank in range(len(plans)):
            if step >= deaths.get(rank, 1000) or rank in left_at:
                continue
            if left[rank]:
                answer = made.answer(
                    rank, barrier(left[rank][0], repetition=f"v{left[rank][0]}"), now
                )
                if "go" in answer:
                    began.setdefault(left[rank].pop(0), set()).add(answer["go"])
            elif "leave" in made.answer(rank, ended(f"h{rank}"), now):
                left_at[rank] = True
    living = [rank for rank in range(len(plans)) if rank not in deaths]
    assert all(not left[rank] and rank in left_at for rank in living)
    assert all(states(made)[rank] == "measured" for rank in living)
    assert all(len(moments) == 1 for moments in began.values())
    assert deaths or not made.awaits(now, QUIET_S)
