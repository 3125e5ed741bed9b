"""Files that drop-ins find, without looking at any."""

from types import ModuleType

import pytest

from tierscope.model.storage import PathFacts

DIRECTORY, DEVICE, OTHER = -1, -2, -3
"""In place of a file's size."""
DEVICE_BYTES = 64 << 20
_KINDS = {DIRECTORY: "directory", DEVICE: "block", OTHER: "other"}
_BYTES = {DIRECTORY: 0, DEVICE: DEVICE_BYTES, OTHER: 0}


def fake_paths(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> dict[str, int]:
    """Let ``path_facts`` of a module find what the returned sizes have by path."""
    sizes: dict[str, int] = {}

    def facts(path: str) -> PathFacts:
        size = sizes.get(path)
        return PathFacts.model_validate(
            {
                "path": path,
                "kind": "missing" if size is None else _KINDS.get(size, "file"),
                "real": path,
                "device": "8:0",
                "size": None if size is None else _BYTES.get(size, size),
                "page_bytes": 4096,
            }
        )

    monkeypatch.setattr(module, "path_facts", facts)
    return sizes
