"""``tierscope apps``: what is listed, installed, run and reported."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from forked import tierscope
from tierscope.analysis.applications import answers
from tierscope.kinds.effect.spec import EffectSpec
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Figure, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.prices import parse_prices
from tierscope.plans.request import Request
from tierscope.runs.read import read_run
from tierscope.suites.apps_beside import beside

PRICES = """
tiers:
  DRAM: {target: "node:0", price: 100 EUR, size: 1g, source: a shop, date: 2025-02-10}
"""


def script(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def folder_of_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH; its dpkg-query knows no package as installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder, "dpkg-query", "exit 1")
    for name in ("sh", "mkdir", "chmod", "rm", "rmdir"):
        (folder / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def application_file(folder: Path, **keys: Any) -> Path:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump({"program": ["true"], **keys}))
    return path


# List


def test_the_list_has_each_application_and_what_it_lacks(folder_of_programs: Path) -> None:
    assert folder_of_programs.exists()
    done = tierscope("apps", "list", "--json")
    found = {one["name"]: one for one in json.loads(done.stdout)["applications"]}
    assert {"redis", "postgres", "rocksdb", "memcached", "vector"} <= set(found)
    assert "redis-server" in found["redis"]["missing"]
    assert found["duckdb"]["missing"] == []


def test_one_application_is_shown_whole() -> None:
    done = tierscope("apps", "list", "postgres")
    assert done.returncode == 0
    for word in ("stands for", "packages", "parameters", "figures", "steps"):
        assert word in done.stdout


def test_a_user_s_file_is_listed_with_what_is_wrong_in_it(tmp_path: Path) -> None:
    path = application_file(tmp_path, programme=["x"])
    done = tierscope("apps", "list", str(path))
    assert done.returncode == ExitCode.REQUEST_WRONG
    assert f"{path}:3: unknown key 'programme'" in done.stderr
    assert done.stderr.count("\n") == 1


# Install


def test_a_dry_run_says_which_packages_and_installs_none(
    folder_of_programs: Path, tmp_path: Path
) -> None:
    script(folder_of_programs, "apt-get", f"touch {tmp_path}/called")
    path = application_file(tmp_path, packages=["first", "second"], python_packages=["third==1"])
    done = tierscope("apps", "install", str(path), "--dry-run")
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["first: mine", "second: mine", "third==1: mine"]
    assert not (tmp_path / "called").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="without root, sudo would be asked")
def test_packages_come_by_apt_with_no_service_started(
    folder_of_programs: Path, tmp_path: Path
) -> None:
    policy = Path("/usr/sbin/policy-rc.d")
    before = policy.exists()
    script(
        folder_of_programs,
        "apt-get",
        f'echo "$@" >>{tmp_path}/called\n/usr/sbin/policy-rc.d >/dev/null 2>&1 || '
        f"echo no service: $? >>{tmp_path}/called",
    )
    (folder_of_programs / "true").symlink_to("/bin/true")
    path = application_file(tmp_path, packages=["first", "second"])
    done = tierscope("apps", "install", str(path))
    assert done.returncode == 0, done.stderr
    called = (tmp_path / "called").read_text().splitlines()
    assert called[-2] == "install -y -qq --no-install-recommends first second"
    assert called[-1] == "no service: 101"
    assert policy.exists() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="without root, sudo would be asked")
def test_a_package_that_is_not_there_is_one_line(folder_of_programs: Path, tmp_path: Path) -> None:
    script(folder_of_programs, "apt-get", "echo 'E: Unable to locate package first' >&2; exit 100")
    done = tierscope("apps", "install", str(application_file(tmp_path, packages=["first"])))
    assert done.returncode == ExitCode.NOTHING_MEASURED
    assert done.stderr == (
        "tierscope: packages are not installed: E: Unable to locate package first\n"
    )


def test_without_apt_the_packages_are_named(folder_of_programs: Path, tmp_path: Path) -> None:
    assert folder_of_programs.exists()
    done = tierscope("apps", "install", str(application_file(tmp_path, packages=["first"])))
    assert done.returncode == ExitCode.NOTHING_MEASURED
    assert "this system has no apt-get" in done.stderr
    assert done.stderr.endswith("by its own means: first\n")


def test_what_is_there_is_not_installed_again(folder_of_programs: Path, tmp_path: Path) -> None:
    script(folder_of_programs, "dpkg-query", "printf installed")
    (folder_of_programs / "true").symlink_to("/bin/true")
    path = application_file(tmp_path, packages=["first"], python_packages=["rich"])
    done = tierscope("apps", "install", str(path))
    assert (done.returncode, done.stdout) == (0, "nothing is missing\n")


# Plans


def planned(topology: Topology, **options: str) -> list[EffectSpec]:
    request = Request(kind="apps", options={"apps": "redis", **options})
    return expand([request], topology, thp=True).measurements  # type: ignore[return-value]


def test_on_one_node_local_alone_is_planned(machine: Topology) -> None:
    one_node = machine.model_copy(update={"nodes": machine.nodes[:1]})
    *expected, spec = planned(one_node)
    assert {one.kind for one in expected} == {"ops", "latency"}, "of which whatif predicts"
    assert (spec.pattern.placement, spec.count) == ("local", 6)
    assert not spec.settings.nodes


def test_a_placement_that_is_asked_for_is_skipped_with_the_reason(machine: Topology) -> None:
    one_node = machine.model_copy(update={"nodes": machine.nodes[:1]})
    *_, local, slow = planned(one_node, placements="slow")
    assert local.pattern.placement == "local", "the others are compared with it"
    assert slow.pattern.placement == "slow"
    assert slow.settings.impossible.startswith("this machine has one node with memory")
    assert slow.id != local.id


def test_sizes_and_parameters_go_to_their_application(machine: Topology) -> None:
    found = planned(machine, apps="redis,memcached", set="redis.size=32m\nmemcached.seconds=1")
    apps = {spec.about.name: spec for spec in found if spec.kind == "effect" and spec.about}
    redis, memcached = apps["redis"], apps["memcached"]
    assert redis.pattern.command.startswith("redis, 32m")
    assert "seconds 1" in memcached.pattern.command
    assert "seconds" not in redis.pattern.command


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"apps": "redsi"}, "--apps: 'redsi' is no application; did you mean 'redis'"),
        ({"placements": "slwo"}, "--placements: 'slwo' is no placement; did you mean 'slow'"),
        ({"set": "seconds=1"}, "--set: 'seconds=1' is not APP.NAME=VALUE"),
        ({"set": "postgres.seconds=1"}, "'postgres' is none of the applications, redis"),
        ({"set": "redis.second=1"}, "--set: redis has no parameter 'second'; did you mean"),
    ],
)
def test_what_is_wrong_is_blamed_by_name(
    options: dict[str, str], says: str, machine: Topology
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, **options)
    assert says in str(refused.value)


# The answer


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A run of a program whose rate is twice as high under one placement as under the other."""
    code = (
        "import os, time; filled = bytearray(64 << 20); time.sleep(0.3); "
        "print('rate:', 100 * int(os.environ['SPEED']) + time.monotonic_ns() % 3)"
    )
    path = application_file(
        tmp_path,
        program=[sys.executable, "-S", "-c", code],
        summary="A loop",
        stands_for="Loops.",
        figures=["rate:1/s=^rate: ([0-9]+)$"],
        published=[{"text": "It was 30% slower.", "source": "A paper", "date": "2024-05"}],
    )
    run = tmp_path / "run.jsonl"
    placements = ("--placement", "fast=env:SPEED=2", "--placement", "half=env:SPEED=1")
    done = tierscope("effect", "--app", str(path), "--rounds", "6", *placements, "--out", str(run))
    assert done.returncode == 0, done.stderr
    return run


