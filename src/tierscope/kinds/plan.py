"""The plan: what ``tierscope-engine`` reads, an ordered list of measurement specs.

Everything is decided before it goes to the engine: CPUs are numbers, placements are nodes, sizes
are bytes. The engine adds nothing but what only it can know (the instruction set that ``auto``
picks, for one, which it reports as evidence).
"""

from typing import Annotated, Any, Final, Union

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationInfo,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from tierscope.kinds.registry import KINDS
from tierscope.model.base import Model
from tierscope.model.rules import Distinct
from tierscope.model.spec import MeasurementSpec

PLAN_VERSION: Final = 2

Spec = MeasurementSpec
"""A spec of any kind, for annotations."""


class OfAnyKind:
    """Has a field checked by the spec that its ``kind`` names; only that one is imported."""

    @staticmethod
    def __get_pydantic_core_schema__(_source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(_checked)

    @staticmethod
    def __get_pydantic_json_schema__(
        _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        union: Any = Union[tuple(kind.spec for kind in KINDS.values())]  # noqa: UP007 - made here
        return handler(TypeAdapter(Annotated[union, Field(discriminator="kind")]).core_schema)


def _checked(value: Any, info: ValidationInfo) -> MeasurementSpec:
    if isinstance(value, MeasurementSpec):
        return value
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind is None:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": "'kind'"})
    if not isinstance(kind, str) or kind not in KINDS:
        expected = ", ".join(f"'{name}'" for name in KINDS)
        context = {"discriminator": "'kind'", "tag": str(kind), "expected_tags": expected}
        raise PydanticKnownError("union_tag_invalid", context)
    found: MeasurementSpec = KINDS[kind].spec.model_validate(value, context=info.context)
    return found


class Plan(Model):
    """The plan that the engine reads on stdin."""

    version: Annotated[int, Field(ge=PLAN_VERSION, le=PLAN_VERSION)]
    """Never assumed; a number and not a Literal, which would take ``true`` for 1."""
    measurements: Annotated[
        list[Annotated[MeasurementSpec, OfAnyKind]],
        Field(min_length=1, max_length=100_000),
        Distinct("id"),
    ]
