"""Clean fleets are left alone, whatever hosts differ in; defects of small fleets are found."""

import pytest
from fleets import CLEAN, DEFECTS, RACKS, false_alarms, recall


@pytest.mark.parametrize("name", [*CLEAN, *RACKS])
@pytest.mark.parametrize("hosts", [4, 6, 150])
def test_clean_fleets_are_left_alone(name: str, hosts: int) -> None:
    _, most = false_alarms(name, hosts, 8, 600 // hosts, "short")
    assert most <= 1


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_among_twelve_hosts_is_found(name: str) -> None:
    assert recall(DEFECTS[name], 12, 0.005, 8, "short") >= 0.75


def test_half_the_speed_of_one_path_is_found_among_six_hosts() -> None:
    assert recall(DEFECTS["one path at half speed"], 6, 0.01, 10, "short") == 1


@pytest.mark.soak
@pytest.mark.parametrize("name", [*CLEAN, *RACKS])
@pytest.mark.parametrize("hosts", [4, 5, 6, 12, 50, 150, 1000, 2000])
def test_at_most_one_host_in_a_thousand_is_named(name: str, hosts: int) -> None:
    share, most = false_alarms(name, hosts, 8, max(4, 6000 // hosts), "soak")
    assert share <= 2
    assert most <= max(1, hosts // 20)
