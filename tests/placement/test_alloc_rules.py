"""``alloc exec``: which options go together, and the rules that they make for the library."""

from pathlib import Path

import pytest

from tierscope.model.errors import UserError
from tierscope.place import alloc_rules
from tierscope.place.alloc_rules import Asked, nodes_of, rules_of


@pytest.fixture(autouse=True)
def _all_nodes_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(nodes: tuple[int, ...]) -> None:
        if 9 in nodes:
            raise UserError("node 9 does not exist")

    monkeypatch.setattr(alloc_rules, "check_nodes", check)


@pytest.mark.parametrize(
    ("asked", "rules"),
    [
        (Asked(to="node:2", above="1m"), "arena tier 2;size >= 1048576 -> tier"),
        (Asked(to="2"), "arena tier 2;size >= 0 -> tier"),
        (Asked(to="0,2@3:1", above="4k", capacity="2g", full="spill"),
         "arena tier 0@3,2@1 capacity=2147483648 full=spill;size >= 4096 -> tier"),
        (Asked(to="2", full="fail"), "arena tier 2 full=fail;size >= 0 -> tier"),
        (Asked(ratio="2:1", nodes="2,0"), "arena first 2;arena second 0;ratio first:second 2:1"),
        (Asked(ratio="00000:99999", nodes="0,2"),
         "arena first 0;arena second 2;ratio first:second 00000:99999"),
    ],
)  # fmt: skip
def test_options_make_rules(asked: Asked, rules: str) -> None:
    assert rules_of(asked) == rules


def test_a_file_is_given_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.rules"
    file.write_text("arena slow 0\n")
    assert rules_of(Asked(rules=str(file))) == str(file)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (Asked(), "say which memory goes where: --to node:2 --above 1m"),
        (Asked(above="1m"), "say which memory goes where"),
        (Asked(to="2", ratio="2:1"), "--to and --ratio exclude each other; a file of rules can"),
        (Asked(rules="f", to="2", ratio="2:1"), "--rules and --to and --ratio exclude each other"),
        (Asked(ratio="2:1", nodes="0,2", above="1m"), "--above goes with --to, not with --ratio"),
        (Asked(ratio="2:1", capacity="1m"), "--capacity goes with --to, not with --ratio"),
        (Asked(rules="f", full="fail"), "--full goes with --to, not with --rules"),
        (Asked(to="2", nodes="0,2"), "--nodes goes with --ratio, not with --to"),
        (Asked(ratio="2", nodes="0,2"), "--ratio '2' is not two shares, as in 2:1"),
        (Asked(ratio="2:1:1", nodes="0,2"), "--ratio '2:1:1' is not two shares"),
        (Asked(ratio="100000:1", nodes="0,2"), "--ratio '100000:1' is not two shares"),
        (Asked(ratio="2:1"), "--ratio needs two nodes, as in --nodes 0,2"),
        (Asked(ratio="2:1", nodes="0"), "--ratio needs two nodes"),
        (Asked(ratio="2:1", nodes="0,1,2"), "--ratio needs two nodes"),
        (Asked(ratio="2:1", nodes="0,2@3:1"), "--ratio needs two nodes"),
        (Asked(ratio="2:1", nodes="0,9"), "node 9 does not exist"),
        (Asked(to="9"), "node 9 does not exist"),
        (Asked(to="2", above="much"), "'much' is not a size"),
        (Asked(to="2", capacity="much"), "'much' is not a size"),
    ],
)
def test_what_does_not_go_together_is_said(asked: Asked, says: str) -> None:
    with pytest.raises(UserError) as refused:
        rules_of(asked)
    assert str(refused.value).startswith(says)


def test_nodes_are_written_as_the_library_reads_them() -> None:
    assert nodes_of("node:2,0") == "2,0"
    assert nodes_of("0,2@3:1") == "0@3,2@1"
