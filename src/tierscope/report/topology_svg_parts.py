"""The elements that a machine's drawing is made of, and their style sheet."""

from html import escape

from tierscope.report.topology_layout import Place

COLOURS = {  # class: (light fill, light stroke, dark fill, dark stroke)
    "group": ("#f6f8fb", "#c3ccd9", "#171d27", "#3a475a"),
    "root": ("#ffffff", "#94a3b8", "#0f141b", "#64748b"),
    "switch": ("#e8edf4", "#94a3b8", "#232c39", "#64748b"),
    "DRAM": ("#dff3f5", "#2b8a96", "#10343a", "#3fb3c1"),
    "HBM": ("#fbe3f1", "#b83280", "#3d1530", "#e05fab"),
    "CXL": ("#fff0d6", "#c77d0a", "#3d2a08", "#f0a93a"),
    "PMem": ("#e9e4fb", "#6d4fc4", "#251b45", "#9a80ea"),
    "GPU": ("#e6f5d8", "#4f8a10", "#1d3309", "#8ccf3c"),
    "unknown": ("#eeeeee", "#888888", "#2a2a2a", "#999999"),
    "gpu": ("#e6f5d8", "#4f8a10", "#1d3309", "#8ccf3c"),
    "drive": ("#f3e8fb", "#8b44c2", "#2c1740", "#bd84ea"),
    "port": ("#e1edfd", "#2f6fd0", "#12263f", "#6ba4f5"),
    "cxl": ("#fff0d6", "#c77d0a", "#3d2a08", "#f0a93a"),
    "fabric": ("#d3ecb9", "#4f8a10", "#24400c", "#8ccf3c"),
}


def style_sheet() -> str:
    """The style sheet: light colours, and dark ones where the browser asks for them."""
    light = [
        ".paper{fill:#ffffff}",
        "text{fill:#16202e;font-size:12px}",
        ".title{font-size:26px;font-weight:700}",
        ".lead{font-size:14px}",
        ".name{font-weight:600}",
        ".muted{fill:#5b6878}",
        ".small{font-size:10.5px}",
        ".rate{font-size:11px;font-weight:600;fill:#334155}",
        ".line{fill:none;stroke:#94a3b8}",
        ".nvlink{fill:none;stroke:#4f8a10;stroke-width:3px}",
        ".short{fill:#b42318}",
        ".halo{stroke:#ffffff;stroke-width:4px;stroke-linejoin:round}",
    ]
    dark = [
        ".paper{fill:#0b0f15}",
        "text{fill:#e6ebf2}",
        ".muted{fill:#93a1b3}",
        ".rate{fill:#cbd5e1}",
        ".line{stroke:#5b6b80}",
        ".nvlink{stroke:#8ccf3c}",
        ".short{fill:#ff8a7a}",
        ".halo{stroke:#0b0f15}",
    ]
    for name, (fill, stroke, dark_fill, dark_stroke) in COLOURS.items():
        light.append(f".{name}{{fill:{fill};stroke:{stroke};stroke-width:1.2px}}")
        dark.append(f".{name}{{fill:{dark_fill};stroke:{dark_stroke}}}")
    return "".join(light) + "@media (prefers-color-scheme: dark){" + "".join(dark) + "}"


def shorten(text: str, room: float, per_character: float) -> str:
    """A text cut to the room that it has, both in pixels."""
    longest = max(0, int(room / per_character))
    if len(text) <= longest:
        return text
    return text[: max(0, longest - 1)].rstrip() + "…" * (longest > 1)


def draw_text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    """A text at its baseline; nothing where it is empty."""
    if not text:
        return ""
    place = f'x="{x:.1f}" y="{y:.1f}"'
    align = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text {place} class="{style}"{align}>{escape(text)}</text>'


def draw_box(place: Place, style: str, radius: float, tip: str = "") -> str:
    """A box, with a tooltip where there is one."""
    inner = f"<title>{escape(tip)}</title>" if tip else ""
    return (
        f'<rect class="{style}" x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{radius:g}">{inner}</rect>'
    )


def elbow_path(x1: float, y1: float, middle: float, x2: float, y2: float) -> str:
    """Down, across at ``middle``, and down again."""
    return f"M{x1:.1f},{y1:.1f} V{middle:.1f} H{x2:.1f} V{y2:.1f}"


def draw_line(x1: float, y1: float, x2: float, y2: float, width: float) -> str:
    """A straight line, ``width`` pixels wide."""
    return (
        f'<line class="line" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke-width="{width:.1f}"/>'
    )
