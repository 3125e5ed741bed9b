"""Spread pages as a table with a verdict, and as JSON."""

import math
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.kinds.streams.spreads import (
    Gain,
    Prediction,
    Study,
    Weights,
    gain,
    studies_of,
    words_of,
)
from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.pictures.picture import constants
from tierscope.report.style import fits, new_table, note, title

_LOPSIDED = 1.5
"""Ratio of an interval's sides from which on both of its ends are shown."""
_WIDE = 0.2
"""Half of an interval, as a share, from which on both of its ends are shown, too."""
_DIGIT = 0.01
_UNSAID = ("writes", "stores", "zipf_alpha", "prefetch", "delay_ns", "threads", "policy",
           "mechanism")  # fmt: skip


def show_spreads(console: Console, run: Run) -> None:
    """Print a table for each access pattern and thread count, and what comes of it."""
    found = studies_of(run)
    if found:
        title(console, "Pages spread over nodes")
    for study in found:
        for threads in study.threads:
            _show(console, study, threads)


def _show(console: Console, study: Study, threads: int) -> None:
    points = study.at(threads)
    unit, factor = figures.scale_of("B/s", [m.estimate or 0.0 for m in points.values()])
    same = constants(list(points.values()), *_UNSAID)
    console.print()
    caption = f"{study.initiator}, {counted(threads, 'thread')}, {same}"
    console.print(Text(caption, style="bold"))
    table = new_table()
    table.add_column("pages", no_wrap=True)
    local = study.local
    own = f"node {local}"
    headings = [unit, "predicted", f"over\n{own}", f"over {own},\nbest threads", "over\n1:1"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    best, _ = study.best_at(threads)
    for weights, m in sorted(points.items(), key=lambda one: _order(one[0], local)):
        expected = study.expected(threads, weights) if len(weights) > 1 else None
        table.add_row(
            words_of(weights),
            figures.with_interval(m, factor) + figures.mark(m),
            figures.significant(expected.bandwidth / factor, 3) if expected else "",
            *(_over(m, base) for base in bases(study, threads).values()),
            style="bold green" if weights == best else "",
        )
    if not fits(console, table):  # The figures' own intervals are in the JSON.
        table.columns[1]._cells = [str(cell).partition(" ")[0] for cell in table.columns[1]._cells]
    console.print(table)
    for line in (verdict(study, threads), *_prediction(study, threads, factor, unit)):
        note(console, line, style="")
    measured = list(points.values())
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)


def bases(study: Study, threads: int) -> dict[str, Measurement | None]:
    """Return what spread pages are compared with, by its name in JSON."""
    return {
        "local": study.local_at(threads),
        "local_best": study.local_best(),
        "even": study.even_at(threads),
    }


def _over(measured: Measurement, base: Measurement | None) -> str:
    return "" if base is None or base is measured else gain_text(gain(measured, base))


def gain_text(found: Gain) -> str:
    """Return ``1.36 ±0.02``, or ``1.36 1.33..1.50`` where the sides differ much."""
    value = f"{found.value:.2f}"
    if found.low is None or found.high is None:
        return value
    sides = (found.value - found.low, found.high - found.value)
    wide = max(sides) > _WIDE * found.value
    if wide or (max(sides) > _LOPSIDED * min(sides) and max(sides) >= _DIGIT):
        return f"{value} {found.low:.2f}..{found.high:.2f}"
    return f"{value} ±{max(_DIGIT, math.ceil(max(sides) * 100) / 100):.2f}"


def _order(weights: Weights, local: int | None) -> tuple[float, Weights]:
    """Those with most pages on the own node first."""
    return -dict(weights).get(local or 0, 0) / sum(weight for _, weight in weights), weights


def verdict(study: Study, threads: int) -> str:
    """Say whether spreading pays, over the own node at the threads that are best for it."""
    weights, best = study.best_at(threads)
    base, same = study.local_best(), study.local_at(threads)
    if base is None or study.local is None:
        return f"The best is {words_of(weights)}; the own node was not measured by itself."
    own = f"node {study.local} only"
    if len(weights) == 1:
        return f"Spreading does not pay: {words_of(weights)} is the best."
    found = gain(best, base)
    at_best = f"the bandwidth of {own} at its best thread count, {base.pattern['threads']}"
    also = "" if same is None or same is base else (
        f", and {gain_text(gain(best, same))} times that of {own} at {threads}"
    )  # fmt: skip
    said = f"{words_of(weights)} has {gain_text(found)} times {at_best}{also}"
    if found.pays:
        return f"Spreading pays: {said}."
    if found.pays is None:
        return f"No gain is shown: {said}, and that interval includes no gain."
    return f"Spreading does not pay: the best, {said}."


def _prediction(study: Study, threads: int, factor: float, unit: str) -> Iterator[str]:
    found = study.predicted(threads)
    if found is None:
        return
    rate = figures.significant(found.bandwidth / factor, 3)
    yield (
        f"Predicted from the nodes by themselves: {words_of(found.weights)} with {rate} {unit}, "
        f"bound by {found.bound_by}."
    )


def spreads_json(run: Run) -> list[dict[str, Any]]:
    """Return each access pattern and thread count with its points, gains and prediction."""
    return [
        {
            "initiator": study.initiator,
            "pattern": study.pattern,
            "threads": threads,
            "local": study.local,
            "points": [_point(study, threads, weights) for weights in study.at(threads)],
            "best": _point(study, threads, study.best_at(threads)[0]),
            "predicted": _predicted(study.predicted(threads)),
            "pays": pays(study, threads),
        }
        for study in studies_of(run)
        for threads in study.threads
    ]


def pays(study: Study, threads: int) -> bool | None:
    """Return whether spreading pays over the own node at its best; None where that is not shown."""
    weights, best = study.best_at(threads)
    base = study.local_best()
    if len(weights) == 1:
        return False
    return gain(best, base).pays if base is not None else None


def _point(study: Study, threads: int, weights: Weights) -> dict[str, Any]:
    m = study.at(threads)[weights]
    expected = study.expected(threads, weights)
    over = {
        name: base and _gain_json(gain(m, base)) for name, base in bases(study, threads).items()
    }
    return {
        "id": m.id,
        "weights": dict(weights),
        "bandwidth": m.estimate,
        "ci_low": m.ci_low,
        "ci_high": m.ci_high,
        "predicted": expected and expected.bandwidth,
        "gain": over,
    }


def _gain_json(found: Gain) -> dict[str, float | None]:
    return {"value": found.value, "low": found.low, "high": found.high}


def _predicted(found: Prediction | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "weights": dict(found.weights), "bandwidth": found.bandwidth, "bound_by": found.bound_by
    }  # fmt: skip
