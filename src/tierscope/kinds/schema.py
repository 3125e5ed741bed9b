"""Write the door's JSON Schemas: ``python -m tierscope.kinds.schema``."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tierscope import model
from tierscope.kinds.plan import Plan
from tierscope.model.capability import Capabilities
from tierscope.model.event import EventAdapter

DIRECTORY = Path(model.__file__).parent / "schema"


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each thing that crosses the door, by file name."""
    adapters: dict[str, TypeAdapter[Any]] = {
        "plan": TypeAdapter(Plan),
        "event": EventAdapter,
        "capabilities": TypeAdapter(Capabilities),
    }
    return {f"{name}.schema.json": adapter.json_schema() for name, adapter in adapters.items()}


def main() -> None:
    """Write every schema to its file in the package."""
    DIRECTORY.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (DIRECTORY / name).write_text(json.dumps(schema, indent=2) + "\n")


if __name__ == "__main__":
    main()
