"""A fleet over hosts with networks of their own: a link is slow, one loses packets, one is cut."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from namespaces import Hosts, NamespacesError, namespaces

from fleet_jobs import AS_ROOT, PLAN, TIERSCOPE, Job


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    try:
        with namespaces(4) as made:
            made.slow("node2", "10mbit")
            made.lossy("node3", 0.02)
            yield made
    except NamespacesError as error:
        pytest.skip(str(error))


def start(hosts: Hosts, folder: Path) -> Job:
    (folder / "plan.yaml").write_text(PLAN.replace("BUDGET", "1"))
    words = [str(TIERSCOPE), "fleet", "run", "plan.yaml", "--patience", "5s", "--out", "fleet"]
    process = subprocess.Popen(
        hosts.mpirun("--enable-recovery", *words),
        env={**os.environ, **AS_ROOT},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a daemon that is cut off would hold a pipe
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    return Job(folder, process)


def test_a_host_that_is_cut_off_costs_only_itself(
    tmp_path: Path, hosts: Hosts, fake_engine: Callable[[str], None]
) -> None:
    fake_engine("real-time")
    job = start(hosts, tmp_path)
    job.wait_for_repetitions(4, 3)
    hosts.cut("node4")
    job.process.wait(120)
    found = {host.host: host for host in job.index().hosts}
    assert list(found) == ["node1", "node2", "node3", "node4"], "hosts have their own names"
    assert [host.state for host in found.values()] == ["measured"] * 3 + ["lost"]
    for name in ("node2", "node3"):
        for clock in (found[name].clock, found[name].clock_after):
            assert clock is not None
            assert clock.low_ns <= 0 <= clock.high_ns, "all hosts have one clock here"
    for name in ("node1", "node2", "node3"):
        text = (job.out / f"hosts/{name}.jsonl").read_text()
        assert text.count('"record":"footer"') == 1
