"""Programs under placements: started, timed, read, ended, and gone on with."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from forked import tierscope
from tierscope.analysis.effect import effects
from tierscope.kinds.effect import measurer
from tierscope.kinds.effect.application import spark_jars
from tierscope.kinds.effect.measurer import Placed, not_held
from tierscope.kinds.effect.show import show_table
from tierscope.kinds.effect.spec import Settings, parse_metrics, parse_placements
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Repetition
from tierscope.model.evidence import ProgramRun
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.place.policy import Policy
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.measure import Outcome, measure
from tierscope.runs.read import read_run
from tierscope.runs.resume import resumable, resume
from waiting import PATIENCE_S, wait_until

Fake = Callable[[str], None]
BOTH = "one=env:WHICH=1\nother=env:WHICH=2"
TIERSCOPE = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]


@pytest.fixture
def here(machine: Topology, fake_engine: Fake) -> Topology:
    """A machine with the CPUs that this process may use."""
    return machine.model_copy(update={"cpus": sorted(os.sched_getaffinity(0))})


def run(
    here: Topology,
    folder: Path,
    command: str,
    watch: Callable[[Any], None] = lambda _: None,
    **options: str,
) -> Outcome:
    asked = {"command": command, "rounds": "2", "placement": BOTH}
    asked |= {name.replace("_", "-"): value for name, value in options.items()}
    plan = expand([Request(kind="effect", options=asked)], here, thp=True)
    return measure(plan, "test", here, ["tierscope"], folder, watch)


def python(code: str) -> str:
    return f"{sys.executable} -S -c '{code}'"


@pytest.fixture
def until_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Python code that waits for a look, begun after the code before it, at who runs it."""
    look = measurer.Run._look

    def look_and_say_so(run: measurer.Run) -> None:
        waiting = [*tmp_path.glob("*.waits")]
        look(run)
        for path in waiting:
            path.unlink(missing_ok=True)

    monkeypatch.setattr(measurer.Run, "_look", look_and_say_so)
    return (
        f'import os, pathlib, time; waits = pathlib.Path(f"{tmp_path}/{{os.getpid()}}.waits")\n'
        "waits.touch()\n"
        "while waits.exists(): time.sleep(0.01)\n"
    )


def runs_of(measurement: Measurement) -> list[dict[str, float]]:
    return [one.values for one in programs_of(measurement)]


def programs_of(measurement: Measurement) -> list[ProgramRun]:
    assert measurement.evidence is not None
    assert measurement.evidence.program is not None
    return measurement.evidence.program.runs


# What is asked for


def test_placements_are_read_word_by_word() -> None:
    found = parse_placements(
        "fast=bind node:0 cpus:0-1\nthp:never\nenv:A=b=c\nas-found\nmix=weighted node:0"
    )
    assert found["fast"] == Settings(mode="bind", nodes=[0], cpus=[0, 1])
    assert found["thp:never"] == Settings(thp="never")
    assert found["env:A=b=c"] == Settings(environment={"A": "b=c"})
    assert found["as-found"] == Settings()
    assert found["mix"].mode == "weighted"


@pytest.mark.parametrize(
    ("words", "nodes", "weights"),
    [
        ("0", [0], []),
        ("all", [0], []),
        ("bind +0", [0], []),
        ("node0", [0], []),
        ("node:0,2@3:1", [0, 2], [3, 1]),
        ("0,2@3:1 cpus:0", [0, 2], [3, 1]),
    ],
)
def test_nodes_are_written_as_for_place_exec(
    words: str, nodes: list[int], weights: list[int]
) -> None:
    found = parse_placements(f"it={words}")["it"]
    assert (found.mode, found.nodes) == ("weighted" if weights else "bind", nodes)
    assert found.weights == weights


