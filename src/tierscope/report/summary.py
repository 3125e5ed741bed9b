"""What a run comes to: tables of many figures, three sentences, key figures, warnings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.console import Console
from rich.text import Text

from tierscope.analysis.best import best_of, idle_latencies
from tierscope.analysis.knee import SHARE
from tierscope.machine.nvidia import pci_address
from tierscope.model.cause import Cause
from tierscope.model.errors import counted
from tierscope.model.path import Limit
from tierscope.model.run import Measurement, Run, is_unreliable, shared
from tierscope.report import figures
from tierscope.report.best import best_rates, rivals_text
from tierscope.report.evidence import WIDE, Doubt, doubts, states_of
from tierscope.report.naming import described, described_as, missing_by_cause, path_name
from tierscope.report.pictures.picture import label_of
from tierscope.report.published import published_text
from tierscope.report.style import new_table, note
from tierscope.report.tiers import Tier, tiers_of
from tierscope.report.view import KeyFigure, Summary, Views, kinds_in, view_of

_GOOD = 0.85
"""Share of its limit from which on a path is near it."""
_EMULATED = "the machine is emulated in software, so its figures mean nothing"
_MORE_TIME = "give it more time (--budget, or a longer --profile)"
_MOST_REASONS = 3
_ALIKE = 1.01
"""Fastest over slowest path up to which neither is worth a name."""
_LONGEST = 90
"""Characters of a warning from which on its example in parentheses is left out."""


def show_summary_rows(console: Console, summary: Summary, most: int | None = None) -> None:
    """Print a table's rows, at most so many, below their headings."""
    table = new_table(*summary.columns, words=(summary.columns[0], *summary.words))
    for row in summary.rows[:most]:
        table.add_row(*row)
    console.print(table)


def show_summaries(console: Console, found: Sequence[Summary]) -> None:
    """Print tables with their notes; notes that several tables have stand below the last one."""
    for number, summary in enumerate(found):
        console.print()
        console.print(Text(summary.title, style="bold"))
        show_summary_rows(console, summary)
        later = {line for other in found[number + 1 :] for line in other.notes}
        for line in summary.notes:
            if line not in later:
                note(console, line)


@dataclass(frozen=True)
class Verdict:
    """Whether a run's figures can be used."""

    word: Literal["usable", "usable with care", "measure again"]
    why: str
    """What was reached, or what stands against it; with what to do, where that helps."""

    @property
    def sentence(self) -> str:
        """Both, as a run's first line has them."""
        joint = ", because " if self.word == "measure again" else ": "
        return f"{self.word.capitalize()}{joint}{self.why}."


def verdict_of(run: Run) -> Verdict:
    """Return whether a run's figures can be used.

    With care, where something is known against some of them; not at all, where that is so for most:
    no interval, one whose ends are further apart than 1:3, or others' programs beside them."""
    measured = [m for m in run.measurements if m.has_figure]
    if run.header.emulated:
        return Verdict("measure again", _EMULATED)
    if not measured:
        return Verdict("measure again", "; ".join(["nothing was measured", *warnings_of(run)]))
    vague = [m for m in measured if is_unreliable(m) or "no-interval" in doubts(m)]
    disturbed = _doubted(measured, "disturbed")
    if 2 * len(disturbed) > len(measured):
        why = [*_of_run(run), _disturbed(measured), "stop them, or give it more time"]
        return Verdict("measure again", "; ".join(why))
    if 2 * len(vague) > len(measured):
        count = f"{len(vague)} of {len(measured)} figures are not known to within ±50%"
        return Verdict("measure again", "; ".join([*_of_run(run), count, _MORE_TIME]))
    if found := warnings_of(run):
        more = f"; {_MORE_TIME}" if _doubted(measured, "wide", "no-interval") else ""
        return Verdict("usable with care", "; ".join(found[:_MOST_REASONS]) + more)
    if not _doubted(measured, "short", "unsteady"):
        return Verdict("usable", "everything was measured as precisely as asked")
    widest = figures.width_text(max(map(figures.relative_half, measured)))
    return Verdict("usable", f"everything was measured, each figure to within {widest}")


def warnings_line(run: Run) -> str:
    """Return all warnings in a sentence; empty where there are none."""
    found = warnings_of(run)
    return f"Warnings: {'; '.join(found)}." if found else ""


def warnings_of(run: Run) -> list[str]:
    """Return what may invalidate figures, each in a clause, the worst first."""
    found = _of_run(run)
    measured = [m for m in run.measurements if m.has_figure]
    found += [text for check in _CHECKS if (text := check(measured))]
    governor = run.header.environment.get("governor", "")
    if governor and governor != "performance":
        found.append(f"the frequency governor is {governor}, not performance")
    return found


