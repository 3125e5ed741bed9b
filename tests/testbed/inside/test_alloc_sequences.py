"""Random sequences of the allocator's calls on nodes that differ; where blocks lie is read back."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.testbed

PROGRAM = Path(__file__).parents[3] / "build/engine/alloc-sequences"


def test_sequences_agree_with_the_model() -> None:
    done = subprocess.run([PROGRAM, "--count", "25"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
