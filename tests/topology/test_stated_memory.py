"""Memory that the user states: its grammar, its limits, where it is kept, what is said of it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from topology_machines import CXL_CLASS, Sysfs

from forked import tierscope
from tierscope.machine.checks import link_findings
from tierscope.machine.discover import discover
from tierscope.machine.memory import unused_statements
from tierscope.machine.paths import find_path, path_limit
from tierscope.machine.stated import MOST_CHANNELS, SPEEDS, parse_stated, stated_path
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.path import Limit
from tierscope.model.topology import NodeKind, StatedMemory, Topology


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    tree = Sysfs(tmp_path / "root")
    tree.cpus([[0, 1], [2, 3]])
    tree.node(0, [0, 1], 1000, "10 21")
    tree.node(1, [2, 3], 1000, "21 10")
    return tree


def stating(topology: Topology, text: str) -> Topology:
    return topology.model_copy(update={"stated_memory": parse_stated(text)})


def limit(topology: Topology, target: str) -> Limit | None:
    return path_limit(topology, parse_endpoint("node:0"), parse_endpoint(target))


_modules = st.builds(
    StatedMemory,
    node=st.none(),
    type=st.sampled_from(["DDR3", "DDR4", "DDR5"]),
    speed=st.sampled_from(SPEEDS).map(lambda speed: speed * 1e6),
    channels=st.integers(1, MOST_CHANNELS),
)


def written(one: StatedMemory) -> str:
    node = "" if one.node is None else f"node:{one.node}="
    return f"{node}{one.channels}x{one.type}-{one.speed / 1e6:.0f}"


@given(_modules)
def test_what_is_written_of_all_nodes_is_read(one: StatedMemory) -> None:
    assert parse_stated(written(one)) == [one]
    assert parse_stated(f" {written(one).lower()} ") == [one]


@given(st.dictionaries(st.integers(0, 1023), _modules, min_size=1, max_size=8))
def test_what_is_written_of_single_nodes_is_read(nodes: dict[int, StatedMemory]) -> None:
    each = [one.model_copy(update={"node": node}) for node, one in nodes.items()]
    assert parse_stated(",".join(map(written, each))) == each


_PIECES = ("8", "x", "DDR5", "DDR9", "-", "4800", "node:", "0", "=", ",", " ", "HBM3", "none", "-1")


@given(st.text(max_size=30) | st.lists(st.sampled_from(_PIECES), max_size=9).map("".join))
def test_any_text_is_a_statement_or_refused_in_one_line(text: str) -> None:
    try:
        found = parse_stated(text)
    except UserError as refused:
        said = str(refused)
    else:
        said = "accepted"
        assert all(1 <= one.channels <= MOST_CHANNELS for one in found)
        assert all(one.speed / 1e6 in SPEEDS for one in found)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("8xDDR9-1", "type DDR9 is not one of DDR3, DDR4, DDR5"),
        ("8xHBM3-6400", "type HBM3 is not one of"),
        ("0xDDR5-4800", "a node has from 1 to 64 channels"),
        ("DDR5-4800", "lacks the number of populated channels of a node, as in 8xDDR5-4800"),
        ("node:1=DDR5-4800", "as in node:0=8xDDR5-4800"),
        ("8xDDR5-48", "the speed is in MT/s, from 800 to 12800"),
        ("8xDDR5", "is not CHANNELSxTYPE-SPEED"),
        ("", "is not CHANNELSxTYPE-SPEED"),
        ("8xDDR5-4800,node:1=8xDDR5-4800", "state each node"),
        ("node:1=8xDDR5-4800,node:1=8xDDR5-4800", "node 1 is stated twice"),
    ],
)
def test_a_wrong_statement_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_stated(text)


def test_a_statement_gives_a_limit_and_its_source(sysfs: Sysfs) -> None:
    topology = discover(sysfs.root)
    assert limit(topology, "node:1") is None
    found = limit(stating(topology, "8xDDR5-4800"), "node:1")
    assert found is not None
    assert (found.value, found.source) == (307.2e9, "stated by the user")
    assert found.link == "stated DDR5-4800 x 8 channels of node 1"


def test_a_statement_of_one_node_is_of_no_other(sysfs: Sysfs) -> None:
    topology = stating(discover(sysfs.root), "node:1=1xDDR4-3200")
    assert limit(topology, "node:0") is None
    found = limit(topology, "node:1")
    assert found is not None
    assert found.value == 25.6e9
    assert "x 1 channel of" in found.link


def test_what_the_system_reports_comes_first_and_both_are_shown(sysfs: Sysfs) -> None:
    sysfs.claim(0, 0, 80, 100_000)
    topology = stating(discover(sysfs.root), "8xDDR5-4800")
    found = limit(topology, "node:0")
    assert found is not None
    assert not found.stated
    (line,) = unused_statements(topology)
    assert "100.0 GB/s" in line
    assert "307.2 GB/s" in line
    assert any(one.found == line for one in link_findings(topology, str(sysfs.root)))


def test_a_statement_that_agrees_with_the_system_needs_no_words(sysfs: Sysfs) -> None:
    sysfs.claim(0, 0, 80, 307_200)
    assert unused_statements(stating(discover(sysfs.root), "8xDDR5-4800")) == []


@pytest.mark.parametrize("stated", [True, False])
def test_stated_modules_behind_cxl_take_turns_and_a_firmwares_claim_does_not(
    sysfs: Sysfs, stated: bool
) -> None:
    place = "0000:0c/0000:0c:00.0/0000:0d:00.0"
    sysfs.pci(place, CXL_CLASS, 0x8086, node=1, now=(32.0, 8), best=(32.0, 8))
    sysfs.node(2, [], 512, "24 14 10")
    if not stated:
        sysfs.claim(2, 1, 200, 20_000)
    found = discover(sysfs.root)
    behind = {"kind": NodeKind.CXL, "backed_by": ["0000:0d:00.0"]}
    nodes = [*found.nodes[:2], found.nodes[2].model_copy(update=behind)]
    topology = found.model_copy(update={"nodes": nodes})
    if stated:
        topology = stating(topology, "node:2=1xDDR4-2400")
    path = find_path(topology, parse_endpoint("node:1"), parse_endpoint("node:2"))
    media = path.hops[-1]
    assert media.limit is not None
    assert (media.name, media.limit.stated, media.half_duplex) == ("media", stated, stated)
    assert path.limit == media.limit


def test_the_doctor_says_how_to_state_what_is_not_known(sysfs: Sysfs) -> None:
    topology = discover(sysfs.root)
    (finding,) = [
        one for one in link_findings(topology, str(sysfs.root)) if "--memory" in one.remedy
    ]
    assert "not known of node 0-1" in finding.found
    (used, _) = [
        one
        for one in link_findings(stating(topology, "2xDDR4-3200"), str(sysfs.root))
        if one.subject == "stated memory"
    ]
    assert "51.2 GB/s" in used.found


def test_it_is_kept_for_later_commands_and_forgotten() -> None:
    assert tierscope("topo", "--memory", "8xDDR5-4800").returncode == 0
    later = json.loads(tierscope("topo", "--json").stdout)["topology"]
    assert later["stated_memory"] == [{"node": None, "type": "DDR5", "speed": 4.8e9, "channels": 8}]
    assert stated_path(later["host"], "memory").read_text() == "8xDDR5-4800\n"
    assert tierscope("topo", "--memory", "none").returncode == 0
    assert json.loads(tierscope("topo", "--json").stdout)["topology"]["stated_memory"] == []


def test_a_measurement_s_limit_is_marked_as_stated(fake_engine: None) -> None:
    done = tierscope("bandwidth", "--memory", "64xDDR5-12800", "--op", "read", "--threads", "1")
    if "SMBIOS" in done.stdout or "HMAT" in done.stdout:
        pytest.skip("this machine reports its memory")
    assert done.returncode == 0, done.stderr
    assert "% stated" in done.stdout
    assert "stated DDR5-12800 x 64 channels of node 0" in done.stdout
    found = json.loads(tierscope("show", "last", "--json").stdout)
    limits = [figure["limit"] for m in found["results"] for figure in m["figures"]]
    assert limits[0]["source"] == "stated by the user"


def test_a_plan_states_memory_and_the_option_comes_before_it(tmp_path: Path) -> None:
    plan = tmp_path / "p.yaml"
    plan.write_text("memory: 2xDDR4-3200\nmeasurements: [{kind: bandwidth}]\n")
    assert tierscope("run", plan, "--dry-run").returncode == 0
    host = json.loads(tierscope("topo", "--json").stdout)["topology"]["host"]
    assert stated_path(host, "memory").read_text() == "2xDDR4-3200\n"
    assert tierscope("run", plan, "--dry-run", "--memory", "8xDDR5-4800").returncode == 0
    assert stated_path(host, "memory").read_text() == "8xDDR5-4800\n"


def test_wrong_requests_are_one_line_with_their_place_and_keep_nothing(tmp_path: Path) -> None:
    plan = tmp_path / "p.yaml"
    plan.write_text("version: 1\nmemory: 8xDDR9-1\nmeasurements: [{kind: bandwidth}]\n")
    host = json.loads(tierscope("topo", "--json").stdout)["topology"]["host"]
    for words, says in (
        (("run", plan, "--dry-run"), f"{plan}:2: key 'memory': '8xDDR9-1'"),
        (("topo", "--memory", "node:999=8xDDR5-4800"), "--memory: there is no node 999"),
        (("topo", "--memory", "8xDDR5"), "--memory: '8xDDR5' is not"),
        (("topo", "--fsroot", tmp_path, "--memory", "8xDDR5-4800"), "is of this machine"),
    ):
        done = tierscope(*words)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert says in line
    assert not stated_path(host, "memory").exists()


def test_a_damaged_file_is_named_and_can_be_replaced() -> None:
    host = json.loads(tierscope("topo", "--json").stdout)["topology"]["host"]
    path = stated_path(host, "memory")
    path.parent.mkdir(parents=True)
    path.write_text("8xDDR5")
    found = json.loads(tierscope("topo", "--json").stdout)["topology"]
    assert found["stated_memory"] == []
    (line,) = [line for line in found["unreadable"] if "stated memory" in line]
    assert str(path) in line
    assert tierscope("topo", "--memory", "8xDDR5-4800").returncode == 0
    assert json.loads(tierscope("topo", "--json").stdout)["topology"]["stated_memory"]