def _of_run(run: Run) -> list[str]:
    found = []
    if run.header.emulated:
        found.append(_EMULATED)
    if run.header.imported:
        found.append(
            f"these figures are imported: {run.header.imported.program} measured them, without "
            "intervals and without evidence"
        )
    if run.footer is None or run.footer.interrupted:
        planned = len(run.header.plan.get("measurements", [])) + len(run.added)
        begun = sum(m.cause is not Cause.INTERRUPTED for m in run.measurements)
        how = "interrupted" if run.footer else "cut off"
        found.append(f"the run was {how} when {begun} of {counted(planned, 'figure')} were begun")
    found += [
        f"{counted(len(group.members), 'measurement')} failed ({group.why})"
        for group in missing_by_cause(run.measurements)
        if group.status == "failed"
    ]
    if text := _another_gpu(run):
        found.append(text)
    return found


def _another_gpu(run: Run) -> str:
    """Name a GPU that CUDA found at another PCI address than the topology."""
    topology = run.header.topology
    for m in run.measurements:
        for state in states_of(m):
            known = topology.gpu(state.gpu) if topology else None
            used = pci_address(state.address or "")
            if known is not None and known.address and used not in ("", known.address):
                return (
                    f"gpu:{state.gpu} was measured at {used}, but its paths and limits are those "
                    f"of {known.address}"
                )
    return ""


def _beyond(measured: Sequence[Measurement]) -> str:
    """Name what is faster than it can be."""
    beyond = [m for m in measured if m.limit and (m.ci_low or m.estimate or 0.0) > _most(m.limit)]
    if not beyond:
        return ""
    most = max(beyond, key=_efficiency)
    return (
        f"{path_name(most)} reaches {_efficiency(most):.1%} of its limit: a cache served part of "
        "it, or the limit is too low"
    )


def _most(limit: Limit) -> float:
    """Return the limit of a CPU that avoids write-allocate, as some do when the bus is busy."""
    return max(limit.value, limit.without_write_allocate or 0.0)


def _degraded_links(measured: Sequence[Measurement]) -> str:
    degraded = dict.fromkeys(m.limit.link for m in measured if m.limit and m.limit.degraded)
    return f"a link runs below its capability, {next(iter(degraded))}" if degraded else ""


def _throttled(measured: Sequence[Measurement]) -> str:
    why = Counter(
        f"gpu:{state.gpu} was throttled ({', '.join(state.throttle)})"
        for m in measured
        for state in states_of(m)
        if state.throttle
    )
    if not why:
        return ""
    text, count = why.most_common(1)[0]
    return f"{text} during {count} of {counted(len(measured), 'measurement')}"


def _doubted(measured: Sequence[Measurement], *which: Doubt) -> list[Measurement]:
    return [m for m in measured if not {*which}.isdisjoint(doubts(m))]


def _imprecise(measured: Sequence[Measurement]) -> str:
    wide = _doubted(measured, "wide")
    if not wide:
        return ""
    worst = max(wide, key=figures.relative_half)
    return (
        f"intervals wider than ±{WIDE:.0%} for {len(wide)} of {len(measured)} figures (the "
        f"widest {figures.width_text(figures.relative_half(worst))}, {described_as(worst)})"
    )


def _without_interval(measured: Sequence[Measurement]) -> str:
    count = len(_doubted(measured, "no-interval"))
    return f"no interval for {count} of {len(measured)} figures" if count else ""


def _disturbed(measured: Sequence[Measurement]) -> str:
    count = len(_doubted(measured, "disturbed"))
    of = counted(len(measured), "measurement")
    return f"other programs took CPU time during {count} of {of}" if count else ""


_CHECKS = (_beyond, _degraded_links, _throttled, _imprecise, _without_interval, _disturbed)
"""What may invalidate figures, the worst first."""


def _efficiency(measurement: Measurement) -> float:
    return measurement.efficiency or 0.0


def sentences(run: Run, views: Views) -> list[str]:
    """Return the verdict, then what a reader concludes: the fastest and slowest path, and how far
    paths are from their limits where these are known."""
    measured = [m for m in run.measurements if m.has_figure]
    alone = [m for m in measured if not shared(m)]
    if not measured:
        return [verdict_of(run).sentence]
    if alone:
        first = best_and_worst(alone, views)
    else:
        most = best_of(measured)
        first = f"No path was measured alone; the highest concurrent figure is {described(most)}."
    last = (below_limit(run, measured), published_text(run, measured))
    return [*filter(None, (verdict_of(run).sentence, first, *last))]


