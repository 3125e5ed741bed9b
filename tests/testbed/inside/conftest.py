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