def test_the_report_has_slowdown_memory_and_published_results(measured: Path) -> None:
    done = tierscope("apps", "report", str(measured), "--json")
    fast, half = json.loads(done.stdout)["applications"]
    assert (fast["application"], fast["placement"], fast["slowdown"]) == ("mine", "fast", None)
    assert half["figure"] == "rate"
    assert half["low"] < half["slowdown"] < half["high"]
    assert fast["bytes_by_node"]["0"] >= 64 << 20
    text = tierscope("apps", "report", str(measured)).stdout
    assert "published of mine: It was 30% slower. (A paper, 2024-05)" in text


def test_an_operation_of_half_the_rate_takes_twice_as_long(measured: Path) -> None:
    run = read_run(measured)
    prices = parse_prices(PRICES, "prices.yaml")
    ((fast, half),) = answers(run.measurements, prices)
    assert (fast.figure, fast.slowdown, fast.cost) == ("rate", None, 1.0)
    assert half.slowdown is not None
    assert half.slowdown.ratio == pytest.approx(2, rel=0.05)
    assert half.slowdown.low is not None
    assert half.slowdown.high is not None
    assert half.slowdown.low <= half.slowdown.ratio <= half.slowdown.high
    assert half.slowdown.verdict == "worse"
    assert fast.price == pytest.approx(100 * sum(fast.pages.values()) / 2**30)
    assert half.price is not None
    assert fast.price is not None
    assert half.cost == pytest.approx(half.price / fast.price * half.slowdown.ratio)


def test_a_page_has_the_answer(measured: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = tierscope("apps", "report", str(measured), "--out", str(page))
    assert done.returncode == 0, done.stderr
    assert "What placements do to applications" in page.read_text()


def test_a_run_without_applications_is_refused_in_one_line(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    assert tierscope("effect", "--rounds", "1", "--out", str(run), "--", "true").returncode == 0
    done = tierscope("apps", "report", str(run))
    assert done.returncode == ExitCode.NOTHING_MEASURED
    assert done.stderr.endswith("has no applications; 'tierscope apps run' measures them\n")
    assert beside(read_run(run)) is None


def test_figures_of_a_model_are_shown_beside_what_predicts_them(tmp_path: Path) -> None:
    """A file of a run, as of a machine with a GPU: bandwidths, and a job that loads a model."""
    run = made_run(tmp_path)
    found = beside(run)
    assert found is not None
    (row,) = found.json["predictions"]["mine"]
    assert row["name"] == "storage_cufile"
    assert (row["predicted_s"], row["measured_s"]) == (0.5, 0.4)
    assert row["error"] == pytest.approx(0.25)
    said = next(line for line in found.summary.notes if line.startswith("mine, storage_cufile"))
    assert said.endswith("predicted 500 ms, measured 400 ms, error +25.0%: size / storage-cufile")


def made_run(folder: Path) -> Run:
    path = application_file(
        folder,
        program=[sys.executable, "-c", "print('size: 1e9 B'); print('storage_cufile: 0.4 s')"],
        figures=["storage_cufile:s=^storage_cufile: ([0-9.]+) s$"],
        predicted_by="offload",
        summary="A load",
        stands_for="Loads.",
    )
    file = folder / "load.jsonl"
    words = ("--rounds", "1", "--placement", "only=as-found", "--out", str(file))
    assert tierscope("effect", "--app", str(path), *words).returncode == 0
    run = read_run(file)
    (job,) = run.measurements
    bandwidth = Figure(metric="bandwidth", unit="B/s", estimate=2e9)
    storage = job.model_copy(
        update={"id": "storage-cufile.x", "kind": "io", "figures": [bandwidth]}
    )
    return run.model_copy(update={"measurements": [storage, job]})
