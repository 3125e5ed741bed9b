"""Groups and paths of a gathered fleet: by name, from tables that are made."""

from pathlib import Path

import pytest
from tests.fleet.fleet_tables import make_fleet

from tierscope.fleet.groups import parse_csv
from tierscope.fleet.outliers import outliers_of
from tierscope.model.errors import UserError


def test_a_slow_path_is_called_by_its_own_name(tmp_path: Path) -> None:
    """Of six paths, each of which a host is slow on in turn."""
    for seed in range(1, 7):
        folder = tmp_path / str(seed)
        (planted,) = make_fleet(folder, hosts=40, paths=6, seed=seed, by=0.3)
        (found,) = outliers_of(str(folder)).outliers
        assert found.host == planted.host
        kind, number = planted.id.split(".")
        worst = found.worst
        assert (worst.kind, worst.target) == (kind, f"node:{int(number) % 2}")
        threads = worst.pattern.get("threads")
        assert threads == (1 + int(number) if kind == "bandwidth" else None)
        usual = 2e10 + 4e9 * int(number) if kind == "bandwidth" else 90.0 + int(number)
        assert worst.centre == pytest.approx(usual, rel=0.02)
        assert (worst.deviation < 0) is (kind == "bandwidth")


@pytest.mark.parametrize(("models", "told"), [(1, False), (2, True)])
def test_hosts_of_a_rack_are_compared_within_their_model(
    tmp_path: Path, models: int, told: bool
) -> None:
    """Models differ by 30%: the group's name has the model where there are several."""
    planted = make_fleet(tmp_path, hosts=80, paths=4, models=models, by=0.4)
    (found,) = outliers_of(str(tmp_path), "rack").outliers
    assert found.host == planted[0].host
    rack = f"rack r{int(found.host[4:]) // 40}"
    assert found.group.startswith(rack)
    assert (found.group != rack) is told
    assert found.group_hosts <= 40 // models
    (by_model,) = outliers_of(str(tmp_path)).outliers
    assert by_model.group.startswith("Example Systems R")


def test_hosts_in_no_group_of_a_file_are_in_one_that_is_unknown(tmp_path: Path) -> None:
    (planted,) = make_fleet(tmp_path, hosts=40, paths=4, by=0.4)
    some = {f"node{number:04}": "left" for number in range(20)}
    (found,) = outliers_of(str(tmp_path), "file.csv", some).outliers
    left = planted.host in some
    assert found.group == ("group left" if left else "group unknown")
    assert found.group_hosts == 20


def test_racks_that_no_table_has_are_said(tmp_path: Path) -> None:
    make_fleet(tmp_path, hosts=10, paths=2)
    with pytest.raises(UserError, match="--by switch: no host of this fleet is in one"):
        outliers_of(str(tmp_path), "switch")


def test_comments_and_empty_lines_of_a_file_of_groups() -> None:
    text = "host,group\n# a remark, with a comma\n\n , \nn1,a\n  # n2,b\nn3, b\n"
    assert parse_csv(text, "f.csv") == {"n1": "a", "n3": "b"}
    with pytest.raises(UserError, match=r"^f\.csv:2: "):
        parse_csv("n1,a\nn2\n", "f.csv")
    with pytest.raises(UserError, match=r"^f\.csv:1: "):
        parse_csv("n1,\n", "f.csv")
