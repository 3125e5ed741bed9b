"""Copies are named by where bytes come from and go to, in plain values that runs are joined by."""

from typing import Any

import pytest
from tests import synthetic

from tierscope.model.gpu import GpuPlace, HostPlace, MemoryPlace, Transfer
from tierscope.model.spec import NodeShare, Placement
from tierscope.model.transfers import endpoint_of, endpoints, issuer_and_memory, properties
from tierscope.runs.version1_copies import flat

HOST = HostPlace(placement=Placement(policy="bind", nodes=[NodeShare(node=0)]))
GPU0, GPU1 = GpuPlace(gpu=0), GpuPlace(gpu=1)


def transfer(source: MemoryPlace, destination: MemoryPlace, gpu: int, **more: Any) -> Transfer:
    fields = {"name": f"{endpoint_of(source)} -> {endpoint_of(destination)}", "engine": "ce"}
    return Transfer.model_validate(
        {**fields, "source": source, "destination": destination, "gpu": gpu, **more}
    )


TO_GPU, TO_HOST = transfer(HOST, GPU0, 0), transfer(GPU0, HOST, 0)
UNCOUNTED = transfer(GPU0, HOST, 0, reported=False)
CASES = [
    ([TO_GPU], ("node:0", "gpu:0"), {"engine": "ce", "memory": "pinned", "streams": 1}),
    ([TO_HOST], ("gpu:0", "node:0"), {}),
    ([transfer(GPU1, GPU0, 0)], ("gpu:1", "gpu:0"), {"issued": "by a read", "memory": ""}),
    (
        [transfer(GPU0, GPU1, 0, engine="sm")],
        ("gpu:0", "gpu:1"),
        {"issued": "by a write", "engine": "sm"},
    ),
    ([transfer(GPU0, GPU0, 0)], ("gpu:0", "gpu:0"), {}),
    ([TO_GPU, TO_HOST], ("node:0", "gpu:0"), {"way": "both ways summed"}),
    (
        [TO_GPU, transfer(HOST, GPU1, 1)],
        ("node:0", "gpu:0-1"),
        {"transfers": "sum of node:0 → gpu:0, node:0 → gpu:1"},
    ),
    ([transfer(GPU0, GPU1, 0), TO_HOST], ("gpu:0", "node:0 gpu:1"), {"memory": "pinned"}),
    ([TO_GPU, UNCOUNTED], ("node:0", "gpu:0"), {"way": "beside the way back"}),
    (
        [transfer(GPU1, HOST, 1), UNCOUNTED],
        ("gpu:1", "node:0"),
        {"transfers": "beside gpu:0 → node:0"},
    ),
]
UNSAID = {"way", "transfers", "issued"}


@pytest.mark.parametrize(("transfers", "ends", "said"), CASES)
def test_a_copy_is_named_by_where_its_counted_bytes_come_from_and_go_to(
    transfers: list[Transfer], ends: tuple[str, str], said: dict[str, Any]
) -> None:
    assert endpoints(transfers) == ends
    found = properties(transfers)
    assert said.items() <= found.items()
    if not UNSAID & set(said) and len(transfers) == 1:
        assert not UNSAID & set(found)


@pytest.mark.parametrize(("transfers", "ends", "said"), CASES)
def test_a_version_1_pattern_becomes_the_same(
    transfers: list[Transfer], ends: tuple[str, str], said: dict[str, Any]
) -> None:
    pattern = {"size": 1 << 20, "transfers": [one.model_dump(mode="json") for one in transfers]}
    found = flat(synthetic.Maker().make("gpu-copy", "gpu:0", "node:0", pattern, 2e10))
    assert (found.initiator, found.target) == ends
    assert found.pattern == {"size": 1 << 20, **properties(transfers)}
    assert said.items() <= found.pattern.items()


def test_a_version_1_chase_says_what_kind_of_host_memory_it_went_through() -> None:
    pattern = {"size": 1 << 20, "memory": HOST.model_dump(mode="json")}
    made = synthetic.Maker().make("gpu-latency", "gpu:0", "node:0", pattern, 900.0, "ns")
    assert flat(made).pattern == {"size": 1 << 20, "memory": "pinned"}


def test_what_does_not_read_as_transfers_leaves_the_rest_as_it_is() -> None:
    pattern = {"size": 1 << 20, "transfers": [{"name": "of a newer version"}]}
    found = flat(synthetic.Maker().make("gpu-copy", "gpu:0", "node:0", pattern, 2e10))
    assert (found.initiator, found.target) == ("gpu:0", "node:0")
    assert found.pattern == {"size": 1 << 20}


def test_a_transfer_is_issued_by_a_gpu_and_reaches_memory() -> None:
    assert issuer_and_memory(TO_GPU) == ("gpu:0", "node:0")
    assert issuer_and_memory(TO_HOST) == ("gpu:0", "node:0")
    assert issuer_and_memory(transfer(GPU1, GPU0, 0)) == ("gpu:0", "gpu:1")
