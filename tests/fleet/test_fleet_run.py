"""``fleet run`` under mpirun: several ranks on this machine, each a host of its own."""

import json
import random
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from fleet_jobs import Job, lose, mpirun, program, repetitions_of, start
from forked import tierscope
from tierscope.kinds.plan import Plan
from tierscope.model.run import Run
from tierscope.runs.schedule import SharedStep, in_step
from tierscope.runs.state import RunState

Fake = Callable[[str], None]
HOST, MESSENGER, RANK = "fleet_host", "messenger", ""
"""Processes of a rank that may be lost."""


@pytest.fixture
def real_time(fake_engine: Fake) -> None:
    """Repetitions take the time that they say and no CPU."""
    fake_engine("real-time")


def check_whole(job: Job, rank: int) -> None:
    """A host has all its repetitions and measurements, and its run file says that it ended."""
    run = job.run_of(rank)
    assert [measurement.status for measurement in run.measurements] == ["measured"] * 2
    assert run.footer is not None
    assert not run.footer.interrupted
    assert len(repetitions_of(job, rank)) == planned_repetitions(run)


def planned_repetitions(run: Run) -> int:
    """Return how many repetitions a host's plan has in step."""
    specs = Plan.model_validate_json(json.dumps(run.header.plan)).measurements
    return sum(isinstance(step, SharedStep) for step in in_step(RunState(specs), ""))


def test_hosts_measure_in_step(tmp_path: Path, real_time: None) -> None:
    job = start(tmp_path, 2, "--json", budget=0.3)
    printed, _ = job.finish()
    index = job.index()
    assert json.loads(printed) == index.model_dump(mode="json")
    assert [host.state for host in index.hosts] == ["measured"] * 2
    assert index.finished is not None
    orders = [repetitions_of(job, rank) for rank in range(2)]
    assert orders[0] == orders[1]
    for rank in range(2):
        check_whole(job, rank)
        header = job.run_of(rank).header
        assert header.host == index.hosts[rank].host
        assert index.hosts[rank].run == f"hosts/{header.host}.jsonl"
        assert header.fleet is not None
        assert (header.fleet.rank, header.fleet.order) == (rank, "together")
        clock = header.fleet.clock
        assert clock == index.hosts[rank].clock
        assert clock is not None
        assert clock.low_ns <= clock.offset_ns <= clock.high_ns
        assert clock.low_ns <= 0 <= clock.high_ns, "all ranks have one clock here"


def test_hosts_measure_one_by_one_and_one_that_cannot_is_told_apart(tmp_path: Path) -> None:
    command = program(tmp_path, "--one-by-one", budget=0.2)
    # By one program for all ranks: Open MPI 5.0.7's mpirun crashes when it is given several.
    broken = '[ $OMPI_COMM_WORLD_RANK != 1 ] || export TIERSCOPE_ENGINE=/nonexistent; exec "$@"'
    job = mpirun(tmp_path, ["-n", "3", "sh", "-c", broken, "sh", *command])
    printed, said = job.finish()
    assert "2 of 3 hosts measured" in printed
    assert [host.state for host in job.index().hosts] == ["measured", "cannot", "measured"]
    first, last = job.run_of(0), job.run_of(2)
    assert all(one.evidence is not None for one in first.measurements)
    assert first.footer is not None
    assert first.footer.finished <= last.header.started
    assert "TIERSCOPE_ENGINE names '/nonexistent'" in job.host(1).reason
    assert f"{job.host(1).host}: cannot: TIERSCOPE_ENGINE" in said
    assert job.host(1).run == ""


def test_two_ranks_on_a_host_are_refused(tmp_path: Path, real_time: None) -> None:
    command = [word for word in program(tmp_path) if word != "--ranks-as-hosts"]
    job = mpirun(tmp_path, ["-n", "2", *command])
    _, said = job.finish()
    assert "ranks 0 and 1 are both on host" in said
    assert "--map-by ppr:1:node" in said
    assert not list((job.out / "hosts").iterdir())
    assert "--enable-recovery" not in said, "it has that"


