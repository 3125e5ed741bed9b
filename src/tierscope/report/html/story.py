"""The first screen of a report: the tiers of each initiator as a map and a table."""

from dataclasses import dataclass

from markupsafe import Markup

from tierscope.model.run import Run
from tierscope.report.pictures.draw import svg_for_page
from tierscope.report.pictures.picture import Picture
from tierscope.report.pictures.tier_map import COLOURS, SHAPES, tier_maps
from tierscope.report.tiers import TierRow, tier_rows, tiers_of
from tierscope.report.view import Views

_SIGNS = {
    "circle": "M7 1.5a5.5 5.5 0 1 0 .01 0Z",
    "square": "M2 2h10v10H2Z",
    "triangle-up": "M7 1 13 12H1Z",
    "triangle-down": "M7 13 1 2h12Z",
    "triangle-right": "M13 7 2 13V1Z",
    "triangle-left": "M1 7 12 1v12Z",
    "diamond": "M7 0l5 7-5 7-5-7Z",
    "cross": "M5 1h4v4h4v4H9v4H5V9H1V5h4Z",
}
"""The marks of the map as paths of 14 by 14 pixels."""


@dataclass(frozen=True)
class TierCard:
    """The tiers of one initiator on the page."""

    id: str
    initiator: str
    picture: Picture | None
    """None where fewer than two tiers have both a latency and a bandwidth."""
    svg: Markup | None
    rows: list[TierRow]


def tier_cards(prefix: str, run: Run, views: Views) -> list[TierCard]:
    """Return a card for each initiator that has several tiers, those with a map first."""
    maps = {picture.measurements[0].id: picture for picture in tier_maps(run, views)}
    cards = []
    for number, (initiator, tiers) in enumerate(tiers_of(run, views).items(), 1):
        id_ = f"{prefix}-tiers{number}"
        first = next((t.latency.id for t in tiers if t.latency and t.bandwidth), "")
        picture = maps.get(first)
        svg = svg_for_page(picture, id_, f"{id_}-title {id_}-alt") if picture else None
        cards.append(
            TierCard(id_, initiator, picture, Markup(svg) if svg else None, tier_rows(tiers))  # noqa: S704  # Vega escapes text in its SVG
        )
    return sorted(cards, key=lambda card: card.svg is None)


def sign(medium: str) -> Markup:
    """Return the mark of a medium as the map has it, to stand in a table."""
    return Markup(
        '<svg class="sign" viewBox="0 0 14 14" aria-hidden="true">'
        '<path fill="var(--{})" d="{}"/></svg>'
    ).format(COLOURS[medium], _SIGNS[SHAPES[medium]])
