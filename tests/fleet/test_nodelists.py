"""Slurm's lists of hosts and its topology.conf: read as Slurm does, or refused in one line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.fleet.groups import (
    compress,
    expand,
    parse_csv,
    parse_topology_conf,
    parse_yaml,
    read_groups,
)
from tierscope.model.errors import UserError

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,6}(\.[a-z]{1,3})?", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("node[001-003,7],login1", ["node001", "node002", "node003", "node7", "login1"]),
        ("r[0-1]n[08-10]x", ["r0n08x", "r0n09x", "r0n10x", "r1n08x", "r1n09x", "r1n10x"]),
        (" a , b ", ["a", "b"]),
        ("[1-3]", ["1", "2", "3"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
    ],
)
def test_a_list_of_hosts(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


def test_a_million_hosts_are_a_list() -> None:
    assert expand("n[0-999]m[0-999]")[-1] == "n999m999"


@pytest.mark.parametrize(
    "text",
    ["", ",", "a b", "a,,b", "n[1-", "n]1", "n[]", "n[3-1]", "n[a]", "n[1-2-3]", "n[-1]",
     "n[0-9999999]", "n[0-999]m[0-999]p[0-9]", "n[[1]]"],
)  # fmt: skip
def test_what_is_no_list_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError, match=r"^[^\n]*(is no|has more than)[^\n]*$"):
        expand(text)


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        (["node003", "node001", "node002", "node7"], "node[001-003,7]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n09", "n10", "n9"], "n[9,09-10]"),
        (["login1", "login1"], "login1"),
        (["a", "a1", "b"], "a,a1,b"),
        (["n1.x", "n2.x", "n3"], "n3,n[1-2].x"),
    ],
)
def test_hosts_as_slurm_writes_them(hosts: list[str], text: str) -> None:
    assert compress(hosts) == text


@given(st.lists(NAMES, min_size=1))
def test_every_host_is_in_its_list_once(hosts: list[str]) -> None:
    assert sorted(expand(compress(hosts))) == sorted(set(hosts))


@given(st.text(alphabet="nx0129[],-. ", max_size=20))
def test_any_text_is_a_list_or_is_refused(text: str) -> None:
    try:
        hosts = expand(text)
    except UserError:
        return
    assert hosts
    assert sorted(expand(compress(hosts))) == sorted(set(hosts))


CONF = """\
# the machine room
SwitchName=leaf1 Nodes=node[1-3] LinkSpeed=100
switchname=leaf2 \\
  nodes=node[4-5],login1   # the odd one
SwitchName=spine Switches=leaf[1-2]
"""


def test_leaf_switches_of_topology_conf() -> None:
    groups = parse_topology_conf(CONF, "topology.conf")
    assert groups == {"node1": "leaf1", "node2": "leaf1", "node3": "leaf1", "node4": "leaf2",
                      "node5": "leaf2", "login1": "leaf2"}  # fmt: skip


def test_blocks_of_topology_conf() -> None:
    text = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n3\nBlockSizes=2\n"
    assert parse_topology_conf(text, "t") == {"n1": "b1", "n2": "b1", "n3": "b2"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SwitchName=a Node=n1", "t:1: unknown key 'Node'; did you mean 'Nodes'?"),
        ("\nNodes=n1", "t:2: Nodes needs SwitchName"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1", "t:2: host 'n1' is in 'a' and in 'b'"),
        ("SwitchName=a Nodes=n[1", "t:1: 'n\\[1' is not a list"),
        ("hello", "t:1: 'hello' is not KEY=VALUE"),
        ("SwitchName=a \\", "t:1: the file ends"),
        ("\nSwitchName=a \\\nNodes=n1 \\\nx", "t:2: 'x' is not KEY=VALUE"),
        ("SwitchName=a \\\nNodes=n1\nx", "t:3: 'x' is not KEY=VALUE"),
        ("SwitchName=a\nBlockName=b \\\n", "t:2: the file ends"),
        ("SwitchName= Nodes=n1", "t:1: 'SwitchName=' is not KEY=VALUE"),
    ],
)
def test_what_is_wrong_with_topology_conf(text: str, said: str) -> None:
    with pytest.raises(UserError, match=f"^{said.replace('?', '[?]')}"):
        parse_topology_conf(text, "t")


@given(
    st.dictionaries(
        st.from_regex(r"s[a-z0-9]{1,5}", fullmatch=True),
        st.lists(st.integers(0, 999), min_size=1, max_size=5),
        max_size=5,
    )
)
def test_every_node_is_at_the_switch_that_names_it(switches: dict[str, list[int]]) -> None:
    lines = [
        f"SwitchName={name} Nodes={compress(f'{name}-n{n}' for n in nodes)}\n"
        for name, nodes in switches.items()
    ]
    expected = {f"{name}-n{n}": name for name, nodes in switches.items() for n in nodes}
    assert parse_topology_conf("".join(lines), "t") == expected


@given(st.text(alphabet="SwitchNameodes=[]-,#\\\n 01", max_size=60))
def test_any_topology_conf_is_read_or_refused(text: str) -> None:
    try:
        said = ""
        groups = parse_topology_conf(text, "t")
    except UserError as error:
        groups, said = {}, str(error)
    assert all(groups.values())
    assert not said or said.startswith("t:")


def test_csv_and_yaml_of_hosts_and_groups() -> None:
    expected = {"n1": "left", "n2": "left", "n3": "right"}
    assert parse_csv('host,group\n"n[1-2]",left\n\nn3,  "right"\n', "t") == expected
    assert parse_yaml("n[1-2]: left\nn3: right\n", "t") == expected


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (parse_csv, "n1\n", "t:1: a line has to be HOST,GROUP"),
        (parse_csv, "n1,a,\n", "t:1: a line has to be HOST,GROUP, not 3 values"),
        (parse_csv, "n1,a\nn1,b\n", "t:2: host 'n1' is in"),
        (parse_csv, f"n1,a\nn2,{'b' * 140_000}\n", "t:2: field larger than field limit"),
        (parse_yaml, "- n1\n", "t:1: the file has to be a mapping"),
        (parse_yaml, "n1: a\nn2: ''\n", "t:2: key 'group' has no value"),
        (parse_yaml, "n1: a\nn[1-2]: b\n", "t:2: host 'n1' is in"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_of_groups(parse: object, text: str, said: str) -> None:
    assert callable(parse)
    with pytest.raises(UserError, match=f"^{said}"):
        parse(text, "t")


def test_a_heading_stands_first_only() -> None:
    assert parse_csv(" Host , GROUP \nn1,a\nhost,group\n", "t") == {"n1": "a", "host": "group"}
    assert parse_csv("host,rack\n", "t") == {"host": "rack"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("groups.csv", "n1,left\n"),
        ("groups.CSV", "n1,left\n"),
        ("groups.yaml", "n1: left\n"),
        ("groups.yml", "n1: left\n"),
        ("topology.conf", "SwitchName=left Nodes=n1\n"),
        ("groups", "SwitchName=left Nodes=n1\n"),
    ],
)
def test_a_file_s_name_says_what_is_in_it(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read_groups(path) == {"n1": "left"}
    path.write_text(f"{text}?")
    with pytest.raises(UserError, match=rf"^{path}:[23]: "):
        read_groups(path)


def test_a_file_of_groups_without_hosts(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text("# nothing\n")
    with pytest.raises(UserError, match="names no host"):
        read_groups(path)
