"""Files of prices: what each tier's memory costs; docs/cost.md describes them."""

import math
import re
from datetime import date
from pathlib import Path
from typing import Any

from tierscope.model.endpoint import TARGETS, parse_endpoint
from tierscope.model.errors import UserError, shown
from tierscope.model.price import Offer, PricedTier, Prices
from tierscope.plans.grammar import parse_size
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar, sequence

_OFFER = ("price", "size", "source", "date")
_TIER = ("target", "capacity", "compared", *_OFFER)
_MODEL = ("model", *_OFFER)
_PRICE = re.compile(r"(-?\d[\d_]*(?:\.\d+)?)\s+([A-Z]{3})", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_MAX_PRICE = 1e12
_COMPARED = 2


def read_prices(path: Path) -> Prices:
    """Return a file's prices; raises UserError with file, line and key."""
    return parse_prices(read_text(path, "file of prices"), shown(path))


def parse_prices(text: str, path: str) -> Prices:
    """Return the prices in a file's text; ``path`` is for error messages::

    tiers:
      DDR5:
        target: node:0
        price: 310 EUR
        size: 64g
        source: geizhals.eu, one RDIMM
        date: 2025-02-10
    """
    place, root = Place(path), compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: the file is empty; it needs the key tiers")
    given = mapping(place, root, "a file of prices", ("tiers",))
    if "tiers" not in given:
        raise place.error(root, "key 'tiers' is missing")
    return _Reader(place).prices(given["tiers"])


class _Reader:
    """Reads tiers; remembers the currency of the first price, which all others have to have."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.currency = ""
        self.currency_line = 0

    def prices(self, node: Any) -> Prices:
        from yaml import MappingNode

        if not isinstance(node, MappingNode) or not node.value:
            raise self.place.error(node, "key 'tiers' has to be a mapping from names to tiers")
        tiers: dict[str, PricedTier] = {}
        for key, value in node.value:
            name = scalar(self.place, key, "tier")
            if name in tiers:
                raise self.place.error(key, f"tier '{name}' is given twice")
            tier = self._tier(name, value)
            other = next((one for one in tiers.values() if one.target == tier.target), None)
            if other:
                raise self.place.error(
                    value, f"key 'target': {tier.target} is tier '{other.name}' already"
                )
            tiers[name] = tier
        return Prices(self.place.path, self.currency, tuple(tiers.values()))

    def _tier(self, name: str, node: Any) -> PricedTier:
        values = mapping(self.place, node, f"tier '{name}'", _TIER)
        if "target" not in values:
            raise self.place.error(node, f"tier '{name}' lacks the key 'target'")
        if "compared" in values:
            extra = next((key for key in _OFFER if key in values), None)
            if extra:
                raise self.place.error(
                    values[extra], f"key '{extra}' does not go with 'compared', whose models have "
                    "one each"
                )  # fmt: skip
            offers = self._compared(name, values["compared"])
        else:
            offers = (self._offer(f"tier '{name}'", node, values),)
        capacity = self._size(values["capacity"], "capacity") if "capacity" in values else None
        return PricedTier(name, self._target(values["target"]), offers, capacity)

    def _target(self, node: Any) -> str:
        text = scalar(self.place, node, "target")
        try:
            endpoint = parse_endpoint(text)
        except UserError as error:
            raise self.place.error(node, f"key 'target': {error}") from None
        if endpoint.kind not in TARGETS or len(endpoint.numbers) > 1:
            raise self.place.error(
                node, f"key 'target': '{text}' is not one tier such as node:0 or file:/data; "
                "placements over several tiers are found in the runs"
            )  # fmt: skip
        return str(endpoint)

    def _compared(self, name: str, node: Any) -> tuple[Offer, ...]:
        entries = sequence(self.place, node, "compared")
        if len(entries) != _COMPARED:
            raise self.place.error(
                node, f"key 'compared' of tier '{name}' has {len(entries)} entries; it takes two "
                "models that differ in nothing but their memory"
            )  # fmt: skip
        found = []
        for entry in entries:
            values = mapping(self.place, entry, "a model", _MODEL)
            if "model" not in values:
                raise self.place.error(entry, "a model lacks the key 'model'")
            found.append(self._offer("a model", entry, values))
        less, more = sorted(found, key=lambda offer: offer.size)
        if less.size == more.size:
            raise self.place.error(node, "key 'compared': both models have the same memory")
        if less.price >= more.price:
            raise self.place.error(
                node, f"key 'compared': '{more.model}' has more memory than '{less.model}' and "
                "costs no more, which says nothing of the memory's price"
            )  # fmt: skip
        return less, more

    def _offer(self, what: str, node: Any, values: dict[str, Any]) -> Offer:
        lacking = next((key for key in _OFFER if key not in values), None)
        if lacking:
            raise self.place.error(node, f"{what} lacks the key '{lacking}'")
        return Offer(
            price=self._price(values["price"]),
            size=self._size(values["size"], "size"),
            source=scalar(self.place, values["source"], "source"),
            date=self._date(values["date"]),
            model=scalar(self.place, values["model"], "model") if "model" in values else "",
        )

    def _price(self, node: Any) -> float:
        text = scalar(self.place, node, "price")
        match = _PRICE.fullmatch(text)
        value = float(match[1].replace("_", "")) if match else math.nan
        if not match or not 0 < value <= _MAX_PRICE:
            raise self.place.error(
                node, f"key 'price': '{text}' is not an amount above 0 with its currency, as in "
                "310 EUR or 1299.90 USD"
            )  # fmt: skip
        line = node.start_mark.line + 1
        if self.currency and match[2] != self.currency:
            raise self.place.error(
                node, f"key 'price': {match[2]}, but line {self.currency_line} is in "
                f"{self.currency}; convert one of them, and say the rate in its source"
            )  # fmt: skip
        if not self.currency:
            self.currency, self.currency_line = match[2], line
        return value

    def _size(self, node: Any, key: str) -> int:
        text = scalar(self.place, node, key)
        try:
            size = parse_size(text)
        except UserError as error:
            raise self.place.error(node, f"key '{key}': {error}") from None
        if size <= 0:
            raise self.place.error(node, f"key '{key}': '{text}' is no memory at all")
        return size

    def _date(self, node: Any) -> str:
        text = scalar(self.place, node, "date")
        try:
            date.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
        except ValueError:
            raise self.place.error(
                node, f"key 'date': '{text}' is not a day or a month such as 2025-02-10 or 2025-02"
            ) from None
        return text
