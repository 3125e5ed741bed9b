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

from tierscope.engine.repetitions import living_engine
from tierscope.kinds.checkpoint.spec import CheckpointEvidence
from tierscope.machine.discover import discover
from tierscope.model.cause import Cause
from tierscope.model.event import Evidence, Failed, Repetition, Skipped
from tierscope.model.io import GPU_BACKENDS
from tierscope.model.spec import Sampling

pytestmark = pytest.mark.gpu

SECONDS = 0.2
QUICK = Sampling(budget_s=SECONDS, sample_s=0.05, precision=0.05)
SYNCHRONOUS = ("cufile", "staged", "staged-managed")
CUFILE = tuple(name for name in GPU_BACKENDS if name.startswith("cufile"))
UDEV = Path("/run/udev/data")
MOUNTS = Path("/proc/self/mountinfo")


@pytest.fixture(scope="module")
def topology():
    found = discover()
    assert found.gpus, "these tests are for a machine with GPUs"
    return found


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


def outcome(topology, folder: Path, backend: str, **options: str) -> Repetition | Skipped | Failed:
    depth = {} if backend in SYNCHRONOUS else {"depth": "4"}
    wanted = {"size": "16m", "block_size": "1m", **depth, **options}
    plan = plan_of("io", topology, from_="gpu:0", to=f"file:{folder}", backend=backend, **wanted)
    (spec,) = (one.model_copy(update={"sampling": QUICK}) for one in plan.measurements)
    with living_engine() as engine:
        engine.plan([spec])
        events = [
            event
            for event in engine.repetition(spec.id, SECONDS, False)
            if isinstance(event, Repetition | Skipped | Failed)
        ]
    (event,) = events
    return event


def measured(topology, folder: Path, backend: str, **options: str) -> Evidence:
    found = outcome(topology, folder, backend, **options)
    assert isinstance(found, Repetition), found
    assert found.evidence.storage_io is not None
    return found.evidence


def ways_of(evidence: Evidence) -> dict[str, int]:
    assert evidence.storage_io is not None
    return {way: count for way, count in (evidence.storage_io.ways or {}).items() if count}


@pytest.mark.parametrize("direct", ["yes", "no"])
@pytest.mark.parametrize("backend", GPU_BACKENDS)
def test_every_block_read_is_verified(topology, folder, backend, direct):
    found = outcome(topology, folder, backend, verify="yes", direct=direct)
    if backend in CUFILE and direct == "no" and isinstance(found, Skipped):
        assert "not open with O_DIRECT" in found.reason  # As older versions of cuFile say.
        return
    assert isinstance(found, Repetition), found
    evidence = found.evidence
    assert evidence.verified == "every block read, by the GPU"
    assert evidence.gpus
    assert evidence.gpus[0].gpu == 0


@pytest.mark.parametrize("backend", GPU_BACKENDS)
def test_what_was_written_is_read_back(topology, folder, backend):
    evidence = measured(topology, folder, backend, op="write")
    assert evidence.verified
    assert "were read back" in evidence.verified


@pytest.mark.parametrize("memory", ["device", "vmm", "pinned", "plain"])
@pytest.mark.parametrize("backend", ["cufile", "cufile-batch", "staged-async"])
def test_every_memory_is_verified(topology, folder, backend, memory):
    if backend == "cufile-batch" and memory in ("pinned", "plain"):
        found = outcome(topology, folder, backend, memory=memory)
        assert isinstance(found, Skipped)
        assert found.cause is Cause.GPU_FEATURE
        return
    evidence = measured(topology, folder, backend, memory=memory, verify="yes")
    by_gpu = ", by the GPU" if memory in ("device", "vmm") else ""
    assert evidence.verified == f"every block read{by_gpu}"


@pytest.mark.parametrize("backend", CUFILE)
def test_registered_buffers_are_verified(topology, folder, backend):
    evidence = measured(topology, folder, backend, registered="yes", verify="yes")
    assert evidence.verified == "every block read, by the GPU"
    assert evidence.cufile is not None
    assert evidence.cufile.register_s > 0


@pytest.mark.parametrize("backend", CUFILE)
def test_every_operation_is_counted_by_its_way(topology, folder, backend):
    evidence = measured(topology, folder, backend)
    assert evidence.cufile is not None
    assert evidence.cufile.allow_compat_mode
    assert evidence.cufile.driver_open_s > 0
    io = evidence.storage_io
    assert io is not None
    assert sum(ways_of(evidence).values()) >= io.reads > 0
    assert not Path("cufile.log").exists()


def test_what_all_gpus_moved_over_pcie_is_seen(topology, folder):
    evidence = measured(topology, folder, "staged-async", direct="no")
    assert evidence.pcie
    assert len(evidence.pcie) >= len(topology.gpus)
    own = topology.gpus[0].address.lower()
    assert any(gpu.address.lower().endswith(own[-10:]) for gpu in evidence.pcie)


