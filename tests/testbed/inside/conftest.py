"""These tests run inside the machine two-socket-cxl; anywhere else they fail and say so."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _inside() -> None:
    if "tierscope.emulated=1" not in Path("/proc/cmdline").read_text().split():
        pytest.fail("runs inside the testbed only: make test-testbed", pytrace=False)
