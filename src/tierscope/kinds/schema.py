"""Write the JSON Schemas and the engine's tables: ``python -m tierscope.kinds.schema``."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tierscope import model
from tierscope.kinds.plan import Plan
from tierscope.kinds.registry import KINDS
from tierscope.kinds.tables import constants, tables
from tierscope.model.capability import Capabilities
from tierscope.model.event import EventAdapter

DIRECTORY = Path(model.__file__).parent / "schema"
ENGINE_DIRECTORY = Path(model.__file__).parents[3] / "engine/protocol"
"""In a clone."""


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each thing of the protocol, by file name."""
    adapters: dict[str, TypeAdapter[Any]] = {
        "plan": TypeAdapter(Plan),
        "event": EventAdapter,
        "capabilities": TypeAdapter(Capabilities),
    }
    found = {f"{name}.schema.json": adapter.json_schema() for name, adapter in adapters.items()}
    _add_own_keys(found["event.schema.json"]["$defs"])
    return found


def _add_own_keys(definitions: dict[str, Any]) -> None:
    """Add the keys of evidence that only one kind has."""
    evidence = definitions["Evidence"]
    for kind in KINDS.values():
        own = kind.spec.own_evidence.model_json_schema()
        definitions |= own.get("$defs", {})
        evidence["properties"] |= own.get("properties", {})
    evidence["additionalProperties"] = False


def sources() -> dict[str, str]:
    """Sources of the tables that the engine's parser enforces, by file name."""
    return {"tables.cpp": tables(), "constants.h": constants()}


def main() -> None:
    """Write every schema to its file in the package, and the tables to theirs."""
    DIRECTORY.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (DIRECTORY / name).write_text(json.dumps(schema, indent=2) + "\n")
    for name, source in sources().items():
        file = ENGINE_DIRECTORY / name
        if file.read_text() != source:  # Else all that includes it would be compiled again.
            file.write_text(source)


if __name__ == "__main__":
    main()
