"""Storage to a GPU on a machine with one: `make test-gpu`. Nothing here asserts how long it takes.

cuFile goes through its compatibility mode where neither nvidia-fs nor PCI P2PDMA is there; then all
of its operations are counted as posix, and requiring a direct way fails. It has to be found by the
loader, or in the folder that TIERSCOPE_CUFILE names.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu_machine import plan_of

from tierscope.engine.process import find_engine
from tierscope.engine.repetitions import Engines, living_engine
from tierscope.kinds.checkpoint.spec import CheckpointEvidence
from tierscope.kinds.plan import Spec
from tierscope.machine.discover import discover
from tierscope.model.cause import Cause
from tierscope.model.event import Evidence, Failed, Repetition, Skipped
from tierscope.model.io import GPU_BACKENDS
from tierscope.model.spec import Sampling
from tierscope.model.topology import Topology

pytestmark = pytest.mark.gpu

SECONDS = 0.2
QUICK = Sampling(budget_s=SECONDS, sample_s=0.05, precision=0.05)
SYNCHRONOUS = ("cufile", "staged", "staged-managed")
CUFILE = tuple(name for name in GPU_BACKENDS if name.startswith("cufile"))
Outcome = Repetition | Skipped | Failed
UDEV = Path("/run/udev/data")
MOUNTS = Path("/proc/self/mountinfo")


def volume_of(folder: Path) -> str:
    device = folder.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def file_system_of(folder: Path) -> str:
    for line in MOUNTS.read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == volume_of(folder):
            return after.split()[0]
    return ""


@pytest.fixture(scope="module")
def bare_folder() -> Iterator[Path]:
    """A folder on a drive, of a file system that cuFile takes."""
    for parent in (Path(tempfile.gettempdir()), Path.cwd(), Path.home()):
        if file_system_of(parent) in ("ext4", "xfs"):
            with tempfile.TemporaryDirectory(dir=parent) as name:
                yield Path(name)
            return
    pytest.fail("none of the temporary, current and home directories is on ext4 or xfs")


@pytest.fixture
def entry(bare_folder: Path) -> Path:
    """What udev's database has on the folder's volume."""
    return UDEV / f"b{volume_of(bare_folder)}"


@pytest.fixture
def folder(bare_folder: Path, entry: Path) -> Iterator[Path]:
    """The folder, with what cuFile wants to read in udev's database."""
    if entry.exists():
        yield bare_folder
        return
    assert os.geteuid() == 0, f"cuFile needs {entry}, which only root can write"
    UDEV.mkdir(parents=True, exist_ok=True)
    kind = file_system_of(bare_folder)
    entry.write_text(f"I:1\nE:ID_FS_USAGE=filesystem\nE:ID_FS_TYPE={kind}\n", encoding="utf-8")
    yield bare_folder
    entry.unlink()


def outcome_of(engine: Engines, spec: Spec) -> Outcome:
    engine.plan([spec])
    (event,) = (
        event
        for event in engine.repetition(spec.id, SECONDS, False)
        if isinstance(event, Repetition | Skipped | Failed)
    )
    return event


class Machine:
    """A machine with GPUs, and an engine that all tests share which change nothing that it reads
    as it starts: to start CUDA and cuFile takes longer than most of them."""

    def __init__(self, topology: Topology, engine: Engines) -> None:
        self.topology = topology
        self._engine = engine
        self._planned = 0

    def spec(self, folder: Path, backend: str, **options: str) -> Spec:
        """The only measurement that these options ask for, by an id of its own."""
        depth = {} if backend in SYNCHRONOUS else {"depth": "4"}
        wanted = {"size": "16m", "block_size": "1m", **depth, **options}
        (spec,) = plan_of(
            "io", self.topology, from_="gpu:0", to=f"file:{folder}", backend=backend, **wanted
        ).measurements
        self._planned += 1
        name = f"{self._planned}.{backend}"
        return spec.model_copy(update={"sampling": QUICK, "id": name})

    def outcome(self, folder: Path, backend: str, **options: str) -> Outcome:
        return outcome_of(self._engine, self.spec(folder, backend, **options))

    def outcome_anew(self, folder: Path, backend: str, **options: str) -> Outcome:
        """By an engine that starts for it, and ends with status 0: cuFile's threads and its own
        end have ended others by a double free."""
        with tempfile.TemporaryDirectory() as name:
            noted, ended = Path(name, "engine"), Path(name, "ended")
            noted.write_text(f'#!/bin/sh\n{find_engine()} "$@"\necho $? > {ended}\n')
            noted.chmod(0o755)
            with living_engine(noted) as engine:
                found = outcome_of(engine, self.spec(folder, backend, **options))
            assert ended.read_text() == "0\n"
        return found

    def measured(self, folder: Path, backend: str, **options: str) -> Evidence:
        return evidence_of(self.outcome(folder, backend, **options))


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    found = discover()
    assert found.gpus, "these tests are for a machine with GPUs"
    with living_engine() as engine:
        yield Machine(found, engine)


