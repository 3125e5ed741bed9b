"""Persistent memory of the testbed: its NVDIMM as fsdax and devdax, tmpfs with a policy, nodes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nvdimm import namespace, shell

from forked import tierscope

pytestmark = pytest.mark.testbed


def measured(tmp_path: Path, *options: str) -> list[dict[str, Any]]:
    answer = tierscope(*options, "--size", "1m", "--budget", "100ms", "--json", "--out", tmp_path)
    assert answer.stdout, answer.stderr
    found: list[dict[str, Any]] = json.loads(answer.stdout)["results"]
    return found


def test_fsdax_is_mapped_synchronously(tmp_path: Path) -> None:
    before = sorted(Path("/mnt/pmem").rglob("*"))
    found = measured(
        tmp_path, "bandwidth", "--to", "pmem:/mnt/pmem", "--op", "copy", "--threads", "1",
        "--backing", "file,pool,pool-objects",
    )  # fmt: skip
    assert [one["status"] for one in found] == ["measured"] * 3, found
    for one in found:
        evidence = one["evidence"]["persistent"]
        assert evidence["mapping"] == "MAP_SYNC"
        assert evidence["file_system"] == "ext4"
        assert evidence["namespace_mode"] == "fsdax"
        assert evidence["device"] == namespace().device
        assert evidence["durable_by"] == "flush"
        assert evidence["is_pmem"] if "is_pmem" in evidence else one["pattern"]["backing"] == "file"
    assert sorted(Path("/mnt/pmem").rglob("*")) == before


@pytest.mark.parametrize("stores", ["--direct=0 --sync=0", "--direct=1 --sync=1"])
def test_fios_libpmem_maps_it_synchronously(stores: str) -> None:
    job = "--name=a --directory=/mnt/pmem --ioengine=libpmem --rw=randrw --size=8m --verify=crc32c"
    answer = tierscope("fio", *job.split(), *stores.split(), "--output-format=json")
    assert answer.returncode == 0, answer.stderr
    (found,) = json.loads(answer.stdout)["jobs"]
    assert found["mapping"] == "DAX (MAP_SYNC)"
    assert found["read"]["total_ios"] + found["write"]["total_ios"] >= 2048
    assert "blocks written were read back" in answer.stderr


def test_the_topology_has_the_namespace() -> None:
    found = namespace()
    assert found.device.startswith("pmem")
    assert found.region.startswith("region")
    assert found.size_bytes > 0


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_pool_is_on_the_node_that_stands_in(tmp_path: Path, number: int) -> None:
    found = measured(
        tmp_path, "bandwidth", "--from", "node:0", "--to", f"pmem:node:{number}", "--op", "copy",
        "--threads", "1", "--backing", "file,pool",
    )  # fmt: skip
    assert [one["status"] for one in found] == ["measured"] * 2, found
    for one in found:
        assert list(one["evidence"]["pages"]) == [str(number)]
        assert one["evidence"]["persistent"]["emulated"]


@pytest.fixture
def bound_tmpfs(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "bound"
    directory.mkdir()
    shell("mount", "-t", "tmpfs", "-o", "size=64m,mpol=bind:1", "none", str(directory))
    yield directory
    shell("umount", str(directory))


def test_the_policy_of_a_mounted_tmpfs_is_read_and_proven(
    tmp_path: Path, bound_tmpfs: Path
) -> None:
    found = measured(
        tmp_path, "bandwidth", "--from", "node:0", "--to", f"pmem:{bound_tmpfs}", "--op", "copy",
        "--threads", "1", "--backing", "file,pool",
    )  # fmt: skip
    for one in found:
        assert one["status"] == "measured", one
        assert list(one["evidence"]["pages"]) == ["1"]
        assert one["evidence"]["persistent"]["mount_policy"] == "bind:1"


def test_devdax_is_overwritten_only_where_its_name_was_given(tmp_path: Path, devdax: str) -> None:
    name = devdax
    refused = measured(
        tmp_path,
        "bandwidth",
        "--to",
        f"dax:/dev/{name}",
        "--destroy-data",
        "dax9.9",
        "--op",
        "copy",
    )
    assert {(one["status"], one["cause"]) for one in refused} == {("skipped", "ownership")}
    found = measured(
        tmp_path, "bandwidth", "--to", f"dax:/dev/{name}", "--destroy-data", name, "--threads",
        "1", "--op", "copy,triad", "--dax-offset", "4m",
    )  # fmt: skip
    for one in found:
        assert one["status"] == "measured", one
        evidence = one["evidence"]["persistent"]
        assert evidence["mapping"] == "device"
        assert evidence["device"] == name
        assert evidence["offset"] >= 4 << 20
        assert one["evidence"]["verified"]


def test_two_processes_hand_blocks_over_on_devdax(tmp_path: Path, devdax: str) -> None:
    done = tierscope(
        "handover", "--to", f"dax:/dev/{devdax}", "--destroy-data", devdax, "--block-size",
        "64,64k", "--from", "node:0", "--responder", "node:1", "--json", "--out", tmp_path,
    )  # fmt: skip
    found = json.loads(done.stdout)["results"]
    assert len(found) == 4
    for one in found:
        assert one["status"] == "measured", one
        assert one["evidence"]["persistent"]["mapping"] == "device"
        assert one["evidence"]["handover"]["rounds"] > 0
