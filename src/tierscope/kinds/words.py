"""The words of all kinds: what golden values may say, from the specs themselves."""

from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel

from tierscope.analysis.rules import Vocabulary
from tierscope.kinds.registry import KINDS

if TYPE_CHECKING:
    from tierscope.model.spec import MeasurementSpec

_TYPES = (bool, int, float, str)


def vocabulary() -> Vocabulary:
    """Return the words of all kinds; imports every kind's spec."""
    kinds: dict[str, str] = {}
    operations: dict[str, None] = {}
    properties: dict[str, type] = {}
    for kind in KINDS.values():
        names = (kind.name, kind.command, *kind.aliases)
        kinds |= {name: kind.name for name in names if name and " " not in name}
        operations |= dict.fromkeys(_choices(_fields(kind.spec).get("operation")))
        properties |= properties_of(kind.spec)
    return Vocabulary(kinds, tuple(operations), properties)


def properties_of(spec: "type[MeasurementSpec]") -> dict[str, type]:
    """Return what run files record of a kind's measurements, with the type of the values."""
    fields = {name: _type_of(annotation) for name, annotation in _fields(spec).items()}
    return fields | spec.extra_properties


def _fields(spec: "type[MeasurementSpec]") -> dict[str, Any]:
    pattern = spec.model_fields["pattern"].annotation
    if isinstance(pattern, type) and issubclass(pattern, BaseModel):
        return {name: field.annotation for name, field in pattern.model_fields.items()}
    return {}


def _choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of a Literal; none of anything else."""
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _type_of(annotation: Any) -> type:
    """Return the plain type of a field's values: of ``int | None`` int, of a Literal str."""
    if annotation in _TYPES:
        return annotation  # type: ignore[no-any-return]
    found = [entry for part in get_args(annotation) for entry in (part, *get_args(part))]
    return next((entry for entry in found if entry in _TYPES), str)
