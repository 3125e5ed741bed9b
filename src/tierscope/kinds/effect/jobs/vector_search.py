"""Search of nearest vectors in an HNSW index of FAISS, which lies in memory.

``vector_search.py prepare FOLDER BYTES LINKS CONSTRUCTION`` makes the data: vectors of 128 floats,
BYTES in all, their index, queries, and the ten exact neighbours of each query. The vectors are
random, by a fixed seed: clusters in a space of 64 dimensions, projected onto 128, with noise, so
that they are about as hard to search as SIFT's descriptors.

``vector_search.py search FOLDER BREADTH SECONDS`` reads the index into memory of its own, measures
queries a second on all CPUs that it may use, then the time of single queries on one, for SECONDS
each. It ends with status 1 where the neighbours found are wrong. LINKS, CONSTRUCTION and BREADTH
are HNSW's M, efConstruction and efSearch (Malkov and Yashunin, https://arxiv.org/abs/1603.09320).
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import faiss
import numpy as np

DIMENSIONS = 128
NEIGHBOURS = 10
_VECTOR_BYTES = 4 * DIMENSIONS
_QUERIES = 2000
_CLUSTERS = 256
_HIDDEN_DIMENSIONS = 64
_SPREAD, _NOISE = 0.5, 0.2
_LOWEST_RECALL = 0.9
_INDEX, _ASKED, _NEAREST = "index.faiss", "queries.npy", "nearest.npy"


def main() -> None:
    """Prepare, or search."""
    task, folder = sys.argv[1], Path(sys.argv[2])
    if task == "prepare":
        prepare(folder, *map(int, sys.argv[3:6]))
    else:
        search(folder, int(sys.argv[3]), float(sys.argv[4]))


def prepare(folder: Path, size: int, links: int, construction: int) -> None:
    """Write the index, the queries and their exact neighbours; ``size`` is that of the vectors."""
    count = size // _VECTOR_BYTES
    if count < NEIGHBOURS:
        sys.exit(f"{size} bytes hold {count} vectors; give {NEIGHBOURS * _VECTOR_BYTES} or more")
    drawn = vectors(count + _QUERIES)
    stored, asked = drawn[:count], drawn[count:]
    index = faiss.IndexHNSWFlat(DIMENSIONS, links)
    index.hnsw.efConstruction = construction
    index.add(stored)
    faiss.write_index(index, str(folder / _INDEX))
    np.save(folder / _ASKED, asked)
    np.save(folder / _NEAREST, nearest(asked, stored))


def vectors(count: int, seed: int = 1) -> Any:
    """Return random vectors in clusters, one a row."""
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> Any:
        return random.standard_normal(shape, dtype=np.float32)

    projection = normal(_HIDDEN_DIMENSIONS, DIMENSIONS) / np.float32(_HIDDEN_DIMENSIONS**0.5)
    centres = normal(_CLUSTERS, _HIDDEN_DIMENSIONS)
    drawn = np.empty((count, DIMENSIONS), dtype=np.float32)
    # Parts, so that what a part needs beside the result is small.
    for rows in np.array_split(drawn, max(1, count >> 16)):
        hidden = centres[random.integers(0, _CLUSTERS, len(rows))]
        hidden += np.float32(_SPREAD) * normal(len(rows), _HIDDEN_DIMENSIONS)
        rows[:] = hidden @ projection
        rows += np.float32(_NOISE) * normal(len(rows), DIMENSIONS)
    return drawn


def nearest(asked: Any, stored: Any) -> Any:
    """Return the numbers of the nearest stored vectors of each asked one, by comparing with all."""
    _, found = faiss.knn(asked, stored, NEIGHBOURS)
    return found


def recall(found: Any, exact: Any) -> float:
    """Return the share of the exact neighbours that were found, from 0 to 1 (recall@10)."""
    return float((found[:, :, None] == exact[:, None, :]).any(axis=1).mean())


def search(folder: Path, breadth: int, seconds: float) -> None:
    """Read the index, search, print."""
    # read_index copies the file into memory of the process; a mapped file would stay where the
    # page cache has it, whatever the placement says.
    index: Any = faiss.read_index(str(folder / _INDEX))
    index.hnsw.efSearch = breadth
    asked, exact = np.load(folder / _ASKED), np.load(folder / _NEAREST)
    faiss.omp_set_num_threads(len(os.sched_getaffinity(0)))
    _, first = index.search(asked, NEIGHBOURS)  # also the warm-up
    share = recall(first, exact)
    if share < _LOWEST_RECALL:
        sys.exit(
            f"recall@{NEIGHBOURS} is {share:.3f}, below {_LOWEST_RECALL}: efSearch of {breadth} is "
            "too small for these vectors, efConstruction was, or what the memory holds is wrong"
        )
    throughput = throughput_of(index, asked, first, seconds)
    times = times_of(index, asked, seconds)
    print(f"throughput: {throughput} 1/s")
    for percentile in (50, 99):
        print(f"p{percentile}: {np.percentile(times, percentile) / 1e3} us")
    print(f"recall: {share}")


def throughput_of(index: Any, asked: Any, first: Any, seconds: float) -> float:
    """Return queries a second, all queries together; each time they have to find the same."""
    searches, took = 0, 0.0
    while took < seconds:
        began = time.perf_counter()
        _, found = index.search(asked, NEIGHBOURS)
        took += time.perf_counter() - began
        searches += 1
        if not np.array_equal(found, first):
            sys.exit("the same queries found other neighbours than before")
    return searches * len(asked) / took


def times_of(index: Any, asked: Any, seconds: float) -> list[int]:
    """Return the time of each query in ns, one at a time on one CPU."""
    faiss.omp_set_num_threads(1)
    times: list[int] = []
    end = time.perf_counter_ns() + int(seconds * 1e9)
    number = 0
    while time.perf_counter_ns() < end:
        query = asked[number : number + 1]
        began = time.perf_counter_ns()
        index.search(query, NEIGHBOURS)
        times.append(time.perf_counter_ns() - began)
        number = (number + 1) % len(asked)
    return times


if __name__ == "__main__":
    main()
