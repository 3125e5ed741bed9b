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
        ("to: 2\n", "to: 2,4\n", "mine.yaml:6: key 'to': '2,4' is not a count such as 4"),
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


def only(rule: str, top: str = "") -> damon.Scheme:
    """The scheme of one rule from node 0 to 2, with further keys."""
    ((*_, scheme),) = parse(f"{top}rules:\n- {{move: cold, from: 0, to: 2, {rule}}}\n").schemes()
    return scheme


def test_what_a_rule_does_not_say_is_as_documented() -> None:
    text = "rules:\n- {move: cold, from: 0, to: 2}\n- {move: hot, from: 2, to: 0}\n"
    (cold,), (hot,) = (kdamond.contexts[0].schemes for kdamond in parse(text).kdamonds)
    assert (cold.sizes, cold.accesses, cold.age) == (
        Range(4096, MOST), Range(0, 0), Range(30_000_000, MOST),
    )  # fmt: skip
    assert (hot.sizes, hot.accesses, hot.age) == (Range(4096, MOST), Range(5, 100), damon.EVERY)
    for one, young in ((cold, True), (hot, False)):
        assert one.filters == (damon.Filter("young", matching=young),)
        assert one.apply_interval_us == 0
        assert one.quota == damon.Quota(reset_interval_ms=1000)
        assert one.watermarks == damon.Watermarks()
    monitoring = parse(text).kdamonds[0].contexts[0].monitoring
    assert monitoring == damon.Monitoring()


@pytest.mark.parametrize(
    ("rule", "field", "value"),
    [
        ("quota: {bytes: 1g}", "quota", damon.Quota(0, 1 << 30, 1000, (0, 0, 10))),
        ("quota: {time: 1500us}", "quota", damon.Quota(1, 0, 1000, (0, 0, 10))),
        ("goal: used 90%", "quota",
         damon.Quota(goals=(damon.Goal("node_mem_used_bp", 9000, nid=0),), reset_interval_ms=1000)),
        ("watermarks: {high: 100%, mid: 50%, low: 50%}", "watermarks",
         damon.Watermarks("free_mem_rate", 5_000_000, 1000, 500, 500)),
        ("watermarks: {high: 0%, mid: 0%, low: 0%}", "watermarks",
         damon.Watermarks("free_mem_rate", 5_000_000, 0, 0, 0)),
        ("size: 4k..2m", "sizes", Range(4096, 2 << 20)),
        ("size: 2m..", "sizes", Range(2 << 20, MOST)),
        ("size: ..2m", "sizes", Range(0, 2 << 20)),
        ("size: 2m", "sizes", Range(2 << 20, 2 << 20)),
        ("accesses: 5%..", "accesses", Range(5, 100)),
        ("accesses: 0%..100%", "accesses", Range(0, 100)),
        ("age: 0s..10us", "age", Range(0, 10)),
        ("every: 30min", "apply_interval_us", 1_800_000_000),
        ("confirm: yes", "filters", (damon.Filter("young", matching=True),)),
        ("confirm: no", "filters", ()),
    ],
)  # fmt: skip
def test_each_key_says_one_thing(rule: str, field: str, value: object) -> None:
    assert getattr(only(rule), field) == value


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ("sample: 1ms", (1000, 100_000, 1_000_000)),
        ("sample: 10ms", (10_000, 200_000, 2_000_000)),
        ("aggregate: 10ms", (5000, 10_000, 1_000_000)),
        ("sample: 1s, aggregate: 1s, update: 1s", (10**6, 10**6, 10**6)),
    ],
)
def test_intervals_that_are_not_given_follow_from_those_that_are(
    intervals: str, expected: tuple[int, int, int]
) -> None:
    rules = parse(f"intervals: {{{intervals}}}\nrules:\n- {{move: cold, from: 0, to: 2}}\n")
    found = rules.kdamonds[0].contexts[0].monitoring
    assert (found.sample_us, found.aggr_us, found.update_us) == expected
    assert found.goal == damon.IntervalsGoal()


@pytest.mark.parametrize(
    ("tune", "goal"),
    [
        ("{}", damon.IntervalsGoal(400, 3, 5000, 10_000_000)),
        ("{accesses: 2.5%, every: 7, sample: 1ms..2s}",
         damon.IntervalsGoal(250, 7, 1000, 2 * 10**6)),
    ],
)  # fmt: skip
def test_intervals_may_be_left_to_the_kernel(tune: str, goal: damon.IntervalsGoal) -> None:
    text = f"intervals: {{tune: {tune}}}\nrules:\n- {{move: cold, from: 0, to: 2}}\n"
    assert parse(text).kdamonds[0].contexts[0].monitoring.goal == goal


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "mine.yaml:1: there are no rules in it; allowed: intervals, regions, rules"),
        ("regions: 10..20\n", "mine.yaml:1: key 'rules' is missing"),
        ("regions: all..20\nrules: []\n",
         "mine.yaml:1: key 'regions': 'all' is not a count such as 4"),
        ("rules:\n- {move: cold, from: all, to: 2}\n",
         "mine.yaml:2: key 'from': 'all' is not a count such as 4"),
        ("regions: 0..20\nrules: []\n", "mine.yaml:1: key 'regions': 0 is too few"),
    ],
)  # fmt: skip
def test_a_file_without_rules_is_none(text: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(text)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("every: 0.5us", "key 'every': '0.5us' is not whole microseconds"),
        ("age: 31d..", "key 'age': '31d' is"),
        ("goal: free 101%", "key 'goal': '101%' is out of range"),
        ("accesses: 10%..101%", "key 'accesses': '101%' is out of range"),
        ("watermarks: {high: 50%, mid: 40%}", "key 'low' is missing"),
        ("watermarks: {high: 50%, mid: 40%, low: 41%}", "watermarks: high >= mid >= low"),
        ("confirm: maybe", "key 'confirm': 'maybe' is not one of yes, no"),
        ("quota: {bytes: [1]}", "'bytes'"),
    ],
)
def test_a_value_that_is_none_is_said_of_its_key(rule: str, says: str) -> None:
    with pytest.raises(UserError, match=r"mine\.yaml:2: ") as caught:
        only(rule)
    assert says in str(caught.value)
    assert str(caught.value).count("mine.yaml") == 1


def test_damo_s_rules_are_as_they_are_without_a_cgroup() -> None:
    text = "kdamonds: [{contexts: [{ops: paddr, schemes: [{action: migrate_hot, target_nid: 1}]}]}]"
    ((*_, scheme),) = parse(text).schemes()
    assert scheme.filters == ()


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
