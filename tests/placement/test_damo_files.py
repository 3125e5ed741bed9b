"""Files of damo's: what is written is read as it was; what is wrong is said with line and key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.model.errors import UserError
from tierscope.place.damon import presets
from tierscope.place.damon import rules as damon
from tierscope.place.damon.files import damo_json, damo_yaml, parse_damo
from tierscope.place.damon.rules import MOST, Range

_US = st.integers(0, 10**12)
_NUMBER = st.integers(0, 10**6)
_PERMIL = st.integers(0, 1000)
_NODE = st.integers(0, 1023)
_PATH = st.text("abcdefgh/-_.0123", min_size=1).map("/".__add__)


def ranges(values: st.SearchStrategy[int]) -> st.SearchStrategy[Range]:
    """Closed ranges, with and without an end."""
    return st.tuples(values, values | st.just(MOST)).map(lambda ends: Range(*sorted(ends)))


_ADDRESSES = st.tuples(st.integers(0, 2**40), st.integers(1, 2**40)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)
_GOALS = st.one_of(
    st.builds(damon.Goal, st.sampled_from(damon.NODE_METRICS), st.integers(0, 10_000), nid=_NODE),
    st.builds(
        damon.Goal, st.sampled_from(damon.MEMCG_METRICS), st.integers(0, 10_000), nid=_NODE,
        path=_PATH,
    ),
    st.builds(damon.Goal, st.just("some_mem_psi_us"), _US, _NUMBER),
    st.builds(damon.Goal, st.just("user_input"), _NUMBER, _NUMBER),
)  # fmt: skip
_FILTERS = st.one_of(
    st.builds(
        damon.Filter, st.sampled_from(["anon", "active", "young"]), st.booleans(), st.booleans()
    ),
    st.builds(damon.Filter, st.just("memcg"), st.booleans(), st.booleans(), _PATH),
    st.builds(damon.Filter, st.just("addr"), st.booleans(), addresses=_ADDRESSES),
    st.builds(damon.Filter, st.just("target"), st.booleans(), target=_NODE),
    st.builds(damon.Filter, st.just("hugepage_size"), sizes=ranges(_US)),
)
_SCHEMES = st.builds(
    damon.Scheme,
    action=st.sampled_from(damon.MIGRATIONS),
    target_nid=st.none() | _NODE,
    dests=st.lists(st.tuples(_NODE, _NUMBER), max_size=3).map(tuple),
    sizes=ranges(_US),
    accesses=ranges(st.integers(0, 100)).map(lambda r: Range(r.low, min(r.high, 100))),
    age=ranges(_US),
    apply_interval_us=_US,
    quota=st.builds(
        damon.Quota, _US, _US, _US | st.just(MOST), st.tuples(_PERMIL, _PERMIL, _PERMIL),
        st.lists(_GOALS, max_size=2).map(tuple),
    ),
    watermarks=st.just(damon.Watermarks())
    | st.builds(damon.Watermarks, st.just("free_mem_rate"), _US, _PERMIL, _PERMIL, _PERMIL),
    filters=st.lists(_FILTERS, max_size=3).map(tuple),
)  # fmt: skip
_COUNTED = st.builds(
    damon.Scheme,
    accesses=ranges(_NUMBER),
    access_unit=st.just("samples"),
    age=ranges(_NUMBER),
    age_unit=st.just("aggr_intervals"),
)
_CONTEXTS = st.builds(
    damon.Context,
    st.sampled_from(damon.OPERATIONS),
    st.lists(
        st.builds(damon.Target, st.none() | _NODE, st.lists(_ADDRESSES, max_size=2).map(tuple)),
        max_size=2,
    ).map(tuple),
    st.builds(
        damon.Monitoring,
        st.integers(1, 10**6),
        st.integers(10**6, 10**9),
        _US,
        st.builds(damon.IntervalsGoal, st.integers(0, 10_000), _NUMBER, _US, _US),
        st.integers(3, 100),
        st.integers(100, 10**5),
    ),
    st.lists(_SCHEMES | _COUNTED, max_size=2).map(tuple),
)
_RULES = st.lists(
    st.builds(damon.Kdamond, st.lists(_CONTEXTS, max_size=1).map(tuple), _NUMBER), max_size=2
).map(lambda kdamonds: damon.Rules(tuple(kdamonds)))


@given(rules=_RULES)
def test_what_is_written_is_read_as_it_was(rules: damon.Rules) -> None:
    assert parse_damo(damo_yaml(rules), "a.yaml") == rules
    assert parse_damo(damo_json(rules), "a.json") == rules


def hmsdk() -> damon.Rules:
    return presets.between(
        presets.PRESETS["hmsdk"], [(0, 2)], lambda node: ((node << 30, (node + 1) << 30),), "/hmsdk"
    )


def test_the_preset_reads_as_gen_migpol_writes_it() -> None:
    text = damo_yaml(hmsdk())
    for line in (
        "sample_us: 100 ms",
        "aggr_us: 2 s",
        "ops_update_us: 20 s",
        "max: 10,000",
        "action: migrate_cold",
        "target_nid: 2",
        "min: 4.000 KiB",
        "min: 5 %",
        "min: 30 s",
        "time_ms: 1 s",
        "time_ms: 2 s",
        "sz_bytes: 50.000 GiB",
        "reset_interval_ms: 20 s",
        "age_permil: 1 %",
        "memcg_path: /hmsdk",
        "start: 2,147,483,648",
    ):
        assert any(one.strip().lstrip("- ") == line for one in text.splitlines()), line


DAMO = """\
kdamonds:
- state: null
  pid: null
  contexts:
  - ops: paddr
    targets:
    - pid: null
      regions:
      - start: 4,294,967,296
        end: 6g
    intervals:
      sample_us: 100 ms
      aggr_us: 1 m 40 s
      ops_update_us: 20 s
    nr_regions: {min: '100', max: '10,000'}
    schemes:
    - action: migrate_hot
      target_nid: 0
      access_pattern:
        sz_bytes: {min: 4.000 KiB, max: max}
        nr_accesses: {min: 5 %, max: 18446744073709551615 %}
        age: {min: 0 ns, max: 5 h 3 m}
      quotas:
        time_ms: 0 ns
        sz_bytes: 200 MiB
        reset_interval_ms: 1 s
        weights: {sz_permil: 0 %, nr_accesses_permil: 0 %, age_permil: 0 %}
        goals:
        - {metric: node_mem_used_bp, nid: '0', target_value: 99.7%, current_value: '0'}
      filters:
      - {filter_type: young, matching: true, filter_pass: true}
      stats: {nr_tried: 7}
