"""What a run comes to: tables of many figures, three sentences, key figures, warnings."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from rich.console import Console
from rich.text import Text

from tierscope.analysis.best import best_of, idle_latencies
from tierscope.analysis.knee import SHARE
from tierscope.machine.nvidia import pci_address
from tierscope.model.cause import Cause
from tierscope.model.errors import counted
from tierscope.model.path import Limit
from tierscope.model.run import Measurement, Run, shared
from tierscope.report import figures
from tierscope.report.best import best_rates, rivals_text, with_rivals
from tierscope.report.evidence import WIDE, Doubt, doubts, states_of
from tierscope.report.naming import bracketed, described, missing_by_cause, path_name
from tierscope.report.pictures.picture import label_of
from tierscope.report.published import published_text
from tierscope.report.style import new_table, note
from tierscope.report.tiers import LOCAL, ON_GPU, UNKNOWN, Tier, medium_of, tiers_of
from tierscope.report.view import KeyFigure, Summary, Views, kinds_in, view_of

_GOOD = 0.85
"""Share of its limit from which on a path is near it."""
_EMULATED = "the machine is emulated in software, so its figures mean nothing"
_TIME_LIMIT = "give it a longer --time-limit"
_OF_COMMANDS = {
    "storage": _TIME_LIMIT,
    "run": f"{_TIME_LIMIT}, or a longer --profile",
    "fleet": f"{_TIME_LIMIT}, or a longer --profile",
    "gpu": "measure it by itself for longer (gpu copy --budget)",
}
"""What gives figures more samples where a command measures several kinds, by its first word."""
_OF_ONE_KIND = ("matrix", "together")
"""Further words of commands below these, which have the option of their kind."""
_QUALIFIES = "--qualify"
_HALVES = 4
"""Times the budget that halves an interval."""
_MOST_REASONS = 3
_MOST_PATHS = 5
"""Paths up to which each has a sentence of its own."""
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


def verdict_of(run: Run, views: Views) -> Verdict:
    """Return whether a run's figures can be used.

    With care, where something is known against some of them; not at all, where that is so for most:
    no interval, one whose ends are further apart than 1:3, or others' programs beside them."""
    measured = [m for m in run.measurements if m.has_figure]
    if run.header.emulated:
        return Verdict("measure again", _EMULATED)
    if not measured:
        return Verdict("measure again", "; ".join(["nothing was measured", *warnings_of(run)]))
    vague = [m for m in measured if figures.is_vague(m)]
    disturbed = _doubted(measured, "disturbed")
    if 2 * len(disturbed) > len(measured):
        why = [*_of_run(run), _disturbed(measured), "stop them, or give it more time"]
        return Verdict("measure again", "; ".join(why))
    if 2 * len(vague) > len(measured):
        count = f"{len(vague)} of {len(measured)} figures are not known to within ±50%"
        why = [*_of_run(run), count, _more_time(run, views, measured)]
        return Verdict("measure again", "; ".join(why))
    if found := warnings_of(run):
        more = (
            [_more_time(run, views, measured)] if _doubted(measured, "wide", "no-interval") else []
        )
        return Verdict("usable with care", "; ".join([*found[:_MOST_REASONS], *more]))
    if not _doubted(measured, "short", "unsteady"):
        return Verdict("usable", "everything was measured as precisely as asked")
    widest = figures.width_text(max(map(figures.relative_half, measured)))
    return Verdict("usable", f"everything was measured, each figure to within {widest}")


def _more_time(run: Run, views: Views, measured: Sequence[Measurement]) -> str:
    """Say which budget would halve the intervals that are wide: they shrink with the square root of
    the time."""
    wide = _doubted(measured, "wide", "no-interval")
    words = run.header.command[1:]
    if any(word.startswith(_QUALIFIES) for word in words):
        return "give it a longer --round"
    options = dict.fromkeys(view_of(views, m.kind).more_by for m in wide or measured)
    if "--budget" not in options:
        return f"repeat it more often ({' or '.join(options)})"
    if words and words[0] in _OF_COMMANDS and not _is_of_one_kind(words, measured[0].kind):
        return _OF_COMMANDS[words[0]]
    budget = max(_sampled(run, wide, "budget_s"), default=None)
    if budget is None:
        return "give it more time (--budget)"
    width = median(map(figures.relative_half, wide)) / 2
    said = f" for about {figures.width_text(width)}" if 0 < width <= figures.WIDEST / 2 else ""
    return f"--budget {_short(_HALVES * budget)}s{said}"


