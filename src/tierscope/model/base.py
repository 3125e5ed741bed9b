"""The base of all models."""

from enum import Enum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""A number of things or bytes, or the number that the kernel gives a thing."""
Amount = Annotated[float, Field(ge=0, le=1e30)]
"""A rate, time or share that was observed; its bound is above any, so that ratios are finite."""


class Model(BaseModel):
    """A value that refuses unknown keys, conversions, NaN and, once made, changes."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )


class TextEnum(str, Enum):
    """A word of a fixed set; str() and formatting give the word itself."""

    __str__ = str.__str__
