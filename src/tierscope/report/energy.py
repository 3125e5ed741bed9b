"""Watts and energy for each bit beside figures, for runs that measured energy."""

from collections.abc import Sequence

from rich.console import Console

from tierscope.model.evidence import EnergyDomain, EnergyEvidence, EnergySource
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.style import new_table, note, title
from tierscope.report.watch import lacking_lines

_SCALES = {"power": 1.0, "power_above_idle": 1.0, "energy_per_bit": 1e-12}
"""What the table divides the values of metrics by."""
_NVML: EnergySource = "NVML"


def show_energy(console: Console, run: Run) -> None:
    """Print the power of each measurement, above idle too, and what it took for each bit."""
    known = [(m, m.evidence.energy) for m in run.measurements if m.evidence and m.evidence.energy]
    if not run.header.energy:
        return
    title(console, "Energy")
    measured = [(m, energy) for m, energy in known if energy.domains]
    if measured:
        _show_table(console, [m for m, _ in measured])
        for line in explained([energy for _, energy in measured]):
            note(console, line)
    elif not known:
        note(console, "not known for any measurement: the times of its samples were not recorded")
    for line in dict.fromkeys(
        line for _, energy in known for line in lacking_lines(energy.lacking or [])
    ):
        note(console, line)


def _show_table(console: Console, measured: list[Measurement]) -> None:
    parts = dict.fromkeys(f.part for m in measured for f in m.figures if f.metric == "power")
    parts.pop("", None)
    of_parts = [f"{part}, W" for part in parts]
    headings = ("measurement", "figure", "W", "W above idle", "pJ/bit", *of_parts)
    table = new_table(*headings, words=("measurement",))
    for m in measured:
        unit, factor = figures.common_scale([m])
        found = [figures.side_figure(m, metric) for metric in _SCALES]
        each = [figures.side_figure(m, "power", part) for part in parts]
        table.add_row(
            m.id,
            f"{figures.plain(m, factor)} {unit}",
            *(
                "–" if one is None else figures.with_interval(one, scale)
                for one, scale in zip(found, _SCALES.values(), strict=True)
            ),
            *("" if one is None else figures.plain(one, 1.0) for one in each),
        )
    console.print(table)


def explained(energies: Sequence[EnergyEvidence]) -> list[str]:
    """Say what W adds up, and what was subtracted."""
    domains = {one.name: one for energy in energies for one in energy.domains}
    in_sums = {one.name for energy in energies for one in energy.domains if one.summed}
    summed = [one for name, one in domains.items() if name in in_sums]
    others = [one for name, one in domains.items() if name not in in_sums]
    gpus = [one.name for one in others if one.source == _NVML]
    unknown = [one.name for one in others if one.source != _NVML]
    lines = []
    if summed:
        names = ", ".join(f"{one.name} ({one.source})" for one in summed)
        of_gpus = (
            "; of GPUs, those that take part" if any(one.source == _NVML for one in summed) else ""
        )
        lines.append(f"W: {names}, together where there are several{of_gpus}")
        lines.append(_idle_line(summed, energies[-1].idle_s))
    if gpus:
        lines.append(f"in no sum, since they take no part: {', '.join(gpus)}")
    if unknown:
        lines.append(f"in no sum, since others may contain them: {', '.join(unknown)}")
    return lines


def _idle_line(summed: Sequence[EnergyDomain], idle_s: float) -> str:
    known = [f"{one.name} {one.idle_w:.1f} W" for one in summed if one.idle_w is not None]
    if len(known) < len(summed):
        return "idle power is not known, so nothing is subtracted"
    return (
        f"idle {', '.join(known)}, measured for {idle_s:.1f} s before the first repetition, is "
        "subtracted in W above idle and pJ/bit"
    )