def _is_of_one_kind(words: Sequence[str], kind: str) -> bool:
    """Whether a command below another one is of one kind: ``storage io``, ``gpu copy``."""
    names = (kind, kind.removeprefix(f"{words[0]}-"), *_OF_ONE_KIND)
    return len(words) > 1 and words[1] in names


def _short(seconds: float) -> str:
    return f"{float(figures.significant(seconds, 2)):g}"


def _sampled(run: Run, measured: Sequence[Measurement], key: str) -> set[float]:
    """Return how precise figures were to be, or how long each might take, where the plan says."""
    planned = {one["id"]: one for one in run.header.plan.get("measurements", [])}
    sampling = (planned.get(m.id, {}).get("sampling", {}) for m in measured)
    return {one[key] for one in sampling if key in one}


def warnings_line(run: Run) -> str:
    """Return all warnings in a sentence; empty where there are none."""
    found = warnings_of(run)
    return f"Warnings: {'; '.join(found)}." if found else ""


def warnings_of(run: Run, precision: bool = True) -> list[str]:
    """Return what may invalidate figures, each in a clause, the worst first; ``precision``: wide
    and missing intervals, too."""
    found = _of_run(run)
    measured = [m for m in run.measurements if m.has_figure]
    found += [text for check in _CHECKS if (text := check(measured))]
    if precision:
        found += filter(None, (_imprecise(run, measured), _without_interval(measured)))
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


def _imprecise(run: Run, measured: Sequence[Measurement]) -> str:
    wide = _doubted(measured, "wide")
    if not wide:
        return ""
    widths = [*map(figures.relative_half, wide)]
    count = f"{len(wide)} of {counted(len(measured), 'figure')}"
    precision, budgets = (_sampled(run, wide, key) for key in ("precision", "budget_s"))
    if len(precision) != 1 or not budgets:
        widest = figures.width_text(max(widths))
        return f"intervals wider than ±{WIDE:.0%} for {count} (the widest {widest})"
    times = " to ".join(_short(time) for time in sorted({min(budgets), max(budgets)}))
    asked, typical = map(figures.width_text, (precision.pop(), median(widths)))
    return f"{asked} not reached in {times} s a figure by {count} (median {typical})"


def _without_interval(measured: Sequence[Measurement]) -> str:
    count = len(_doubted(measured, "no-interval"))
    return f"no interval for {count} of {len(measured)} figures" if count else ""


def _disturbed(measured: Sequence[Measurement]) -> str:
    count = len(_doubted(measured, "disturbed"))
    of = counted(len(measured), "measurement")
    return f"other programs took CPU time during {count} of {of}" if count else ""


_CHECKS = (_beyond, _degraded_links, _throttled, _disturbed)
"""What may invalidate figures, the worst first."""


def _efficiency(measurement: Measurement) -> float:
    return measurement.efficiency or 0.0


def sentences(run: Run, views: Views) -> list[str]:
    """Return the verdict, then what a reader concludes."""
    return [verdict_of(run, views).sentence, *conclusions(run, views)]


def conclusions(run: Run, views: Views) -> list[str]:
    """Return what a reader concludes: of each path its best bandwidth, how far that is from its
    limit, and its idle latency. Of many paths that reach the same medium, the fastest and the
    slowest stand for all."""
    measured = [m for m in run.measurements if m.has_figure]
    alone = [m for m in measured if not shared(m)]
    if not alone:
        return [*_together(measured), *_slowed_by_others(run, measured)]
    moved = [m for m in alone if m.unit == "B/s" and view_of(views, m.kind).represents_path]
    rates = best_rates([m for m in moved if not m.fits_caches] or moved)
    idle = idle_latencies(m for m in alone if view_of(views, m.kind).represents_path)
    by_name = {path_name(m): m for m in rates}
    times = {path_name(m): m for m in idle.values()}
    names = dict.fromkeys([*by_name, *times])
    paths = [_Path(run, views, by_name.get(name), times.get(name)) for name in names]
    if len(paths) <= _MOST_PATHS:
        found = [f"{path.text(moved)}." for path in paths]
    else:
        alike: dict[str, list[_Path]] = {}
        for path in paths:
            alike.setdefault(path.way, []).append(path)
        found = [_of_alike(members, moved) for members in alike.values()]
        found += _below_limits(run, rates)
    shown = {m.kind for m in (*rates, *idle.values())}
    others = [m for m in alone if m.kind not in shown]
    found += [f"{_capital(text)}." for text in _summaries(others, views)]
    if not found:
        found = [f"{view_of(views, alone[0].kind).title}: {described(alone[0])}."]
    found += [*_still_scaling(run, alone), *_slowed_by_others(run, measured)]
    return [*found, *filter(None, [published_text(run, measured)])]


