"""The door, held to one schema from both sides: the models, the JSON Schema and the real engine."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from children import engines
from tierscope.engine.process import capabilities, check, find_engine, topology_xml
from tierscope.engine.repetitions import living_engine
from tierscope.kinds.bandwidth.spec import LIBRARY, Operation
from tierscope.kinds.plan import Plan
from tierscope.kinds.schema import DIRECTORY, ENGINE_DIRECTORY, schemas, sources
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.event import (
    Event,
    EventAdapter,
    Evidence,
    Failed,
    Finished,
    Repetition,
    Started,
)
from validators import schema
from waiting import PATIENCE_S, wait_until


@pytest.fixture(scope="module", autouse=True)
def _engine() -> None:
    try:
        find_engine()
    except UserError as error:
        pytest.fail(f"these tests need the engine: {error}")


def test_the_committed_schemas_are_the_models() -> None:
    for name, schema_of_models in schemas().items():
        committed = json.loads((DIRECTORY / name).read_text())
        assert committed == schema_of_models, f"{name}: run make schema"


def test_the_committed_tables_are_the_models() -> None:
    if not ENGINE_DIRECTORY.is_dir():
        pytest.skip("no clone")
    for name, source in sources().items():
        assert (ENGINE_DIRECTORY / name).read_text() == source, f"{name}: run make schema"


_LINES = st.integers(1, 1 << 20).map(lambda lines: 64 * lines)
_SHARE = st.fixed_dictionaries({"node": st.integers(0, 1023), "weight": st.integers(1, 255)})
_NODES = st.lists(_SHARE, min_size=1, max_size=4, unique_by=lambda share: share["node"])
_PERSISTENT = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"backing": st.sampled_from(["file", "pool"]), "path": st.just("/mnt/pmem")},
        optional={"backed_by": st.sampled_from(["", "battery"]), "bound": st.booleans()},
    ),
    st.fixed_dictionaries(
        {"backing": st.just("device"), "path": st.just("/dev/dax0.0")},
        optional={"offset": st.integers(0, 1 << 50), "destroy": st.just("dax0.0")},
    ),
)
_PLACEMENT = st.one_of(
    st.fixed_dictionaries(
        {
            "policy": st.sampled_from(["bind", "preferred"]),
            "nodes": st.tuples(_SHARE).map(list),
            "mechanism": st.sampled_from(["user", "kernel"]),
        }
    ),
    st.fixed_dictionaries(
        {"policy": st.sampled_from(["interleave", "weighted", "partition"]), "nodes": _NODES}
    ),
    st.fixed_dictionaries(
        {
            "policy": st.just("bind"),
            "nodes": st.tuples(_SHARE).map(list),
            "persistent": _PERSISTENT,
        }
    ),
)
_SAMPLING = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.floats(0.0001, 0.5),
        "budget_s": st.floats(0.001, 86400),
        "sample_s": st.floats(0.0001, 60),
    },
)
_COMMON: dict[str, Any] = {
    "id": st.from_regex(r"[A-Za-z0-9._:-]{1,64}", fullmatch=True),
    "initiator": st.text(max_size=20),
    "target": st.text(max_size=20),
    "placement": _PLACEMENT,
    "prefetchers": st.sampled_from(["as-found", "on", "off"]),
    "sampling": _SAMPLING,
}


def _skewed(pattern: dict[str, Any]) -> dict[str, Any]:
    """Leave out the skew of other orders than zipf."""
    if pattern.get("order") == "zipf":
        return pattern
    return {key: value for key, value in pattern.items() if key != "zipf_alpha"}


def _of_library(pattern: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the C library's operations do not take."""
    if pattern["operation"] not in LIBRARY:
        return pattern
    return {key: value for key, value in pattern.items() if key not in ("order", "isa")}


_CPUS = st.lists(st.integers(0, 200), min_size=1, max_size=4, unique=True)
_ON_SETS = st.lists(_CPUS, min_size=1, max_size=4).map(
    lambda sets: {"cpus": sorted({cpu for each in sets for cpu in each}), "cpu_sets": sets}
)


