"""Draw pictures: Vega-Lite specifications to SVG and PNG, without a browser or a network.

A specification names its colours by role (``ink``, ``grid``, ``series-1`` ...). On a page each
role becomes a CSS variable, so that the same SVG serves the light and the dark look and paper; in
a file of its own it becomes the light look's colour.
"""

import json
import re
import textwrap
import xml.etree.ElementTree as ElementTree
import zlib
from typing import Any

from tierscope.report.naming import legal_values
from tierscope.report.pictures.picture import Picture, Spec
from tierscope.report.pictures.vega import png_of, svg_of

# Room is left for text as wide as Liberation Sans, so pictures ask for it and its metric twins.
FONT = "'Liberation Sans', Arial, Arimo, Helvetica, sans-serif"
_SVG = "http://www.w3.org/2000/svg"
_PNG_SCALE = 2.0
_LEGIBLE, _LARGEST = 0.75, 1.15
"""How far a picture may shrink on a small screen before it scrolls, and grow on a large one."""
_SUBTITLE = 76
"""Characters of a subtitle in a line, about as wide as a picture."""

# Okabe and Ito's colours, which people with any kind of colour blindness tell apart, darkened for
# white paper and lightened for a dark screen until each has a contrast of 3:1 with its background.
LIGHT = {
    "ink": "#1c2530", "soft": "#57626f", "grid": "#e3e7ec", "paper": "#ffffff",
    "series-1": "#0072b2", "series-2": "#c25700", "series-3": "#00805c", "series-4": "#a8487f",
    "series-5": "#8a7300", "series-6": "#2b8fc7", "series-7": "#6a51a3", "series-8": "#4d4d4d",
}  # fmt: skip
DARK = {
    "ink": "#e8ecf1", "soft": "#a3afbd", "grid": "#2c3642", "paper": "#151b23",
    "series-1": "#56b4e9", "series-2": "#f09a4a", "series-3": "#2fc49a", "series-4": "#e08fbd",
    "series-5": "#f0e442", "series-6": "#8fd0f5", "series-7": "#b7a3e3", "series-8": "#c4c9d0",
}  # fmt: skip
# From the ninth on colours come again, with other dashes and shapes.
SERIES = [f"role:series-{number}" for number in (*range(1, 9), 2, 3, 4, 1)]
DASHES = [
    [1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4], [1, 3], [6, 2, 1, 2],
    [12, 3], [3, 5], [1, 0], [9, 2, 3, 2],
]  # fmt: skip
SHAPES = [
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
    "triangle-left", "circle", "square", "triangle-down", "diamond",
]  # fmt: skip

_CONFIG: Spec = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "role:soft",
        "titleColor": "role:soft",
        "gridColor": "role:grid",
        "domainColor": "role:grid",
        "tickColor": "role:grid",
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelPadding": 6,
        "ticks": False,
        "labelLimit": 300,
    },
    "legend": {
        "labelColor": "role:ink",
        "titleColor": "role:soft",
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "orient": "top",
        "columnPadding": 14,
        "symbolStrokeWidth": 0,
        "symbolSize": 70,
        "symbolOpacity": 1,
        "labelLimit": 380,
    },
    "text": {"fill": "role:ink", "fontSize": 13},
    "range": {"category": SERIES},
}


def svg_for_page(picture: Picture, prefix: str, labelled_by: str) -> str:
    """Return SVG to stand inside a page: coloured by CSS variables, its ids begin with ``prefix``.

    ``labelled_by`` holds the ids of the elements that name and describe it.
    """
    svg = _svg(picture.spec, lambda role: f"var(--{role})")
    return _tidy(svg, prefix, labelled_by)


def svg_for_file(picture: Picture, origin: str = "") -> bytes:
    """Return SVG that stands alone, on white. ``origin`` says which machine it is of, and when."""
    return _svg(_with_title(picture, origin), LIGHT.__getitem__).encode()