def evidence_of(found: Outcome) -> Evidence:
    assert isinstance(found, Repetition), found
    assert found.evidence.storage_io is not None
    return found.evidence


def ways_of(evidence: Evidence) -> dict[str, int]:
    assert evidence.storage_io is not None
    return {way: count for way, count in (evidence.storage_io.ways or {}).items() if count}


@pytest.mark.parametrize("direct", ["yes", "no"])
@pytest.mark.parametrize("backend", GPU_BACKENDS)
def test_every_block_read_is_verified(machine, folder, backend, direct):
    found = machine.outcome(folder, backend, verify="yes", direct=direct)
    if backend in CUFILE and direct == "no" and isinstance(found, Skipped):
        assert "not open with O_DIRECT" in found.reason  # As older versions of cuFile say.
        return
    assert isinstance(found, Repetition), found
    evidence = found.evidence
    assert evidence.verified == "every block read, by the GPU"
    assert evidence.gpus
    assert evidence.gpus[0].gpu == 0


@pytest.mark.parametrize("backend", GPU_BACKENDS)
def test_what_was_written_is_read_back(machine, folder, backend):
    evidence = machine.measured(folder, backend, op="write")
    assert evidence.verified
    assert "were read back" in evidence.verified


@pytest.mark.parametrize("memory", ["device", "vmm", "pinned", "plain"])
@pytest.mark.parametrize("backend", ["cufile", "cufile-batch", "staged-async"])
def test_every_memory_is_verified(machine, folder, backend, memory):
    if backend == "cufile-batch" and memory in ("pinned", "plain"):
        found = machine.outcome(folder, backend, memory=memory)
        assert isinstance(found, Skipped)
        assert found.cause is Cause.GPU_FEATURE
        return
    evidence = machine.measured(folder, backend, memory=memory, verify="yes")
    by_gpu = ", by the GPU" if memory in ("device", "vmm") else ""
    assert evidence.verified == f"every block read{by_gpu}"


@pytest.mark.parametrize("backend", CUFILE)
def test_registered_buffers_are_verified(machine, folder, backend):
    evidence = machine.measured(folder, backend, registered="yes", verify="yes")
    assert evidence.verified == "every block read, by the GPU"
    assert evidence.cufile is not None
    assert evidence.cufile.register_s > 0


@pytest.mark.parametrize("backend", CUFILE)
def test_every_operation_is_counted_by_its_way(machine, folder, backend):
    evidence = machine.measured(folder, backend)
    assert evidence.cufile is not None
    assert evidence.cufile.allow_compat_mode
    assert evidence.cufile.driver_open_s > 0
    io = evidence.storage_io
    assert io is not None
    if evidence.cufile.proof == "libcufile":
        assert sum(ways_of(evidence).values()) >= io.reads > 0
    else:  # Before 1.15, with compatibility mode.
        assert any(note.startswith("way not proven") for note in evidence.notes or [])
    assert not Path("cufile.log").exists()


def test_what_all_gpus_moved_over_pcie_is_seen(machine, folder):
    evidence = machine.measured(folder, "staged-async", direct="no")
    assert evidence.pcie
    assert len(evidence.pcie) >= len(machine.topology.gpus)
    own = machine.topology.gpus[0].address.lower()
    assert any(gpu.address.lower().endswith(own[-10:]) for gpu in evidence.pcie)


@pytest.mark.parametrize("backend", ["cufile", "cufile-stream", "cufile-batch"])
@pytest.mark.parametrize("way", ["p2p", "nvfs", "gpudirect"])
def test_a_way_that_is_required_is_taken_or_the_measurement_fails(machine, folder, backend, way):
    taken = set(ways_of(machine.measured(folder, backend)))
    right = {"gpudirect": {"p2p", "nvfs"}}.get(way, {way})
    found = machine.outcome(folder, backend, require=way)
    if taken <= right:
        assert isinstance(found, Repetition), found
    else:
        assert isinstance(found, Failed), found
        assert found.cause is Cause.PATH
        assert f"--require {way}: " in found.reason


@pytest.mark.parametrize("backend", ["cufile", "staged"])
def test_past_the_page_cache_can_be_required(machine, folder, backend):
    assert machine.measured(folder, backend, require="odirect")
    buffered = machine.outcome(folder, "staged", require="odirect", direct="no")
    assert isinstance(buffered, Failed), buffered
    assert buffered.cause is Cause.PATH


