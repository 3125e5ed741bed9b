"""These tests run inside the machine two-socket-cxl; anywhere else they fail and say so."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from nvdimm import make_device, make_file_system


@pytest.fixture(autouse=True, scope="session")
def _inside() -> None:
    if "tierscope.emulated=1" not in Path("/proc/cmdline").read_text().split():
        pytest.fail("runs inside the testbed only: make test-testbed", pytrace=False)


@pytest.fixture
def devdax() -> Iterator[str]:
    """The NVDIMM as a DAX device; afterwards it holds an empty file system again."""
    yield make_device()
    make_file_system()


@pytest.fixture
def nothing_is_killed() -> Iterator[None]:
    """The kernel kills no program for want of memory during the test."""
    before = _killed()
    yield
    assert _killed() == before


def _killed() -> int:
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