def png_for_file(picture: Picture, origin: str = "") -> bytes:
    """Return a PNG on white, at 200 dots an inch for print."""
    return png_of_svg(svg_for_file(picture, origin).decode())


def png_of_svg(svg: str) -> bytes:
    """Return an SVG as PNG, twice as large as its pixels."""
    return _compressed(png_of(svg, _PNG_SCALE))


def _compressed(png: bytes) -> bytes:
    """Return a PNG with its pixels compressed well: resvg writes three to four times as much.

    A PNG is a signature and chunks: length, type, content and checksum; pixels are in ``IDAT``.
    """
    signature, rest = png[:8], png[8:]
    chunks: list[tuple[bytes, bytes]] = []
    pixels = b""
    while rest:
        end = 8 + int.from_bytes(rest[:4], "big")
        kind, content = rest[4:8], rest[8:end]
        if kind == b"IDAT":
            pixels += content
        else:
            chunks.append((kind, content))
        rest = rest[end + 4 :]
    chunks.insert(-1, (b"IDAT", zlib.compress(zlib.decompress(pixels), 9)))
    return signature + b"".join(
        len(content).to_bytes(4, "big")
        + kind
        + content
        + zlib.crc32(kind + content).to_bytes(4, "big")
        for kind, content in chunks
    )


def _svg(spec: Spec, colour: Any) -> str:
    return svg_of(_coloured(spec, colour))


def _coloured(spec: Spec, colour: Any) -> str:
    """Return the whole specification with its roles replaced, as JSON."""
    whole = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": _CONFIG,
        "padding": {"left": 10, "right": 14, "top": 4, "bottom": 4},
        "autosize": {"type": "pad", "contains": "padding"},
        **spec,
    }
    # Text of the user's that happens to be a role's name would merely be shown as that colour's.
    roles = "|".join(LIGHT)
    return re.sub(
        f'"role:({roles})"', lambda m: json.dumps(colour(m[1])), json.dumps(legal_values(whole))
    )


def _with_title(picture: Picture, origin: str) -> Spec:
    lines = [line for text in (picture.subtitle, origin) for line in textwrap.wrap(text, _SUBTITLE)]
    return {
        **picture.spec,
        "background": LIGHT["paper"],
        "padding": 12,
        "title": {
            "text": picture.title,
            "subtitle": lines,
            "anchor": "start",
            "color": "role:ink",
            "subtitleColor": "role:soft",
            "fontSize": 14,
            "subtitleFontSize": 12,
            "offset": 12,
        },
    }


def _tidy(svg: str, prefix: str, labelled_by: str) -> str:
    """Make Vega's SVG fit a page with other pictures and a screen reader.

    Vega gives every mark a role and a label, which a screen reader would read out one by one; the
    page has a table for that. Labels of data points stay as ``data-tip``, which the page's script
    shows at the pointer.
    """
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg)  # noqa: S314  # what Vega wrote a moment ago
    names = {e.get("id"): f"{prefix}-{e.get('id')}" for e in root.iter() if e.get("id")}
    for element in root.iter():
        role = element.attrib.pop("role", "")
        description = element.attrib.pop("aria-roledescription", "")
        element.attrib.pop("aria-hidden", None)
        label = element.attrib.pop("aria-label", "")
        if role == "graphics-symbol" and label and "mark" in description:
            element.set("data-tip", label)
        for attribute, value in element.attrib.items():
            if attribute == "id":
                element.set("id", names[value])
            elif value.startswith("url(#") and value[5:-1] in names:
                element.set(attribute, f"url(#{names[value[5:-1]]})")
    width, height = root.attrib.pop("width"), root.attrib.pop("height")
    root.set("viewBox", root.get("viewBox", f"0 0 {width} {height}"))
    least, most = _LEGIBLE * float(width), _LARGEST * float(width)
    root.set("style", f"min-width: {least:.0f}px; max-width: {most:.0f}px")
    root.set("role", "img")
    root.set("aria-labelledby", labelled_by)
    return ElementTree.tostring(root, encoding="unicode")
