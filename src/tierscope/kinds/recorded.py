"""Patterns and evidence of measurements in run files, checked where they are read."""

from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from tierscope.kinds.registry import KINDS
from tierscope.model.run import Measurement

if TYPE_CHECKING:
    from tierscope.model.spec import MeasurementSpec

_MAX = 1 << 63
_CALLED = {
    int: "a number from 0 on",
    float: "a number from 0 on",
    bool: "true or false",
    str: "text",
}


def check_recorded(measurement: Measurement) -> None:
    """Raise ValueError, with the key, for a pattern that tables and pictures could not show, and
    for evidence that the kind does not have.

    Properties and kinds of later versions are let through, whatever their values are.
    """
    types = _properties(measurement.kind)
    for key, value in measurement.pattern.items():
        expected = types.get(key)
        if value is not None and expected and not _is(value, expected):
            raise ValueError(f"pattern.{key} is not {_CALLED[expected]}")
    kind = KINDS.get(measurement.kind)
    if kind is None:
        return
    if measurement.evidence is not None and measurement.evidence.model_extra:
        measurement.evidence.own(kind.spec.own_evidence)
    if measurement.status != "measured":
        return
    for key in kind.spec.recorded:
        if measurement.pattern.get(key) is None:
            raise ValueError(f"pattern has no '{key}'")


@cache
def _properties(kind: str) -> dict[str, type]:
    return properties_of(KINDS[kind].spec) if kind in KINDS else {}


def _is(value: Any, expected: type) -> bool:
    if expected in (int, float):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        whole = expected is float or isinstance(value, int)
        return number and whole and 0 <= value < _MAX  # neither infinite nor NaN
    return isinstance(value, expected)


def properties_of(spec: "type[MeasurementSpec]") -> dict[str, type]:
    """Return what run files record of a kind's measurements, with the type of the values."""
    fields = {name: _type_of(annotation) for name, annotation in fields_of(spec).items()}
    return fields | spec.extra_properties


def fields_of(spec: "type[MeasurementSpec]") -> dict[str, Any]:
    """Return the fields of a kind's pattern with their annotations."""
    pattern = spec.model_fields["pattern"].annotation
    if isinstance(pattern, type) and issubclass(pattern, BaseModel):
        return {name: field.annotation for name, field in pattern.model_fields.items()}
    return {}


def _type_of(annotation: Any) -> type:
    """Return the plain type of a field's values: of ``int | None`` int, of a Literal str."""
    if annotation in _CALLED:
        return annotation  # type: ignore[no-any-return]
    found = [entry for part in get_args(annotation) for entry in (part, *get_args(part))]
    return next((entry for entry in found if entry in _CALLED), str)
