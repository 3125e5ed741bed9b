"""Evidence in one line: where the pages were, which CPUs ran, what else proves a figure."""

from tierscope.model.endpoint import format_ranges
from tierscope.model.event import Evidence
from tierscope.model.run import Measurement


def evidence_lines(measurements: list[Measurement]) -> list[str]:
    """Return what was observed, once for all measurements that share it."""
    lines: dict[str, int] = {}
    for measurement in measurements:
        if measurement.evidence:
            text = _summary(measurement.evidence)
            lines[text] = lines.get(text, 0) + 1
    if len(lines) <= 1:
        return list(lines)
    return [f"{text} ({count} of {sum(lines.values())})" for text, count in lines.items()]


def _summary(evidence: Evidence) -> str:
    parts = []
    if evidence.pages:
        total = sum(evidence.pages.values())
        nodes = ", ".join(
            f"node {node} {100 * count / total:.4g}%" for node, count in evidence.pages.items()
        )
        parts.append(f"pages on {nodes}" if total else "no pages found")
    if evidence.huge_bytes is not None and evidence.region_bytes:
        parts.append(f"{100 * evidence.huge_bytes / evidence.region_bytes:.0f}% in huge pages")
    if evidence.cpus:
        parts.append(f"CPUs {format_ranges(tuple(sorted(set(evidence.cpus))))}")
    if evidence.isa:
        parts.append(evidence.isa)
    if evidence.verified:
        parts.append("data verified")
    return ", ".join(parts)


def warnings(measurements: list[Measurement]) -> list[str]:
    """Return what a reader must know of a group's figures, with how many it touches."""
    measured = [m for m in measurements if m.status == "measured"]
    unsure = [m for m in measured if m.stop == "budget"]
    lines = []
    if unsure:
        lines.append(
            f"{len(unsure)} of {len(measured)} stopped at their time budget, wider than the "
            "precision asked for; a longer --budget narrows them"
        )
    cut = sum(m.stop == "interrupted" for m in measured)
    if cut:
        lines.append(f"{cut} of {len(measured)} were interrupted")
    disturbed = [m for m in measured if m.evidence and m.evidence.disturbed]
    if disturbed:
        lines.append(
            f"in {len(disturbed)} of {len(measured)} a neighbour took CPU time from some samples"
        )
    notes = {note for m in measured if m.evidence for note in m.evidence.notes or []}
    return lines + sorted(notes)
