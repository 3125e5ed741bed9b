"""Prices of memory and storage as a user states them."""

from dataclasses import dataclass

GIB = 1 << 30


@dataclass(frozen=True)
class Offer:
    """Price of a number of bytes, alone or as part of a product."""

    price: float
    """In the file's currency."""
    size: int
    """Bytes."""
    source: str
    date: str
    """ISO 8601: a day, or a month."""
    model: str = ""
    """Product, where offers are compared."""


@dataclass(frozen=True)
class PricedTier:
    """One tier of a machine, and what its memory costs."""

    name: str
    target: str
    """The endpoint as run files have it: node:0, gpu:0, file:/data."""
    offers: tuple[Offer, ...]
    """One of memory that is sold by itself; two of models that differ in their memory only, the
    smaller one first."""
    capacity: int | None = None
    """Bytes that the machine has of it; None: what a run says of the node."""

    @property
    def per_gib(self) -> float:
        """Price of a GiB."""
        first, last = self.offers[0], self.offers[-1]
        if len(self.offers) == 1:
            return first.price / first.size * GIB
        return (last.price - first.price) / (last.size - first.size) * GIB


@dataclass(frozen=True)
class Prices:
    """A file of prices, all in one currency."""

    path: str
    currency: str
    """ISO 4217: EUR, USD."""
    tiers: tuple[PricedTier, ...]

    def tier(self, target: str) -> PricedTier | None:
        """The tier of this target; None where it has no price."""
        return next((tier for tier in self.tiers if tier.target == target), None)
