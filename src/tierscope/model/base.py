"""The base of all models."""

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticKnownError

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""A number of things or bytes, or the number that the kernel gives a thing."""
Amount = Annotated[float, Field(ge=0, le=1e30)]
"""A rate, time or share that was observed; its bound is above any, so that ratios are finite."""
RECORDED: Final = "recorded"
"""Context of a validation that reads what was recorded, perhaps by a later tierscope: keys and
words that this one does not know are kept, and written where the model is written again."""


def is_recorded(info: ValidationInfo) -> bool:
    """Return whether a validation reads what was recorded."""
    return bool(info.context == RECORDED)


def _unknown(value: Any, info: ValidationInfo) -> Any:
    if not is_recorded(info):
        raise PydanticKnownError("extra_forbidden")
    return value


class Model(BaseModel):
    """A value that refuses conversions, NaN and, once made, changes; unknown keys, too, unless it
    is read from a record."""

    model_config = ConfigDict(
        extra="allow", strict=True, frozen=True, allow_inf_nan=False, defer_build=True,
        json_schema_extra={"additionalProperties": False},
    )  # fmt: skip
    __pydantic_extra__: dict[str, Annotated[Any, BeforeValidator(_unknown)]]


T = TypeVar("T")


def _known_or_recorded(
    value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> Any:
    try:
        return handler(value)
    except ValidationError:
        if isinstance(value, str) and is_recorded(info):
            return value
        raise


def _as_it_is(value: Any) -> Any:
    return value


if TYPE_CHECKING:
    Word: TypeAlias = T | str
else:
    Word = Annotated[T, WrapValidator(_known_or_recorded), PlainSerializer(_as_it_is)]
"""A word of a fixed set, to which later versions may add: in what was recorded it may be any
text, so that the type checker refuses what a reader does with known words only."""


class TextEnum(str, Enum):
    """A word of a fixed set; str() and formatting give the word itself."""

    __str__ = str.__str__
