"""Predictions for slower memory in the terminal, and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from tierscope.analysis.whatif import Answer, Expansion, Prediction, Range, Tier, WhatIf
from tierscope.model.metric import Unit
from tierscope.report import figures
from tierscope.report.style import new_table, note, title

_NEAR_FULL = 0.5
"""Share of a tier's bandwidth from which its latency is no longer the idle one."""
_ASSUMED = """\
A load takes as much longer on the tier as its idle latency is higher; caches hold as much as now.
The lower end has all work of an operation beside its waiting, the upper end has it hidden behind \
the waiting. Where a part's share of the waiting is not known, its range has all shares.
Stated latencies count as measured like tierscope's: dependent random loads, huge pages, a working \
set past the caches.
"""
_UNKNOWN = """\
Not known here: what prefetchers do at that latency; the tier's tail, its own caches and the cost \
of writes to it; page tables that lie on it; what software changes for it.
"""
ASSUMED, UNKNOWN = (text.splitlines() for text in (_ASSUMED, _UNKNOWN))


def show_whatif(console: Console, said: WhatIf, runs: Sequence[str]) -> None:
    """Print what it comes to, a table for each operation and one of bandwidth, what is assumed."""
    for tier in said.tiers:
        console.print(_about(tier, said.idle), highlight=False)
        for line in _sentences(said, tier):
            note(console, line, style="")
    for answer in said.answers:
        for tier, found in answer.predictions:
            _show_answer(console, answer, found, tier.name if len(said.tiers) > 1 else "")
    if said.expansions:
        _show_expansions(console, said)
    title(console, "What this assumes")
    for line in (*ASSUMED, *_cautions(said), *UNKNOWN, *said.unknown):
        note(console, line)
    note(console, f"From: {', '.join(runs)}")


def _about(tier: Tier, local: Range) -> str:
    idle = tier.idle(local)
    both = f"{range_text(idle, 'ns')}, local memory {range_text(local, 'ns')}"
    said = f"{tier.name}: idle latency {both}."
    if idle.estimate >= local.estimate:
        return said
    return f"{said} That is no slower than local memory as measured here; +150ns adds to it."


def _sentences(said: WhatIf, tier: Tier) -> Iterator[str]:
    """Say what becomes of each operation with all of its data there, and of the bandwidth."""
    for answer in said.answers:
        *_, whole = next(found for of, found in answer.predictions if of is tier)
        yield f"{answer.work.name}, all on it: {range_text(whole.slowdown)} times as long."
    for of, spread in said.expansions:
        if of is tier:
            gain = f"{range_text(spread.gain)} times the bandwidth"
            yield f"{spread.curve.name}, pages {_ratio(spread)}: {gain}."


def range_text(value: Range, unit: Unit = "ratio") -> str:
    """Return a value with its range and unit."""
    figure = value.figure("", unit)
    name, factor = figures.scale_of(unit, [value.estimate])
    return figures.text(figure, factor, "" if unit == "ratio" else name)


def _cell(value: Range, unit: Unit, factor: float) -> str:
    return figures.with_interval(value.figure("", unit), factor)


def _show_answer(console: Console, answer: Answer, found: Sequence[Prediction], tier: str) -> None:
    work = answer.work
    title(console, work.name[:1].upper() + work.name[1:] + (f": {tier}" if tier else ""))
    # One unit for all operations that memory bounds, which take less than 10 us.
    unit, factor = figures.scale_of("1/s", [10 * one.rate.estimate for one in found])
    time_unit, time_factor = figures.scale_of("ns", [one.time.estimate for one in found])
    words = ("on the tier",)
    table = new_table(*words, time_unit, unit, "slowdown", "waits", words=words)
    rate = work.time.map(lambda ns: work.streams * 1e9 / ns)
    local = (_cell(work.time, "ns", time_factor), _cell(rate, "1/s", factor))
    table.add_row("nothing (measured)", *local, "", "")
    for one in found:
        table.add_row(
            _placed(answer, one) + ("*" if one.full else ""),
            _cell(one.time, "ns", time_factor),
            _cell(one.rate, "1/s", factor),
            _cell(one.slowdown, "ratio", 1.0),
            _cell(one.waits, "count", 1.0),
        )
    console.print(table)
    if any(one.full for one in found):
        note(console, "* bound by the tier's bandwidth, not by its latency")


