"""The engine whose GPUs are the fake ones of its own tests, for tests of commands."""

import os
from pathlib import Path

import pytest

from tierscope.engine.process import capabilities

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "build/engine/fake-gpu-engine"


def require_fake_gpus() -> None:
    """Where the engine was built with its GPU part, so was the one whose GPUs are fake."""
    gpu = next(one for one in capabilities().capabilities if one.name == "gpu")
    if "TIERSCOPE_CUDA=0" in gpu.reason:
        pytest.skip(f"{ENGINE.name} takes CUDA's headers, and {gpu.reason}")
    assert ENGINE.is_file(), f"{ENGINE} is missing; make test builds it"


def environment_of(folder: Path) -> dict[str, str]:
    """The environment of a command that shall find the fake GPUs; its data goes to ``folder``."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "tests/gpu/fake_gpus"),
        "TIERSCOPE_ENGINE": str(ENGINE),
        "XDG_DATA_HOME": str(folder),
    }
