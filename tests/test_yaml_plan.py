import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tierscope.model.errors import UserError
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.expand import expand
from tierscope.plans.yaml_plan import parse_plan, read_plan

GOOD = """\
version: 1
measurements:
  - name: sweep
    kind: bandwidth
    args: {from: node:0, size: 64m, budget: 0.5}
    matrix:
      op: [read, copy]
      threads: 1..3
  - kind: latency
    args:
      size: 4k..16k
"""


def test_args_and_matrix_multiply(machine: Topology) -> None:
    plan = expand(parse_plan(GOOD, "p.yaml"), machine, thp=True)
    assert [spec.kind for spec in plan.measurements] == ["bandwidth"] * 6 + ["latency"] * 3
    assert plan.measurements[0].id.startswith("sweep.")
    assert plan.measurements[0].sampling.budget_s == 0.5


SEVERAL = {
    "op": st.sampled_from(["read", "write", "copy", "triad", "memset", "rmw"]),
    "threads": st.sampled_from(["1", "2", "4", "1..3", "all"]),
    "size": st.sampled_from(["64m", "96m", "1g", "64m..256m"]),
    "pages": st.sampled_from(["base", "thp"]),
    "to": st.sampled_from(["node:0", "node:1", "node:0,1@3:1", "node:*"]),
}
"""Options of bandwidth, and items of their lists."""


