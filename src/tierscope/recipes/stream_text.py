"""A run in the text of STREAM 5.10, for programs that read it."""

from collections.abc import Iterator
from statistics import fmean

from tierscope.kinds.bandwidth.spec import arrays_of
from tierscope.model.run import Measurement, Run
from tierscope.recipes.stream import FUNCTIONS, STORES
from tierscope.recipes.stream_figures import Setting, best_of, settings_of

_LINE = "-" * 61
_MIB, _GIB = 2.0**20, 2.0**30
_EPSILON = 1e-13
"""STREAM's own, of doubles; here every element that is compared has to be equal."""


def stream_text(run: Run) -> str:
    """Return what STREAM would print, once for each thread count and place.

    A sample lasts as long as the option says, not a pass over the arrays: times are those of a pass
    at the rate of a sample. A function that was not measured has no row; where it failed, the text
    says that the solution does not validate.
    """
    return "\n".join(line for setting in settings_of(run) for line in _lines(setting)) + "\n"


def _lines(setting: Setting) -> Iterator[str]:
    elements = setting.size // 8
    rows = [(function, _measured(setting, function.name)) for function in FUNCTIONS]
    samples = min((m.n for _, m in rows if m), default=0)
    yield from (_LINE, "STREAM version $Revision: 5.10 $", _LINE)
    yield from ("This system uses 8 bytes per array element.", _LINE)
    yield f"Array size = {elements} (elements), Offset = 0 (elements)"
    size = 8.0 * elements
    yield f"Memory per array = {size / _MIB:.1f} MiB (= {size / _GIB:.1f} GiB)."
    yield f"Total memory required = {3 * size / _MIB:.1f} MiB (= {3 * size / _GIB:.1f} GiB)."
    yield f"Each kernel will be executed {samples} times."
    yield " The *best* time for each kernel (excluding the first iteration)"
    yield " will be used to compute the reported bandwidth."
    yield _LINE
    yield f"Number of Threads requested = {setting.threads}"
    yield f"Number of Threads counted = {setting.threads}"
    yield _LINE
    yield "Your clock granularity appears to be less than one microsecond."
    scale = rows[1][1]
    pass_us = 1e6 * 2 * size / scale.estimate if scale and scale.estimate else 0.0
    yield f"Each test below will take on the order of {pass_us:.0f} microseconds."
    yield f"   (= {pass_us:.0f} clock ticks)"
    yield "Increase the size of the arrays if this shows that"
    yield "you are not getting at least 20 clock ticks per test."
    yield _LINE
    yield "WARNING -- The above is only a rough guideline."
    yield "For best results, please be sure you know the"
    yield "precision of your system timer."
    yield _LINE
    yield "Function    Best Rate MB/s  Avg time     Min time     Max time"
    yield from (_row(f.name, arrays_of(f.operation) * size, m) for f, m in rows if m)
    yield from (_LINE, *_validation(setting), _LINE)


def _measured(setting: Setting, name: str) -> Measurement | None:
    """Return the function's measurement, with the first of the kinds of stores that there is."""
    function = next(one for one in FUNCTIONS if one.name == name)
    found = [m for stores in STORES[::-1] if (m := setting.get(function, stores))]
    return next((m for m in found if m.status == "measured"), None)


def _row(name: str, size: float, measurement: Measurement) -> str:
    times = [size / rate for rate in measurement.samples]
    rate = 1e-6 * best_of(measurement)
    label = f"{name}:".ljust(11)
    return f"{label}{rate:12.1f}  {fmean(times):11.6f}  {min(times):11.6f}  {max(times):11.6f}"


def _validation(setting: Setting) -> Iterator[str]:
    wrong = [m for m in setting.members if m.cause == "verification"]
    for measurement in wrong:
        yield f"Failed Validation on array a[], AvgRelAbsErr > epsilon ({_EPSILON:e})"
        yield f"     {measurement.reason}"
    measured = [m for m in setting.members if m.status == "measured"]
    if not wrong and measured and all(m.evidence and m.evidence.verified for m in measured):
        yield f"Solution Validates: avg error less than {_EPSILON:e} on all three arrays"
