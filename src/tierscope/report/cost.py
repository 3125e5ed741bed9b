"""What tiers and placements cost, in the terminal and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.cost import GOALS, Placement, Value, beaten_by, goal_of
from tierscope.model.price import GIB, Offer, PricedTier, Prices
from tierscope.model.text import brief
from tierscope.report import figures
from tierscope.report.style import new_table, note, title

_GB, _MILLION = 1e9, 1e6
_UNITS = {"bandwidth": (_GB, "GB/s"), "latency": (1.0, "ns"), "capacity": (float(GIB), "GiB")}


@dataclass(frozen=True)
class CostView:
    """Prices, the figures measured of the placements that they buy, and the runs these are from."""

    prices: Prices
    placements: Sequence[Placement]
    operation: str
    """The operation whose bandwidth is compared."""
    runs: Sequence[str]
    imported: Sequence[str] = ()
    """The sources of figures in imported runs."""

    @property
    def missing(self) -> list[str]:
        """What was not measured, and the command that measures it."""
        return [
            line for one in self.placements if len(one.tiers) == 1 for line in self._missing_of(one)
        ]

    def _missing_of(self, one: Placement) -> Iterator[str]:
        lacks = f"of {one.name} was not measured beyond the caches: tierscope"
        if one.bandwidth is None:
            command = f"bandwidth --to {one.target} --op {self.operation}"
            yield f"{self.operation} bandwidth {lacks} {command}"
        if one.latency is None:
            yield f"latency {lacks} latency --to {one.target}"
        if not one.operations:
            yield f"no operations a second were measured on {one.name}"


def show_cost(console: Console, view: CostView) -> None:
    """Print prices, what a unit of each figure costs, and the frontier."""
    currency = view.prices.currency
    for said in view.imported:
        console.print(Text(f"{said}.", style="bold yellow"))
    title(console, f"Prices, {currency}")
    _show_prices(console, view)
    title(console, f"What it costs, {currency}")
    _show_units(console, view)
    for line in filter(None, (*view.missing, _without_interval(view))):
        note(console, line)
    if any(one.operations for one in view.placements):
        title(console, f"Operations, {currency}")
        _show_operations(console, view)
    title(console, "The frontier: price against bandwidth, latency and capacity")
    _show_frontier(console, view)
    note(
        console,
        "a placement costs as much as all tiers that hold its pages, at full size; its capacity is "
        "reached when the first of them is full",
    )


def arithmetic(tier: PricedTier, currency: str) -> str:
    """Return how a tier's price of a GiB comes about."""
    result = f"= {money(tier.per_gib)} {currency}/GiB"
    first, last = tier.offers[0], tier.offers[-1]
    if first is last:
        return f"{_exact(first.price)} / {_gib(first.size)} {result}"
    price = f"({_exact(last.price)} - {_exact(first.price)})"
    return f"{price} / ({_gib(last.size)} - {_gib(first.size)}) {result}"


def money(amount: float) -> str:
    """Return an amount with the digits that matter: 5020, 310, 4.84."""
    return figures.significant(amount, 3) if amount < 1000 else f"{amount:.0f}"


def _exact(price: float) -> str:
    """Return a price as it was given: 310, 1299.90."""
    return f"{price:.0f}" if price == int(price) else f"{price:.2f}"


def _gib(size: float) -> str:
    return f"{size / GIB:.4g} GiB"


def _show_prices(console: Console, view: CostView) -> None:
    table = new_table("tier", "GiB", "per GiB", "from", words=("tier", "from"))
    alone = {one.tiers[0].name: one for one in view.placements if len(one.tiers) == 1}
    for tier in view.prices.tiers:
        table.add_row(
            f"{tier.name}, {tier.target}",
            f"{alone[tier.name].capacity / GIB:.4g}",
            money(tier.per_gib),
            arithmetic(tier, view.prices.currency),
        )
    console.print(table)
    for tier in view.prices.tiers:
        for offer in tier.offers:
            note(console, f"{tier.name}: {_source(offer, view.prices.currency)}")


def _source(offer: Offer, currency: str) -> str:
    what = f"{offer.model}, " if offer.model else ""
    amount = f"{what}{_gib(offer.size)} for {_exact(offer.price)} {currency}"
    return f"{amount} ({offer.source}, {offer.date})"


def _show_units(console: Console, view: CostView) -> None:
    rate = f"{view.operation}\nGB/s"
    table = new_table("", "GiB", "price", "per GiB", rate, "per GB/s", "idle\nns", words=("",))
    for one in sorted(view.placements, key=lambda one: one.price):
        if not (one.bandwidth or one.latency or len(one.tiers) == 1):
            continue
        table.add_row(
            one.name,
            f"{one.capacity / GIB:.4g}",
            money(one.price),
            money(one.per_gib),
            _measured(one.bandwidth, _GB),
            _per(one, one.bandwidth, _GB),
            _measured(one.latency, 1.0),
        )
    console.print(table)
    for what in dict.fromkeys(one.bandwidth.what for one in view.placements if one.bandwidth):
        note(console, f"best bandwidth by {what}")


