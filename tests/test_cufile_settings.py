"""`tierscope io --cufile KEY=VALUES`: each setting has an engine with a cufile.json of its own."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import synthetic

from tierscope.engine.process import check
from tierscope.engine.repetitions import living_engine
from tierscope.kinds.io.show import io_remarks, setting_lines, show_table
from tierscope.kinds.plan import Plan
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Repetition
from tierscope.model.run import Measurement
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.cufile import cufile_settings
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.style import make_console
from tierscope.runs.measure import measure

Fake = Callable[[str], None]
BATCH = "properties.io_batchsize"
SIZE = "properties.max_direct_io_size_kb"

SPY = """\
#!{python}
import json, os, pathlib, sys
if sys.argv[1:] == ["repetitions"]:
    path = os.environ.get("CUFILE_ENV_PATH_JSON", "")
    seen = {{
        "path": path,
        "text": pathlib.Path(path).read_text() if path else "",
        "environment": {{name: text for name, text in os.environ.items() if "CUFILE" in name}},
    }}
    with open({out!r}, "a") as file:
        file.write(json.dumps(seen) + "\\n")
os.execv({python!r}, [{python!r}, {engine!r}, *sys.argv[1:]])
"""


@pytest.fixture(autouse=True)
def _no_cufile_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("CUFILE_"):
            monkeypatch.delenv(name)


@pytest.fixture
def with_gpu(machine: Topology) -> Topology:
    gpu = Gpu(index=0, name="a GPU", address="0000:00:00.0", memory_bytes=80 << 30)
    return machine.model_copy(update={"gpus": [gpu]})


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cufile.json that cuFile would read."""
    path = tmp_path / "found.json"
    path.write_text('{ // mine\n"properties": {"io_batchsize": 16, "use_poll_mode": true}}')
    monkeypatch.setenv("CUFILE_ENV_PATH_JSON", str(path))
    return path


@pytest.fixture
def engines(
    fake_engine: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], list[dict[str, Any]]]:
    """What each engine process was started with, in the order of their starts."""
    spy, out = tmp_path / "spy", tmp_path / "spied"
    engine = os.environ["TIERSCOPE_ENGINE"]
    spy.write_text(SPY.format(python=sys.executable, engine=engine, out=str(out)))
    spy.chmod(0o755)
    monkeypatch.setenv("TIERSCOPE_ENGINE", str(spy))
    return lambda: [json.loads(line) for line in out.read_text().splitlines()]


def plan_of(topology: Topology, setting: str, **options: str) -> Plan:
    given = {"from": "gpu:0", "to": "file:/tmp", "block-size": "4k", "budget": "0.4",
             "sample": "10ms", "cufile": setting, **options}  # fmt: skip
    return expand([Request(kind="io", options=given)], topology, thp=True)


def repeat_all(plan: Plan, times: int = 1) -> list[Repetition]:
    repetitions = []
    with living_engine() as engine:
        engine.plan(plan.measurements)
        for _ in range(times):
            for spec in plan.measurements:
                repetitions += [
                    e for e in engine.repetition(spec.id, 0.1) if isinstance(e, Repetition)
                ]
    return repetitions


# What is asked for


def test_each_value_is_measured_beside_the_file_as_it_is(with_gpu: Topology) -> None:
    specs = plan_of(with_gpu, "io_batchsize=32,64").measurements
    settings = [spec.cufile_setting() for spec in specs]
    assert settings == ["", f"{BATCH}=32", f"{BATCH}=64"]
    assert [spec.identity().get("cufile", "") for spec in specs] == settings
    assert len({spec.id for spec in specs}) == 3


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("max_direct_io_size_kb=1024..16384*4", [f"{SIZE}={n}" for n in (1024, 4096, 16384)]),
        ("properties:use_poll_mode=true,false", ["properties.use_poll_mode=true",
                                                 "properties.use_poll_mode=false"]),
        ("logging.level=DEBUG", ['logging.level="DEBUG"']),
        ("posix_pool_slab_count=[128,64,64],[1, 2,3]", [
            "properties.posix_pool_slab_count=[128, 64, 64]",
            "properties.posix_pool_slab_count=[1, 2, 3]"]),
        ("io_batchsize=8,8", [f"{BATCH}=8"]),
        ('rdma_load_balancing_policy=RoundRobin,"FirstFit"', [
            'properties.rdma_load_balancing_policy="RoundRobin"',
            'properties.rdma_load_balancing_policy="FirstFit"']),
    ],
)  # fmt: skip
def test_values_are_lists_and_ranges_of_the_key_s_type(text: str, settings: list[str]) -> None:
    assert cufile_settings(text) == settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("io_batchsize", "is not KEY=VALUES"),
        ("io_batchsize=", "is not KEY=VALUES"),
        ("io_batchsise=4", "did you mean 'io_batchsize'"),
        ("use_pci_p2pdma=true", "it may be properties.use_pci_p2pdma, fs."),
        ("io_batchsize=257", "more than 256"),
        ("io_batchsize=many", "many"),
        ("max_direct_io_size_kb=1023", "not a multiple of 64"),
        ("use_poll_mode=maybe", "true or false is needed"),
        ("io_priority=low,urgent", "none of default, low, med, high"),
        ("cufile_stats=3", "tierscope sets it"),
    ],
)  # fmt: skip
def test_a_wrong_key_or_value_is_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        cufile_settings(text)
    assert "\n" not in str(refused.value)


