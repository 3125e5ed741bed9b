"""HMSDK's gen_migpol: its options, and the files that it writes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from placement.fake_kernel import BLOCK, FakeKernel
from tierscope.cli import tier
from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.place.damon.files import parse_damo
from tierscope.place.damon.rules import Rules


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeKernel(tmp_path / "root")
    monkeypatch.setattr(tier, "ROOT", tmp_path / "root")


def policy(*words: str) -> Rules:
    done = CliRunner().invoke(app, ["hmsdk", "gen_migpol", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return parse_damo(done.output, "policy.yaml")


def ways(rules: Rules) -> list[tuple[str, tuple[tuple[int, int], ...], int | None]]:
    return [(s.action, c.targets[0].regions, s.target_nid) for _, _, c, s in rules.schemes()]


NODE0 = ((0, 2 * BLOCK), (4 * BLOCK, 5 * BLOCK))
NODE2 = ((8 * BLOCK, 10 * BLOCK),)


def test_demotions_come_before_promotions() -> None:
    rules = policy("-p", "2", "0", "-d", "0", "2")
    assert ways(rules) == [("migrate_cold", NODE0, 2), ("migrate_hot", NODE2, 0)]
    assert rules == policy("-m", "0", "2")
    (cold, hot) = (scheme for *_, scheme in rules.schemes())
    assert (cold.quota.ms, hot.quota.ms, hot.quota.bytes) == (1000, 2000, 50 << 30)
    assert [(one.type, one.matching) for one in cold.filters] == [("memcg", False), ("young", True)]
    assert [(one.type, one.matching) for one in hot.filters] == [("memcg", False), ("young", False)]
    assert cold.filters[0].memcg_path == "/hmsdk"


def test_global_rules_have_no_cgroup() -> None:
    ((*_, scheme),) = policy("-d", "0", "2", "-g").schemes()
    assert [one.type for one in scheme.filters] == ["young"]


def test_large_regions_are_cut_and_each_piece_has_a_kdamond() -> None:
    found = [regions for _, regions, _ in ways(policy("-d", "0", "2", "-s", "128M"))]
    assert found == [((0, BLOCK),), ((BLOCK, 2 * BLOCK),), (NODE0[1],)]


def test_the_policy_goes_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "hmsdk.yaml"
    done = CliRunner().invoke(app, ["hmsdk", "gen_migpol", "-m", "0", "2", "-o", str(path)])
    assert (done.exit_code, done.output) == (0, "")
    assert len(parse_damo(path.read_text(), "x").kdamonds) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name nodes: -d SRC DEST, -p SRC DEST or -m FAST_TIER SLOW_TIER"),
        (("-d", "0", "0"), "node 0 is both SRC and DEST"),
        (("-d", "0", "2", "-m", "0", "2"), "node 0 is SRC more than once"),
        (("-d", "0", "1"), "node 1 has no memory; nodes with memory: 0,2"),
        (("-d", "0", "2", "-s", "much"), "'much' is not a size"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], says: str) -> None:
    done = CliRunner().invoke(app, ["hmsdk", "gen_migpol", *words])
    assert isinstance(done.exception, UserError)
    assert says in str(done.exception)