@given(
    st.sampled_from([*SEVERAL]).flatmap(
        lambda key: st.tuples(
            st.just(key), st.lists(SEVERAL[key], min_size=1, max_size=4, unique=True)
        )
    ),
    st.sampled_from(["args", "matrix"]),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_list_is_its_items_with_commas(
    machine: Topology, asked: tuple[str, list[str]], section: str, block: bool
) -> None:
    key, items = asked
    start = f"measurements:\n- kind: bandwidth\n  {section}:\n    {key}:"
    quoted = [f'"{item}"' if "," in item or "*" in item else item for item in items]
    listed = "".join(f"\n    - {one}" for one in quoted) if block else f" [{', '.join(quoted)}]"
    assert planned(f"{start}{listed}", machine) == planned(f'{start} "{",".join(items)}"', machine)


def planned(text: str, machine: Topology) -> object:
    """Return the measurements of a plan, or what is wrong with it."""
    try:
        return expand(parse_plan(text, "p.yaml"), machine, thp=True).measurements
    except UserError as error:
        return re.sub(r":\d+:", ":", str(error))


def test_lists_of_options_that_are_given_again_and_of_words() -> None:
    text = (
        "measurements:\n- kind: effect\n  args:\n    placement: [local, 'bind node:0,1']\n"
        "    command: [sh, -c, echo x y]"
    )
    (request,) = parse_plan(text, "p")
    assert request.options == {"placement": "local\nbind node:0,1", "command": "sh -c 'echo x y'"}


def test_a_command_s_name_stands_for_its_kind() -> None:
    (request,) = parse_plan("measurements: [{kind: traffic}]", "p")
    assert request.kind == "traffic"


def test_flags_are_yes_or_no(machine: Topology) -> None:
    text = "measurements: [{kind: gpu-copy, args: {both-ways: maybe}}]"
    gpu = Gpu(index=0, name="a GPU", address="0000:01:00.0")
    with pytest.raises(UserError, match="p:1: key 'both-ways': 'maybe' is not one of yes, no"):
        expand(parse_plan(text, "p"), machine.model_copy(update={"gpus": [gpu]}), thp=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "p.yaml:1: the plan is empty"),
        ("measurements: [", "p.yaml:1: not valid YAML"),
        ("measurements:\n  - {kind: bandwidth\n", "p.yaml:2: not valid YAML"),
        ("a: &x [*x]", "p.yaml:1"),
        ("- 1", "p.yaml:1: the plan has to be a mapping"),
        ("version: 2\nmeasurements: []", "p.yaml:1: key 'version'"),
        ("version: 1", "p.yaml:1: the plan has no key 'measurements'"),
        ("measurements: []", "p.yaml:1: key 'measurements' has to be a list with at least one"),
        ("measurements:\n- kind: x", "p.yaml:2: key 'kind': 'x' is not one of bandwidth, latency"),
        ("measurements:\n- name: a", "p.yaml:2: a measurement needs a key 'kind'"),
        ("mesurements: []", "p.yaml:1: unknown key 'mesurements'.*did you mean 'measurements'"),
        (
            "measurements:\n- kind: latency\n  args:\n    sise: 4k",
            "p.yaml:4: unknown key 'sise' in 'args' of a latency; did you mean 'size'",
        ),
        ("measurements:\n- kind: latency\n  args: {op: read}", "p.yaml:3: unknown key 'op'"),
        (
            "measurements:\n- kind: latency\n  args: {size: 4k}\n  matrix: {size: [8k]}",
            "p.yaml:4: key 'size' stands in both args and matrix",
        ),
        ("measurements:\n- kind: latency\n  kind: latency", "p.yaml:3: key 'kind' is given twice"),
        *(
            (
                f"measurements:\n- kind: latency\n  {section}:\n    size:\n    - 4k\n    - {item}",
                "p.yaml:6: key 'size': each item of its list has to be one plain value",
            )
            for section in ("args", "matrix")
            for item in ("[8k]", "{a: 8k}")
        ),
        (
            "measurements:\n- kind: latency\n  args: {size: {a: 4k}}",
            "p.yaml:3: key 'size' has to be one plain value or a list of them",
        ),
        (
            "measurements:\n- kind: latency\n  args: {size: []}",
            "p.yaml:3: key 'size' has to be a list with at least one item",
        ),
        ("measurements:\n- kind: latency\n  args:\n    size:", "p.yaml:4: key 'size' has no value"),
        ("measurements:\n- {kind: latency, name: a b}", "p.yaml:2: key 'name': letters"),
        ("[" * 2000, "p.yaml:1: not valid YAML: exceeded maximum nesting depth"),
        ("a\x00b", "p.yaml:1: not valid YAML"),
    ],
)
def test_a_wrong_plan_says_where_and_what(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_plan(text, "p.yaml")


def test_a_wrong_value_names_line_and_key(machine: Topology) -> None:
    text = "measurements:\n- kind: bandwidth\n  matrix:\n    op: [read]\n    size: [64m, 12q]\n"
    with pytest.raises(UserError, match=r"p.yaml:5: key 'size': '12q' is not a size"):
        expand(parse_plan(text, "p.yaml"), machine, thp=True)


def test_values_keep_the_text_that_was_written() -> None:
    (request,) = parse_plan("measurements: [{kind: latency, args: {size: 1e3, pages: no}}]", "p")
    assert request.options == {"size": "1e3", "pages": "no"}


def test_a_plan_that_is_not_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(b"version: 1\n\xff\xfe")
    with pytest.raises(UserError, match=r"p.yaml:2: the plan is not UTF-8 text"):
        read_plan(path)


def test_a_plan_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_plan(tmp_path / "none.yaml")


def test_a_directory_is_no_plan(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        read_plan(tmp_path)


def test_an_enormous_plan_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(b"#" * (5 << 20))
    with pytest.raises(UserError, match="larger than the maximum, 1 MiB"):
        read_plan(path)


_SCALARS = st.sampled_from(
    [
        "read",
        "node:0",
        "1..4",
        "64..4k",
        "0",
        "",
        "~",
        "kind",
        "latency",
        "bandwidth",
        "[",
        "{",
        "&a",
    ]
) | st.text(max_size=8)
_KEYS = st.sampled_from(["kind", "args", "matrix", "name", "size", "op", "version", "measurements"])


@given(st.text(max_size=200))
def test_any_text_is_a_plan_or_a_user_error(text: str) -> None:
    _parses_or_is_refused(text)


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), _KEYS, _SCALARS), max_size=12))
def test_anything_that_looks_like_a_plan_is_one_or_a_user_error(
    lines: list[tuple[int, bool, str, str]],
) -> None:
    _parses_or_is_refused(
        "measurements:\n"
        + "\n".join(
            f"{' ' * indent}{'- ' if item else ''}{key}: {value}"
            for indent, item, key, value in lines
        )
    )


@given(st.integers(0, len(GOOD)), st.integers(0, 10), st.text(max_size=10))
@example(at=98, length=6, piece="\r\r")
def test_a_plan_with_a_piece_replaced_is_one_or_a_user_error(
    at: int, length: int, piece: str
) -> None:
    _parses_or_is_refused(GOOD[:at] + piece + GOOD[at + length :])


def _parses_or_is_refused(text: str) -> None:
    try:
        said = "" if parse_plan(text, "p.yaml") else "nothing"
    except UserError as error:
        said = str(error)
    assert said == "" or re.fullmatch(r"p\.yaml:\d+: .+", said)