def test_a_broken_cufile_json_is_refused_before_anything_is_measured(found: Path) -> None:
    found.write_text("{,}")
    with pytest.raises(UserError, match=r"found.json:1:2: a key is expected"):
        cufile_settings("io_batchsize=4")


def test_a_value_that_contradicts_the_rest_of_the_file_is_refused(found: Path) -> None:
    pool = {"posix_pool_slab_size_kb": [4, 1024], "posix_pool_slab_count": [8, 8]}
    found.write_text(json.dumps({"properties": pool}))
    with pytest.raises(UserError, match=r"does not go with .*found.json: .*2 slab sizes and 3"):
        cufile_settings("posix_pool_slab_count=[64,64,64]")
    assert cufile_settings("posix_pool_slab_count=[64,64]")


def test_mistakes_that_were_there_before_do_not_matter(found: Path) -> None:
    found.write_text('{"properties": {"io_batchsise": 4}}')
    assert cufile_settings("io_batchsize=4")


def test_it_goes_with_cufile_only(with_gpu: Topology) -> None:
    with pytest.raises(UserError, match=r"--cufile.*goes with cuFile"):
        plan_of(with_gpu, "io_batchsize=4", backend="staged")
    mixed = plan_of(with_gpu, "io_batchsize=4", backend="staged,cufile").measurements
    assert [spec.cufile_setting() for spec in mixed] == ["", "", f"{BATCH}=4"]


def test_the_real_engine_takes_it_with_cufile_only(with_gpu: Topology) -> None:
    plan = plan_of(with_gpu, "io_batchsize=4")
    assert check(plan) is None
    spec = plan.measurements[1]
    pattern = spec.pattern.model_copy(update={"backend": "staged"})
    wrong = plan.model_copy(update={"measurements": [spec.model_copy(update={"pattern": pattern})]})
    assert "cufile" in (check(wrong) or "")


# Engines


def test_each_setting_has_one_process_with_a_file_of_its_own(
    with_gpu: Topology, found: Path, engines: Callable[[], list[dict[str, Any]]]
) -> None:
    assert len(repeat_all(plan_of(with_gpu, "io_batchsize=32,64"), times=2)) == 6
    started = engines()
    assert [json.loads(one["text"]) for one in started[1:]] == [
        {"properties": {"io_batchsize": size, "use_poll_mode": True}} for size in (32, 64)
    ]
    assert started[0]["path"] == str(found)
    assert len({one["path"] for one in started}) == 3
    for one in started[1:]:
        assert not Path(one["path"]).parent.exists(), "copies are removed"


