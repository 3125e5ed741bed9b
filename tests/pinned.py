"""Results for fixed inputs, kept in a file beside the test that makes them."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

Cases = Mapping[str, Callable[[], Any]]


def plain(value: Any) -> Any:
    """As JSON has it, with nine digits of each number."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json"))
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


def _same(found: Any, pinned: Any) -> bool:
    if isinstance(pinned, float) and isinstance(found, (int, float)):
        return bool(found == pytest.approx(pinned, rel=1e-7, abs=1e-12))
    return bool(found == pinned)


def _differing(found: Any, pinned: Any, at: str = "") -> Iterator[str]:
    """Where two differ."""
    if isinstance(pinned, (dict, list)) and type(found) is type(pinned):
        items = list(pinned.items() if isinstance(pinned, dict) else enumerate(pinned))
        if len(found) != len(pinned) or (isinstance(found, dict) and found.keys() != pinned.keys()):
            yield f"{at}: {len(found)} items, pinned {len(pinned)}"
            return
        for key, value in items:
            yield from _differing(found[key], value, f"{at}/{key}")
    elif not _same(found, pinned):
        yield f"{at}: {found}, pinned {pinned}"


def _written(name: str, make: Callable[[], Any]) -> str:
    """A case as JSON, an item a line."""
    found = plain(make())
    if isinstance(found, dict):
        first, last = "{}"
        lines = [f"{json.dumps(key)}: {json.dumps(one)}" for key, one in found.items()]
    else:
        first, last = "[]"
        lines = [json.dumps(one) for one in found]
    inside = ",\n  ".join(lines)
    return f"{json.dumps(name)}: {first}\n  {inside}\n{last}"


def write(path: Path, cases: Cases) -> None:
    """Keep what all cases give now."""
    whole = ",\n".join(_written(name, make) for name, make in cases.items())
    path.write_text(f"{{\n{whole}\n}}\n")


def changes(path: Path, cases: Cases, name: str) -> list[str]:
    """Return where a case gives something else than is kept, the first ten places."""
    pinned = json.loads(path.read_text())[name]
    found = json.loads(json.dumps(plain(cases[name]())))
    return [one for one, _ in zip(_differing(found, pinned), range(10), strict=False)]
