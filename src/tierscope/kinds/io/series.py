"""Preconditioning and the write-saturation curve of a device, made of requests for them."""

from collections.abc import Sequence
from typing import Any

from tierscope.kinds.io.options import PRECONDITIONINGS
from tierscope.kinds.io.spec import IoJob, IoSpec
from tierscope.model.io import SYNCHRONOUS, DeviceFiles
from tierscope.plans import grammar
from tierscope.plans.axes import checked, choices, identity
from tierscope.plans.gpu import flag
from tierscope.plans.request import Request

_CURVE = {"op": "write", "order": "random", "block-size": "4k", "depth": "32", "budget": "24h"}
"""What a write-saturation curve is of, unless options say otherwise."""
_CURVE_PASSES = 1.0
"""An empty drive holds its rate until it has been written once: no steady state before that."""
_FILL_PASSES = 2.0
"""SNIA PTS: sequential writes of twice the capacity, in blocks of 128 KiB."""
_FILL_BLOCK, _FILL_DEPTH = 128 << 10, 32
_ROUND_S = 60.0
_MAX_ROUND_S = 3600.0
_ROWS = 6
"""Of a round."""
_MAX_SAMPLE_S = 60.0


def with_defaults(request: Request) -> Request:
    """Return the request with what a write-saturation curve is of."""
    if not flag(request, "write-saturation"):
        return request
    usual = dict(_CURVE)
    if request.options.get("backend") in SYNCHRONOUS:
        del usual["depth"]
    return request.model_copy(update={"options": usual | request.options})


def in_series(request: Request, specs: Sequence[IoSpec]) -> list[IoSpec]:
    """Return measurements with the preconditioning that goes before them; as curves if asked for.

    Raises UserError where they do not write to a device that may be destroyed.
    """
    before = choices(request, "precondition", PRECONDITIONINGS) or []
    curve = flag(request, "write-saturation")
    if not before and not curve:
        if "round" in request.options:
            raise request.wrong("round", "goes with --precondition or --write-saturation")
        return list(specs)
    option = "write-saturation" if curve else "precondition"
    for spec in specs:
        _check_destroys(request, option, spec)
    if curve and (len(specs) > 1 or len(specs[0].jobs) > 1):
        raise request.wrong(option, "is of one device and one pattern; this request has several")
    if curve and specs[0].pattern.operation == "read":
        raise request.wrong(option, "needs writes: --op write or mix")
    if "fill" not in before and not curve:
        raise request.wrong(
            option, "purge leaves an empty drive; it goes with fill or --write-saturation"
        )
    round_s = checked(
        request,
        "round",
        grammar.parse_duration,
        request.options.get("round", f"{_ROUND_S:g}s"),
        0,
        _MAX_ROUND_S,
    )
    curves = [_curve(spec, round_s) for spec in specs] if curve else []
    fills = _fills(request, specs, round_s) if "fill" in before else []
    if "purge" in before:
        first = fills or curves
        first[:] = [_purged(spec) for spec in first]
    return [*fills, *(curves or specs)]


def _check_destroys(request: Request, option: str, spec: IoSpec) -> None:
    for files in (job.files for job in spec.jobs):
        if not isinstance(files, DeviceFiles):
            raise request.wrong(option, f"goes with devices (dev:/dev/...), not {files.where}")
        if not files.destroy:
            raise request.wrong(
                option, f"overwrites all of {files.device}: name it in --destroy-data, too"
            )


def _curve(spec: IoSpec, round_s: float) -> IoSpec:
    series = {"until": "steady", "passes": _CURVE_PASSES, "round_s": round_s}
    return _changed(spec, series=series, sampling=_sampling(spec, round_s))


def _fills(request: Request, specs: Sequence[IoSpec], round_s: float) -> list[IoSpec]:
    """Return a fill of each device, by what goes over it first."""
    found: dict[str, IoSpec] = {}
    for spec in specs:
        for job in spec.jobs:
            if job.files.where not in found:
                found[job.files.where] = _fill(request, spec, job, round_s)
    return list(found.values())


def _fill(request: Request, spec: IoSpec, first: IoJob, round_s: float) -> IoSpec:
    """Return sequential writes by a job's first thread, to all that it goes over."""
    job, pattern = first.model_dump(mode="json"), spec.pattern
    target = f"dev:{first.files.where}"
    return _changed(
        spec,
        id=identity([request.name or "io", spec.initiator, target, "fill"]),
        target=target,
        sampling=_sampling(spec, round_s),
        jobs=[{**job, "cpus": job["cpus"][:1], "shared": False}],
        pattern={
            "operation": "write",
            "block_size": _FILL_BLOCK,
            "backend": pattern.backend,
            "direct": pattern.direct,
            "depth": 1 if pattern.backend in SYNCHRONOUS else _FILL_DEPTH,
            "offset": pattern.offset,
            "range": pattern.range,
        },
        series={"until": "written", "passes": _FILL_PASSES, "round_s": round_s},
    )


def _sampling(spec: IoSpec, round_s: float) -> dict[str, Any]:
    sample_s = min(_MAX_SAMPLE_S, round_s / _ROWS)
    return {**spec.sampling.model_dump(), "sample_s": sample_s}


def _purged(spec: IoSpec) -> IoSpec:
    jobs = _dumped(spec)["jobs"]
    return _changed(spec, jobs=[{**j, "files": {**j["files"], "purge": True}} for j in jobs])


def _dumped(spec: IoSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json")


def _changed(spec: IoSpec, **fields: Any) -> IoSpec:
    return IoSpec.model_validate({**_dumped(spec), **fields})