def best_and_worst(measured: list[Measurement], views: Views) -> str:
    """Name the fastest and the slowest path."""
    moved = [m for m in measured if m.unit == "B/s"]
    rates = best_rates([m for m in moved if not m.fits_caches] or moved)
    times = idle_latencies(m for m in measured if view_of(views, m.kind).represents_path)
    parts = _of_rates(rates, moved)
    if times:
        by = sorted(times.values(), key=lambda m: m.estimate or 0.0)
        if len(by) > 1:
            parts.append(f"latency ranges from {described(by[0])} to {described(by[-1])}")
        else:
            where = described(by[0], path=not rates or path_name(by[0]) != path_name(rates[0]))
            parts.append(f"its latency is {where}" if len(rates) == 1 else f"latency is {where}")
    else:
        parts += _summaries(measured, views)
    if not parts:
        title = view_of(views, measured[0].kind).title
        parts.append(f"{title}: {described(measured[0])}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _of_rates(rates: list[Measurement], moved: list[Measurement]) -> list[str]:
    if not rates:
        return []
    fastest, slowest = best_of(rates), min(rates, key=_slowness)
    values = [m.estimate or 0.0 for m in rates]
    if len(rates) == 1:
        value = described(fastest, path=False) + _rivals(fastest, rates, moved)
        text = f"the highest bandwidth of {path_name(fastest)} is {value}"
    elif max(values) <= _ALIKE * min(values):
        paths = "both paths" if len(rates) == 2 else f"all {len(rates)} paths"
        text = f"{paths} are within 1% of each other; the fastest is {described(fastest)}"
    else:
        others = _rivals(fastest, rates, moved)
        text = (
            f"the fastest path is {described(fastest)}{others}; the slowest is {described(slowest)}"
        )
    if all(m.fits_caches for m in rates):
        text += ", with working sets that the caches can hold"
    return [text]


def _slowness(measurement: Measurement) -> tuple[bool, float]:
    """Return what to compare rates by, the lowest first; those without intervals come last."""
    return not figures.has_interval(measurement), measurement.estimate or 0.0


def _rivals(
    fastest: Measurement, rates: Sequence[Measurement], moved: Sequence[Measurement]
) -> str:
    """Say which paths may be as fast as the fastest one, or operations on its own path."""
    others = rivals_text(fastest, rates, path_name)
    own = [m for m in moved if path_name(m) == path_name(fastest)]
    return others or rivals_text(fastest, own, lambda m: str(m.pattern.get("operation", "")))


def _summaries(measured: list[Measurement], views: Views) -> list[str]:
    """Return what kinds say of themselves whose figures do not stand for their paths."""
    kinds = dict.fromkeys(m.kind for m in measured)
    return [
        summary([m for m in measured if m.kind == kind])
        for kind in kinds
        if (summary := view_of(views, kind).summary)
    ]


def below_limit(run: Run, measured: list[Measurement]) -> str:
    """Say how far the best figure of each path is from its limit, the furthest first; empty where
    no limit is known and nothing says that there is more."""
    if run.header.emulated or run.header.imported:
        return ""
    alone = [m for m in measured if not shared(m)]
    limited = best_rates([m for m in alone if m.efficiency is not None and m.limit])
    crowded = [m for m in measured if shared(m) and m.efficiency is not None and m.limit]
    slowed = min(crowded, key=_efficiency, default=None)
    if not alone and slowed is not None:
        return f"Furthest below its limit is {_reached(slowed)}."
    return f"{_of_limited(limited, slowed)}." if limited else _still_scaling(alone)


def _of_limited(limited: list[Measurement], slowed: Measurement | None) -> str:
    worst = min(limited, key=_efficiency)
    assert worst.limit is not None
    low = [m for m in limited if _efficiency(m) < _GOOD]
    if not low:
        text = f"Every path is near its limit; furthest below it is {_reached(worst)}"
    else:
        unit, factor = figures.scale_of(worst.limit.unit, [worst.limit.value])
        left = (worst.limit.value - (worst.estimate or 0.0)) / factor
        unused = f"{figures.significant(left, 2)} {unit} are unused"
        text = f"Furthest below its limit is {_reached(worst)}: {unused}"
        if len(low) > 1:
            text += f"; {len(low)} of {len(limited)} paths are below {_GOOD:.0%} of their limits"
    if slowed is not None and _efficiency(slowed) < min(_GOOD, _efficiency(worst)):
        share = figures.share_text(_efficiency(slowed))
        text += f"; with concurrent copies, {described(slowed)} is {share} of its limit"
    return text


def _reached(measurement: Measurement) -> str:
    assert measurement.limit is not None
    return (
        f"{described(measurement)}, {figures.share_text(_efficiency(measurement))} of the "
        f"{figures.limit_text(measurement.limit)} of {measurement.limit.link}"
    )


def _still_scaling(measured: list[Measurement]) -> str:
    """Say which path was still getting faster at its largest thread count."""
    curves: dict[tuple[str, ...], list[Measurement]] = {}
    for m in measured:
        if m.unit == "B/s" and "threads" in m.pattern:
            rest = {key: value for key, value in m.pattern.items() if key != "threads"}
            curves.setdefault((m.initiator, m.target, str(rest)), []).append(m)
    for curve in curves.values():
        if len(curve) < 2:
            continue
        *_, before, last = sorted(curve, key=lambda m: int(m.pattern["threads"]))
        highest_before = before.ci_high or before.estimate or 0.0
        if highest_before < SHARE * (last.ci_low or last.estimate or 0.0):
            return (
                f"{path_name(last)} was still getting faster at {last.pattern['threads']} "
                "threads, the most that were measured."
            )
    return ""


def key_figures(run: Run, views: Views) -> list[KeyFigure]:
    """Return peak bandwidth, idle latency, the slowest tier, what kinds add, the path furthest
    below its limit, and the verdict; what a run does not have is left out."""
    measured = [m for m in run.measurements if m.has_figure]
    alone = [m for m in measured if m.unit == "B/s" and not shared(m)]
    found = [*_extremes(alone, measured, views), *_slowest(run, views)]
    for kind in kinds_in(run, views):
        of_kind = view_of(views, kind).key_figure
        members = [m for m in measured if m.kind == kind]
        if of_kind and members and (figure := of_kind(members)):
            found.append(figure)
    found += _below_limit(run, alone)
    if run.header.imported:
        found = [replace(one, label=f"{one.label}, imported") for one in found]
    return [*found, _verdict(run)]


def _extremes(
    rates: list[Measurement], measured: list[Measurement], views: Views
) -> Iterator[KeyFigure]:
    groups = {
        "Peak bandwidth": [m for m in rates if not _on_gpu(m)],
        "Peak of a GPU": [m for m in rates if _on_gpu(m)],
    }
    for label, members in groups.items():
        if best := best_rates([m for m in members if not m.fits_caches] or members):
            top = best_of(best)
            threads = top.pattern.get("threads")
            words = [path_name(top), str(top.pattern.get("operation", ""))]
            words.append(counted(threads, "thread") if threads else "")
            yield _figure(label, top, ", ".join(filter(None, words)) + _rivals(top, best, members))
    own = [m for m in measured if view_of(views, m.kind).represents_path]
    if times := idle_latencies(own):
        lowest = best_of([*times.values()])
        size = figures.size_text(lowest.pattern.get("size") or 0)
        pages = label_of("pages", lowest.pattern.get("pages", ""), lowest.kind)
        over = ", ".join(filter(None, (f"over {size}", pages)))
        yield _figure("Idle latency", lowest, f"{path_name(lowest)}, {over}")


def _on_gpu(measurement: Measurement) -> bool:
    return "gpu:" in f"{measurement.initiator} {measurement.target}"


def _slowest(run: Run, views: Views) -> Iterator[KeyFigure]:
    """The tier with the lowest bandwidth of all, and its latency."""
    tiers = [t for group in tiers_of(run, views).values() for t in group if t.bandwidth]
    if not tiers:
        return
    slowest = min(tiers, key=lambda tier: _slowness(_rate(tier)))
    latency = slowest.latency
    after = f"; {figures.plain(latency, 1.0)} ns" if latency else ""
    detail = f"{slowest.name} from {slowest.initiator}{after}"
    yield _figure("Slowest tier", _rate(slowest), detail)


def _rate(tier: Tier) -> Measurement:
    assert tier.bandwidth is not None
    return tier.bandwidth


def _below_limit(run: Run, alone: list[Measurement]) -> Iterator[KeyFigure]:
    limited = best_rates([m for m in alone if m.limit and m.efficiency is not None])
    if run.header.emulated or not limited:
        return
    worst = min(limited, key=_efficiency)
    assert worst.limit is not None
    share = _efficiency(worst)
    detail = f"{path_name(worst)}, of {figures.limit_text(worst.limit)}, {worst.limit.link}"
    yield KeyFigure(
        "Lowest efficiency", figures.share_text(share).rstrip("%"), "%", detail, share < _GOOD
    )


def _figure(label: str, measurement: Measurement, detail: str) -> KeyFigure:
    unit, factor = figures.common_scale([measurement])
    doubtful = figures.is_doubtful(measurement)
    return KeyFigure(label, figures.plain(measurement, factor), unit, detail, doubtful)


def _verdict(run: Run) -> KeyFigure:
    found = verdict_of(run)
    first = found.why.partition(";")[0]
    if len(first) > _LONGEST:
        first = first.partition(" (")[0]
    return KeyFigure("Verdict", found.word, "", first, found.word != "usable")
