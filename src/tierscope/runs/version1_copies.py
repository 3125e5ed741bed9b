"""GPU measurements of version-1 files: their patterns held transfers and places in full."""

from typing import Any

from pydantic import ValidationError

from tierscope.model.gpu import Transfer
from tierscope.model.run import Measurement
from tierscope.model.transfers import endpoints, properties


def flat(measurement: Measurement) -> Measurement:
    """Return a measurement with source and destination as endpoints, and plain properties."""
    pattern: dict[str, Any] = dict(measurement.pattern)
    place = pattern.get("memory")
    if isinstance(place, dict):
        pattern["memory"] = place.get("memory", "")
    given = pattern.get("transfers")
    if not isinstance(given, list):
        return measurement.model_copy(update={"pattern": pattern})
    del pattern["transfers"]
    transfers = _transfers(given)
    if not transfers:
        return measurement.model_copy(update={"pattern": pattern})
    initiator, target = endpoints(transfers)
    pattern |= properties(transfers)
    return measurement.model_copy(
        update={"pattern": pattern, "initiator": initiator, "target": target}
    )


def _transfers(given: list[Any]) -> list[Transfer]:
    """Return the transfers; none where they are not of the form that version 1 had."""
    try:
        return [Transfer.model_validate(one) for one in given]
    except ValidationError:
        return []
