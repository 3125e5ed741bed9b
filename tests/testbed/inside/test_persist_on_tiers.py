"""What persistence costs on CXL memory, on fsdax, in a pool on it, and on a DAX device."""

import json
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

CXL = 4


def measured(tmp_path: Path, *options: str) -> dict[str, dict[str, Any]]:
    """The results, by method."""
    tiny = ("--size", "256k", "--block-size", "256", "--budget", "50ms", "--json")
    answer = tierscope("persist", *options, *tiny, "--out", tmp_path)
    assert answer.stdout, answer.stderr
    return {one["pattern"]["method"]: one for one in json.loads(answer.stdout)["results"]}


def test_on_the_cxl_node_flushes_cost_and_nothing_survives(tmp_path: Path) -> None:
    found = measured(tmp_path, "--to", f"node:{CXL}", "--method", "stores,clwb,clflush,nt-drain")
    assert len(found) == 4
    for method, one in found.items():
        assert one["status"] == "measured", one
        assert list(one["evidence"]["pages"]) == [str(CXL)]
        durable = "not-asked" if method == "stores" else "volatile-memory"
        assert one["evidence"]["persist"]["durable"] == durable


def test_on_fsdax_files_are_mapped_synchronously_and_pools_are_flushed(tmp_path: Path) -> None:
    before = sorted(Path("/mnt/pmem").rglob("*"))
    found = measured(
        tmp_path, "--to", "pmem:/mnt/pmem",
        "--method", "stores,clwb,msync,fdatasync,pool-persist,transaction,allocation",
    )  # fmt: skip
    assert len(found) == 7
    for method, one in found.items():
        assert one["status"] == "measured", one
        evidence = one["evidence"]["persistent"]
        assert (evidence["mapping"], evidence["durable_by"]) == ("MAP_SYNC", "flush")
        assert evidence["namespace_mode"] == "fsdax"
        if one["pattern"]["backing"] == "pool":
            assert evidence["is_pmem"]
        if method != "stores":
            # The testbed's region states no persistence domain.
            assert one["evidence"]["persist"]["durable"] == evidence["survives_power_loss"]
    assert sorted(Path("/mnt/pmem").rglob("*")) == before


def test_on_a_device_blocks_are_flushed_and_system_calls_are_skipped(
    tmp_path: Path, devdax: str
) -> None:
    found = measured(
        tmp_path, "--to", f"dax:/dev/{devdax}", "--destroy-data", devdax,
        "--method", "stores,clwb,nt-drain,msync,transaction",
    )  # fmt: skip
    for method in ("stores", "clwb", "nt-drain"):
        one = found[method]
        assert one["status"] == "measured", one
        assert one["evidence"]["persistent"]["mapping"] == "device"
        assert one["evidence"]["persistent"]["device"] == devdax
        assert "blocks that were written" in one["evidence"]["verified"]
    assert {found[method]["cause"] for method in ("msync", "transaction")} == {"storage"}
