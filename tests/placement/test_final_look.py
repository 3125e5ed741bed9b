"""The last look at a program that has ended shows its pages, not what was left of them."""

import time
from dataclasses import replace

import pytest
from rich.console import Console

from tierscope.place.tier_look import Look, Looks
from tierscope.place.tiering import Session
from tierscope.report.tiering import show_look

MIB = 1 << 20


def look(seconds: float, *mib: float, migrated: int = 0) -> Look:
    session = Session("hmsdk", time.time() - 30, {})
    pages = {node: round(size * MIB) for node, size in enumerate(mib)}
    return Look(session, seconds, (), pages, seconds, migrated, 0, 0, (), ())


def last(*looks: Look) -> Look:
    first, *others = looks
    found = Looks(first)
    for one in others:
        found.add(one)
    return found.last()


@pytest.mark.parametrize(
    ("mib", "shown"),
    [
        ([(0, 0), (210, 0), (150, 60), (0.01, 0)], (150, 60)),
        ([(210, 0), (100, 110), (8, 0), (0.02, 0)], (100, 110)),
        ([(210, 0), (90, 70)], (90, 70)),
        ([(0, 0)], (0, 0)),
    ],
)
def test_pages_are_of_the_newest_look_that_found_about_all(
    mib: list[tuple[float, float]], shown: tuple[float, float]
) -> None:
    looks = [look(at, *sizes, migrated=at) for at, sizes in enumerate(mib)]
    found = last(*looks)
    assert found.pages == {node: size * MIB for node, size in enumerate(shown)}
    assert found.migrated_bytes == len(mib) - 1, "counters are of the last look"


def test_a_program_that_really_shrank_is_shown_as_it_was_for_its_last_looks() -> None:
    looks = [look(0, 400, 0), *[look(at, 20, 1) for at in range(1, 11)]]
    assert last(*looks).pages == {0: 20 * MIB, 1: MIB}


def test_the_moment_is_before_the_end() -> None:
    found = last(look(20, 210, 0), look(21, 0, 0))
    assert found.pages_seconds == 20
    assert found.seconds >= 30, "since it began, by now"
    console = Console(record=True, width=120)
    show_look(console, replace(found, seconds=22.4))
    assert "2.4 s before the end" in console.export_text()