def _threaded(strategy: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Have its threads run each on one of its CPUs, or on sets of CPUs."""
    return st.builds(lambda made, sets: made | sets, strategy, st.just({}) | _ON_SETS)


_BANDWIDTH = st.fixed_dictionaries(
    {
        **_COMMON,
        "kind": st.just("bandwidth"),
        "cpus": st.lists(st.integers(0, 65535), min_size=1, max_size=8, unique=True),
        "pattern": st.fixed_dictionaries(
            {
                "operation": st.sampled_from(get_args(Operation)),
                "size": _LINES.map(lambda size: size * 64 * 8),
            },
            optional={
                "order": st.sampled_from(["sequential", "reverse", "random", "zipf"]),
                "zipf_alpha": st.floats(0.01, 10),
                "access_size": st.sampled_from([64, 128, 4096]),
                "pages": st.sampled_from(["base", "thp", "2m", "1g"]),
                "isa": st.sampled_from(["auto", "sse4", "avx2", "avx512", "neon", "sve"]),
                "sharing": st.sampled_from(["partitioned", "shared"]),
            },
        )
        .map(_of_library)
        .map(_skewed)
        .filter(lambda made: (made["operation"], made.get("sharing")) != ("rmw", "shared")),
    }
)
_LATENCY = st.fixed_dictionaries(
    {
        **_COMMON,
        "kind": st.just("latency"),
        "cpu": st.integers(0, 65535),
        "pattern": st.fixed_dictionaries(
            {"size": _LINES.map(lambda size: size * 8)},
            optional={
                "order": st.sampled_from(["random", "page-random"]),
                "stride": st.sampled_from([64, 128, 256]),
                "pages": st.sampled_from(["base", "thp", "2m", "1g"]),
            },
        ),
    },
    optional={"chases": st.integers(1, 8)},
)
_PAGES = st.sampled_from(["base", "thp", "2m", "1g"])
_STREAM_PATTERN = st.fixed_dictionaries(
    {"size": _LINES.map(lambda size: size * 64)},
    optional={
        "writes": st.integers(0, 100),
        "stores": st.sampled_from(["ordinary", "nt", "clwb", "clflushopt"]),
        "order": st.sampled_from(["sequential", "random", "zipf"]),
        "zipf_alpha": st.floats(0.01, 10),
        "access_size": st.sampled_from([64, 512, 1024]),
        "delay_ns": st.integers(0, 10**9),
        "pages": _PAGES,
        "isa": st.sampled_from(["auto", "sse4", "avx2", "avx512", "neon", "sve"]),
    },
).map(_skewed)
_STREAM = {"initiator": st.text(max_size=9), "target": st.text(max_size=9), "placement": _PLACEMENT}
_LOADED = st.fixed_dictionaries(
    {
        **_COMMON,
        "kind": st.just("loaded-latency"),
        "cpu": st.integers(201, 65535),
        "pattern": st.fixed_dictionaries({"size": _LINES.map(lambda size: size * 8)}),
        "load": _threaded(
            st.fixed_dictionaries(
                {**_STREAM, "cpus": _CPUS, "pattern": _STREAM_PATTERN},
                optional={"idle": st.booleans()},
            )
        ),
    }
)
_BESIDE = st.lists(
    st.fixed_dictionaries(
        {
            **_STREAM,
            "name": st.from_regex(r"[A-Za-z0-9_-]{4,24}", fullmatch=True),
            "cpus": st.lists(st.integers(300, 301), min_size=1, max_size=1),
            "pattern": _STREAM_PATTERN,
        }
    ),
    max_size=1,
).filter(lambda beside: all(stream["name"] != "main" for stream in beside))
_STREAMS = _threaded(
    st.fixed_dictionaries(
        {**_COMMON, "kind": st.just("traffic"), "cpus": _CPUS, "pattern": _STREAM_PATTERN},
        optional={"beside": _BESIDE},
    )
)
_SHARING = _ON_SETS.flatmap(  # Streams whose threads share CPUs.
    lambda sets: st.fixed_dictionaries(
        {
            **_COMMON,
            "kind": st.just("traffic"),
            "pattern": _STREAM_PATTERN,
            "beside": st.fixed_dictionaries(
                {**_STREAM, "name": st.just("other"), "pattern": _STREAM_PATTERN}
            ).map(lambda stream: [stream | sets]),
        }
    ).map(lambda made: made | sets)
)
_ATOMICS = st.fixed_dictionaries(
    {
        **_COMMON,
        "kind": st.just("atomics"),
        "cpus": _CPUS,
        "pattern": st.fixed_dictionaries(
            {
                "operation": st.sampled_from(["fetch-and-add", "compare-and-swap"]),
                "size": _LINES.map(lambda size: size * 4),
            },
            optional={"shared": st.booleans(), "pages": _PAGES},
        ),
    }
)
_CORE_LATENCY = st.fixed_dictionaries(
    {
        **_COMMON,
        "kind": st.just("core-latency"),
        "cpu": st.integers(0, 200),
        "writer": st.integers(201, 65535),
        "placement": st.fixed_dictionaries(
            {"policy": st.just("bind"), "nodes": st.tuples(_SHARE).map(list)}
        ),
        "pattern": st.fixed_dictionaries(
            {},
            optional={
                "size": st.integers(1, 1 << 22).map(lambda slots: 256 * slots),
                "state": st.sampled_from(["modified", "clean"]),
                "pages": _PAGES,
            },
        ),
    }
)
_POWERS = st.integers(4, 16).map(lambda power: 1 << power)
_CHAIN_READ = st.fixed_dictionaries(
    {"access": st.just("read"), "size": _POWERS},
    optional={
        "cache": st.sampled_from(["none", "write-back", "flush", "flush-opt", "non-temporal"]),
        "fence": st.sampled_from(["none", "stores", "all"]),
    },
)
_CHAIN_WRITE = st.fixed_dictionaries(
    {"access": st.just("write"), "size": _POWERS},
    optional={
        "cache": st.sampled_from(["none", "write-back", "flush", "flush-opt", "non-temporal"]),
        "offset": st.integers(-64, 64).map(lambda lines: 64 * lines),
        "fence": st.sampled_from(["none", "stores", "all"]),
    },
)
_CHAIN_ATOMIC = st.fixed_dictionaries(
    {"access": st.sampled_from(["compare-and-swap", "fetch-and-add"]), "size": st.just(8)}
)
_CHAIN_PATTERN = st.builds(
    lambda first, others, more: {"operations": [first, *others], **more},
    _CHAIN_READ | _CHAIN_ATOMIC,
    st.lists(_CHAIN_READ | _CHAIN_ATOMIC | _CHAIN_WRITE, max_size=4),
    st.fixed_dictionaries(
        {"size": _LINES.map(lambda size: size + (1 << 20))},
        optional={
            "linked": st.booleans(),
            "interleave": st.integers(1, 32),
            "sample_every": st.integers(1, 1_000_000),
            "pages": _PAGES,
        },
    ),
)


def _to_both(pattern: dict[str, Any]) -> dict[str, Any]:
    """Send the first operation to m1."""
    first, *others = pattern["operations"]
    return {**pattern, "operations": [{**first, "region": 1}, *others]}


_CHAIN_OF = {
    **_COMMON,
    "kind": st.just("chain"),
    "cpus": st.lists(st.integers(0, 65535), min_size=1, max_size=8, unique=True),
}
_CHAIN = st.fixed_dictionaries(
    {**_CHAIN_OF, "pattern": _CHAIN_PATTERN}, optional={"placement_second": st.none()}
) | st.fixed_dictionaries(
    {**_CHAIN_OF, "pattern": _CHAIN_PATTERN.map(_to_both), "placement_second": _PLACEMENT}
)
_SIZED_CHAIN = st.fixed_dictionaries(
    {
        **_CHAIN_OF,
        "pattern": st.builds(
            lambda pattern, size: pattern | {"size_second": size},
            _CHAIN_PATTERN.map(_to_both),
            _LINES.map(lambda size: size + (1 << 20)),
        ),
        "placement_second": _PLACEMENT,
    }
)
_MAPPING = st.fixed_dictionaries(
    {
        **_COMMON,
        "kind": st.just("mapping"),
        "cpu": st.integers(0, 65535),
        "placement": st.fixed_dictionaries({"policy": st.just("interleave"), "nodes": _NODES}),
        "pattern": st.fixed_dictionaries(
            {"size": _LINES},
            optional={"sharing": st.sampled_from(["private", "shared"]), "pages": _PAGES},
        ),
    }
)
_FILES = st.fixed_dictionaries(
    {
        **{name: _COMMON[name] for name in ("id", "initiator", "target", "sampling")},
        "kind": st.just("files"),
        "cpus": st.lists(st.integers(0, 65535), min_size=1, max_size=8),
        "directory": st.from_regex(r"/[a-z/]{1,20}", fullmatch=True),
        "pattern": st.fixed_dictionaries(
            {
                "operation": st.sampled_from(["create", "unlink"]),
                "file_size": st.integers(0, 16 << 20),
                "files": st.integers(8, 10_000_000),
            },
            optional={
                "directories": st.sampled_from(["own", "shared"]),
                "fsync": st.sampled_from(["no", "file", "directory"]),
            },
        )
        | st.fixed_dictionaries(
            {
                "operation": st.sampled_from(["open", "stat", "read", "list"]),
                "file_size": st.integers(0, 16 << 20),
                "files": st.integers(8, 10_000_000),
            }
        ),
    },
    optional={"large": st.booleans()},
)
_TRAINING = st.fixed_dictionaries(
    {
        **{name: _COMMON[name] for name in ("id", "initiator", "target", "sampling")},
        "kind": st.just("training"),
        "cpus": st.lists(st.integers(0, 65535), min_size=1, max_size=8),
        "directory": st.from_regex(r"/[a-z/]{1,20}", fullmatch=True),
        "pattern": st.builds(
            lambda pattern, form: pattern | form,
            st.fixed_dictionaries(
                {
                    "workload": st.just("mine"),
                    "files": st.integers(64 * 8, 10_000_000),
                    "sample_size": st.integers(1, 1 << 40),
                    "step_s": st.floats(1e-4, 3600),
                },
                optional={
                    "batch": st.integers(1, 64),
                    "accelerator": st.sampled_from(["h100", "a100", None]),
                    "accelerators": st.integers(1, 8),
                    "readers": st.integers(1, 500),
                    "shuffle": st.booleans(),
                },
            ),
            st.just({"format": "npz"})
            | st.fixed_dictionaries(
                {"format": st.just("tfrecord"), "file_samples": st.integers(1, 1_000_000)}
            ),
        ),
    },
    optional={"large": st.booleans()},
)
_MODEL_CHECKPOINT = st.fixed_dictionaries(
    {
        **{name: _COMMON[name] for name in ("id", "initiator", "target", "sampling")},
        "kind": st.just("model-checkpoint"),
        "cpus": st.lists(st.integers(0, 65535), min_size=1, max_size=8),
        "directory": st.from_regex(r"/[a-z/]{1,20}", fullmatch=True),
        "pattern": st.fixed_dictionaries(
            {
                "model": st.sampled_from(["llama3-8b", "llama3-1t"]),
                "ranks": st.lists(
                    st.fixed_dictionaries(
                        {"bytes": st.lists(st.integers(1, 1 << 50), min_size=1, max_size=4)}
                    ),
                    min_size=1,
                    max_size=4,
                ),
            },
            optional={"scale": st.floats(1e-6, 1), "block_size": st.integers(4096, 1 << 26)},
        ),
    }
)
_CELLS = st.integers(1, 1 << 18).map(lambda cells: 4096 * cells)
_CHECKPOINT_PLACE = st.fixed_dictionaries(
    {"policy": st.just("bind"), "nodes": st.just([{"node": 2}])}
)
_CHECKPOINT = st.builds(
    lambda common, where: common | where,
    st.fixed_dictionaries(
        {
            **{name: _COMMON[name] for name in ("id", "initiator", "target", "sampling")},
            "kind": st.just("checkpoint"),
            "cpus": st.lists(st.integers(0, 65535), min_size=1, max_size=8),
            "state": st.fixed_dictionaries({"placement": _CHECKPOINT_PLACE}),
            "pattern": st.fixed_dictionaries(
                {"size": _CELLS},
                optional={
                    "block_size": _CELLS,
                    "pages": _PAGES,
                    "backend": st.sampled_from(["posix", "libaio", "io_uring"]),
                    "direct": st.booleans(),
                    "kills": st.integers(0, 100_000),
                },
            ),
        },
        optional={"large": st.booleans()},
    ),
    st.fixed_dictionaries({"directory": st.from_regex(r"/[a-z/]{1,20}", fullmatch=True)})
    | st.fixed_dictionaries({"placement": _CHECKPOINT_PLACE}),
)
_ON_NODES = st.fixed_dictionaries({"policy": st.just("bind"), "nodes": st.tuples(_SHARE).map(list)})
_KEYS = st.integers(1 << 17, 1 << 30)
_ASKED = st.one_of(
    st.just({"distribution": "uniform", "zipf_alpha": None}),
    st.fixed_dictionaries(
        {"distribution": st.just("zipf"), "zipf_alpha": st.floats(0.01, 10)},
        optional={"keys_file": st.none()},
    ),
    st.just({"distribution": "file", "keys_file": "/tmp/keys"}),
)
_OPS_PATTERN = st.builds(
    lambda one, asked: one | asked,
    st.one_of(
        st.fixed_dictionaries(
            {
                "structure": st.just("btree"),
                "operation": st.sampled_from(["lookup", "insert", "update"]),
                "keys": _KEYS,
                "inner_node": st.integers(2, 1024).map(lambda lines: 64 * lines),
                "leaf_node": st.integers(2, 1024).map(lambda lines: 64 * lines),
            },
            optional={"scan_length": st.none(), "sample_every": st.integers(2, 4096)},
        ),
        st.fixed_dictionaries(
            {
                "structure": st.just("btree"),
                "operation": st.just("scan"),
                "scan_length": st.integers(1, 1 << 20),
                "keys": _KEYS,
                "inner_node": st.just(256),
                "leaf_node": st.just(512),
            }
        ),
        st.fixed_dictionaries(
            {"structure": st.just("hash"), "operation": st.just("lookup"), "keys": _KEYS},
            optional={
                "interleave": st.integers(1, 64),
                "leaf_node": st.none(),
                "pages": _PAGES,
            },
        ),
    ),
    _ASKED,
)
_OPS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        **_COMMON,
        "kind": st.just("ops"),
        "cpus": _CPUS,
        "placement": _ON_NODES,
        "pattern": _OPS_PATTERN,
    },
    optional={"parts": st.just({})},
)
_GPU_RANKS = st.builds(
    lambda common, ends: common | ends,
    st.fixed_dictionaries(
        {
            **{name: _COMMON[name] for name in ("id", "initiator", "target", "sampling")},
            "kind": st.just("gpu-ranks"),
            "cpus": _CPUS,
            "pattern": st.fixed_dictionaries({"size": st.integers(1, 1 << 42)}),
            "transfers": st.lists(
                st.fixed_dictionaries(
                    {
                        "name": st.text(max_size=20),
                        "source": st.integers(0, 1),
                        "destination": st.just(2),
                        "rank": st.just(2),
                        "engine": st.sampled_from(["ce", "sm", "tma"]),
                    },
                    optional={"streams": st.integers(1, 32), "reported": st.booleans()},
                ),
                min_size=1,
                max_size=3,
            ),
        },
        optional={
            "handles": st.sampled_from(["any", "fabric", "ipc"]),
            "verify": st.booleans(),
            "trace": st.booleans(),
            "rank": st.integers(0, 2),
        },
    ),
    st.fixed_dictionaries(
        {
            "gpus": st.lists(st.integers(0, 1023), min_size=3, max_size=3),
            "hosts": st.lists(st.text(max_size=9), min_size=3, max_size=3),
        }
    ),
)
_GPU = {
    "id": _COMMON["id"],
    "initiator": st.just("gpu:0"),
    "target": st.just("gpu:0"),
    "cpus": _CPUS,
    "gpu": st.integers(0, 1023),
}
_HOST = st.fixed_dictionaries(
    {
        "where": st.just("host"),
        "memory": st.sampled_from(["pinned", "registered", "managed-advised"]),
        "placement": _ON_NODES,
    }
)
_GPU_PLACE = st.fixed_dictionaries({"where": st.just("gpu"), "gpu": st.integers(0, 7)})
_GPU_COPY = st.fixed_dictionaries(
    {
        **{name: one for name, one in _GPU.items() if name != "gpu"},
        "kind": st.just("gpu-copy"),
        "pattern": st.fixed_dictionaries({"size": _LINES})
        | st.fixed_dictionaries(
            {"size": st.just(8192), "row_bytes": st.just(1024), "pitch": st.integers(1024, 4096)}
        ),
        "transfers": st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.just("x"),
                    "source": _HOST | _GPU_PLACE,
                    "destination": _GPU_PLACE,
                    "gpu": st.integers(0, 7),
                    "engine": st.just("ce"),
                }
            ),
            min_size=1,
            max_size=2,
        ),
    },
    optional={"verify": st.booleans()},
)
_GPU_MEMORY = st.fixed_dictionaries(
    {
        **_GPU,
        "kind": st.just("gpu-memory"),
        "pattern": st.fixed_dictionaries(
            {"operation": st.sampled_from(["read", "triad"]), "size": st.just(1 << 20)}
        )
        | st.fixed_dictionaries(
            {"operation": st.just("random"), "size": st.just(1 << 20)},
            optional={"access_size": st.sampled_from([16, 64, 512])},
        ),
    }
)
_GPU_LATENCY = st.fixed_dictionaries(
    {
        **_GPU,
        "kind": st.just("gpu-latency"),
        "memory": _HOST.filter(lambda place: "managed" not in place["memory"]) | _GPU_PLACE,
        "pattern": st.fixed_dictionaries(
            {"size": st.just(1 << 20)}, optional={"stride": st.sampled_from([8, 128])}
        ),
    },
    optional={"engine": st.just("sm"), "per_sm": st.booleans()},
)
_IO_PATTERN = st.one_of(
    st.fixed_dictionaries({"operation": st.just("read")}),
    st.fixed_dictionaries({"operation": st.just("mix"), "read_percent": st.integers(1, 99)}),
    st.fixed_dictionaries({"order": st.just("zipf"), "zipf": st.floats(0.01, 10)}),
    st.fixed_dictionaries({"rate": st.just(100), "arrivals": st.just("poisson")}),
    st.fixed_dictionaries({"backend": st.just("io_uring"), "depth": st.integers(1, 4096)}),
    st.fixed_dictionaries({"amount": st.just(4096), "time_limit_s": st.just(1.5)}),
).map(lambda pattern: pattern | {"block_size": 4096})
_IO = st.fixed_dictionaries(
    {
        **{name: _COMMON[name] for name in ("id", "initiator", "target", "sampling")},
        "kind": st.just("io"),
        "jobs": st.fixed_dictionaries(
            {
                "cpus": st.lists(st.integers(0, 3), min_size=1, max_size=3),
                "buffers": st.fixed_dictionaries({"placement": _ON_NODES}),
                "files": st.one_of(
                    st.just({"directory": "/a", "size": 1 << 20}),
                    st.just({"path": "/a", "common": {"parts": 1, "part": 0}}),
                    st.just({"device": "/dev/a", "destroy": "a"}),
                ),
            },
            optional={"shared": st.booleans()},
        ).map(lambda job: [job]),
        "pattern": _IO_PATTERN,
    }
)
_PLANS = st.fixed_dictionaries(
    {
        "version": st.just(2),
        "measurements": st.lists(
            _threaded(_BANDWIDTH)
            | _LATENCY
            | _LOADED
            | _STREAMS
            | _SHARING
            | _ATOMICS
            | _threaded(_CHAIN)
            | _SIZED_CHAIN
            | _CORE_LATENCY
            | _MAPPING
            | _FILES
            | _CHECKPOINT
            | _TRAINING
            | _MODEL_CHECKPOINT
            | _OPS
            | _GPU_RANKS
            | _GPU_COPY
            | _GPU_MEMORY
            | _GPU_LATENCY
            | _IO,
            min_size=1,
            max_size=3,
            unique_by=lambda spec: spec["id"],
        ),
    }
)


def engine_says(text: str) -> str:
    """Return why the engine refuses a plan; empty where it takes it."""
    answer = subprocess.run(
        [find_engine(), "check"],
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert answer.returncode in (0, 2), (answer.returncode, answer.stderr, text)
    if answer.returncode == 2:
        assert len(answer.stderr.splitlines()) == 1, answer.stderr
    return answer.stderr.strip() if answer.returncode == 2 else ""


def engine_accepts(text: str) -> bool:
    return not engine_says(text)


def models_refuse(text: str) -> list[Any]:
    """Return what the models refuse in a plan."""
    try:
        Plan.model_validate_json(text)
    except ValidationError as error:
        return error.errors()
    return []


def models_accept(text: str) -> bool:
    return not models_refuse(text)


def sentence_of(error: Any) -> str:
    """Return what the engine says of a broken rule, behind where it begins to look."""
    field: str = error["ctx"]["field"]
    return f"{field}: {error['ctx']['because']}"


_SLOW = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


@_SLOW
@given(_PLANS)
def test_what_the_models_allow_the_engine_and_the_schema_accept(plan: dict[str, Any]) -> None:
    text = json.dumps(plan)
    assert models_accept(text)
    assert schema("plan").is_valid(plan)
    assert engine_accepts(text)


Path_ = tuple[str | int, ...]


def _paths(value: Any, here: Path_ = ()) -> list[Path_]:
    """Return the path of every value inside a plan."""
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [here, *(path for key, inner in items for path in _paths(inner, (*here, key)))]


def _changed(plan: Any, path: Path_, change: Callable[[Any, Any], None]) -> Any:
    copy = json.loads(json.dumps(plan))
    parent = copy
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return copy


_JUNK: list[Any] = [
    None, True, "", "read", "random", "x", -1, 0, 1, 3, 63, 64, 65, 255, 256, 1024, 65536, 1.5,
    -0.1, 0.7, 1e300, "main", "zipf", "nt", "file", "shared", 100, 101, 1 << 51, 1 << 70, [],
    [0], [0, 0], {}, {"node": 0}, "pool-objects", "battery", "write", "strided", "memcpy", "tma",
    "device", "kernel", "partition", "first-touch", "rmw", "page-random", "clean", "non-temporal",
    "all", "scan", "join", "staged", "mmap", "managed", "odirect", "mix", "preferred", 4096,
]  # fmt: skip


@_SLOW
@given(data=st.data(), plan=_PLANS)
def test_a_changed_plan_gets_one_verdict(data: st.DataObject, plan: dict[str, Any]) -> None:
    """Change, drop or add a value: models and engine agree, and the schema where it can tell."""
    path = data.draw(st.sampled_from([path for path in _paths(plan) if path]))
    how = data.draw(st.sampled_from(["change", "drop", "add"]))

    def change(parent: Any, key: Any) -> None:
        if how == "drop":
            del parent[key]
        elif how == "add" and isinstance(parent, dict):
            parent["surprise"] = 1
        else:
            parent[key] = data.draw(st.sampled_from(_JUNK))

    changed = _changed(plan, path, change)
    text = json.dumps(changed)
    refused, said = models_refuse(text), engine_says(text)
    assert bool(refused) == bool(said), (text, refused, said)
    if len(refused) == 1 and refused[0]["type"] == "rule":
        assert said.endswith(sentence_of(refused[0])), (said, refused, text)
    if not schema("plan").is_valid(changed):
        assert refused, "the schema refuses what the models accept"


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "null", "[]", "{}", '{"version": 2}', '{"version": 2, "measurements": []}',
        '{"version": 1, "measurements": [{}]}', '{"version": 2, "version": 2, "measurements": []}',
        '{"version": 2, "measurements": [{"kind": []}]}', "\x00", "NaN",
        '{"version": 2e0, "measurements": []}', "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused_by_both(text: str) -> None:
    assert not models_accept(text)
    assert not engine_accepts(text)


RANK_TRANSFER = {"name": "x", "source": 0, "destination": 1, "rank": 1, "engine": "ce"}


def ranks_plan(**changes: Any) -> str:
    """A plan of one copy between two ranks."""
    spec = {
        "kind": "gpu-ranks", "id": "m", "initiator": "x", "target": "y", "cpus": [0],
        "sampling": {}, "pattern": {"size": 64}, "gpus": [0, 1], "hosts": ["a", "b"],
        "transfers": [RANK_TRANSFER],
    }  # fmt: skip
    return json.dumps({"version": 2, "measurements": [spec | changes]})


@pytest.mark.parametrize(
    "wrong", [{"gpus": None}, {"gpus": [0]}, {"hosts": [1, 2]}, {"handles": 1}, {"rank": 2}]
)
def test_wrong_ranks_are_refused_by_both(wrong: dict[str, Any]) -> None:
    right, changed = ranks_plan(), ranks_plan(**wrong)
    assert models_accept(right)
    assert engine_accepts(right)
    assert not models_accept(changed)
    assert not engine_accepts(changed)


def test_of_two_wrong_things_the_one_inside_is_said() -> None:
    text = ranks_plan(transfers=[RANK_TRANSFER | {"destination": 3, "rank": 2}])
    (refused,) = models_refuse(text)
    assert engine_says(text).endswith(sentence_of(refused))


def small_plan(count: int = 1, seconds: float = 0.05, **pattern: Any) -> Plan:
    cpu = min(os.sched_getaffinity(0))
    return Plan.model_validate(
        {
            "version": 2,
            "measurements": [
                {
                    "kind": "bandwidth", "id": f"m{number}", "initiator": "x", "target": "x",
                    "cpus": [cpu], "placement": {"policy": "bind", "nodes": [{"node": 0}]},
                    "sampling": {"budget_s": seconds, "sample_s": 0.001, "precision": 1e-9 + 1e-6},
                    "pattern": {
                        "operation": "read", "size": 1 << 20, "pages": "base", **pattern
                    },
                }
                for number in range(count)
            ]
        }
    )  # fmt: skip


def raw_events(plan: Plan) -> list[dict[str, Any]]:
    answer = subprocess.run(
        [find_engine(), "run"],
        input=plan.model_dump_json(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return [json.loads(line) for line in answer.stdout.splitlines()]


@pytest.mark.parametrize(
    "operation", ["read", "copy", "triad", "write-nt", "triad-nt", "rmw", "memset", "memcpy"]
)
def test_the_engine_s_events_keep_the_schema(operation: str) -> None:
    events = raw_events(small_plan(2, operation=operation))
    assert [event["event"] for event in events if event["event"] != "progress"] == [
        "started", "repetition", "started", "repetition", "finished",
    ]  # fmt: skip
    for event in events:
        schema("event").validate(event)
        EventAdapter.validate_json(json.dumps(event))


def repetition_once(plan: Plan, seconds: float) -> Iterator[Event]:
    """Make one repetition of each measurement of a plan."""
    with living_engine() as engine:
        engine.plan(plan.measurements)
        for spec in plan.measurements:
            yield from engine.repetition(spec.id, seconds)


def repetitions_of(events: Iterable[Event]) -> list[Repetition]:
    return [event for event in events if isinstance(event, Repetition)]


@pytest.mark.parametrize("operation", ["read", "write"])
def test_a_repetition_has_all_of_its_rows_and_what_was_observed(operation: str) -> None:
    (repetition,) = repetitions_of(repetition_once(small_plan(1, operation=operation), 0.3))
    windows = repetition.series[0]
    assert windows.columns[0].metric == "bandwidth"
    assert {(c.metric, c.part) for c in windows.columns} >= {("thread_bandwidth", "0")}
    assert windows.starts[-1] <= repetition.seconds
    assert windows.starts[-1] + windows.durations[-1] >= 0.2
    assert windows.lost is not None
    assert repetition.evidence.pages is not None
    assert repetition.evidence.cpus == [min(os.sched_getaffinity(0))]
    assert (repetition.evidence.verified is None) == (operation == "read")
    for concluded in ("disturbed", "replaced", "settled", "threads"):
        assert getattr(repetition.evidence, concluded) is None


def evidence_of(**pattern: Any) -> Evidence:
    (repetition,) = repetitions_of(repetition_once(small_plan(1, **pattern), 0.05))
    return repetition.evidence


def test_strided_order_walks_what_it_reaches() -> None:
    """64 of each 320 bytes lie between two accesses of 256."""
    evidence = evidence_of(order="strided", access_size=256, stride=320)
    assert evidence.walked_bytes == 838_912


@pytest.mark.parametrize("order", ["reverse", "strided", "random"])
def test_orders_that_make_addresses_say_what_these_cost(order: str) -> None:
    evidence = evidence_of(order=order, **({"stride": 128} if order == "strided" else {}))
    assert evidence.address_ns is not None
    assert 0 < evidence.address_ns < 1000
    assert evidence_of().address_ns is None


@pytest.mark.parametrize("operation", ["memset", "memcpy"])
def test_the_c_library_s_functions_are_named_and_verified(operation: str) -> None:
    evidence = evidence_of(operation=operation)
    assert evidence.library
    assert evidence.isa is None
    assert evidence.verified
    assert evidence.verified.startswith("1048576 bytes written")


def test_a_short_repetition_has_two_rows_at_least() -> None:
    (repetition,) = repetitions_of(repetition_once(small_plan(1), 1e-6))
    assert len(repetition.series[0].starts) >= 2


def test_a_living_engine_repetitions_again_with_the_same_or_fresh_pages() -> None:
    plan = small_plan(2, operation="write")
    with living_engine() as engine:
        engine.plan(plan.measurements[:1])
        repetitions = repetitions_of(engine.repetition("m0", 0.05))
        engine.plan(plan.measurements[1:])
        repetitions += repetitions_of(engine.repetition("m1", 0.05))
        repetitions += repetitions_of(engine.repetition("m0", 0.05))
        repetitions += repetitions_of(engine.repetition("m0", 0.05, fresh=True))
    assert [(v.id, v.fresh) for v in repetitions] == [
        ("m0", True), ("m1", True), ("m0", False), ("m0", True)
    ]  # fmt: skip
    assert all(repetition.evidence.verified for repetition in repetitions)


@pytest.mark.parametrize(
    "line",
    [
        "", "{", "7", "[]", "{}", '{"repetition": "m0"}',
        '{"repetition": "m0", "seconds": -1, "fresh": false}',
        '{"repetition": "other", "seconds": 1, "fresh": false}',
        '{"repetition": "m0", "seconds": 1, "fresh": false, "surprise": 1}',
        '{"plan": {"version": 1, "measurements": []}}',
    ],
)  # fmt: skip
def test_a_line_that_is_no_order_is_refused_in_one_line(line: str) -> None:
    plan = '{"plan":' + small_plan().model_dump_json() + "}"
    answer = subprocess.run(
        [find_engine(), "repetitions"],
        input=f"{plan}\n{line}\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert answer.returncode == 2, answer.stdout
    assert len(answer.stderr.splitlines()) == 1


def test_an_id_that_is_known_already_is_refused() -> None:
    plan = '{"plan":' + small_plan().model_dump_json() + "}\n"
    answer = subprocess.run(
        [find_engine(), "repetitions"], input=plan * 2, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2
    assert "m0" in answer.stderr


def test_what_cannot_be_had_is_skipped_with_a_reason() -> None:
    plan = small_plan(1, isa="sve" if os.uname().machine == "x86_64" else "avx512")
    (event,) = [e for e in raw_events(plan) if e["event"] == "skipped"]
    assert event["reason"]
    assert event["cause"] == "isa"


def test_capabilities_keep_the_models() -> None:
    found = capabilities()
    assert {"bandwidth", "latency"} <= {c.name for c in found.capabilities}
    assert all(c.reason for c in found.capabilities if not c.available)


def test_the_topology_is_hwloc_s_xml() -> None:
    assert "<topology" in topology_xml()


def test_check_says_why_in_one_line() -> None:
    assert check(small_plan()) is None
    valid = small_plan().model_dump_json()
    answer = subprocess.run(
        [find_engine(), "check"],
        input=valid.replace('"read"', '"reed"'),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert "reed" in line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_engine_with_finished_interrupted(number: int) -> None:
    process = subprocess.Popen(
        [find_engine(), "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(small_plan(1, seconds=60).model_dump_json())
    process.stdin.close()
    lines = iter(process.stdout.readline, "")
    while EventAdapter.validate_json(next(lines)).event != "progress":
        pass
    process.send_signal(number)
    events = [EventAdapter.validate_json(line) for line in lines]
    assert process.wait(timeout=PATIENCE_S) == 130
    assert [e.interrupted for e in events if isinstance(e, Repetition)] in ([], [True])
    assert events[-1] == Finished(interrupted=True)


def test_a_killed_engine_costs_one_repetition() -> None:
    seen: list[str] = []
    for event in repetition_once(small_plan(3), 1.0):
        if isinstance(event, Started) and event.id == "m1":
            (engine,) = engines()
            os.kill(engine, signal.SIGKILL)
        if isinstance(event, Failed):
            assert event.cause is Cause.CRASH
        if isinstance(event, Repetition | Failed):
            seen.append(f"{event.id} {event.event}")
    assert seen == ["m0 repetition", "m1 failed", "m2 repetition"]


_ORPHAN_MAKER = """
import os, sys
from tierscope.engine.repetitions import LivingEngine
from tierscope.kinds.bandwidth.spec import LIBRARY, Operation
from tierscope.kinds.plan import Plan
engine = LivingEngine()
engine.plan(Plan.model_validate_json(sys.argv[1]).measurements)
events = engine.repetition("m0", 60)
next(events)
print(open(f"/proc/self/task/{os.getpid()}/children").read().split()[0], flush=True)
os.kill(os.getpid(), 9)
"""


def test_an_engine_whose_parent_died_ends() -> None:
    plan = small_plan(1, seconds=60).model_dump_json()
    answer = subprocess.run(
        [sys.executable, "-c", _ORPHAN_MAKER, plan], capture_output=True, text=True, check=False
    )
    engine = int(answer.stdout)
    wait_until(lambda: not _is_alive(engine), "the engine ends")


def _is_alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_engine_alone_takes_a_plan_as_a_file(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(small_plan().model_dump_json())
    checked = subprocess.run([find_engine(), "check", str(plan)], capture_output=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
    ran = subprocess.run([find_engine(), "run", str(plan)], capture_output=True, check=True)
    events = [EventAdapter.validate_json(line) for line in ran.stdout.splitlines()]
    assert isinstance(events[0], Started)
    assert any(isinstance(event, Repetition) for event in events)
    assert events[-1] == Finished(interrupted=False)


@pytest.mark.parametrize(
    ("name", "said"), [("missing.json", "cannot be read: No such file"), ("", "is a directory")]
)
def test_a_plan_that_cannot_be_read_is_named(tmp_path: Path, name: str, said: str) -> None:
    path = tmp_path / name
    ran = subprocess.run([find_engine(), "run", str(path)], capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"tierscope-engine: invalid input: {path}: {said}")
    assert len(ran.stderr.splitlines()) == 1


def test_the_engine_explains_itself() -> None:
    shown = subprocess.run([find_engine(), "--help"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("usage: tierscope-engine run [PLAN]")
    assert max(map(len, shown.stdout.splitlines())) <= 100
    version = subprocess.run([find_engine(), "--version"], capture_output=True, text=True)
    assert version.stdout == f"tierscope-engine {capabilities().engine}\n"
