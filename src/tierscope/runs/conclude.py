"""Conclude measurements from the visits of a run file that was cut before it said so itself."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement
from tierscope.runs.read import Contents
from tierscope.runs.record import Bounds, measurement_of
from tierscope.topology.paths import MachinePaths


def concluded(contents: Contents) -> Iterator[Measurement]:
    """Yield the measurements of a file's visits that have none after them."""
    topology = contents.header.topology
    paths = MachinePaths(topology) if topology else None
    planned = [one for one in contents.planned if one.get("id") in contents.open]
    for spec in specs_of(planned, contents.path):
        visits = [record.visit for record in contents.visits_of(spec.id)]
        bounds = Bounds.of(spec, paths) if paths else Bounds()
        yield measurement_of(spec, visits, None, bounds, cut=True)


def specs_of(planned: Sequence[dict[str, Any]], path: str) -> list[Spec]:
    """Return specs of a run file's plan; raises UserError where this tierscope has none such."""
    if not planned:
        return []
    try:
        content = json.dumps({"version": PLAN_VERSION, "measurements": planned})
        return Plan.model_validate_json(content).measurements
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(
            f"run '{path}' has a plan that this tierscope cannot read ({where}: {first['msg']})"
        ) from None