def _without_interval(view: CostView) -> str:
    """Say how many figures have no interval; empty where all have one."""
    values = [
        value
        for one in view.placements
        for value in (one.bandwidth, one.latency, *one.operations)
        if value and value.measurement
    ]
    lacking = [value for value in values if value.measurement and value.measurement.ci_low is None]
    if not lacking:
        return ""
    return f"{len(lacking)} of {len(values)} figures have no interval and count as exact"


def _measured(value: Value | None, factor: float) -> str:
    if value is None or value.measurement is None:
        return "-"
    known = value.measurement.ci_low is not None
    text = (figures.with_interval if known else figures.plain)(value.measurement, factor)
    return text + figures.mark(value.measurement)


def _per(one: Placement, value: Value | None, unit: float) -> str:
    if value is None:
        return "-"
    estimate, low, high = one.per(value, unit)
    if money(low) == money(high):
        return money(estimate)
    return f"{money(estimate)} ({money(low)}–{money(high)})"


def _show_operations(console: Console, view: CostView) -> None:
    words = ("operation", "placement")
    table = new_table(*words, "million/s", "price", "per million/s", words=words)
    rows = [(value, one) for one in view.placements for value in one.operations]
    for value, one in sorted(rows, key=lambda row: (row[0].what, row[1].price)):
        table.add_row(
            value.what,
            one.name,
            _measured(value, _MILLION),
            money(one.price),
            _per(one, value, _MILLION),
        )
    console.print(table)


def _show_frontier(console: Console, view: CostView) -> None:
    table = new_table("", "price", *GOALS, words=("", *GOALS))
    for one in sorted(view.placements, key=lambda one: one.price):
        if not one.operations or one.bandwidth or one.latency or len(one.tiers) == 1:
            cells = [_frontier_cell(one, view.placements, goal) for goal in GOALS]
            table.add_row(one.name, money(one.price), *cells)
    console.print(table)


def _frontier_cell(one: Placement, others: Sequence[Placement], goal: str) -> Text:
    value = goal_of(one, goal)
    if value is None:
        return Text("not measured", style="dim")
    factor, unit = _UNITS[goal]
    number = (
        figures.plain(value.measurement, factor)
        if value.measurement
        else brief(value.estimate / factor, 4)
    )
    text = f"{number} {unit}"
    better = beaten_by(one, others, goal)
    if better is None:
        return Text(f"{text}, on it", style="bold green")
    return Text(f"{text}, {better.name} is better")


def cost_json(view: CostView) -> dict[str, Any]:
    """Return what is shown as one JSON object."""
    return {
        "currency": view.prices.currency,
        "operation": view.operation,
        "runs": list(view.runs),
        "imported": list(view.imported),
        "tiers": [
            {
                "name": tier.name,
                "target": tier.target,
                "price_per_gib": tier.per_gib,
                "arithmetic": arithmetic(tier, view.prices.currency),
                "offers": [vars(offer) for offer in tier.offers],
            }
            for tier in view.prices.tiers
        ],
        "placements": [_placement_json(one, view) for one in view.placements],
        "not_measured": view.missing,
    }


def _placement_json(one: Placement, view: CostView) -> dict[str, Any]:
    beaten = {goal: beaten_by(one, view.placements, goal) for goal in GOALS}
    return {
        "name": one.name,
        "target": one.target,
        "price": one.price,
        "capacity_bytes": one.capacity,
        "price_per_gib": one.per_gib,
        "bandwidth": _value_json(one, one.bandwidth, _GB, "price_per_gb_per_s"),
        "latency": _value_json(one, one.latency, None, ""),
        "operations": [
            _value_json(one, value, _MILLION, "price_per_million_per_s") for value in one.operations
        ],
        "frontier": {
            goal: None if goal_of(one, goal) is None else other is None
            for goal, other in beaten.items()
        },
        "beaten_by": {goal: other.name for goal, other in beaten.items() if other},
    }


def _value_json(
    one: Placement, value: Value | None, unit: float | None, name: str
) -> dict[str, Any] | None:
    if value is None:
        return None
    found: dict[str, Any] = {
        "what": value.what,
        "id": value.measurement.id if value.measurement else "",
        "estimate": value.estimate,
        "ci_low": value.low,
        "ci_high": value.high,
    }
    if unit:
        estimate, low, high = one.per(value, unit)
        found |= {name: estimate, f"{name}_low": low, f"{name}_high": high}
    return found
