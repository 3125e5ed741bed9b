"""Search of vectors: data, exact neighbours, recall, and what a run checks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="there is no numpy: tierscope apps install vector")
pytest.importorskip("faiss", reason="there is no FAISS: tierscope apps install vector")

from tierscope.kinds.effect.jobs import vector_search  # noqa: E402  it needs both

JOB = vector_search.__file__
SIZE = 2000 * 4 * vector_search.DIMENSIONS


def job(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, JOB, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    assert job("prepare", folder, SIZE, 16, 40).returncode == 0
    return folder


def test_the_same_seed_draws_the_same_vectors() -> None:
    drawn = vector_search.vectors(100)
    assert drawn.shape == (100, vector_search.DIMENSIONS)
    assert drawn.dtype == np.float32
    assert np.array_equal(drawn, vector_search.vectors(100))
    assert not np.array_equal(drawn, vector_search.vectors(100, seed=2))


def test_vectors_are_in_clusters() -> None:
    """Each vector's nearest one is far nearer than where all come from one normal distribution."""
    clustered = vector_search.vectors(2000)
    plain = np.random.default_rng(1).standard_normal(clustered.shape, dtype=np.float32)

    def contrast(drawn: np.ndarray) -> float:
        distances = np.linalg.norm(drawn[:50, None] - drawn[None], axis=2)
        others = np.where(distances > 0, distances, np.inf)
        return float(np.median(others.min(axis=1)) / np.median(distances))

    assert contrast(clustered) < 0.9 * contrast(plain)


def test_nearest_are_those_that_a_sort_of_all_distances_has() -> None:
    drawn = vector_search.vectors(220)
    stored, asked = drawn[:200], drawn[200:]
    distances = ((asked[:, None].astype(float) - stored[None]) ** 2).sum(axis=2)
    expected = np.argsort(distances, axis=1)[:, : vector_search.NEIGHBOURS]
    assert np.array_equal(vector_search.nearest(asked, stored), expected)


@pytest.mark.parametrize(
    ("found", "expected"),
    [([[0, 1], [2, 3]], 1), ([[1, 0], [3, 2]], 1), ([[0, 9], [2, 9]], 0.5), ([[8, 9], [0, 1]], 0)],
)
def test_recall_is_the_share_of_neighbours_found(found: list[list[int]], expected: float) -> None:
    exact = np.array([[0, 1], [2, 3]])
    assert vector_search.recall(np.array(found), exact) == expected


def test_a_run_prints_its_figures(prepared: Path) -> None:
    ran = job("search", prepared, 64, 0.1)
    assert (ran.returncode, ran.stderr) == (0, "")
    found = dict(re.findall(r"^(\w+): ([0-9.e+-]+)(?: 1/s| us)?$", ran.stdout, re.MULTILINE))
    assert [*found] == ["throughput", "p50", "p99", "recall"]
    values = {name: float(text) for name, text in found.items()}
    assert values["throughput"] > 0
    assert 0 < values["p50"] <= values["p99"]
    assert 0.9 <= values["recall"] <= 1


def test_wrong_neighbours_end_a_run(prepared: Path, tmp_path: Path) -> None:
    """An index of other vectors stands for memory that holds what was not stored there."""
    for name in ("index.faiss", "queries.npy"):
        (tmp_path / name).write_bytes((prepared / name).read_bytes())
    exact = np.load(prepared / "nearest.npy")
    np.save(tmp_path / "nearest.npy", (exact + 1) % 2000)
    ran = job("search", tmp_path, 64, 0.1)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert re.fullmatch(r"recall@10 is 0\.\d+, below 0\.9: efSearch of 64 is too .*\n", ran.stderr)


def test_other_neighbours_than_before_end_a_run() -> None:
    class Drifting:
        def search(self, asked: np.ndarray, count: int) -> tuple[None, np.ndarray]:
            return None, np.ones((len(asked), count))

    asked = np.zeros((3, vector_search.DIMENSIONS))
    first = np.zeros((3, vector_search.NEIGHBOURS))
    with pytest.raises(SystemExit, match="found other neighbours than before"):
        vector_search.throughput_of(Drifting(), asked, first, 0.1)


def test_too_few_vectors_are_refused(tmp_path: Path) -> None:
    ran = job("prepare", tmp_path, 4096, 16, 40)
    assert (ran.returncode, ran.stderr) == (1, "4096 bytes hold 8 vectors; give 5120 or more\n")
