"""Validators of the protocol's JSON Schemas, made once: that takes longer than to validate."""

from functools import cache

import jsonschema

from tierscope.kinds.schema import schemas


@cache
def schema(name: str) -> jsonschema.Draft202012Validator:
    """The validator of ``plan``, ``event`` or ``capabilities``."""
    found = schemas()[f"{name}.schema.json"]
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)
