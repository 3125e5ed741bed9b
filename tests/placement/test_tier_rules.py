"""Rules of one's own: units, defaults, and errors that name file, line and key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.model.errors import UserError
from tierscope.place.damon import rules as damon
from tierscope.place.damon.rules import MOST, Range
from tierscope.place.tier_rules import parse_rules

TEXT = """\
intervals: {sample: 50ms, aggregate: 1s, update: 10s}
regions: 20..500
rules:
  - move: cold
    from: 0
    to: 2
    age: 2min..
    quota: {bytes: 1.5g, time: 250ms, per: 10s}
    goal: free 0.5%
    watermarks: {high: 50%, mid: 40%, low: 5%, every: 1s}
  - move: hot
    from: 2
    to: node:0
    accesses: 10%..60%
    every: 2s
    confirm: no
"""


def ranges(node: int) -> tuple[tuple[int, int], ...]:
    return ((node << 30, (node + 1) << 30),)


def parse(text: str, memcg: str | None = None) -> damon.Rules:
    return parse_rules(text, "mine.yaml", ranges, memcg)


def test_rules_say_what_damon_is_told() -> None:
    cold, hot = (kdamond.contexts[0] for kdamond in parse(TEXT, "/jobs").kdamonds)
    assert cold.monitoring == damon.Monitoring(
        50_000, 10**6, 10**7, min_regions=20, max_regions=500
    )
    assert cold.targets[0].regions == ranges(0)
    (scheme,) = cold.schemes
    assert (scheme.action, scheme.target_nid, scheme.dests) == ("migrate_cold", 2, ())
    assert (scheme.accesses, scheme.age) == (Range(0, 0), Range(120_000_000, MOST))
    goal = damon.Goal("node_mem_free_bp", 50, nid=0)
    assert scheme.quota == damon.Quota(250, 3 << 29, 10_000, (0, 0, 10), (goal,))
    assert scheme.watermarks == damon.Watermarks("free_mem_rate", 10**6, 500, 400, 50)
    assert scheme.filters == (
        damon.Filter("memcg", matching=False, memcg_path="/jobs"),
        damon.Filter("young", matching=True),
    )
    (scheme,) = hot.schemes
    assert (scheme.action, scheme.target_nid) == ("migrate_hot", 0)
    assert (scheme.accesses, scheme.apply_interval_us) == (Range(10, 60), 2_000_000)
    assert [one.type for one in scheme.filters] == ["memcg"]


def test_rules_of_one_node_share_a_kdamond() -> None:
    text = "rules:\n- {move: cold, from: 0, to: 1}\n- {move: hot, from: 0, to: 2}\n"
    (kdamond,) = parse(text).kdamonds
    assert [one.action for one in kdamond.contexts[0].schemes] == ["migrate_cold", "migrate_hot"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("move: cold", "move: warm", "mine.yaml:4: key 'move': 'warm' is not one of cold, hot"),
        ("    from: 0\n", "", "mine.yaml:4: key 'from' is missing"),
        (
            "    goal:",
            "    gaol:",
            "mine.yaml:9: unknown key 'gaol' in a rule; did you mean 'goal'",
        ),
        ("2min..", "2 weeks..", "mine.yaml:7: key 'age': '2 weeks' is not a time"),
        ("1.5g", "1.5x", "mine.yaml:8: key 'bytes': '1.5x' is not a size"),
        ("free 0.5%", "loose 5%", "mine.yaml:9: key 'goal': 'loose' is not one of free, used"),
        ("free 0.5%", "free 500%", "mine.yaml:9: key 'goal': '500%' is out of range"),
        ("mid: 40%", "mid: 60%", "mine.yaml:10: watermarks: high >= mid >= low"),
        ("10%..60%", "60%..10%", "mine.yaml:14: key 'accesses': range '60%..10%' runs backwards"),
        ("to: node:0", "to: 2", "mine.yaml:11: 'from' and 'to' are both node 2"),
        ("to: 2\n", "to: 2,4\n", "mine.yaml:6: key 'to': '2,4' is neither a count"),
        ("sample: 50ms", "sample: 5s", "mine.yaml:1: 'sample' has to be at most 'aggregate'"),
        ("rules:", "rule:", "mine.yaml:3: unknown key 'rule'"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_key(old: str, new: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(TEXT.replace(old, new, 1))
    assert str(caught.value).startswith(says)


def test_a_file_of_damo_s_is_read_and_limited_to_the_cgroup() -> None:
    text = "kdamonds: [{contexts: [{ops: paddr, schemes: [{action: migrate_hot, target_nid: 1}]}]}]"
    ((_, _, _, scheme),) = parse(text, "/jobs").schemes()
    assert scheme.filters == (damon.Filter("memcg", matching=False, memcg_path="/jobs"),)


_WORD = st.text("0123456789.%@,:msgk- ", max_size=8)


@given(
    values=st.dictionaries(
        st.sampled_from(
            ["move", "from", "to", "accesses", "age", "size", "every", "goal", "confirm"]
        ),
        _WORD | st.sampled_from(["cold", "hot", "0", "1", "2@3", "free 1%", "5%..", "yes", "4k.."]),
    ),
    interval=_WORD,
)
def test_any_values_make_rules_or_a_user_error(values: dict[str, str], interval: str) -> None:
    lines = [f'{key}: "{value}"' for key, value in values.items()]
    text = f'intervals: {{sample: "{interval}"}}\nrules:\n- ' + "\n  ".join(lines or ["{}"])
    try:
        parse(text)
    except UserError as error:
        if not str(error).startswith("mine.yaml:"):
            raise