def test_without_compatibility_mode_cufile_goes_directly_or_says_why_not(
    machine, folder, monkeypatch
):
    monkeypatch.setenv("CUFILE_ALLOW_COMPAT_MODE", "false")
    found = machine.outcome_anew(folder, "cufile")
    if isinstance(found, Repetition):
        assert set(ways_of(found.evidence)) <= {"p2p", "nvfs"}
    else:
        assert isinstance(found, Skipped), found
        assert found.cause is Cause.STORAGE
        assert "cuFile error 50" in found.reason
        assert found.remedy


def test_a_volume_that_udev_does_not_know_is_explained(machine, bare_folder, entry):
    if entry.exists():
        pytest.skip(f"udev knows the volume: {entry}")
    found = machine.outcome_anew(bare_folder, "cufile")
    assert isinstance(found, Skipped), found
    assert "udev's database does not say" in found.reason
    assert found.remedy
    assert str(entry) in found.remedy


@pytest.mark.parametrize("backend", ["cufile-batch", "cufile-stream", "cufile-batch-stream"])
def test_more_operations_than_the_pool_holds_do_not_hang(machine, folder, backend):
    evidence = machine.measured(folder, backend, depth="32", threads="8", verify="yes")
    assert evidence.verified == "every block read, by the GPU"


@pytest.mark.parametrize("process", range(4))
@pytest.mark.parametrize("backend", ["cufile", "cufile-stream", "cufile-batch"])
def test_threads_that_begin_at_once_in_a_new_process_end_well(machine, folder, backend, process):
    depth = {} if backend in SYNCHRONOUS else {"depth": "8"}
    found = machine.outcome_anew(
        folder, backend, threads="8", block_size="64k", verify="yes", **depth
    )
    assert evidence_of(found).verified == "every block read, by the GPU", process


def test_a_missing_library_is_named(machine, folder, monkeypatch):
    monkeypatch.setenv("TIERSCOPE_CUFILE", "/nowhere")
    found = machine.outcome_anew(folder, "cufile")
    assert isinstance(found, Skipped), found
    assert found.cause is Cause.TOOL
    assert "TIERSCOPE_CUFILE=/nowhere" in found.reason


def both_sides(machine: Machine, folder: Path, backend: str, setting: str, **options: str):
    """The outcomes of cufile.json as it is, and with a setting."""
    plan = plan_of(
        "io", machine.topology, from_="gpu:0", to=f"file:{folder}", backend=backend, size="16m",
        cufile=setting, **options,
    )  # fmt: skip
    specs = [one.model_copy(update={"sampling": QUICK}) for one in plan.measurements]
    assert [bool(spec.cufile_setting()) for spec in specs] == [False, True]
    with living_engine() as engine:
        return [outcome_of(engine, spec) for spec in specs]


def test_a_setting_of_cufile_json_arrives_in_its_own_process(machine, folder):
    as_it_is, few = both_sides(
        machine, folder, "cufile-batch", "posix_pool_slab_count=[4,4,4]", block_size="64k",
        depth="16",
    )  # fmt: skip
    for found in (as_it_is, few):
        assert isinstance(found, Repetition), found
    words = "has room for 4 blocks"
    assert any(words in note for note in few.evidence.notes or [])
    assert not any(words in note for note in as_it_is.evidence.notes or [])


def test_compatibility_mode_is_a_setting_like_others(machine, folder):
    as_it_is, strict = both_sides(machine, folder, "cufile", "allow_compat_mode=false")
    assert isinstance(as_it_is, Repetition), as_it_is
    assert as_it_is.evidence.cufile.allow_compat_mode
    if isinstance(strict, Repetition):
        assert set(ways_of(strict.evidence)) <= {"p2p", "nvfs"}
    else:
        assert isinstance(strict, Skipped), strict
        assert strict.cause is Cause.STORAGE


def test_a_checkpoint_of_a_gpus_memory_goes_by_cufile(machine, folder):
    options = {"size": "16m", "backend": "cufile"}
    plan = plan_of("checkpoint", machine.topology, from_="gpu:0", to=f"file:{folder}", **options)
    (spec,) = (one.model_copy(update={"sampling": QUICK}) for one in plan.measurements)
    with living_engine() as engine:
        found = outcome_of(engine, spec)
    assert isinstance(found, Repetition), found
    seen = found.evidence.own(CheckpointEvidence).checkpoint
    assert seen is not None
    assert found.evidence.storage_io is not None
    assert sum((found.evidence.storage_io.ways or {}).values()) > 0
    assert found.evidence.verified == f"all {16 << 20} bytes of the state after each restart"
