"""Links between sockets that the user states: grammar, limits, where it is kept and shown."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from topology_machines import Sysfs

from forked import tierscope
from tierscope.cli.app import app
from tierscope.machine import discover as machine
from tierscope.machine.checks import link_findings
from tierscope.machine.discover import discover
from tierscope.machine.paths import find_path, path_limit
from tierscope.machine.stated import parse_socket_link, stated_path, with_stated
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.path import HopRole, of_operation
from tierscope.model.topology import StatedSocketLink, Topology


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    tree = Sysfs(tmp_path / "root")
    tree.cpus([[0, 1], [2, 3], [4]], "Intel Test CPU")
    for node, cpus in enumerate(([0, 1], [2], [3], [4])):
        tree.node(node, cpus, 1000)
    return tree


def stating(sysfs: Sysfs, text: str) -> Topology:
    return discover(sysfs.root).model_copy(update={"stated_socket_link": parse_socket_link(text)})


@given(st.integers(1, 16), st.integers(1, 64), st.integers(1, 1000))
def test_lanes_and_their_speed_give_the_rate_of_a_link(links: int, lanes: int, speed: int) -> None:
    found = parse_socket_link(f"{links}x{lanes}x{speed}GT/s")
    assert found == StatedSocketLink(links=links, lanes=lanes, rate=lanes * speed * 1e9 / 8)


_PIECES = ("3", "x", "20.8", "16", "GT/s", "GB/s", " ", "none", "-1", ".", "0", "9999")


@given(st.text(max_size=30) | st.lists(st.sampled_from(_PIECES), max_size=7).map("".join))
def test_any_text_is_a_statement_or_refused_in_one_line(text: str) -> None:
    try:
        found = parse_socket_link(text)
    except UserError as refused:
        said = str(refused)
    else:
        said = "accepted"
        assert found is None or (1 <= found.links <= 16 and found.rate > 0)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("3x16GT/s", "with lanes and their speed, as in 4x16x32GT/s"),
        ("20.8GB/s", "is not the links between each pair of sockets, as in 3x20.8GB/s"),
        ("3x20x10.4GB/s", "is not the links"),
        ("17x20.8GB/s", "from 1 to 16 links"),
        ("3x0GB/s", "the speed is from 1 to 1000"),
    ],
)
def test_a_wrong_statement_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_socket_link(text)


def test_a_statement_limits_what_goes_between_sockets(sysfs: Sysfs) -> None:
    topology = stating(sysfs, "3x20.8GB/s")
    ends = parse_endpoint("node:0"), parse_endpoint("node:1")
    found = path_limit(topology, *ends)
    assert found is not None
    assert (found.value, found.stated) == (pytest.approx(62.4e9), True)
    assert found.link == "stated 3 links of UPI/QPI node 0 - node 1"
    assert found.formula == "3 links x 20.8 GB/s = 62.4 GB/s"
    # Full-duplex: reads and non-temporal writes of a copy go in opposite directions.
    copied = path_limit(topology, *ends, of_operation("copy-nt", 1, 1, fetches=False))
    assert copied is not None
    assert copied.value == pytest.approx(124.8e9)


def test_sockets_that_access_a_third_one_have_a_link_each(sysfs: Sysfs) -> None:
    topology = stating(sysfs, "2x16x32GT/s")
    found = path_limit(topology, parse_endpoint("node:0,1"), parse_endpoint("node:3"))
    assert found is not None
    assert found.value == 256e9
    assert found.formula == "2 sockets x 2 links x 16 lanes x 32 GT/s / 8 = 256.0 GB/s"


def test_nodes_of_one_socket_and_unstated_links_have_no_limit(sysfs: Sysfs) -> None:
    within = path_limit(
        stating(sysfs, "3x20.8GB/s"), parse_endpoint("node:1"), parse_endpoint("node:2")
    )
    assert within is None
    path = find_path(discover(sysfs.root), parse_endpoint("node:0"), parse_endpoint("node:1"))
    (hop,) = [hop for hop in path.hops if hop.role is HopRole.INTERCONNECT]
    assert hop.limit is None
    assert "--socket-link states them" in hop.note


def test_the_doctor_says_that_limits_rest_on_it(sysfs: Sysfs) -> None:
    (found,) = [
        one
        for one in link_findings(stating(sysfs, "3x20.8GB/s"), str(sysfs.root))
        if one.subject == "stated socket links"
    ]
    assert found.found == "stated 3 links between each pair of sockets (62.4 GB/s each way)"


def test_it_is_kept_shown_and_forgotten(sysfs: Sysfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "discover", lambda: with_stated(discover(sysfs.root)))

    def do(*words: str) -> str:
        done = CliRunner().invoke(app, ["topo", *words])
        assert done.exit_code == 0, done.exception
        return done.stdout

    shown = " ".join(do("--socket-link", "3x20.8GB/s").split())
    assert "stated 3 links between each pair of sockets: 3 links x 20.8 GB/s = 62.4 GB/s" in shown
    later = json.loads(do("--json"))["topology"]
    assert later["stated_socket_link"] == {"links": 3, "rate": 20.8e9, "lanes": None}
    assert "62.4 GB/s" in do("node:0", "node:3")
    path = stated_path(later["host"], "socket-link")
    assert path.read_text() == "3x20.8GB/s\n"
    path.write_text("3")
    (line,) = [one for one in json.loads(do("--json"))["topology"]["unreadable"] if "stated" in one]
    assert line.startswith(f"stated socket-link, {path}: '3' is not")
    do("--socket-link", "none")
    assert not path.exists()


def test_a_plan_states_it_and_one_socket_has_none(tmp_path: Path) -> None:
    plan = tmp_path / "p.yaml"
    plan.write_text("version: 1\nsocket-link: 3xUPI\nmeasurements: [{kind: bandwidth}]\n")
    done = tierscope("run", plan, "--dry-run")
    assert done.returncode == 2
    assert f"{plan}:2: key 'socket-link': '3xUPI' is not" in done.stderr
    if len(discover().packages) > 1:
        pytest.skip("this machine has several sockets")
    done = tierscope("topo", "--socket-link", "3x20.8GB/s")
    assert done.returncode == 2
    assert "has one socket, so no link between sockets" in done.stderr