def _placed(answer: Answer, one: Prediction) -> str:
    return "all" if one.parts == answer.work.parts else ", ".join(one.parts)


def _show_expansions(console: Console, said: WhatIf) -> None:
    title(console, "Bandwidth of pages spread over local memory and the tier")
    words = ("accesses", "tier", "pages", "bound by")
    table = new_table("accesses", "tier", "threads", "pages", "GB/s", "gain", "bound by",
                      words=words)  # fmt: skip
    for tier, one in said.expansions:
        table.add_row(
            one.curve.name,
            tier.name,
            str(one.threads),
            _ratio(one),
            _cell(one.bandwidth, "B/s", 1e9),
            _cell(one.gain, "ratio", 1.0),
            one.bound_by,
        )
    console.print(table)
    note(console, "pages: on local memory to those on the tier; gain: over all on local memory at "
         "the same threads")  # fmt: skip


def _ratio(one: Expansion) -> str:
    local, tier = one.weights
    return f"{local}:{tier}" if local and tier else "all local" if local else "all on it"


def _cautions(said: WhatIf) -> Iterator[str]:
    """Say what is weak about these predictions."""
    works = [answer.work for answer in said.answers]
    lacking = [work.name for work in works if work.cached is None]
    if lacking:
        yield f"No figure in caches, so the lower end is wide: {'; '.join(lacking)}."
    if any(work.writes for work in works):
        yield "Operations that write: a tier may take writes more slowly than reads."
    if any(work.measurement.ci_low is None for work in works):
        yield "Figures without an interval count with the range of the middle 80% of their samples."
    for tier in said.tiers:
        if tier.bandwidth is None:
            yield f"{tier.name}: without a bandwidth, only its latency bounds operations."
        elif not tier.curve and (busy := _busiest(said, tier)) > _NEAR_FULL:
            yield (
                f"{tier.name}: operations take up to {figures.share_text(min(busy, 1.0))} of its "
                "bandwidth, where latency is above the idle one by an amount that only a measured "
                "curve tells (--tier RUN)."
            )


def _busiest(said: WhatIf, tier: Tier) -> float:
    """Return the largest share of a tier's bandwidth that a prediction takes."""
    assert tier.bandwidth
    traffic = [one.traffic.high for answer in said.answers for of, found in answer.predictions
               if of is tier for one in found]  # fmt: skip
    return max(traffic, default=0.0) / tier.bandwidth.estimate


def whatif_json(said: WhatIf, runs: Sequence[str]) -> dict[str, Any]:
    """Return what is shown as one JSON object."""
    return {
        "runs": list(runs),
        "local_idle_ns": _range(said.idle),
        "tiers": [
            {
                "name": tier.name,
                "idle_ns": _range(tier.idle(said.idle)),
                "bytes_per_s": _range(tier.bandwidth) if tier.bandwidth else None,
                "curve": len(tier.curve),
            }
            for tier in said.tiers
        ],
        "operations": [_answer(answer) for answer in said.answers],
        "bandwidth": [_expansion(tier, one) for tier, one in said.expansions],
        "assumed": [*ASSUMED, *_cautions(said)],
        "not_known": [*UNKNOWN, *said.unknown],
    }


def _range(value: Range) -> dict[str, float]:
    return {"estimate": value.estimate, "low": value.low, "high": value.high}


def _answer(answer: Answer) -> dict[str, Any]:
    work = answer.work
    return {
        "name": work.name,
        "id": work.measurement.id,
        "time_ns": _range(work.time),
        "in_caches_ns": _range(work.cached) if work.cached else None,
        "predictions": [
            {
                "tier": tier.name,
                "on_tier": list(one.parts),
                "waits": _range(one.waits),
                "time_ns": _range(one.time),
                "operations_per_s": _range(one.rate),
                "slowdown": _range(one.slowdown),
                "bound_by": "bandwidth" if one.full else "latency",
            }
            for tier, found in answer.predictions
            for one in found
        ],
    }


def _expansion(tier: Tier, one: Expansion) -> dict[str, Any]:
    return {
        "accesses": one.curve.name,
        "tier": tier.name,
        "threads": one.threads,
        "pages": list(one.weights),
        "bytes_per_s": _range(one.bandwidth),
        "local_bytes_per_s": _range(one.local),
        "gain": _range(one.gain),
        "bound_by": one.bound_by,
    }
