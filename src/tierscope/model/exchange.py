"""What engines that make one measurement together tell each other in the middle of a visit."""

from typing import Any, Literal

from tierscope.model.base import Model
from tierscope.model.spec import Id


class Exchange(Model):
    """Of a measurement that several engines make: what one tells all of them, and waits for."""

    event: Literal["exchange"] = "exchange"
    id: Id
    said: dict[str, Any]