class Loss(NamedTuple):
    """A process that is lost once all hosts have made so many repetitions."""

    rank: int
    process: str
    number: signal.Signals
    repetitions: int = 3


def test_a_loss_costs_its_own_host_only(tmp_path: Path, real_time: None) -> None:
    losses = [
        Loss(1, HOST, signal.SIGKILL),
        Loss(0, RANK, signal.SIGKILL),
        Loss(2, RANK, signal.SIGSTOP),
    ]
    check_losses(tmp_path, losses)


@pytest.mark.soak
@pytest.mark.parametrize("four", range(5))
def test_losses_at_random_moments(tmp_path: Path, real_time: None, four: int) -> None:
    check_losses(tmp_path, [random_loss(4 * four + number) for number in range(4)])


def random_loss(seed: int) -> Loss:
    chance = random.Random(seed)
    process = chance.choice([HOST, HOST, MESSENGER, RANK, RANK])
    number = chance.choice([signal.SIGKILL, signal.SIGSTOP])
    return Loss(chance.randrange(3), process, number, chance.randrange(1, 9))


def check_losses(folder: Path, losses: list[Loss]) -> None:
    """Check each loss in a job of its own, all beside each other: they wait most of the time."""

    def check(number: int) -> None:
        (folder / str(number)).mkdir()
        try:
            check_loss(folder / str(number), losses[number])
        except BaseException as error:
            error.add_note(f"with {losses[number]}")
            raise

    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(check, number) for number in range(len(losses))]:
            done.result()


def check_loss(folder: Path, loss: Loss) -> None:
    """Lose a process; everything else is measured as if nothing had been."""
    rank, process, number, repetitions = loss
    job = start(folder, 3, "--patience", "5s", budget=1)
    job.wait_for_repetitions(3, repetitions)
    lose(job, rank, process, number)
    others = {0, 1, 2} - {rank}
    if rank == 0 and process == RANK and number is signal.SIGSTOP:
        # mpirun would wait for it for ever; the others are through once their runs are.
        job.wait_for_ends(2)
        job.process.terminate()
    job.finish()
    for other in others:
        check_whole(job, other)
        if rank != 0 or process == HOST:
            assert job.host(other).state == "measured"
    assert len(repetitions_of(job, rank)) >= repetitions
    if process == HOST:
        assert job.host(rank).state == "partial"
        assert job.host(rank).reason


def test_a_folder_with_results_is_refused(tmp_path: Path, fake_engine: Fake) -> None:
    (tmp_path / "fleet.json").write_text("{}")
    done = tierscope("fleet", "run", "--out", tmp_path)
    assert done.returncode == 2
    assert "holds a fleet's results already" in done.stderr
    assert (tmp_path / "fleet.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan.yaml", "--profile", "quick"], "give only one of PLAN.yaml and --profile"),
        (["--profile", "qick"], "did you mean 'quick'?"),
        (["--patience", "soon"], "--patience: "),
        (["--time-limit", "soon"], "--time-limit: "),
    ],
)
def test_what_no_host_could_do_is_refused_at_once(words: list[str], said: str) -> None:
    done = tierscope("fleet", "run", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_mpi4py_a_line_says_so(tmp_path: Path, fake_engine: Fake) -> None:
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py/__init__.py").write_text("raise ImportError('none here')")
    environment = {"PYTHONPATH": str(tmp_path)}
    done = tierscope("fleet", "run", "--out", tmp_path / "fleet", environment=environment)
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith("tierscope: MPI is missing: it takes mpi4py")
    assert "none here" in line


def test_a_dry_run_measures_nothing(tmp_path: Path, fake_engine: Fake) -> None:
    folder = tmp_path / "fleet"
    done = tierscope("fleet", "run", "--dry-run", "--out", folder)
    assert done.returncode == 0
    assert "can measure" in done.stdout
    assert "s at most" in done.stdout
    assert not folder.exists()