@pytest.mark.parametrize("backend", ["cufile", "cufile-stream", "cufile-batch"])
@pytest.mark.parametrize("way", ["p2p", "nvfs", "gpudirect"])
def test_a_way_that_is_required_is_taken_or_the_measurement_fails(topology, folder, backend, way):
    taken = set(ways_of(measured(topology, folder, backend)))
    right = {"gpudirect": {"p2p", "nvfs"}}.get(way, {way})
    found = outcome(topology, folder, backend, require=way)
    if taken <= right:
        assert isinstance(found, Repetition), found
    else:
        assert isinstance(found, Failed), found
        assert found.cause is Cause.PATH
        assert f"--require {way}: " in found.reason


@pytest.mark.parametrize("backend", ["cufile", "staged"])
def test_past_the_page_cache_can_be_required(topology, folder, backend):
    assert measured(topology, folder, backend, require="odirect")
    buffered = outcome(topology, folder, "staged", require="odirect", direct="no")
    assert isinstance(buffered, Failed), buffered
    assert buffered.cause is Cause.PATH


def test_without_compatibility_mode_cufile_goes_directly_or_says_why_not(
    topology, folder, monkeypatch
):
    monkeypatch.setenv("CUFILE_ALLOW_COMPAT_MODE", "false")
    found = outcome(topology, folder, "cufile")
    if isinstance(found, Repetition):
        assert set(ways_of(found.evidence)) <= {"p2p", "nvfs"}
    else:
        assert isinstance(found, Skipped), found
        assert found.cause is Cause.STORAGE
        assert "cuFile error 50" in found.reason
        assert found.remedy


def test_a_volume_that_udev_does_not_know_is_explained(topology, bare_folder, entry):
    if entry.exists():
        pytest.skip(f"udev knows the volume: {entry}")
    found = outcome(topology, bare_folder, "cufile")
    assert isinstance(found, Skipped), found
    assert "udev's database does not say" in found.reason
    assert found.remedy
    assert str(entry) in found.remedy


def test_more_operations_of_batches_than_the_pool_holds_do_not_hang(topology, folder):
    evidence = measured(topology, folder, "cufile-batch", depth="96", threads="2", verify="yes")
    assert evidence.verified == "every block read, by the GPU"


def test_a_missing_library_is_named(topology, folder, monkeypatch):
    monkeypatch.setenv("TIERSCOPE_CUFILE", "/nowhere")
    found = outcome(topology, folder, "cufile")
    assert isinstance(found, Skipped), found
    assert found.cause is Cause.TOOL
    assert "TIERSCOPE_CUFILE=/nowhere" in found.reason


def both_sides(topology, folder: Path, backend: str, setting: str, **options: str):
    """The outcomes of cufile.json as it is, and with a setting."""
    plan = plan_of(
        "io", topology, from_="gpu:0", to=f"file:{folder}", backend=backend, size="16m",
        cufile=setting, **options,
    )  # fmt: skip
    specs = [one.model_copy(update={"sampling": QUICK}) for one in plan.measurements]
    assert [bool(spec.cufile_setting()) for spec in specs] == [False, True]
    with living_engine() as engine:
        engine.plan(specs)
        return [
            event
            for spec in specs
            for event in engine.repetition(spec.id, SECONDS, False)
            if isinstance(event, Repetition | Skipped | Failed)
        ]


def test_a_setting_of_cufile_json_arrives_in_its_own_process(topology, folder):
    as_it_is, few = both_sides(
        topology, folder, "cufile-batch", "posix_pool_slab_count=[4,4,4]", block_size="64k",
        depth="16",
    )  # fmt: skip
    for found in (as_it_is, few):
        assert isinstance(found, Repetition), found
    words = "has room for 4 blocks"
    assert any(words in note for note in few.evidence.notes or [])
    assert not any(words in note for note in as_it_is.evidence.notes or [])


def test_compatibility_mode_is_a_setting_like_others(topology, folder):
    as_it_is, strict = both_sides(topology, folder, "cufile", "allow_compat_mode=false")
    assert isinstance(as_it_is, Repetition), as_it_is
    assert as_it_is.evidence.cufile.allow_compat_mode
    if isinstance(strict, Repetition):
        assert set(ways_of(strict.evidence)) <= {"p2p", "nvfs"}
    else:
        assert isinstance(strict, Skipped), strict
        assert strict.cause is Cause.STORAGE


def test_a_checkpoint_of_a_gpus_memory_goes_by_cufile(topology, folder):
    options = {"size": "16m", "backend": "cufile"}
    plan = plan_of("checkpoint", topology, from_="gpu:0", to=f"file:{folder}", **options)
    (spec,) = (one.model_copy(update={"sampling": QUICK}) for one in plan.measurements)
    with living_engine() as engine:
        engine.plan([spec])
        (found,) = [
            event
            for event in engine.repetition(spec.id, SECONDS, False)
            if isinstance(event, Repetition | Skipped | Failed)
        ]
    assert isinstance(found, Repetition), found
    seen = found.evidence.own(CheckpointEvidence).checkpoint
    assert seen is not None
    assert sum((seen.ways or {}).values()) > 0
    assert found.evidence.verified == f"all {16 << 20} bytes of the state after each restart"