@dataclass(frozen=True)
class _Path:
    """What is known of one path; it has a rate or an idle latency."""

    run: Run
    views: Views
    rate: Measurement | None
    idle: Measurement | None

    @property
    def one(self) -> Measurement:
        """One of its measurements."""
        one = self.rate or self.idle
        assert one is not None
        return one

    @property
    def medium(self) -> str:
        """What holds the data, seen from who accesses it: of a copy to a GPU, the host's."""
        ends = view_of(self.views, self.one.kind).accesses(self.one)
        return medium_of(self.run.header, *(ends or (self.one.initiator, self.one.target)))[0]

    @property
    def way(self) -> str:
        """What paths have in common that are compared: the medium, and of GPUs who reaches it."""
        start, end = self.one.initiator, self.one.target
        if self.medium != ON_GPU:
            return self.medium
        return "own" if start == end else start.partition(":")[0]

    @property
    def name(self) -> str:
        """Names it by what holds its data: "local DRAM of node:0", "CXL (node:0 → node:2)"."""
        if self.medium == LOCAL:
            return f"{LOCAL} of {self.one.target}"
        named = path_name(self.one)
        return named if self.medium in (ON_GPU, UNKNOWN) else f"{self.medium} ({named})"

    def text(self, moved: list[Measurement]) -> str:
        """Say what it reaches, and its idle latency."""
        idle = described(self.idle, path=False) if self.idle else ""
        if self.rate is None:
            return f"The idle latency of {self.name} is {idle}"
        own = [m for m in moved if path_name(m) == path_name(self.rate)]
        text = f"{_capital(self.name)} reaches {_with_own_rivals(self.rate, own)}"
        if self.rate.fits_caches:
            text += ", with a working set that the caches can hold"
        if self.rate.limit and self.rate.efficiency is not None and _is_known(self.run):
            text += f", {_of_limit(self.rate)}"
            if self.rate.efficiency < _GOOD:
                text += f": {_unused(self.rate)} are unused"
        return f"{text}; its idle latency is {idle}" if idle else text


def _of_alike(paths: list[_Path], moved: list[Measurement]) -> str:
    """Say what the best of several paths reaches, and the worst."""
    rates = [path.rate for path in paths if path.rate]
    if not rates:
        best = best_of([path.one for path in paths])
        worst = max((path.one for path in paths), key=lambda m: m.estimate or 0.0)
    else:
        best, worst = best_of(rates), min(rates, key=_slowness)
    text = next(path for path in paths if path.one is best).text(moved)
    if len(paths) == 1:
        return f"{text}."
    low, high = sorted((best.estimate or 0.0, worst.estimate or 0.0))
    if high <= _ALIKE * low:
        count = "both" if len(paths) == 2 else f"all {len(paths)}"
        return f"{text}; {count} such paths are within 1% of each other."
    last = "slowest" if rates else "highest"
    unit, factor = figures.common_scale([worst])
    value = figures.text(worst, factor, unit)
    return f"{text}; of {len(paths)} such paths, {path_name(worst)} is the {last}: {value}."


def _together(measured: list[Measurement]) -> list[str]:
    if not measured:
        return []
    most = described(best_of(measured))
    return [f"No path was measured alone; the highest concurrent figure is {most}."]


def _capital(text: str) -> str:
    """Begin a sentence; endpoints are written as they are."""
    return text if re.match(r"[a-z]+:\S", text) else f"{text[0].upper()}{text[1:]}"


def _slowness(measurement: Measurement) -> tuple[bool, float]:
    """Return what to compare rates by, the lowest first; those without intervals come last."""
    return not figures.has_interval(measurement), measurement.estimate or 0.0


