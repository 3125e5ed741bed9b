"""Curves as files of the Mess simulator, which ZSim, gem5 and OpenPiton Metro-MPI read.

A file ``bwlat_NN.txt`` for each even percentage of reads on the bus: lines of MB/s and ns, the
heaviest load first, without comments. A simulator takes them by their number, so none may be
missing: a percentage that was not measured has the nearest curve's points. The last line is the
unloaded latency, at no bandwidth. A simulator takes every point for the memory's, so only those are
written that are not in doubt and whose latency rises with the load.
"""

from collections.abc import Iterator
from pathlib import Path

from tierscope.cli.kept import say_left_out
from tierscope.cli.output import Output, make_folder
from tierscope.kinds.loaded_latency.show import (
    ENOUGH,
    Curve,
    Family,
    bus_rate,
    delay_of,
    families_in,
    family_name,
)
from tierscope.model.errors import ExitCode, UserError, counted, shown
from tierscope.model.run import Run
from tierscope.report.pictures.picture import slug
from tierscope.runs.output import write_output
from tierscope.runs.read import read_run
from tierscope.runs.store import find_run

_STEP = 2
_MB = 1e6
_WHY = "disturbed, not known to ±50%, or latency falls although the load rises"


def export(names: tuple[str, ...], folder: Path, output: Output) -> None:
    """Write a run's curves into a folder; UserError of several runs, or of one without curves."""
    if len(names) > 1:
        raise UserError(f"--mess takes one run, not {len(names)}")
    path = find_run(names[0] if names else "last")
    output.check([path])
    run = read_run(path)
    files = curve_files(run)
    for name, text in files.items():
        make_folder((folder / name).parent, "mess")
        write_output(folder / name, text, "--mess")
    output.say_written(counted(len(files), "curve"), folder)
    say_left_out(left_out(run))
    written = [{"file": shown(folder / name), "form": "mess"} for name in files]
    output.emit({"written": written}, None)


def curve_files(run: Run) -> dict[str, str]:
    """Return the files' content by name; in a folder for each family where there are several.

    Raises UserError where a run has no curves, and where one has too few clean points.
    """
    families = families_in(run)
    if not families:
        raise UserError(
            "--mess: this run has no bandwidth-latency curves; 'tierscope mess' measures them",
            ExitCode.NOTHING_MEASURED,
        )
    for family in families:
        for curve in family.curves:
            _check(curve, family_name(family))
    several = len(families) > 1
    return {
        (f"{slug(family_name(family))}/" if several else "") + name: text
        for family in families
        for name, text in _of_family(family)
    }


def left_out(run: Run) -> list[str]:
    """Say for each curve which of its points are left out, and why; nothing where all are clean."""
    lines = []
    for family in families_in(run):
        for curve in family.curves:
            clean = {delay_of(m) for m in curve.clean}
            delays = sorted({d for m in curve.members if (d := delay_of(m)) is not None} - clean)
            if delays:
                points = f"{counted(len(delays), 'point')} (delays {', '.join(map(str, delays))})"
                lines.append(f"{points} of {curve.name}, {family_name(family)}: {_WHY}")
    return lines


def _check(curve: Curve, path: str) -> None:
    """Raise UserError of a curve without an idle latency or with too few points that are clean."""
    clean = curve.clean
    loaded = [m for m in clean if delay_of(m) is not None]
    idle_is_measured = any(delay_of(m) is None for m in curve.members)
    if len(loaded) < ENOUGH:
        found = f"{len(loaded)} of {len(curve.points)} points"
        wrong = f"only {found} can go to a simulator, and it takes {ENOUGH}"
    elif idle_is_measured and len(loaded) == len(clean):
        wrong = "the idle latency cannot go to a simulator"
    else:
        return
    raise UserError(
        f"--mess: {curve.name}, {path}: {wrong}; the others: {_WHY}; "
        "measure again while nothing else runs ('tierscope doctor' says what disturbs)",
        ExitCode.NOTHING_MEASURED,
    )


def _of_family(family: Family) -> Iterator[tuple[str, str]]:
    for percent in range(0, 101, _STEP):
        apart = [abs(100 * one.traffic.read_share - percent) for one in family.curves]
        curve = family.curves[apart.index(min(apart))]
        yield f"bwlat_{percent}.txt", "".join(f"{line}\n" for line in _lines(curve))


def _lines(curve: Curve) -> Iterator[str]:
    for m in reversed(curve.clean):
        if rate := bus_rate(m):
            yield f"{rate.estimate / _MB:.6g} {m.estimate:.6g}"
    yield f"0 {curve.metrics.unloaded.estimate:.6g}"
