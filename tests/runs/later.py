"""Run files as later versions of tierscope may write them, made from real ones."""

import json
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from tests.seals import resealed

from tierscope.kinds.registry import KINDS
from tierscope.model.base import Model
from tierscope.model.event import Evidence
from tierscope.model.run import Footer, Header, Measurement, PlanRecord, RepetitionRecord
from tierscope.model.summary import MachineSummary, PlanSummary

CORPUS = Path(__file__).parent / "corpus"
"""A run file of each version, made by it; one is from before lines had checksums."""
RECORDS: dict[str, type[Model]] = {
    "header": Header, "plan": PlanRecord, "repetition": RepetitionRecord,
    "measurement": Measurement, "footer": Footer,
}  # fmt: skip
MARK = "of_a_later_version"
"""The name of unknown keys."""
UNKNOWN = {"why": "nobody knows", "list": [1, None, {"x": 0.5}]}
"""The value of unknown keys."""


def records_of(content: bytes) -> list[dict[str, Any]]:
    """Return a run file's records."""
    return [json.loads(line) for line in content.splitlines()]


def file_of(records: list[dict[str, Any]]) -> bytes:
    """Return a run file with checksums of records."""
    for record in records:
        record.pop("line", None)
        record.pop("crc32", None)
    lines = (json.dumps(record, separators=(",", ":"), ensure_ascii=False) for record in records)
    return resealed("\n".join(lines).encode())


def objects_in(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every object of a record whose keys have fixed meanings."""
    for one, _ in typed_objects(record, RECORDS[record["record"]], record.get("kind", "")):
        yield one


def fields_of(model: type[BaseModel], kind: str) -> dict[str, Any]:
    """Return the fields of a model with their annotations; of evidence those of the kind, too."""
    fields = {name: field.annotation for name, field in model.model_fields.items()}
    if model is Header:
        fields |= {"machine": MachineSummary, "plan": PlanSummary}
    if model is Evidence and kind in KINDS:
        own = KINDS[kind].spec.own_evidence
        fields |= {name: field.annotation for name, field in own.model_fields.items()}
    return fields


def words_in(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each word of a fixed set in a record, as its object and key."""
    kind = record.get("kind", "")
    for one, of in typed_objects(record, RECORDS[record["record"]], kind):
        for name, annotation in fields_of(of, kind).items():
            if isinstance(one.get(name), str) and is_word(annotation):
                yield one, name


def typed_objects(
    value: Any, annotation: Any, kind: str
) -> Iterator[tuple[dict[str, Any], type[BaseModel]]]:
    """Yield the objects of a value with their models."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if isinstance(value, dict):
            yield value, annotation
            for name, field in fields_of(annotation, kind).items():
                yield from typed_objects(value.get(name), field, kind)
        return
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        values: Any = value.values() if isinstance(value, dict) else ()
        arguments = arguments[1:]
    elif get_origin(annotation) is list:
        values = value if isinstance(value, list) else ()
    else:
        values = [] if get_origin(annotation) is Literal else [value]
    for one in values:
        for argument in arguments:
            yield from typed_objects(one, argument, kind)


def is_word(annotation: Any) -> bool:
    """Return whether a field has one of several words."""
    if get_origin(annotation) is Literal:
        return len(get_args(annotation)) > 1
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return True
    return get_origin(annotation) is not list and any(map(is_word, get_args(annotation)))


_DEEPEST = 6
"""Models inside models from which on only what is required is filled in."""


def filled(model: type[BaseModel], depth: int = 0) -> dict[str, Any]:
    """Return the JSON of a model with a value for each of its keys, the optional ones, too."""
    return {
        name: _value_of(field.annotation, depth)
        for name, field in model.model_fields.items()
        if depth < _DEEPEST or field.is_required()
    }


def _value_of(annotation: Any, depth: int) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return arguments[0]
    if origin is list:
        return [_value_of(arguments[0], depth)] * 2
    if origin is dict:
        return {"0": _value_of(arguments[1], depth)}  # of a node, mostly
    if arguments:  # of a union, or with constraints
        return _value_of(arguments[0], depth)
    if issubclass(annotation, BaseModel):
        return filled(annotation, depth + 1)
    if issubclass(annotation, Enum):
        return next(iter(annotation)).value
    return {str: "text", int: 3, float: 2.5, bool: True}[annotation]
