"""Maps of figures over those that others published."""

import math
from collections.abc import Sequence

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures.picture import (
    Picture,
    Spec,
    name_of,
    row_of,
    scale_of,
    slug,
    value_text,
    words_of,
)

_STEP = 35
"""Width and height of a cell."""
_MOST = 2.0
"""Twofold steps from which on colours are as strong as can be: a quarter, four times."""
_STRONG = 1.1
"""The same from which on text is white."""


def map_beside(
    cells: Sequence[tuple[Measurement, float]],
    down: str,
    across: str,
    *,
    key: str,
    title: str,
    subtitle: str,
) -> Picture:
    """Draw figures by two properties, the published ones below them, coloured by their ratio."""
    members = [m for m, _ in cells]
    unit, factor = scale_of(members)
    ordered = sorted(cells, key=lambda cell: (cell[0].pattern[down], cell[0].pattern[across]))
    rows = []
    for m, published in ordered:
        ratio = (m.estimate or 0.0) / published
        what = f"{words_of(m, [across, down])}, {ratio:.2f} x the published "
        what += f"{published / factor:.3g} {unit}"
        rows.append(
            row_of(
                m, factor, unit,
                row=value_text(m, down), column=value_text(m, across),
                text=f"{figures.plain(m, factor, 3)}{figures.mark(m)}",
                published=f"{published / factor:.3g}",
                steps=math.log2(ratio),
                what=what,
            )
        )  # fmt: skip
    ratios = sorted((m.estimate or 0.0) / published for m, published in cells)
    middle = ratios[len(ratios) // 2]
    return Picture(
        key=slug(key),
        title=title,
        subtitle=f"{unit}, here above published; {subtitle}",
        alt=f"{path_of(members[0])}: {ratios[0]:.2f} to {ratios[-1]:.2f} times the published "
        f"figures, in the middle {middle:.2f}.",
        spec=_spec(rows, _axis(members, across), _axis(members, down)),
        measurements=[m for m, _ in ordered],
    )


def _axis(members: list[Measurement], key: str) -> Spec:
    """Return a nominal axis with the values of a property in their order."""
    ordered = sorted(members, key=lambda m: float(m.pattern[key]))
    return {
        "type": "nominal",
        "title": name_of(members[0].kind, key),
        "sort": list(dict.fromkeys(value_text(m, key) for m in ordered)),
        "axis": {"labelColor": "role:ink", "domain": False, "grid": False, "labelAngle": 0},
        "scale": {"paddingInner": 0.04},
    }


def _spec(rows: list[Spec], across: Spec, down: Spec) -> Spec:
    colour = {
        "field": "steps",
        "type": "quantitative",
        "title": "here / published",
        "scale": {"scheme": "blueorange", "domain": [-_MOST, _MOST], "clamp": True,
                  "reverse": True},
        "legend": {"orient": "bottom", "values": [-2, -1, 0, 1, 2],
                   "labelExpr": "'×' + format(pow(2, datum.value), '~g')"},
    }  # fmt: skip
    ink = {"expr": f"abs(datum.steps) > {_STRONG} ? '#ffffff' : '#111111'"}
    text = {"type": "text", "aria": False, "fill": ink}
    across["axis"]["orient"] = "top"
    return {
        "width": {"step": _STEP},
        "height": {"step": _STEP},
        "data": {"values": rows},
        "encoding": {"x": {"field": "column", **across}, "y": {"field": "row", **down}},
        "layer": [
            {
                "mark": "rect",
                "encoding": {"color": colour, "description": {"field": "tip"}},
            },
            {
                "mark": {**text, "dy": -6, "fontSize": 12, "fontWeight": "bold"},
                "encoding": {"text": {"field": "text"}},
            },
            {
                "mark": {**text, "dy": 8, "fontSize": 10},
                "encoding": {"text": {"field": "published"}},
            },
        ],
    }
