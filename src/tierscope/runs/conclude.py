"""Conclude measurements from the visits of a run file that was cut before it said so itself."""

from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from tierscope.kinds.plan import Spec
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement
from tierscope.runs.read import Contents
from tierscope.runs.record import measurement_of
from tierscope.topology.paths import MachinePaths

_SPEC: TypeAdapter[Spec] = TypeAdapter(Spec)


def concluded(contents: Contents) -> Iterator[Measurement]:
    """Yield the measurements of a file's visits that have none after them."""
    topology = contents.header.topology
    paths = MachinePaths(topology) if topology else None
    for planned in contents.planned:
        if planned.get("id") not in contents.open:
            continue
        spec = spec_of(planned, contents.path)
        visits = [record.visit for record in contents.visits_of(spec.id)]
        yield measurement_of(spec, visits, None, spec.limit(paths) if paths else None)


def spec_of(planned: object, path: str) -> Spec:
    """Return a spec of a run file's plan; raises UserError where this tierscope has none such."""
    try:
        return _SPEC.validate_python(planned, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: the plan holds no such measurement ({where}: {first['msg']})")
