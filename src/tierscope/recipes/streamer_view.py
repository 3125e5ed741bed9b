"""What is shown of a run of ``tierscope streamer``, and of results of other machines."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tierscope.analysis.streamer import GROUPS, Study
from tierscope.analysis.streamer_findings import between_machines, findings
from tierscope.analysis.streamer_limits import Limits
from tierscope.analysis.streamer_paper import LIMITS, paper_findings
from tierscope.model.cause import Cause
from tierscope.model.errors import counted
from tierscope.model.run import Run
from tierscope.recipes.stream_rules import rule_text
from tierscope.recipes.streamer import limits_of, study_of
from tierscope.recipes.streamer_machine import absent, lines, unwritten
from tierscope.report.streamer import LeftOut, StudyView
from tierscope.report.warnings import warnings_line


@dataclass(frozen=True)
class Others:
    """Results that a study is laid over."""

    published: Sequence[Study] = ()
    """The study's own, which the paper's text is held against."""
    machines: Sequence[Study] = ()
    runs: Sequence[Run] = field(default_factory=list)
    """Of tierscope on other machines."""


def view_of(run: Run | None, others: Others = Others(), groups: Sequence[str] = ()) -> StudyView:
    """Return what is shown; ``groups`` were asked for, all where it is empty."""
    own = [study_of(run)] if run else []
    elsewhere = [study_of(one) for one in others.runs]
    limits: list[Limits] = [limits_of(one.header.topology) for one in (run, *others.runs) if one]
    limits += [LIMITS if not number else {} for number in range(len(others.published))]
    limits += [{} for _ in others.machines]
    studies = [*own, *elsewhere, *others.published, *others.machines]
    found = [one for study, by in zip(studies, limits, strict=True) for one in findings(study, by)]
    for study in own:
        for other in studies[1:]:
            found += between_machines(study, other)
    found += paper_findings(others.published)
    left_out = _left_out(run, groups or list(GROUPS)) if run else {}
    remarks = _remarks(run) if run else []
    return StudyView([one for one in studies if one.configurations], found, left_out, remarks)


def _remarks(run: Run) -> list[str]:
    """Say whether STREAM's rule is kept, what emulated memory is, and what distorts figures."""
    topology, found = run.header.topology, []
    measured = [m for m in run.measurements if m.status == "measured"]
    sizes = [int(m.pattern["size"]) for m in measured if "size" in m.pattern]
    if topology and sizes:
        cpus = sorted({cpu for m in measured for cpu in m.cpus})
        asked = "--size" in " ".join(run.header.command)
        found.append(_sentence(rule_text(topology, cpus, min(sizes), asked)))
    survival: dict[tuple[str, str], dict[str, None]] = {}
    for m in measured:
        if m.evidence and (one := m.evidence.persistent):
            survival.setdefault((one.survives_power_loss, one.why), {})[m.target] = None
    for (survives, why), targets in survival.items():
        found.append(f"{', '.join(targets)}: whether data would survive a loss of power: "
                     f"{survives}. {_sentence(why)}")  # fmt: skip
    return [*found, *filter(None, [warnings_line(run)])]


def _sentence(text: str) -> str:
    """Return text with a capital and a full stop."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def _left_out(run: Run, groups: Sequence[str]) -> dict[str, list[LeftOut]]:
    """Say what the machine has nothing for, and how many measurements failed or were skipped."""
    found: dict[str, list[LeftOut]] = {}
    if run.header.topology:
        targets = {m.target for m in run.measurements}
        missing = absent(run.header.topology, groups)
        for one in [*missing, *unwritten(run.header.topology, groups, targets)]:
            text = "; ".join(filter(None, (one.reason, one.remedy)))
            found.setdefault(one.group, []).append(LeftOut(_sentence(text), one.cause))
    for persistent, members in ((True, "1"), (False, "2")):
        without = [
            m for m in run.measurements
            if m.status != "measured" and m.target.startswith(("pmem:", "dax:")) == persistent
        ]  # fmt: skip
        if without:
            text = f"{counted(len(without), 'measurement')} gave no figure: {without[0].reason}"
            lacking = LeftOut(_sentence(text), without[0].cause or Cause.OTHER)
            for group in groups:
                if group.startswith(members) and _has_lines(run, group):
                    found.setdefault(group, []).append(lacking)
    return found


def _has_lines(run: Run, group: str) -> bool:
    topology = run.header.topology
    return topology is None or bool(lines(topology, [group], ["pool"]))