def _with_own_rivals(best: Measurement, own: Sequence[Measurement]) -> str:
    """Describe the best of a path, and say which other operations may be as fast."""
    return with_rivals(described(best, path=False), best, own, _operation)


def _operation(measurement: Measurement) -> str:
    return str(measurement.pattern.get("operation", ""))


def _summaries(measured: list[Measurement], views: Views) -> list[str]:
    """Return what kinds say of themselves whose figures do not stand for their paths."""
    kinds = dict.fromkeys(m.kind for m in measured)
    return [
        text
        for kind in kinds
        if (summary := view_of(views, kind).summary)
        and (text := summary([m for m in measured if m.kind == kind]))
    ]


def _is_known(run: Run) -> bool:
    """Whether limits say anything about a run's figures."""
    return not run.header.emulated and not run.header.imported


def _below_limits(run: Run, rates: list[Measurement]) -> list[str]:
    """Say which path is furthest below its limit, and how many are far below."""
    limited = [m for m in rates if m.efficiency is not None and m.limit]
    if not limited or not _is_known(run):
        return []
    worst = min(limited, key=_efficiency)
    low = [m for m in limited if _efficiency(m) < _GOOD]
    reached = f"{described(worst)}, {_of_limit(worst)}"
    if not low:
        near = f"Every path is near its limit; furthest below it is {reached}."
        return [near] if _efficiency(worst) <= 1 else []
    text = f"Furthest below its limit is {reached}: {_unused(worst)} are unused"
    if len(low) > 1:
        text += f"; {len(low)} of {len(limited)} paths are below {_GOOD:.0%} of their limits"
    return [f"{text}."]


def _slowed_by_others(run: Run, measured: list[Measurement]) -> list[str]:
    """Name the figure that is furthest below its limit while others are measured."""
    crowded = [m for m in measured if shared(m) and m.efficiency is not None and m.limit]
    if not crowded or not _is_known(run):
        return []
    worst = min(crowded, key=_efficiency)
    if _efficiency(worst) >= _GOOD:
        return []
    return [f"With concurrent copies, {described(worst)} is {_of_limit(worst)}."]


def _of_limit(measurement: Measurement) -> str:
    assert measurement.limit is not None
    share = figures.share_text(_efficiency(measurement))
    return f"{share} of the {figures.limit_text(measurement.limit)} of {measurement.limit.link}"


def _unused(measurement: Measurement) -> str:
    limit = measurement.limit
    assert limit is not None
    unit, factor = figures.scale_of(limit.unit, [limit.value])
    left = (limit.value - (measurement.estimate or 0.0)) / factor
    return f"{figures.significant(left, 2)} {unit}"


def _still_scaling(run: Run, measured: list[Measurement]) -> list[str]:
    """Say which path was still getting faster at its largest thread count, where this machine has
    more CPUs."""
    usable = len(run.header.machine.get("usable_cpus", []))
    curves: dict[tuple[str, ...], list[Measurement]] = {}
    for m in measured:
        if m.unit == "B/s" and "threads" in m.pattern:
            rest = {key: value for key, value in m.pattern.items() if key != "threads"}
            curves.setdefault((m.initiator, m.target, str(rest)), []).append(m)
    for curve in curves.values():
        if len(curve) < 2:
            continue
        *_, before, last = sorted(curve, key=lambda m: int(m.pattern["threads"]))
        threads = int(last.pattern["threads"])
        highest_before = before.ci_high or before.estimate or 0.0
        if highest_before < SHARE * (last.ci_low or last.estimate or 0.0) and threads < usable:
            most = f"{threads} threads, the most that were measured"
            return [f"{path_name(last)} was still getting faster at {most}."]
    return []


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
    return [*found, _verdict(run, views)]


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
            words = [path_name(top), _operation(top)]
            words.append(counted(threads, "thread") if threads else "")
            own = [m for m in members if path_name(m) == path_name(top)]
            others = rivals_text(top, best, path_name) or rivals_text(top, own, _operation)
            yield _figure(label, top, bracketed(", ".join(filter(None, words)), others))
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


def _verdict(run: Run, views: Views) -> KeyFigure:
    found = verdict_of(run, views)
    first = found.why.partition(";")[0]
    if len(first) > _LONGEST:
        first = first.partition(" (")[0]
    return KeyFigure("Verdict", found.word, "", first, found.word != "usable")
