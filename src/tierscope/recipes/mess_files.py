"""Curves as files of the Mess simulator, which ZSim, gem5 and OpenPiton Metro-MPI read.

A file ``bwlat_NN.txt`` for each even percentage of reads on the bus: lines of MB/s and ns, the
heaviest load first, without comments. A simulator takes them by their number, so none may be
missing: a percentage that was not measured has the nearest curve's points. The last line is the
unloaded latency, at no bandwidth.
"""

from collections.abc import Iterator

from tierscope.kinds.loaded_latency.family import Curve, Family, families_in
from tierscope.kinds.loaded_latency.metrics import family_name
from tierscope.kinds.loaded_latency.points import bus_rate
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Run
from tierscope.report.pictures.picture import slug

_STEP = 2
_MB = 1e6


def curve_files(run: Run) -> dict[str, str]:
    """Return the files' content by name; in a folder for each family where there are several.

    Raises UserError where a run has no curves.
    """
    families = families_in(run)
    if not families:
        raise UserError(
            "--mess: this run has no bandwidth-latency curves; 'tierscope mess' measures them",
            ExitCode.NOTHING_MEASURED,
        )
    several = len(families) > 1
    return {
        (f"{slug(family_name(family))}/" if several else "") + name: text
        for family in families
        for name, text in _of_family(family)
    }


def _of_family(family: Family) -> Iterator[tuple[str, str]]:
    for percent in range(0, 101, _STEP):
        curve = min(family.curves, key=lambda one: _apart(one, percent))
        yield f"bwlat_{percent}.txt", "".join(f"{line}\n" for line in _lines(curve))


def _apart(curve: Curve, percent: int) -> float:
    return abs(100 * curve.traffic.read_share - percent)


def _lines(curve: Curve) -> Iterator[str]:
    for m in reversed(curve.points):
        if rate := bus_rate(m):
            yield f"{rate.estimate / _MB:.6g} {m.estimate:.6g}"
    yield f"0 {curve.metrics.unloaded.estimate:.6g}"
