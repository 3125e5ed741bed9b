"""The words of all kinds: what golden values may say, from the specs themselves."""

from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from tierscope.analysis.rules import Vocabulary
from tierscope.kinds.registry import KINDS

_TYPES = (bool, int, float, str)


def vocabulary() -> Vocabulary:
    """Return the words of all kinds; imports every kind's spec."""
    kinds: dict[str, str] = {}
    operations: dict[str, None] = {}
    properties: dict[str, type] = {}
    for kind in KINDS.values():
        names = (kind.name, kind.command, *kind.aliases)
        kinds |= {name: kind.name for name in names if name and " " not in name}
        pattern = kind.spec.model_fields["pattern"].annotation
        if isinstance(pattern, type) and issubclass(pattern, BaseModel):
            fields = {name: field.annotation for name, field in pattern.model_fields.items()}
            operations |= dict.fromkeys(_choices(fields.get("operation")))
            properties |= {name: _type_of(annotation) for name, annotation in fields.items()}
        properties |= kind.spec.extra_properties
    return Vocabulary(kinds, tuple(operations), properties)


def _choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of a Literal; none of anything else."""
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _type_of(annotation: Any) -> type:
    """Return the plain type of a field's values: of ``int | None`` int, of a Literal str."""
    if annotation in _TYPES:
        return annotation  # type: ignore[no-any-return]
    found = [entry for entry in get_args(annotation) if entry in _TYPES]
    return found[0] if found else str
