"""What placements do to applications: slowdown, fast memory freed, cost of an operation."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from tierscope.analysis.effect import (
    Effect,
    EffectVerdict,
    by_program,
    effects,
    figures_of,
    values_of,
)
from tierscope.model.evidence import AllocationSite
from tierscope.model.metric import METRICS
from tierscope.model.price import GIB, Prices
from tierscope.model.run import Measurement


@dataclass(frozen=True)
class Slowdown:
    """Time of an operation, or of the whole, against the first placement; 1.2 is 20% longer."""

    ratio: float
    low: float | None
    """Interval that holds for all of the application's comparisons at once, with 95%; None where
    pairs are too few."""
    high: float | None
    verdict: EffectVerdict
    detectable: float | None
    """Smallest change that would have been found, as a share."""


@dataclass(frozen=True)
class Answer:
    """One application under one placement."""

    measurement: Measurement
    figure: str
    """Its headline: the name of a figure of its output, or ``run_time``."""
    value: float
    """Median, in the metric's unit."""
    slowdown: Slowdown | None
    """None of the first placement."""
    pages: dict[str, float]
    """Bytes by node on average over the runs; empty where it ended before they were seen."""
    fast: float
    """Bytes of these on the node that has most of them under the first placement."""
    freed: float | None
    """Share of the first placement's fast memory that it does without; None of the first."""
    price: float | None = None
    """Price of the memory that it used; None without prices of all its nodes."""
    cost: float | None = None
    """Cost of an operation's share of that memory, against the first placement's: price times
    time."""

    @property
    def placement(self) -> str:
        """Return the placement's name."""
        return str(self.measurement.pattern["placement"])


def answers(measured: Sequence[Measurement], prices: Prices | None = None) -> list[list[Answer]]:
    """Return for each application its placements, the first one first."""
    return [_answers(group, prices) for group in by_program(measured)]


def pages_of(measurement: Measurement) -> dict[str, float]:
    """Return the bytes by node of all runs, on average over those in which they were seen."""
    program = measurement.evidence.program if measurement.evidence else None
    seen = [run.bytes_by_node for run in (program.runs if program else []) if run.bytes_by_node]
    nodes = sorted({node for one in seen for node in one}, key=int)
    return {node: fmean(one.get(node, 0) for one in seen) for node in nodes}


def _answers(group: list[Measurement], prices: Prices | None) -> list[Answer]:
    base = group[0]
    # Counting what allocates takes time, which is no placement's.
    group = [m for m in group if m is base or not sites_of([m])]
    figure = figures_of(base)[0]
    by_placement = {one.placement: one for one in effects(group) if one.figure == figure}
    own = pages_of(base)
    fast = max(own, key=lambda node: own[node], default="")
    price = _price(own, prices)
    value = median(values_of(base, figure))
    held = own.get(fast, 0.0)
    found = [Answer(base, figure, value, None, own, held, None, price, 1.0 if price else None)]
    for m in group[1:]:
        if not values_of(m, figure):
            continue
        effect = by_placement.get(str(m.pattern["placement"]))
        slowdown = _slowdown(effect) if effect and effect.ratio else None
        pages = pages_of(m)
        left = pages.get(fast, 0.0)
        freed = 1 - left / held if pages and held else None
        own_price = _price(pages, prices)
        cost = own_price / price * slowdown.ratio if own_price and price and slowdown else None
        value = median(values_of(m, figure))
        found.append(Answer(m, figure, value, slowdown, pages, left, freed, own_price, cost))
    return found


def sites_of(group: Sequence[Measurement]) -> list[AllocationSite]:
    """Return the functions of an application that allocate most, from a run that counted them."""
    programs = (m.evidence.program for m in group if m.evidence and m.evidence.program)
    runs = (run for program in programs for run in program.runs)
    return next((run.sites for run in runs if run.sites), [])


def _price(pages: dict[str, float], prices: Prices | None) -> float | None:
    if not prices or not pages:
        return None
    tiers = {node: prices.tier(f"node:{node}") for node in pages}
    if not all(tiers.values()):
        return None
    return sum(tier.per_gib * pages[node] / GIB for node, tier in tiers.items() if tier)


def _slowdown(effect: Effect) -> Slowdown:
    """Return an effect on a rate or a time as one on the time of an operation."""
    ratio, low, high = effect.ratio or 1.0, effect.low, effect.high
    if METRICS[effect.metric].better == "higher":
        ratio, low, high = 1 / ratio, high and 1 / high, low and 1 / low
    return Slowdown(ratio, low, high, effect.verdict, effect.detectable)