def test_variables_that_count_before_the_key_are_left_out(
    with_gpu: Topology,
    engines: Callable[[], list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUFILE_USE_PCIP2PDMA", "true")
    monkeypatch.setenv("CUFILE_ALLOW_COMPAT_MODE", "true")
    repeat_all(plan_of(with_gpu, "properties.use_pci_p2pdma=false"))
    repeat_all(plan_of(with_gpu, "allow_compat_mode=false"))
    as_it_is, p2p, _, compat = (one["environment"] for one in engines())
    assert as_it_is["CUFILE_USE_PCIP2PDMA"] == "true"
    assert "CUFILE_USE_PCIP2PDMA" not in p2p
    assert p2p["CUFILE_ALLOW_COMPAT_MODE"] == "true"
    assert compat["CUFILE_ALLOW_COMPAT_MODE"] == "false"


def test_an_engine_that_dies_is_started_again_with_its_setting(
    with_gpu: Topology,
    fake_engine: Fake,
    engines: Callable[[], list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "segv@2")
    assert len(repeat_all(plan_of(with_gpu, "io_batchsize=32"), times=2)) == 3
    wanted = {"properties": {"io_batchsize": 32}}
    assert [json.loads(one["text"] or "{}") for one in engines()] == [{}, wanted, wanted]


def test_an_interruption_ends_the_engines_of_all_settings(
    with_gpu: Topology, fake_engine: Fake
) -> None:
    plan = plan_of(with_gpu, "io_batchsize=32")
    first, second = (spec.id for spec in plan.measurements)
    with living_engine() as engine:
        engine.plan(plan.measurements)
        for name in (first, second):
            assert isinstance([*engine.repetition(name, 0.1)][-1], Repetition)
        os.kill(os.getpid(), signal.SIGINT)
        assert engine.interrupted
        assert [*engine.repetition(first, 0.1)] == []


def test_logs_lie_beside_the_run_file_unless_they_are_empty(
    with_gpu: Topology, engines: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    plan = plan_of(with_gpu, "io_batchsize=32")
    with living_engine(beside=tmp_path / "run.jsonl") as engine:
        engine.plan(plan.measurements)
        for spec in plan.measurements:
            assert isinstance([*engine.repetition(spec.id, 0.1)][-1], Repetition)
        logs = [Path(one["environment"]["CUFILE_LOGFILE_PATH"]) for one in engines()]
        logs[0].touch()
        logs[1].write_text("an error\n")
    assert logs == [tmp_path / "run.cufile.log", tmp_path / "run.cufile-2.log"]
    assert [log.exists() for log in logs] == [False, True]


def test_a_log_that_the_environment_names_is_left_alone(
    with_gpu: Topology,
    engines: Callable[[], list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = tmp_path / "own.log"
    own.touch()
    monkeypatch.setenv("CUFILE_LOGFILE_PATH", str(own))
    (spec,) = plan_of(with_gpu, "io_batchsize=16").measurements[:1]
    with living_engine(beside=tmp_path / "run.jsonl") as engine:
        engine.plan([spec])
        assert isinstance([*engine.repetition(spec.id, 0.1)][-1], Repetition)
    assert [one["environment"]["CUFILE_LOGFILE_PATH"] for one in engines()] == [str(own)]
    assert own.exists()


# What comes of it


def test_a_run_recommends_the_setting_that_is_faster(
    with_gpu: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    """The fake engine's rate grows with the root of io_batchsize, which is 128 as it is."""
    plan = plan_of(with_gpu, "io_batchsize=32,200", precision="5%")
    outcome = measure(plan, "io", with_gpu, [], tmp_path, lambda _: None)
    assert outcome.exit_code is ExitCode.ALL_MEASURED
    (line,) = [one for one in io_remarks(outcome.run.measurements) if "set " in one]
    assert f"set {BATCH}=200: 1.25 times the rate" in line
    assert line.endswith("slower: 32")


def sides(ratios: dict[int, float], noise: float = 0.004, n: int = 40) -> list[Measurement]:
    maker = synthetic.Maker(noise=noise, n=n)
    more = {"backend": "cufile", "memory": "gpu:0 device"}
    base = synthetic.storage_measurement(maker, 1e5, **more)
    return [base] + [
        synthetic.storage_measurement(maker, 1e5 * ratio, cufile=f"{BATCH}={value}", **more)
        for value, ratio in ratios.items()
    ]


def test_a_difference_inside_the_intervals_is_never_recommended() -> None:
    for seed_noise in (0.02, 0.05, 0.2):
        (line,) = setting_lines(sides({32: 1.001, 64: 0.999}, noise=seed_noise, n=12))
        assert f"leave {BATCH} as it is" in line
        assert "set " not in line


def test_what_could_not_be_seen_is_said() -> None:
    (line,) = setting_lines(sides({32: 1.0}, noise=0.02))
    assert "changes of less than" in line
    one = sides({32: 1.0})
    blind = [synthetic.changed(m, ci_low=None, ci_high=None, samples=[]) for m in one]
    (line,) = setting_lines(blind)
    assert "too wide to tell" in line


def test_settings_that_may_be_as_good_are_named_beside_the_best() -> None:
    (line,) = setting_lines(sides({32: 1.2, 64: 1.2005, 8: 1.05, 4: 0.7}))
    assert f"set {BATCH}=" in line
    assert "may be as good" in line
    assert "8" not in line.partition("; ")[2].partition("; slower")[0].split(" may")[0].split(", ")
    assert line.endswith("slower: 4")


def test_the_table_has_a_row_for_each_setting(capsys: pytest.CaptureFixture[str]) -> None:
    run = synthetic.run(sides({32: 1.2}))
    show_table(make_console(), run.measurements, run)
    text = capsys.readouterr().out
    assert "cufile.json" in text
    assert "as it is" in text
    assert f"{BATCH}=32" in text