def test_one_placement_alone_is_compared_with_none() -> None:
    assert list(parse_placements("node:0")) == ["as-found", "node:0"]
    assert list(parse_placements("")) == ["as-found"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bnd node:0", "did you mean 'bind'"),
        ("node:0 node:0", "are in one placement"),
        ("bind local", "are in one placement"),
        ("cpus:x", "neither a number"),
        ("thp:allways", "did you mean 'thp:always'"),
        ("balancing", "goes with bind"),
        ("a=", "no words after the name"),
        ("node:0\nnode:0", "two placements are 'node:0'"),
        ("as-found node:0", "'as-found' is none of"),
        (f"{'x' * 41}=node:0", "name it in 1 to 40"),
        ("env:=x", "is none of"),
        ("!all", "none is left"),
        ("+99", "there is no"),
        ("netdev:nothing", "no such network device"),
        ("weighted", "name the nodes"),
    ],
)
def test_wrong_placements_are_refused(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_placements(text)


def test_numbers_have_units_and_a_direction() -> None:
    rate, took, score = parse_metrics("r:MB/s=a=([0-9]+)\nt:ms=(.)\nscore=(.)")
    assert (rate.metric, rate.factor, rate.pattern) == ("reported_bandwidth", 1e6, "a=([0-9]+)")
    assert (took.metric, took.factor) == ("reported_time", 1e6)
    assert score.metric == "reported_higher"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x", "is not NAME:UNIT=REGEX"),
        ("=(.)", "is not NAME:UNIT=REGEX"),
        ("a:MBs=(.)", "did you mean 'MB/s'"),
        ("a=x", "put the number in brackets"),
        ("a=(", "the regular expression is wrong"),
        ("a=(.)\na=(.)", "two metrics are called 'a'"),
    ],
)
def test_wrong_numbers_are_refused(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_metrics(text)


# Runs


def test_each_round_runs_each_placement_once(here: Topology, tmp_path: Path) -> None:
    log = tmp_path / "log"
    outcome = run(here, tmp_path, f"sh -c 'echo $WHICH >> {log}'", rounds="6")
    first, *words = log.read_text().split()
    assert first in "12", "the first run of all is made twice"
    rounds = [sorted(words[at : at + 2]) for at in range(0, 12, 2)]
    assert rounds == [["1", "2"]] * 6
    assert len(words) == 12
    one, other = outcome.run.measurements
    assert (one.stop, one.repetitions, one.metric, one.unit) == ("rounds", 6, "run_time", "ns")
    assert other.pattern["placement"] == "other"
    assert outcome.exit_code is ExitCode.ALL_MEASURED
    assert read_run(outcome.path) == outcome.run


def test_the_time_is_that_from_start_to_end(here: Topology, tmp_path: Path) -> None:
    (only,) = run(here, tmp_path, "sleep 0.3", placement="").run.measurements
    assert only.samples == [runs["run_time"] for runs in runs_of(only)]
    assert all(0.3e9 <= sample < 30e9 for sample in only.samples)


def test_numbers_that_it_prints_are_figures(here: Topology, tmp_path: Path) -> None:
    outcome = run(
        here,
        tmp_path,
        'sh -c "echo rate 5; echo rate 1,00${WHICH}.5 >&2; echo t: 2e3"',
        metric="rate:1/s=^rate ([0-9.,]+)$\nt:ms=t: ([0-9e]+)",
    )
    for measurement, rate in zip(outcome.run.measurements, (1001.5, 1002.5), strict=True):
        assert [one["rate"] for one in runs_of(measurement)] == [rate, rate]
        found = {(one.metric, one.part): one.estimate for one in measurement.figures[1:]}
        assert found == {("reported_rate", "rate"): rate, ("reported_time", "t"): 2e9}


@pytest.mark.parametrize(
    ("command", "options", "cause", "says"),
    [
        ("sh -c 'echo a; echo b >&2; exit 3'", {}, Cause.PROGRAM, "it exited with status 3: b"),
        ("sh -c 'kill -SEGV $$'", {}, Cause.PROGRAM, "it was ended by SIGSEGV"),
        ("sleep 60", {"timeout": "0.2"}, Cause.TIMEOUT, "it had not ended after 0.2 s"),
        ("echo 1", {"metric": "x=y([0-9])"}, Cause.PROGRAM, "its output has no match for 'x'"),
        ("echo -1", {"metric": "x=(.*1)"}, Cause.PROGRAM, "'x' in its output is '-1'"),
        ("true", {"gc_log": "yes"}, Cause.PROGRAM, "it wrote no garbage-collector log"),
        ("sleep 60", {"client": "false", "metric": "x=(.)"}, Cause.PROGRAM, "its client exited"),
        ("true", {"client": "sleep 60", "metric": "x=(.)"}, Cause.PROGRAM, "ended before its"),
    ],
)
def test_runs_without_a_figure_fail_in_a_line(
    here: Topology, tmp_path: Path, command: str, options: dict[str, str], cause: Cause, says: str
) -> None:
    began = time.monotonic()
    outcome = run(here, tmp_path, command, placement="", **options)
    (only,) = outcome.run.measurements
    assert (only.status, only.cause) == ("failed", cause)
    assert says in only.reason
    assert "\n" not in only.reason
    assert outcome.exit_code is ExitCode.SOMETHING_FAILED
    assert time.monotonic() - began < 50, "what it started was ended"


def test_a_run_that_fails_later_keeps_those_before(here: Topology, tmp_path: Path) -> None:
    count = tmp_path / "count"
    code = f"echo x >> {count}; test $(wc -l < {count}) -lt 4"
    (only,) = run(here, tmp_path, f"sh -c '{code}'", placement="", rounds="9").run.measurements
    assert (only.status, only.repetitions) == ("measured", 2)
    assert only.evidence is not None
    assert any("exited with status 1" in note for note in only.evidence.notes or [])


def test_a_program_that_is_missing_is_skipped_with_its_package(
    here: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tierscope.kinds.effect.measurer.shutil.which", lambda *_, **__: None)
    asked = Request(kind="effect", options={"app": "redis", "placement": "node:0"})
    plan = expand([asked], here, thp=True)
    for only in measure(plan, "t", here, [], tmp_path, lambda _: None).run.measurements:
        assert (only.status, only.cause) == ("skipped", Cause.TOOL)
        assert only.reason == "redis-server is not installed"
        assert only.remedy == "tierscope apps install redis"


def test_affinity_and_variables_reach_the_program(here: Topology, tmp_path: Path) -> None:
    cpu = here.cpus[-1]
    code = 'import os; print(*os.sched_getaffinity(0), os.environ["A"])'
    outcome = run(
        here, tmp_path, python(code), placement=f"one=cpus:{cpu} env:A=7",
        metric=f"a=^{cpu} ([0-9]+)$", rounds="1",
    )  # fmt: skip
    found, one = outcome.run.measurements
    assert found.status == "failed", "without the placement there is no such variable"
    assert [values["a"] for values in runs_of(one)] == [7.0]
    assert (one.initiator, one.cpus) == (f"cpus:{cpu}", [cpu])


def test_huge_pages_are_off_for_the_program_and_not_for_us(here: Topology, tmp_path: Path) -> None:
    code = 'print(*[x for x in open("/proc/self/status") if "THP" in x])'
    outcome = run(
        here, tmp_path, python(code), placement="on=as-found\noff=thp:never",
        metric="thp=THP_enabled:\\s+([01])", rounds="1",
    )  # fmt: skip
    on, off = outcome.run.measurements
    assert [runs_of(m)[0]["thp"] for m in (on, off)] == [1.0, 0.0]
    assert "THP_enabled:\t1" in Path("/proc/self/status").read_text()


def test_pages_are_seen_on_the_node_that_was_bound(
    here: Topology, tmp_path: Path, until_looked_at: str
) -> None:
    code = f'b = b"x" * 40_000_000; {until_looked_at}'
    outcome = run(here, tmp_path, python(code), placement="node:0", rounds="1")
    _, bound = outcome.run.measurements
    assert bound.evidence is not None
    assert bound.evidence.program is not None
    (seen,) = [one.bytes_by_node for one in bound.evidence.program.runs]
    assert seen is not None
    assert list(seen) == ["0"]
    assert seen["0"] > 40_000_000


LIBRARY_LOADED = 'print("n", 0 + ("libtierscope-place" in open("/proc/self/maps").read()))'
OLD_KERNEL = "Linux 6.8 does not have weighted interleave"


@pytest.fixture
def old_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that cannot place by weights."""
    monkeypatch.setattr("tierscope.place.launch.missing", lambda *_: OLD_KERNEL)
    monkeypatch.setattr("tierscope.place.launch.has_feature", lambda *_: False)


def test_the_kernels_weights_apply_where_its_table_has_them(here: Topology, tmp_path: Path) -> None:
    outcome = run(
        here, tmp_path, python(LIBRARY_LOADED), placement="as-found\nmix=weighted node:0@3",
        rounds="1", metric="n=^n ([01])$",
    )  # fmt: skip
    found = [programs_of(m)[0] for m in outcome.run.measurements]
    assert [one.values["n"] for one in found] == [0.0, 0.0]
    assert [(one.mechanism, one.weights) for one in found] == [(None, None), ("kernel", [1])]


@pytest.mark.usefixtures("old_kernel")
def test_other_weights_are_placed_by_the_preloaded_library(here: Topology, tmp_path: Path) -> None:
    outcome = run(
        here, tmp_path, python(LIBRARY_LOADED), placement="as-found\nmix=weighted node:0@3",
        rounds="1", metric="n=^n ([01])$",
    )  # fmt: skip
    found, mix = outcome.run.measurements
    assert [runs_of(m)[0]["n"] for m in (found, mix)] == [0.0, 1.0]
    assert [programs_of(m)[0].mechanism for m in (found, mix)] == [None, "user"]
    assert programs_of(mix)[0].weights == [3]
    assert mix.evidence is not None
    assert OLD_KERNEL in (mix.evidence.notes or [])


@pytest.mark.usefixtures("old_kernel")
def test_a_program_that_ignores_the_library_is_skipped(here: Topology, tmp_path: Path) -> None:
    (tmp_path / "static.c").write_text("int main(void) { return 0; }")
    static = tmp_path / "static"
    subprocess.run(["cc", "-static", "-o", static, tmp_path / "static.c"], check=True)
    outcome = run(here, tmp_path, str(static), placement="mix=weighted node:0@3", rounds="1")
    found, mix = outcome.run.measurements
    assert found.status == "measured"
    assert (mix.status, mix.cause) == ("skipped", Cause.PLACEMENT)
    assert "is statically linked" in mix.reason
    assert "use policy interleave" in mix.reason


MIB = 1 << 20


@pytest.mark.parametrize(
    ("policy", "seen", "says"),
    [
        (Policy("bind", (0,)), {0: 100 * MIB}, ""),
        (Policy("bind", (0,)), {0: 90 * MIB, 2: 10 * MIB}, "also on other nodes than 0"),
        (Policy("preferred", (2,)), {0: 90 * MIB}, "also on other nodes than 2"),
        (Policy("local"), {0: 90 * MIB, 2: 10 * MIB}, ""),
        (Policy("weighted", (0, 2), (3, 1)), {0: 300 * MIB, 2: 100 * MIB}, ""),
        (Policy("weighted", (0, 2), (3, 1)), {0: 400 * MIB}, "not shared 3:1 among nodes 0,2"),
        (Policy("weighted", (0, 2), (3, 1)), {0: 1 * MIB}, ""),
        (Policy("interleave", (0, 2)), {0: 400 * MIB}, "not shared 1:1 among nodes 0,2"),
        (Policy("bind", (0,)), {}, ""),
        (None, {0: 100 * MIB}, ""),
    ],
)
def test_memory_that_is_not_where_it_was_asked_for_is_said(
    policy: Policy | None, seen: dict[int, int], says: str
) -> None:
    how = Placed(policy, policy, mechanism="kernel", weights=policy.weights if policy else ())
    found = not_held(how, seen, threads=1)
    assert found == (f"in at least one run, memory was {says}" if says else "")


def test_a_placement_that_did_not_hold_is_in_the_table_and_the_json(
    here: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tierscope.kinds.effect.measurer.own_memory", lambda *_, **__: {0: 90 * MIB, 2: 10 * MIB}
    )
    outcome = run(here, tmp_path, "sleep 0.2", placement="node:0", rounds="2")
    _, bound = outcome.run.measurements
    line = "in at least one run, memory was also on other nodes than 0"
    assert bound.evidence is not None
    assert (bound.evidence.notes or []).count(line) == 1
    console = Console(width=100, record=True, file=io.StringIO())
    show_table(console, list(outcome.run.measurements), outcome.run)
    assert f"node:0: {line}" in " ".join(console.export_text().split())


def test_pages_of_what_it_starts_are_seen_too(
    here: Topology, tmp_path: Path, until_looked_at: str
) -> None:
    code = python(f'b = b"x" * 40_000_000; {until_looked_at}')
    script = tmp_path / "parent.sh"
    script.write_text(f"(sleep 0.1; {code}) & wait")
    (only,) = run(here, tmp_path, f"sh {script}", placement="", rounds="1").run.measurements
    assert only.evidence is not None
    assert only.evidence.program is not None
    assert sum((only.evidence.program.runs[0].bytes_by_node or {}).values()) > 40_000_000


def test_memory_that_processes_share_is_seen_once(
    here: Topology, tmp_path: Path, until_looked_at: str
) -> None:
    code = (
        "import mmap, os; m = mmap.mmap(-1, 40 << 20); m[::4096] = bytes(40 << 8); "
        f"child = os.fork(); m[::4096] = bytes(40 << 8); {until_looked_at}"
        "if child: os.wait()"
    )
    (only,) = run(here, tmp_path, python(code), placement="", rounds="1").run.measurements
    (one,) = programs_of(only)
    assert 40 * MIB < sum((one.bytes_by_node or {}).values()) < 75 * MIB


def test_output_is_kept_where_that_was_asked_for(here: Topology, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    run(here, tmp_path, "sh -c 'echo out $WHICH; echo err >&2'", save_output=str(folder))
    texts = [path.read_text() for path in sorted(folder.glob("*.program.out"))]
    assert {*texts} == {"out 1\n", "out 2\n"}
    assert len(texts) == 5, "two rounds, and the first run twice"
    assert {path.read_text() for path in folder.glob("*.err")} == {"err\n"}


def test_a_signal_ends_the_run_and_finished_rounds_stay(here: Topology, tmp_path: Path) -> None:
    repetitions: list[Repetition] = []

    def watch(event: Any) -> None:
        if isinstance(event, Repetition):
            repetitions.append(event)
            if len(repetitions) == 3:
                os.kill(os.getpid(), signal.SIGINT)

    outcome = run(here, tmp_path, "sleep 0.05", watch, rounds="4")
    assert outcome.exit_code is ExitCode.INTERRUPTED
    assert sorted(m.repetitions for m in outcome.run.measurements) == [1, 2]
    again = resume(resumable(outcome.path), here, lambda _: None)
    assert again.exit_code is ExitCode.ALL_MEASURED
    assert [(m.repetitions, m.stop) for m in again.run.measurements] == [(4, "rounds")] * 2
    assert [one.pairs for one in effects(again.run.measurements)] == [4]


def test_a_signal_ends_the_program_at_once(tmp_path: Path) -> None:
    left = tmp_path / "left"
    process = subprocess.Popen(
        [*TIERSCOPE, "effect", "--json", "--", "sh", "-c", f"echo $$ > {left}; exec sleep 600"],
        stdout=subprocess.PIPE,
        env=os.environ | {"TIERSCOPE_ENGINE": str(Path(__file__).parents[1] / "fake_engine.py")},
    )
    wait_until(lambda: left.exists() and left.read_text().strip(), "the program runs")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == ExitCode.INTERRUPTED
    assert json.loads(out)["results"] == []
    assert not Path("/proc", left.read_text().strip()).exists()


def test_a_client_gives_the_figures_and_ends_the_program(here: Topology, tmp_path: Path) -> None:
    told = tmp_path / "told"
    trap = f'trap "echo ended >> {told}; exit" TERM'
    server = f"sh -c '{trap}; touch {{scratch}}/up; while :; do sleep 0.05; done'"
    outcome = run(
        here, tmp_path, server, placement="", metric="n:1/s=n ([0-9]+)", rounds="1",
        client="sh -c 'until test -e {scratch}/up; do sleep 0.05; done; echo n 9'",
    )  # fmt: skip
    (only,) = outcome.run.measurements
    assert (only.metric, only.estimate) == ("reported_rate", 9.0)
    assert told.read_text() == "ended\n" * 2, "the first run is made twice"


# What recipes are made of


G1_LOG = """\
[78.417s][info][gc,phases] GC(19)   Evacuate Collection Set: 154.4ms
[78.417s][info][gc,phases] GC(19)   Other: 0.2ms
[78.417s][info][gc       ] GC(19) Pause Young (Concurrent Start) (G1 Humongous Allocation) \
266M->214M(360M) 156.322ms
[78.417s][info][gc       ] GC(20) Concurrent Mark Cycle
[78.799s][info][gc       ] GC(20) Pause Remark 220M->220M(372M) 102.338ms
[78.920s][info][gc       ] GC(20) Pause Cleanup 221M->221M(372M) 0.183ms
[78.954s][info][gc       ] GC(20) Concurrent Mark Cycle 537.055ms
"""
"""As the JVM of spark-random-forest logged it: a cycle's time has the pauses in it."""
PARALLEL_LOG = """\
[80.583s][info][gc,phases] GC(6) Marking Phase 768.264ms
[81.416s][info][gc,phases] GC(6) Compaction Phase 721.645ms
[81.436s][info][gc       ] GC(6) Pause Full (Ergonomics) 342M->162M(625M) 1620.923ms
[134.719s][info][gc       ] GC(17) Pause Young (Allocation Failure) 405M->256M(675M) 303.363ms
"""
GENERATIONAL_ZGC_LOG = """\
[0.102s][info][gc,phases] GC(2) Y: Pause Mark Start (Major) 0,016ms
[0.104s][info][gc,phases] GC(2) y: Concurrent Mark 2.5ms
[0.105s][info][gc,phases] GC(2) O: Concurrent Mark 15.005ms
"""


@pytest.mark.parametrize(
    ("log", "pauses", "concurrent"),
    [
        (G1_LOG, [156.322, 102.338, 0.183], 537.055 - 102.338 - 0.183),
        (PARALLEL_LOG, [1620.923, 303.363], 0),
        (GENERATIONAL_ZGC_LOG, [0.016], 17.505),
        ("[0.021s][info][gc] Using G1\n", [], 0),
    ],
)
def test_pauses_and_concurrent_phases_are_read_from_the_logs_of_all_collectors(
    log: str, pauses: list[float], concurrent: float
) -> None:
    found = measurer.collected(log)
    assert found.pauses == pytest.approx([1e6 * one for one in pauses])
    assert found.concurrent == pytest.approx(1e6 * concurrent)


def test_the_logs_option_stands_behind_the_users_own(tmp_path: Path) -> None:
    found = measurer.with_gc_log({measurer.VARIABLE: "-Xmx1g", "A": "b"}, tmp_path)
    assert found[measurer.VARIABLE].startswith("-Xmx1g -Xlog:gc,gc+phases:file=")
    assert found["A"] == "b"


@pytest.mark.parametrize("own", ["", "env:JAVA_TOOL_OPTIONS=-Xmx1g"])
def test_a_jvm_is_told_where_its_log_goes(here: Topology, tmp_path: Path, own: str) -> None:
    jvm = tmp_path / "java"
    jvm.write_text(
        "#!/bin/sh\n"
        "log=${JAVA_TOOL_OPTIONS##*file=}; log=${log%%:*}\n"
        "echo 'GC(0) Pause Full 2.5ms' > $log; echo 'GC(1) Pause Full 1ms' >> $log\n"
    )
    jvm.chmod(0o755)
    placement = f"one=as-found\nother={own or 'as-found'}"
    outcome = run(here, tmp_path, str(jvm), placement=placement, gc_log="yes")
    for measurement in outcome.run.measurements:
        for values in runs_of(measurement):
            assert (values["gc_time"], values["gc_pause_max"]) == pytest.approx((3.5e6, 2.5e6))


def test_the_recipe_duckdb_runs_to_its_figures(tmp_path: Path) -> None:
    asked = ["--app", "duckdb", "--size", "64k", "--rounds", "2"]
    placements = ["--placement", "as-found", "--placement", "off=thp:never"]
    found = recipe(tmp_path, *asked, *placements)
    assert [one["status"] for one in found["results"]] == ["measured"] * 2
    for one in found["results"]:
        assert one["pattern"]["command"] == "duckdb, 64k"
        runs = [run["values"] for run in one["evidence"]["program"]["runs"]]
        assert len(runs) == 2
        for values in runs:
            assert set(values) == {"run_time", "scan", "join"}
            assert 0 < values["scan"] + values["join"] < values["run_time"]
    figures = [(one["figure"], one["pairs"]) for one in found["effects"]]
    assert sorted(figures) == [("join", 2), ("run_time", 2), ("scan", 2)]


def recipe(folder: Path, *words: str, fake: bool = True) -> dict[str, Any]:
    engine = {"TIERSCOPE_ENGINE": str(Path(__file__).parents[1] / "fake_engine.py")}
    environment = engine if fake else {}
    done = tierscope("effect", "--json", *words, environment=environment, folder=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def installed(program: str) -> None:
    if shutil.which(program) is None:
        pytest.fail(f"there is no {program}: tools/bootstrap --programs", pytrace=False)


def test_the_recipe_redis_reads_what_it_has_stored(tmp_path: Path) -> None:
    installed("redis-server")
    placed = ["--placement", "node:0"]
    slow = ["--size", "16m", "--rounds", "1", "--set", "rate=500", "--set", "seconds=1"]
    found = recipe(tmp_path, "--app", "redis", *slow, *placed, fake=False)
    title = "redis, 16m, rate 500, seconds 1"
    assert [one["pattern"]["command"] for one in found["results"]] == [title] * 2
    for one in found["results"]:
        assert (one["status"], one["figures"][0]["metric"]) == ("measured", "reported_rate")
        (values,) = [run["values"] for run in one["evidence"]["program"]["runs"]]
        assert set(values) == {"throughput", "mean", "p50", "p99", "p99.9"}
        assert 0 < values["p50"] <= values["p99"] <= values["p99.9"]
    seen = found["results"][1]["evidence"]["program"]["runs"][0]["bytes_by_node"]
    assert list(seen) == ["0"]


def test_a_look_that_waits_does_not_put_off_the_next(
    monkeypatch: pytest.MonkeyPatch, here: Topology, tmp_path: Path
) -> None:
    looks = 0

    def waits_first(*_: Any, **__: Any) -> dict[int, int]:
        nonlocal looks
        looks += 1
        if looks == 1:
            time.sleep(0.5)
        else:
            (tmp_path / "seen-again").touch()
        return {0: looks * MIB}

    monkeypatch.setattr("tierscope.kinds.effect.measurer.own_memory", waits_first)
    code = f'import os, time\nwhile not os.path.exists("{tmp_path}/seen-again"): time.sleep(0.01)'
    outcome = run(here, tmp_path, python(code), placement="as-found", rounds="1", timeout="8s")
    (measurement,) = outcome.run.measurements
    assert measurement.status == "measured", measurement.reason


def test_the_recipe_jvm_has_its_pauses(tmp_path: Path) -> None:
    installed("java")
    words = (
        "--app",
        "jvm",
        "--size",
        "16m",
        "--rounds",
        "1",
        "--placement",
        "serial=env:JDK_JAVA_OPTIONS=-XX:+UseSerialGC",
    )
    found = recipe(tmp_path, *words)
    for one in found["results"]:
        assert (one["status"], one["figures"][0]["metric"]) == ("measured", "run_time")
        (run,) = one["evidence"]["program"]["runs"]
        values = run["values"]
        assert set(values) - {"gc_concurrent"} == {"run_time", "gc_time", "gc_pause_max"}
        assert values.get("gc_concurrent", 1.0) > 0
        assert 0 < values["gc_pause_max"] <= values["gc_time"] < values["run_time"]
        assert sum(run["bytes_by_node"].values()) > 16 << 20


FAKE_JAVA = r"""#!/bin/sh
log=${JAVA_TOOL_OPTIONS##*file=}; log=${log%%:*}
printf '%s\n' \
  '[1.021s][info][gc] GC(0) Pause Full (Ergonomics) 440M->344M(672M) 330.744ms' \
  '[1.054s][info][gc] GC(1) Concurrent Mark Cycle 150.000ms' > "$log"
echo "training: 1.250 s"
echo "$*" > java.words
"""


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that PATH begins with; there is no Spark, whatever this machine has."""
    folder = tmp_path / "bin"
    folder.mkdir()
    kept = [one for one in os.get_exec_path() if not Path(one, "spark-submit").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), *kept]))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    return folder


def spark_below(home: Path) -> Path:
    (home / "jars").mkdir(parents=True)
    (home / "jars/spark-core_2.12-3.5.3.jar").touch()
    return home / "jars"


def test_spark_is_found_where_its_user_has_it(
    without_spark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark_jars() is None
    package = spark_below(tmp_path / "lib/python3.11/site-packages/pyspark")
    (without_spark / "spark-submit").touch(mode=0o755)
    assert spark_jars() == package, "pip has put spark-submit beside it"
    own = spark_below(tmp_path / "own")
    found = type("Spec", (), {"submodule_search_locations": [str(own.parent)]})
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: found)
    assert spark_jars() == own
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "home"))
    assert spark_jars() == own, "nothing is there"
    assert spark_below(tmp_path / "home") == spark_jars()


def test_without_spark_its_recipe_says_what_to_install(
    without_spark: Path, here: Topology, tmp_path: Path
) -> None:
    assert not [*without_spark.iterdir()]
    request = Request(kind="effect", options={"app": "spark-random-forest", "rounds": "1"})
    plan = expand([request], here, thp=True)
    outcome = measure(plan, "test", here, ["tierscope"], tmp_path, lambda _: None)
    (only,) = outcome.run.measurements
    assert (only.status, only.cause) == ("skipped", Cause.TOOL)
    assert only.reason == "the Python package pyspark is not installed"
    assert only.remedy == "tierscope apps install spark-random-forest"


def test_a_heap_that_spark_refuses_is_refused_before(here: Topology) -> None:
    options = {"app": "spark-random-forest", "size": "256m"}
    with pytest.raises(UserError, match="takes 512m or more"):
        expand([Request(kind="effect", options=options)], here, thp=True)


def test_the_recipe_of_spark_has_its_time_and_the_collectors(
    without_spark: Path, here: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jars = spark_below(tmp_path / "spark")
    monkeypatch.setenv("SPARK_HOME", str(jars.parent))
    monkeypatch.chdir(tmp_path)
    (without_spark / "java").write_text(FAKE_JAVA)
    (without_spark / "java").chmod(0o755)
    request = Request(kind="effect", options={"app": "spark-random-forest", "rounds": "1"})
    plan = expand([request], here, thp=True)
    outcome = measure(plan, "test", here, ["tierscope"], tmp_path, lambda _: None)
    (only,) = outcome.run.measurements
    assert only.pattern["command"] == "spark-random-forest, 512m"
    (values,) = runs_of(only)
    assert values["training"] == pytest.approx(1.25e9)
    assert values["gc_time"] == values["gc_pause_max"] == pytest.approx(330.744e6)
    assert values["gc_concurrent"] == pytest.approx(150e6)
    words = (tmp_path / "java.words").read_text().split()
    assert (words[0], f"{jars}/*" in words) == (f"-Xmx{512 << 20}", True)
    console = Console(record=True, width=150, file=io.StringIO())
    show_table(console, [only], outcome.run)
    assert re.search(r"; GC pauses \d+% of the run time, concurrent GC \d", console.export_text())


def test_spark_trains_its_forest(tmp_path: Path) -> None:
    if spark_jars() is None:
        pytest.skip("there is no Spark: pip install pyspark, or set SPARK_HOME")
    installed("java")
    found = recipe(tmp_path, "--app", "spark-random-forest", "--rounds", "1")
    (only,) = found["results"]
    (run,) = only["evidence"]["program"]["runs"]
    assert only["status"] == "measured"
    assert 0 < run["values"]["gc_time"] < run["values"]["run_time"]
    assert run["values"]["training"] < run["values"]["run_time"]
    assert sum(run["bytes_by_node"].values()) > 300 << 20
