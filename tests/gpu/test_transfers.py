"""Copies are named by where bytes come from and go to, in plain values that runs are joined by."""

from typing import Any

import pytest

from tierscope.model.gpu import (
    GpuPlace,
    HostPlace,
    MemoryPlace,
    Transfer,
    endpoint_of,
    endpoints,
    issuer_and_memory,
    properties,
)
from tierscope.model.spec import NodeShare, Placement

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


def test_a_transfer_is_issued_by_a_gpu_and_reaches_memory() -> None:
    assert issuer_and_memory(TO_GPU) == ("gpu:0", "node:0")
    assert issuer_and_memory(TO_HOST) == ("gpu:0", "node:0")
    assert issuer_and_memory(transfer(GPU1, GPU0, 0)) == ("gpu:0", "gpu:1")
