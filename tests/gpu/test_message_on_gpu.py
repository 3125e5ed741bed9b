"""Messages between two MPI ranks in memory of one GPU: `make test-gpu`.

It takes an MPI that sends from there, as Open MPI built --with-cuda. Nothing here asserts how long
anything takes.
"""

from typing import Any

import pytest
from over_ranks import json_over_ranks, skip_without_launcher

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    skip_without_launcher()
    what = ("--operation", "latency,bandwidth,both-ways", "--size", "8,64k,1m")
    options = ("--memory", "gpu:0", "--pairs", "0-1", *what, "--budget", "100ms")
    results: list[dict[str, Any]] = json_over_ranks("message", *options)["results"]
    reasons = {one["reason"] for one in results if one["status"] == "skipped"}
    if any("does not send from GPUs' memory" in reason for reason in reasons):
        pytest.skip("; ".join(reasons))
    return results


def test_messages_in_gpu_memory_arrive_whole(found: list[dict[str, Any]]) -> None:
    assert len(found) == 9
    for one in found:
        assert one["status"] == "measured", one
        assert one["pattern"]["memory"] == "gpu:0"
        assert "byte by byte" in one["evidence"]["verified"]
