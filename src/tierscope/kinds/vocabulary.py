"""The words of all kinds: what golden values may say, from the specs themselves."""

from typing import Any, Literal, get_args, get_origin

from tierscope.analysis.expect import Vocabulary
from tierscope.kinds.recorded import fields_of, properties_of
from tierscope.kinds.registry import KINDS


def vocabulary() -> Vocabulary:
    """Return the words of all kinds; imports every kind's spec."""
    operations: dict[str, None] = {}
    properties: dict[str, type] = {}
    for kind in KINDS.values():
        operations |= dict.fromkeys(_choices(fields_of(kind.spec).get("operation")))
        properties |= properties_of(kind.spec)
    return Vocabulary(tuple(KINDS), tuple(operations), properties)


def _choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of a Literal; none of anything else."""
    return get_args(annotation) if get_origin(annotation) is Literal else ()
