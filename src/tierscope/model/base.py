"""What every model here has in common."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A value that refuses unknown keys, conversions, NaN and, once made, changes."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )
