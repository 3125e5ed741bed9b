"""What gdsio's files are before they are measured, with an engine that looks at nothing."""

import pytest
from tests.fake_paths import DIRECTORY, fake_paths
from tests.gpu import gpu_machine

from tierscope.model.errors import UserError
from tierscope.model.storage import OwnFile, OwnFiles
from tierscope.peers import drop_in
from tierscope.peers.gdsio import plan
from tierscope.peers.gdsio.job_file import parse_line
from tierscope.peers.gdsio.plan import looked_up, spec_of
from tierscope.peers.gdsio.workload import Workload, workload

MIB = 1 << 20
MANIFEST = "/data/.tierscope-files.json"


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Sizes of the files that there are, by path; may be filled."""
    sizes = fake_paths(monkeypatch, plan)

    def listed(directory: str) -> OwnFiles:
        known = sizes if MANIFEST in sizes else {}
        files = [
            OwnFile(name=path.rpartition("/")[2], bytes=size, keep=True, state="leftover")
            for path, size in known.items()
        ]
        return OwnFiles(directory=directory, files=files)

    monkeypatch.setattr(drop_in, "leftovers", listed)
    return sizes


def found(words: str, overwrite: bool = False) -> Workload:
    request = parse_line(words.split()).request
    assert request is not None
    return looked_up(workload(request), overwrite)


def targets(work: Workload, overwrite: bool = False) -> list[dict[str, object]]:
    jobs = spec_of(work, gpu_machine.machine(gpus=1), overwrite=overwrite)["jobs"]
    return [job["files"] for job in jobs]


def test_reads_go_over_a_file_s_own_size(there: dict[str, int]) -> None:
    there["/data/x"] = 64 * MIB
    work = found("-f /data/x -w 2 -o 4M")
    assert work.jobs[0].size == 60 * MIB
    assert spec_of(work, gpu_machine.machine(gpus=1))["pattern"]["amount"] == 30 * MIB


def test_a_directory_s_first_file_stands_for_all(there: dict[str, int]) -> None:
    there |= {"/data/gdsio.0": 8 * MIB, MANIFEST: 100}
    assert found("-D /data -w 4").jobs[0].data_bytes == 32 * MIB
    (owned,) = targets(found("-D /data -w 4"))
    assert (owned["directory"], owned["count"], owned["size"]) == ("/data", 4, 8 * MIB)


@pytest.mark.parametrize("words", ["-f /data/x", "-D /data -w 2"])
def test_what_is_missing_needs_a_size(words: str, there: dict[str, int]) -> None:
    with pytest.raises(UserError, match=r"/data/\S+ is missing; give -s \(size\), so that it can"):
        found(words)
    assert found(f"{words} -s 1M").jobs[0].size == MIB


def test_files_of_gdsio_itself_are_read_as_they_are(there: dict[str, int]) -> None:
    there["/data/gdsio.0"] = 8 * MIB
    one, two = targets(found("-D /data -w 2 -s 4M"))
    assert (one["path"], two["path"]) == ("/data/gdsio.0", "/data/gdsio.1")
    assert "overwrite" not in one


def test_a_file_of_another_s_that_is_shorter_than_asked_is_refused(there: dict[str, int]) -> None:
    there["/data/x"] = MIB
    with pytest.raises(UserError, match=f"/data/x has {MIB} bytes, and {4 * MIB} are needed; make"):
        found("-f /data/x -s 4M")
    assert found("-f /data/x -s 1M").jobs[0].size == MIB
    there[MANIFEST] = 100  # Now it is tierscope's own, and is extended.
    assert found("-f /data/x -s 4M").jobs[0].size == 4 * MIB


def test_files_of_others_are_written_after_a_word_only(there: dict[str, int]) -> None:
    there["/data/gdsio.0"] = 8 * MIB
    with pytest.raises(
        UserError, match=r"/data/gdsio\.0 exists, and tierscope did not make it; na"
    ):
        found("-D /data -w 2 -s 4M -I 1")
    work = found("-D /data -w 2 -s 4M -I 1", overwrite=True)
    assert [one["overwrite"] for one in targets(work, overwrite=True)] == [True, True]


def test_a_directory_is_no_file(there: dict[str, int]) -> None:
    there["/data/x"] = DIRECTORY
    with pytest.raises(UserError, match="-f /data/x: /data/x is a directory; -D makes files below"):
        found("-f /data/x -s 1M")
