"""Vega-Lite to SVG, and SVG to PNG, in 130 MB of addresses.

Vega is JavaScript, and runs in QuickJS: V8, where it usually runs, reserves 64 GiB of addresses,
which sites' limits (``ulimit -v``) refuse. ``assets`` has Vega itself and the font that text is
measured and drawn with, so that pictures are alike on machines with other fonts or none.
"""

import json
import re
import struct
from functools import cache
from mmap import mmap
from pathlib import Path
from typing import Any

from tierscope.model.errors import ExitCode, UserError

_ASSETS = Path(__file__).parent / "assets"
_FONT = "Liberation Sans"
_REGULAR, _BOLD = (str(_ASSETS / f"LiberationSans-{weight}.ttf") for weight in ("Regular", "Bold"))
_RESVG_NEEDS = 64 << 20
"""More bytes than a picture takes; resvg ends the process where it gets no memory."""
_BOLD_FONT = re.compile(r"(^|\s)(bold|[6-9]00)\s")
_SIZE = re.compile(r"([\d.]+)px")

# What Vega asks of a browser: it measures text on a canvas. The picture is handed over as JSON,
# since quickjs cannot return strings that the engine keeps in pieces.
_BROWSER = """
globalThis.console = {log() {}, info() {}, debug() {}, warn() {}, error() {}};
globalThis.structuredClone = value => JSON.parse(JSON.stringify(value));
globalThis.document = {createElement: () => ({getContext: () => ({
  font: '',
  measureText(text) { return {width: text_width(text, this.font)}; },
})})};
"""
_DRAW = """
globalThis.draw = specification => {
  globalThis.drawn = globalThis.failed = null;
  vega.resetSVGDefIds();
  const dataflow = vega.parse(vegaLite.compile(JSON.parse(specification)).spec);
  new vega.View(dataflow, {renderer: 'none'}).toSVG().then(
    svg => { globalThis.drawn = JSON.stringify(svg); },
    error => { globalThis.failed = String(error); });
};
"""


def svg_of(specification: str) -> str:
    """Return the SVG of a Vega-Lite specification in JSON."""
    import quickjs  # type: ignore[import-untyped]

    try:
        context = _vega()
        context.get("draw")(specification)
        while context.execute_pending_job():
            pass
        failed, drawn = context.get("failed"), context.get("drawn")
    except quickjs.JSException as error:
        raise _undrawn(str(error)) from error
    if failed or not drawn:
        raise _undrawn(str(failed or "Vega returned nothing"))
    return str(json.loads(drawn))


def png_of(svg: str, scale: float) -> bytes:
    """Return an SVG as PNG, so many times larger than its pixels."""
    import resvg_py

    try:
        mmap(-1, _RESVG_NEEDS).close()
        return bytes(
            resvg_py.svg_to_bytes(
                svg_string=svg,
                zoom=scale,
                font_files=[_REGULAR, _BOLD],
                sans_serif_family=_FONT,
                font_family=_FONT,
            )
        )
    except (ValueError, OSError) as error:
        raise _undrawn(str(error)) from error


def _undrawn(why: str) -> UserError:
    reason = why.strip().partition("\n")[0]
    return UserError(f"a picture could not be drawn: {reason}", ExitCode.COMMAND_FAILED)


@cache
def _vega() -> Any:
    """Return the JavaScript engine with Vega in it."""
    import quickjs

    context = quickjs.Context()
    context.add_callable("text_width", _text_width)
    context.eval(_BROWSER)
    for name in ("vega", "vega-lite"):
        context.eval((_ASSETS / f"{name}.min.js").read_text())
    context.eval(_DRAW)
    return context


def _text_width(text: str, font: str) -> float:
    """Return how wide a text is in a font as CSS writes it: ``bold 13px 'Liberation Sans'``."""
    size = _SIZE.search(font)
    widths = _letter_widths(_BOLD if _BOLD_FONT.search(font) else _REGULAR)
    return sum(widths.get(ord(letter), 1.0) for letter in text) * float(size[1] if size else 0)


@cache
def _letter_widths(path: str) -> dict[int, float]:
    """Return the widths of a TrueType font's letters, as shares of its size."""
    content = Path(path).read_bytes()

    def numbers(at: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f">{count}H", content, at)

    def pointer(at: int) -> int:
        return int(struct.unpack_from(">I", content, at)[0])

    entries = range(12, 12 + 16 * numbers(4, 1)[0], 16)
    tables = {content[at : at + 4]: pointer(at + 8) for at in entries}
    (unit,) = numbers(tables[b"head"] + 18, 1)
    (measured,) = numbers(tables[b"hhea"] + 34, 1)
    advances = numbers(tables[b"hmtx"], 2 * measured)[::2]
    # Letters are mapped to glyphs by segments (format 4) for Windows (3) and Unicode (1).
    maps = range(
        tables[b"cmap"] + 4, tables[b"cmap"] + 4 + 8 * numbers(tables[b"cmap"] + 2, 1)[0], 8
    )
    mapping = tables[b"cmap"] + next(pointer(at + 4) for at in maps if numbers(at, 2) == (3, 1))
    count = numbers(mapping + 6, 1)[0] // 2
    ends = numbers(mapping + 14, count)
    starts, deltas, offsets = (numbers(mapping + 16 + 2 * count * n, count) for n in (1, 2, 3))
    widths: dict[int, float] = {}
    for segment, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for letter in range(start, end + 1):
            glyph = letter
            if offsets[segment]:
                place = mapping + 16 + 6 * count + 2 * segment
                (glyph,) = numbers(place + offsets[segment] + 2 * (letter - start), 1)
            glyph = (glyph + deltas[segment]) % 65536
            widths[letter] = advances[min(glyph, measured - 1)] / unit
    return widths
