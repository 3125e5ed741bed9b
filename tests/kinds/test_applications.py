"""Applications: their files, the steps around a program, and what is left where one fails."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forked import tierscope
from tierscope.kinds.effect import measurer
from tierscope.kinds.effect.application import (
    FOLDER,
    application,
    filled,
    missing,
    search_path,
    shipped,
)
from tierscope.kinds.effect.spec import EffectSpec
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.place.launch import find_installed
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.measure import measure
from tierscope.suites.apps import predicting_plan
from waiting import wait_until

Fake = Callable[[str], None]
PYTHON = [sys.executable, "-S", "-c"]
SERVES = "import time, pathlib; pathlib.Path('{scratch}/up').touch(); time.sleep(60)"
WAITS = "import time, pathlib\nwhile not pathlib.Path('{scratch}/up').exists(): time.sleep(0.01)"
RATE = "rate:1/s=^rate: ([0-9.]+)$"


@pytest.fixture
def here(machine: Topology, fake_engine: Fake) -> Topology:
    return machine.model_copy(update={"cpus": sorted(os.sched_getaffinity(0))})


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def written(folder: Path, **keys: Any) -> Path:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(keys))
    return path


def touch(name: str) -> list[str]:
    """A command that adds a line to a file of the folder in which the application is run."""
    return [*PYTHON, f"open('steps', 'a').write('{name}\\n')"]


def served(folder: Path, **keys: Any) -> Path:
    """A server whose client prints a rate."""
    client = [*PYTHON, f"{WAITS}\nprint('rate: 7')"]
    given = {"program": [*PYTHON, SERVES], "client": client, "figures": [RATE], **keys}
    return written(folder, **given)


def run_all(here: Topology, path: Path, **options: str) -> list[Measurement]:
    asked = {"app": str(path), "rounds": "1", "placement": "only=as-found", **options}
    plan = expand([Request(kind="effect", options=asked)], here, thp=True)
    outcome = measure(plan, "test", here, ["tierscope"], path.parent, lambda _: None)
    return [*outcome.run.measurements]


def run(here: Topology, path: Path, **options: str) -> Measurement:
    (only,) = run_all(here, path, **options)
    return only


def is_empty(folder: Path) -> bool:
    return not [*folder.iterdir()]


# Files


@pytest.mark.parametrize("name", shipped())
def test_each_of_ours_is_read_and_says_what_it_stands_for(name: str) -> None:
    found = application(name)
    assert found.summary
    assert not found.summary.endswith(".")
    assert found.stands_for.endswith(".")
    assert missing(found) is not None
    assert all(one.url.startswith("https://") for one in found.published)


@pytest.mark.parametrize("name", [name for name in shipped() if name != "stream"])
def test_each_of_ours_makes_a_plan(name: str, here: Topology) -> None:
    request = Request(kind="effect", options={"app": name, "placement": "only=as-found"})
    (spec,) = expand([request], here, thp=True).measurements
    assert isinstance(spec, EffectSpec)
    words = [*spec.program, *spec.client]
    for step in ("prepare", "set_up", "load", "check", "tear_down"):
        words += [word for command in getattr(spec.steps, step) for word in command]
    left = {word for word in words if "{" in word and "{scratch}" not in word}
    assert not {word for word in left if "{prepared}" not in word}
    assert spec.about is not None
    assert spec.about.name == name


def test_the_folder_has_nothing_but_applications() -> None:
    plans = {application(name).predicted_by for name in shipped()} - {""}
    assert {path.stem for path in FOLDER.iterdir()} == {*shipped(), *plans}
    assert all(predicting_plan(plan) for plan in plans)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ":1: the file is empty"),
        ("program: [a]\nclints: [b]", ":2: unknown key 'clints' in an application; did you mean"),
        ("program: [a]\nsize: many", ":2: key 'size': "),
        ("program: [a]\nunprivileged: maybe", ":2: key 'unprivileged' is true or false"),
        ("program: ['{siez}']", ":1: key 'program': {siez} is no placeholder; did you mean 'size'"),
        ("program: [a]\ncheck: [['{nothing}']]", ":2: key 'check': {nothing} is no placeholder"),
        ("client: [a]\nfigures: ['a=b']", ":1: key 'client' needs the key program"),
        ("program: [a]\nclient: [b]", ":2: key 'client' needs figures"),
        ("program: a", ":1: key 'program': input should be a valid list"),
        ("program: [a]\npackages: ['a; rm -rf /']", ":2: key 'packages': "),
        ("program: [a]\npublished: [{text: t, source: s, date: soon}]", ":2: key 'published': "),
        ("program: [a]\nprogram: [b]", ":2: key 'program' is given twice"),
        ("[a]", ":1: an application has to be a mapping"),
        ("program: [a", ":1: not valid YAML"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(
    text: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        application(str(path))
    assert str(refused.value).startswith(f"{path}{says}")
    assert "\n" not in str(refused.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'rediss' is no application; did you mean 'redis'"):
        application("rediss")


def test_placeholders_are_filled_and_calculated_with() -> None:
    values = {"size": "1000", "socket": "/s"}
    assert filled("--n={size/300}", values) == "--n=3"
    assert filled("{size*3/8} {socket}", values) == "375 /s"
    assert filled("{scratch}/a {size}", values) == "{scratch}/a 1000"
    assert filled("{python}", values) == sys.executable
    with pytest.raises(UserError, match="socket is '/s'"):
        filled("{socket/2}", values)


def test_the_newest_version_s_folder_comes_first(tmp_path: Path) -> None:
    for version in ("14", "15"):
        (tmp_path / version / "bin").mkdir(parents=True)
    found = search_path([f"{tmp_path}/*/bin"], {"PATH": "/usr/bin"})
    assert found == f"{tmp_path}/15/bin:{tmp_path}/14/bin:/usr/bin"


SMALL = {
    "redis": ("--size", "16m", "--set", "rate=200", "--set", "seconds=1"),
    "memcached": ("--size", "16m", "--set", "rate=200", "--set", "seconds=1"),
    "postgres": ("--size", "128m", "--set", "seconds=1"),
    "postgres-select": ("--size", "128m", "--set", "seconds=1"),
    "rocksdb": ("--size", "32m", "--set", "seconds=1"),
    "vector": ("--size", "4m", "--set", "seconds=1"),
}


@pytest.mark.parametrize("name", SMALL)
def test_an_application_runs_to_its_figures_and_leaves_nothing(
    name: str,
) -> None:
    with tempfile.TemporaryDirectory(prefix="apps-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)  # of an unprivileged one, too
        environment = {"TMPDIR": folder}
        words = ("--json", "--app", name, "--rounds", "1", "--placement", "only=as-found")
        done = tierscope("effect", *words, *SMALL[name], environment=environment)
        assert done.returncode == 0, (done.stdout, done.stderr)
        (found,) = json.loads(done.stdout)["results"]
        (run,) = found["evidence"]["program"]["runs"]
        assert {line.partition(":")[0] for line in application(name).figures} <= set(run["values"])
        assert run["values"]["throughput"] > 0
        assert sum(run["bytes_by_node"].values()) > 1 << 20
        assert is_empty(Path(folder))
        assert not children_with(folder)


# Options


def test_parameters_and_size_are_set_and_named(here: Topology, tmp_path: Path) -> None:
    path = written(tmp_path, program=["true", "{size/2}", "{seconds}"], size="1m",
                   parameters={"seconds": 5, "clients": 8})  # fmt: skip
    request = Request(kind="effect", options={"app": str(path), "size": "2m", "set": "seconds=9"})
    spec = expand([request], here, thp=True).measurements[0]
    assert isinstance(spec, EffectSpec)
    assert spec.program == ["true", str(1 << 20), "9"]
    assert spec.pattern.command == "mine, 2m, seconds 9"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"set": "second=1"}, "--set: mine has no parameter 'second'; did you mean 'seconds'"),
        ({"set": "seconds"}, "--set: 'seconds' is not NAME=VALUE"),
        ({"client": "true"}, "--client: it goes with a program"),
        ({"command": "true"}, "--app: .* has a program of its own"),
        ({"placement": "own=alloc:own pair:0:0"}, "--placement: own: mine has no rules of its own"),
        ({"placement": "own=alloc:own"}, "--placement: 'alloc:own' takes one pair"),
        ({"placement": "half=room:node:99:1g"}, "half: node 99 does not exist or has no memory"),
        ({"placement": "half=room:node:0"}, "'room:node:0' is not room:node:NODE:SIZE"),
        ({"placement": "half=room:node:0:0%"}, "'0%' is out of range"),
    ],
)
def test_what_does_not_go_with_an_application_is_refused(
    options: dict[str, str], says: str, here: Topology, tmp_path: Path
) -> None:
    path = written(tmp_path, program=["true"], parameters={"seconds": "5"})
    with pytest.raises(UserError, match=says):
        expand([Request(kind="effect", options={"app": str(path), **options})], here, thp=True)


# Steps


def test_steps_are_carried_out_in_their_order(
    here: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = served(
        tmp_path,
        prepare=[touch("prepare"), [*PYTHON, "open('{prepared}/data', 'w').write('x')"]],
        set_up=[touch("set_up"), [*PYTHON, "open('{prepared}/data').read()"]],
        load=[[*PYTHON, WAITS], touch("load")],
        check=[touch("check")],
        tear_down=[touch("tear_down")],
    )
    only = run(here, path, rounds="2")
    assert (only.status, only.estimate) == ("measured", 7.0)
    each = ["set_up", "load", "check", "tear_down"]
    # The very first run is made twice.
    assert (tmp_path / "steps").read_text().split() == ["prepare", *each * 3]


@pytest.mark.parametrize("step", ["prepare", "set_up", "load", "check"])
def test_a_step_that_fails_is_named_and_leaves_nothing(
    step: str, here: Topology, tmp_path: Path, own_temporary_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    fails = [*PYTHON, "import sys; sys.exit('no room')"]
    path = served(tmp_path, tear_down=[touch("tear_down")], **{step: [fails]})
    only = run(here, path)
    assert (only.status, only.cause) == ("failed", Cause.PROGRAM)
    assert only.reason.endswith("exited with status 1: no room")
    assert measurer._STEPS[step] in only.reason
    torn = (tmp_path / "steps").exists()
    assert torn == (step != "prepare"), "without a run there is nothing to tear down"
    assert is_empty(own_temporary_folder)
    assert not children_with(str(own_temporary_folder))


def test_a_client_that_is_killed_is_one_line_and_its_server_ends(
    here: Topology, tmp_path: Path, own_temporary_folder: Path
) -> None:
    client = [*PYTHON, f"{WAITS}\nimport os; os.kill(os.getpid(), 9)"]
    only = run(here, served(tmp_path, client=client))
    assert (only.status, only.reason) == ("failed", "its client was ended by SIGKILL")
    assert is_empty(own_temporary_folder)
    assert not children_with(str(own_temporary_folder))


def test_a_server_that_ends_early_is_named(here: Topology, tmp_path: Path) -> None:
    path = served(
        tmp_path,
        program=[*PYTHON, "import sys; sys.exit('the port is in use')"],
        load=[[*PYTHON, "import time; time.sleep(30)"]],
    )
    only = run(here, path)
    assert only.status == "failed"
    assert only.reason == "it ended before its load did: the port is in use"


def test_a_step_that_hangs_is_ended(
    here: Topology, tmp_path: Path, own_temporary_folder: Path
) -> None:
    path = served(tmp_path, load=[[*PYTHON, "import time; time.sleep(60)"]])
    only = run(here, path, timeout="1s")
    assert (only.status, only.cause) == ("failed", Cause.TIMEOUT)
    assert is_empty(own_temporary_folder)
    assert not children_with(str(own_temporary_folder))


def test_what_is_missing_is_named_with_the_command_that_installs_it(
    here: Topology, tmp_path: Path
) -> None:
    path = served(tmp_path, check=[["no-such-checker"]])
    only = run(here, path)
    assert (only.status, only.cause) == ("skipped", Cause.TOOL)
    assert only.reason == "no-such-checker is not installed"
    path = served(tmp_path, python_packages=["no-such-package"])
    assert run(here, path).reason == "the Python package no-such-package is not installed"


def test_a_server_ends_with_a_tierscope_that_is_killed(
    tmp_path: Path, own_temporary_folder: Path
) -> None:
    path = served(tmp_path, client=[*PYTHON, "import time; time.sleep(60)"])
    kill_once(tmp_path, own_temporary_folder, str(path), "*/up")
    (left,) = own_temporary_folder.glob("tierscope-effect-*")
    old = time.time() - 2 * measurer._NEW_S
    os.utime(left, (old, old))
    measurer.Measurer()
    assert not left.exists()


def test_a_server_that_fills_a_database_ends_with_a_tierscope_that_is_killed(
    tmp_path: Path,
) -> None:
    with tempfile.TemporaryDirectory(prefix="apps-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        kill_once(tmp_path, Path(folder), "postgres", "*/.s.PGSQL.5432")


def kill_once(tmp_path: Path, folder: Path, app: str, there: str) -> None:
    """Kill tierscope with an application once a file is there; return when all has ended."""
    program = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
    out = str(tmp_path / "run.jsonl")
    command = [*program, "effect", "--app", app, "--rounds", "1", "--out", out]
    environment = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: bool([*folder.glob(there)]), "the server runs")
        assert children_with(str(folder))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_until(lambda: not children_with(str(folder)), "the server has ended")


def test_a_folder_that_is_used_stays(own_temporary_folder: Path, tmp_path: Path) -> None:
    request_spec = type("Spec", (), {"unprivileged": False})
    with measurer.own_folder(request_spec) as folder:  # type: ignore[arg-type]
        os.utime(folder, (0, 0))
        measurer.Measurer()
        assert folder.exists()
    assert is_empty(own_temporary_folder)


def children_with(words: str) -> list[int]:
    """Processes whose command names a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_one_that_is_like_another_has_its_keys_but_for_its_own(tmp_path: Path) -> None:
    path = written(tmp_path, like="redis", size="1g", summary="Mine")
    found, redis = application(str(path)), application("redis")
    assert (found.name, found.size, found.summary) == ("mine", 1 << 30, "Mine")
    assert (found.program, found.client) == (redis.program, redis.client)
    path = written(tmp_path, like="rediss")
    with pytest.raises(UserError, match=r":1: key 'like': 'rediss' is none of"):
        application(str(path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_an_unprivileged_server_is_nobody_s_and_tierscope_s_own_programs_are_ours(
    here: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/tmp")  # pytest's own folders are root's alone
    says = "id -un >{scratch}/who; touch {scratch}/up; exec sleep 60"
    client = [*PYTHON, f"{WAITS}\nimport os; print('rate: 1'); print(os.getuid())"]
    path = served(tmp_path, program=["sh", "-c", says], client=client, unprivileged=True,
                  check=[["sh", "-c", "grep -q nobody {scratch}/who && test $(id -un) = nobody"]],
                  figures=[RATE, "user:lower=^([0-9]+)$"])  # fmt: skip
    only = run(here, path)
    assert only.status == "measured", only.reason
    assert [one.estimate for one in only.figures if one.part == "user"] == [0.0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("copies", [True, False])
def test_an_unprivileged_server_preloads_a_library_that_only_root_can_reach(
    copies: bool, here: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    library = shutil.copy(find_installed("_lib/libtierscope-alloc-preload.so"), tmp_path)
    monkeypatch.setattr("tierscope.place.allocator.find_installed", lambda _: Path(library))
    if not copies:
        monkeypatch.setattr(measurer, "_for_other_user", lambda environment, _: environment)
    rules = tmp_path / "own.rules"
    rules.write_text("arena first 0\nsize >= 1K -> first\n")
    rules.chmod(0o600)
    says = "cat /proc/self/maps >{scratch}/maps; touch {scratch}/up; exec sleep 9"
    path = served(tmp_path, program=["sh", "-c", says], unprivileged=True,
                  check=[["grep", "-q", "alloc-preload", "{scratch}/maps"]])  # fmt: skip
    base, ruled = run_all(here, path, placement=f"ruled=alloc:{rules}")
    assert base.status == "failed", "it preloads nothing, so that the check fails"
    if copies:
        assert ruled.status == "measured", ruled.reason
    else:
        assert ruled.status == "failed"
        assert ruled.cause is Cause.PLACEMENT
        says = "its memory is not placed: .*alloc-preload.so cannot be preloaded .*"
        assert re.fullmatch(says, ruled.reason or "")


def test_a_daemon_that_a_step_leaves_is_ended(
    here: Topology, tmp_path: Path, own_temporary_folder: Path
) -> None:
    daemon = "import os, sys, time\nif os.fork(): sys.exit(1)\nos.setsid(); time.sleep(60)"
    only = run(here, served(tmp_path, prepare=[[*PYTHON, daemon, "{prepared}"]]))
    assert only.status == "failed"
    assert not children_with(str(own_temporary_folder))
    assert is_empty(own_temporary_folder)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(shipped()),
    at=st.floats(0, 1),
    cut=st.integers(0, 40),
    put=st.text("{}[]:-#&*!|>'\"%@`,? \n\tabz019.\u0000\u00e9", max_size=6),
)
def test_a_damaged_file_is_read_or_refused_in_one_line(
    tmp_path: Path, name: str, at: float, cut: int, put: str
) -> None:
    text = (FOLDER / f"{name}.yaml").read_text()
    start = int(at * len(text))
    path = tmp_path / "damaged.yaml"
    path.write_text(text[:start] + put + text[start + cut :])
    said = refusal(lambda: application(str(path)))
    assert not said or said.startswith(f"{path}:") or f"'{path}'" in said
    assert "\n" not in said


def refusal(make: Callable[[], object]) -> str:
    """Return what an error says; empty without one."""
    try:
        make()
    except UserError as error:
        return str(error)
    return ""


@given(st.text(max_size=40), st.dictionaries(st.sampled_from(["size", "a"]), st.text(max_size=5)))
def test_a_word_is_filled_or_takes_a_number(word: str, values: dict[str, str]) -> None:
    said = refusal(lambda: filled(word, values))
    assert not said or "takes a whole number" in said
