"""What a run of STREAM measured, by thread counts, places and kinds of stores."""

from dataclasses import dataclass
from typing import Any

from tierscope.kinds.bandwidth.spec import arrays_of
from tierscope.model.run import Measurement, Run
from tierscope.recipes.stream import FUNCTIONS, MEMCPY, NON_TEMPORAL, ORDINARY, Function

_APART = ("operation", "array_b", "array_c")
BY_OPERATION: dict[str, tuple[Function, str]] = {
    function.operation_with(stores): (function, stores)
    for stores in (MEMCPY, NON_TEMPORAL, ORDINARY)
    for function in FUNCTIONS
}
"""Function and stores by the operation that measures them."""
BINARIES = {
    MEMCPY: "Copy of gcc from -O2 on and of clang at -O3, which call memcpy",
    ORDINARY: "Scale, Add and Triad of gcc and clang; Copy of gcc with -fno-builtin",
    NON_TEMPORAL: "binaries with streaming stores: icx -qopt-streaming-stores=always, clang's "
    "__builtin_nontemporal_store on vectors",
}
"""Which binaries of STREAM have the stores of ours."""


@dataclass(frozen=True)
class Setting:
    """The functions as one command line of STREAM would run them: alike in all but the stores."""

    where: dict[str, str]
    """Array by array: ``{"a": "node:0", ...}``."""
    threads: int
    members: tuple[Measurement, ...]

    @property
    def first(self) -> Measurement:
        """Any of them."""
        return self.members[0]

    @property
    def size(self) -> int:
        """Bytes of an array."""
        return int(self.first.pattern["size"])

    def get(self, function: Function, stores: str) -> Measurement | None:
        """The measurement of a function with such stores; None where there is none."""
        operation = function.operation_with(stores)
        return next((m for m in self.members if m.pattern["operation"] == operation), None)


def settings_of(run: Run) -> list[Setting]:
    """Gather a run's measurements, whatever became of them, by all that a function does not
    decide."""
    found: dict[tuple[Any, ...], tuple[dict[str, str], list[Measurement]]] = {}
    for measurement in run.measurements:
        pattern = measurement.pattern
        if pattern.get("operation") not in BY_OPERATION:
            continue
        where = _where(measurement)
        alike = [v for key, v in sorted(pattern.items()) if key not in _APART]
        key = (measurement.initiator, str(measurement.cpus), *map(str, alike))
        for other, (placed, members) in found.items():
            agrees = all(placed.get(name, place) == place for name, place in where.items())
            new = all(m.pattern["operation"] != pattern["operation"] for m in members)
            if other[: len(key)] == key and agrees and new:
                placed.update(where)
                members.append(measurement)
                break
        else:
            numbered = (*key, len(found))
            found[numbered] = (where, [measurement])
    return [
        Setting(dict(sorted(where.items())), int(members[0].pattern["threads"]), tuple(members))
        for where, members in found.values()
    ]


def _where(measurement: Measurement) -> dict[str, str]:
    """Where STREAM's arrays are that a measurement goes over."""
    function, _ = BY_OPERATION[measurement.pattern["operation"]]
    pattern = measurement.pattern
    places = [measurement.target]
    places += [pattern.get(f"array_{name}", measurement.target) for name in ("b", "c")]
    arrays = (function.written, *function.read)
    count = arrays_of(function.operation)
    return dict(sorted(zip(arrays, places[:count], strict=True)))


def best_of(measurement: Measurement) -> float:
    """The highest rate of a sample, in bytes/s: STREAM's headline."""
    return max(measurement.samples)


def in_json(run: Run) -> dict[str, Any]:
    """Return what the command's JSON has under ``stream``."""
    return {
        "stream": [
            {
                "threads": setting.threads,
                "array_bytes": setting.size,
                "arrays": setting.where,
                "functions": [
                    _function_json(one) for one in setting.members if one.status == "measured"
                ],
            }
            for setting in settings_of(run)
        ]
    }


def _function_json(measurement: Measurement) -> dict[str, Any]:
    function, stores = BY_OPERATION[measurement.pattern["operation"]]
    if stores == MEMCPY and function.operation != "copy":
        stores = ORDINARY
    return {
        "function": function.name,
        "stores": stores,
        "id": measurement.id,
        "median": measurement.estimate,
        "ci_low": measurement.ci_low,
        "ci_high": measurement.ci_high,
        "best": best_of(measurement),
        "samples": measurement.n,
        "limit": measurement.limit.value if measurement.limit else None,
        "efficiency": measurement.efficiency,
        "compares_with": BINARIES[stores],
    }