"""


def test_damo_s_own_words_are_understood() -> None:
    ((context,),) = (
        kdamond.contexts for kdamond in parse_damo(DAMO.replace("6g", "6G"), "x").kdamonds
    )
    (scheme,) = context.schemes
    assert context.targets[0].regions == ((4 << 30, 6 << 30),)
    assert context.monitoring.aggr_us == 100_000_000
    assert scheme.accesses.low == 5
    assert scheme.age == Range(0, (5 * 60 + 3) * 60_000_000)
    assert scheme.quota.goals == (damon.Goal("node_mem_used_bp", 9970, nid=0),)
    assert scheme.filters == (damon.Filter("young", True, True),)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("end: 6g", "end: 6 apples", r"x.yaml:10: key 'end': '6 apples' is not a number with one"),
        ("end: 6g", "end: 1G", r"x.yaml:9: region: start 4294967296 is not below end 1073741824"),
        ("action: migrate_hot", "action: migrate", r"x.yaml:17: key 'action': .*migrate_cold"),
        ("target_nid: 0", "target_nod: 0", r"x.yaml:18: unknown key 'target_nod' .*'target_nid'"),
        ("100 ms", "0.5 us", r"x.yaml:12: key 'sample_us': it has to be whole us"),
        ("100 ms", "3 h", r"x.yaml:12: intervals: sample_us has to be above 0 and at most aggr_us"),
        ("nid: '0', target", "target", r"x.yaml:29: goal node_mem_used_bp needs 'nid'"),
        ("matching: true", "matching: maybe", r"x.yaml:31: key 'matching': 'maybe' is not one of"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_key(old: str, new: str, says: str) -> None:
    text = DAMO.replace(old, new).replace("6g", "6G")
    with pytest.raises(UserError, match=says):
        parse_damo(text, "x.yaml")


@given(text=st.text() | st.text("kdamons:[]{}- \n0123456789abc,'\"%&*", max_size=80))
def test_any_text_is_rules_or_a_user_error(text: str) -> None:
    for start in ("", "kdamonds: ", "kdamonds:\n- contexts:\n  - "):
        try:
            parse_damo(start + text, "x")
        except UserError as error:
            if not str(error).startswith("x:"):
                raise
