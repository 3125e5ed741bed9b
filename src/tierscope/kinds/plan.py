"""The plan: what ``tierscope-engine`` reads, an ordered list of measurement specs.

Everything is decided before it crosses the door: CPUs are numbers, placements are nodes, sizes
are bytes. The engine adds nothing but what only it can know (the instruction set that ``auto``
picks, for one, which it reports as evidence).
"""

from typing import Annotated, Any, Final, Union

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema

from tierscope.kinds.registry import KINDS
from tierscope.model.base import Model
from tierscope.model.spec import MeasurementSpec

PLAN_VERSION: Final = 2

Spec = MeasurementSpec
"""A spec of any kind, for annotations."""


class _OfAnyKind:
    """Makes a field the union of all kinds' specs, once its model is used."""

    @staticmethod
    def __get_pydantic_core_schema__(_source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union: Any = Union[tuple(kind.spec for kind in KINDS.values())]  # noqa: UP007 - made here
        return handler.generate_schema(Annotated[union, Field(discriminator="kind")])


class Plan(Model):
    """What the engine reads on stdin."""

    # The specs of all kinds are imported and built when the first plan is made or read.
    model_config = ConfigDict(defer_build=True)

    version: Annotated[int, Field(ge=PLAN_VERSION, le=PLAN_VERSION)]
    """Never assumed; a number and not a Literal, which would take ``true`` for 1."""
    measurements: Annotated[
        list[Annotated[MeasurementSpec, _OfAnyKind]], Field(min_length=1, max_length=100_000)
    ]

    @model_validator(mode="after")
    def _check(self) -> "Plan":
        ids = [spec.id for spec in self.measurements]
        if len(set(ids)) != len(ids):
            raise ValueError("two measurements have the same id")
        return self
