"""A drawing of the machine for slides: packages, nodes, switches, devices, each link's rate.

Plain SVG 1.1 with class rules, so that browsers and office programs show it alike; a browser
with a dark scheme gets dark colours.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from tierscope.model.path import Hop
from tierscope.model.topology import Topology
from tierscope.report.topology_layout import (
    BOX_HEIGHT,
    GAP,
    MARGIN,
    NODE_LINE,
    Drawing,
    Place,
    lay_out,
)
from tierscope.report.topology_outline import (
    NOWHERE,
    Item,
    count_of,
    fabric_summary,
    memory_words,
    outline,
)
from tierscope.report.topology_svg_parts import (
    COLOURS,
    draw_box,
    draw_line,
    draw_text,
    elbow_path,
    shorten,
    style_sheet,
)
from tierscope.topology.links import pcie_name

_FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_HEAD = 104
_LEAST = 900.0
_MIN_BARE = 700.0
"""Width that the lines above and below the machine take."""
_DROP = 16
"""From a box down to where its lines part."""
_LEGEND = [
    ("DRAM", "DRAM"),
    ("HBM", "HBM"),
    ("CXL", "CXL"),
    ("PMem", "PMem"),
    ("unknown", "unknown"),
    ("gpu", "GPU"),
    ("drive", "drive"),
    ("port", "network"),
]

Measured = Mapping[str, tuple[str, str]]
"""Figure and origin ("129 GB/s", "from node:0") by what they were measured to ("node 0")."""


def draw(
    topology: Topology, measured: Measured | None = None, headed: bool = True, origin: str = ""
) -> str:
    """The drawing as SVG text; with its machine's name above it where it stands alone.

    ``measured`` has figures and their origins by what they were measured to ("node 0", "gpu:1");
    they then stand beside the links' theoretical rates. ``origin`` says when they were measured.
    """
    items = outline(topology)
    _set_measured(items, measured or {})
    for item in items:
        item.children = [child for child in map(_without_fabric, item.children) if child]
    shown = [item for item in items if item.children or item.name != NOWHERE]
    drawing = lay_out(shown, _HEAD, _LEAST) if headed else lay_out(shown, MARGIN / 2, _MIN_BARE)
    fabric = fabric_summary(topology)
    height = drawing.height + (64 if fabric else 0) + 84
    size = f"{drawing.width:.0f} {height:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="{_FONT}">',
        f"<title>{escape(topology.host)}</title>",
        f"<style>{style_sheet()}</style>",
        *(_header(topology, drawing.width, height) if headed else []),
        *_interconnects(topology, drawing),
    ]
    for group in drawing.groups:
        parts += _group(group, bool(fabric))
    if fabric:
        parts += _fabric_bar(fabric, drawing)
    parts += _footer(drawing, height, _used(items), bool(measured))
    if origin:
        parts.append(draw_text(MARGIN, height - 8, origin, "small muted"))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _set_measured(items: list[Item], measured: Measured) -> None:
    for item in items:
        item.measured, item.measured_from = measured.get(item.name, ("", ""))
        _set_measured(item.children, measured)


def _beside(item: Item, rate: str) -> str:
    """The measured figure beside the theoretical rate, whichever there are."""
    measured = item.measured.removesuffix(" GB/s") if rate else item.measured
    return " of ".join(text for text in (measured, rate) if text)


def _without_fabric(item: Item) -> Item | None:
    """NVSwitches' PCIe links only manage them; NVLink is drawn as a fabric of its own."""
    if item.kind == "nvswitch":
        return None
    if not item.children:
        return item
    item.children = [child for child in map(_without_fabric, item.children) if child]
    return item if item.children else None


def _header(topology: Topology, width: float, height: float) -> list[str]:
    """Paper and the machine's name; what stands inside a page has the page's."""
    packages = topology.packages
    cores = sum(package.cores for package in packages)
    words = [
        f"{len(packages)} x {topology.cpu_model}" if topology.cpu_model else "",
        count_of(cores, "core"),
        memory_words(topology),
        count_of(len(topology.gpus), "GPU") if topology.gpus else "",
    ]
    facts = " · ".join(word for word in words if word)
    name = topology.host if not topology.product else f"{topology.host} · {topology.product}"
    return [
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>',
        draw_text(MARGIN, 46, shorten(name, width - 2 * MARGIN, 14.5), "title"),
        draw_text(MARGIN, 72, shorten(facts, width - 80, 7.4), "lead muted"),
    ]


def _group(place: Place, fabric: bool) -> list[str]:
    parts = [line for card in _cards(place) for line in _nvlink_to_cpu(place, card)]
    nodes = [child for child in place.children if child.item.kind == "node"]
    roots = [child for child in place.children if child.item.kind != "node"]
    for root in roots:
        parts += _branch(root, fabric) if root.children else _card(root, fabric)
        parts.append(draw_line(root.centre, place.y + place.height, root.centre, root.y, 2.0))
    parts.append(draw_box(place, "group", 12))
    room = place.width - 2 * GAP
    head = f"{place.item.name}  "
    parts.append(draw_text(place.x + GAP, place.y + 27, head.strip(), "name lead"))
    offset = len(head) * 8.2
    detail = shorten(place.item.detail, room - offset, 6.6)
    parts.append(draw_text(place.x + GAP + offset, place.y + 27, detail, "muted"))
    for node in nodes:
        kind = node.item.detail.partition(" ")[0]
        rate = _beside(node.item, _rate(node.item.hop))
        parts.append(draw_box(node, kind if kind in COLOURS else "unknown", 7, _tip(node.item)))
        for line, cache in enumerate(node.item.children):
            text = f"behind a cache of {cache.detail.partition(',')[0]}"
            y = node.y + 32 + NODE_LINE * (line + 1)
            parts.append(draw_text(node.x + 10, y, text, "muted small"))
        size = node.item.detail.partition(" ")[2].partition(",")[0]
        right = node.x + node.width - 10
        if node.item.measured:
            name = f"{node.item.name} {kind}"
            size = shorten(size, node.width - 20 - len(name) * 7.4, 6.0)
            parts.append(draw_text(right, node.y + 17, size, "muted small", "end"))
            origin = _longest((node.item.measured_from,), node.width - 20 - len(rate) * 6.8)
            parts.append(draw_text(node.x + 10, node.y + 32, origin, "muted small"))
        else:
            name = f"{node.item.name} · {kind}"
            parts.append(draw_text(node.x + 10, node.y + 32, size, "muted small"))
        parts.append(draw_text(node.x + 10, node.y + 17, name, "name"))
        if rate:
            parts.append(draw_text(right, node.y + 32, rate, "rate", "end"))
    return parts


def _cards(place: Place) -> list[Place]:
    """A place and all below it."""
    return [place, *(card for child in place.children for card in _cards(child))]


def _nvlink_to_cpu(group: Place, card: Place) -> list[str]:
    """NVLinks from a GPU up to its package, beside its way over PCIe."""
    if not card.item.to_cpu:
        return []
    x, top = card.x + card.width - 8, group.y + group.height
    return [
        f'<path class="nvlink" d="M{x:.1f},{top:.1f} V{card.y:.1f}"/>',
        draw_text(x - 6, top + 15, card.item.to_cpu, "small", "end"),
    ]


def _branch(place: Place, fabric: bool) -> list[str]:
    """A host bridge or switch, with lines to what is below it drawn first, underneath."""
    parts: list[str] = []
    bottom = place.y + BOX_HEIGHT
    stacks: dict[float, list[Place]] = {}
    for child in place.children:
        if child.children:
            middle = bottom + _DROP
            weight = _weight(child.item.hop)
            way = elbow_path(place.centre, bottom, middle, child.centre, child.y)
            parts.append(f'<path class="line" d="{way}" stroke-width="{weight:.1f}"/>')
            rate = _rate(child.item.hop)
            if rate:
                parts.append(draw_text(child.centre + 7, child.y - 8, rate, "rate"))
            parts += _branch(child, fabric)
        else:
            stacks.setdefault(child.x, []).append(child)
    for x, cards in stacks.items():
        trunk = x - GAP + 3
        middle = bottom + _DROP
        end = cards[-1].y + cards[-1].height / 2
        way = elbow_path(place.centre, bottom, middle, trunk, end)
        weight = max(_weight(card.item.hop) for card in cards)
        parts.append(f'<path class="line" d="{way}" stroke-width="{weight:.1f}"/>')
        for card in cards:
            y = card.y + card.height / 2
            parts.append(draw_line(trunk, y, card.x, y, _weight(card.item.hop)))
            parts += _card(card, fabric)
    parts.append(draw_box(place, place.item.kind, BOX_HEIGHT / 2, _tip(place.item)))
    label = place.item.name if place.item.kind == "root" else f"switch {place.item.address[5:]}"
    parts.append(draw_text(place.centre, place.y + 17, label, "small", "middle"))
    return parts


def _card(place: Place, fabric: bool) -> list[str]:
    item = place.item
    room = place.width - 20
    rate = _beside(item, _rate(item.hop))
    degraded = item.hop is not None and item.hop.limit is not None and item.hop.limit.degraded
    parts = [draw_box(place, item.kind if item.kind in COLOURS else "unknown", 7, _tip(item))]
    name = shorten(item.name, room, 7.6)
    right = place.x + place.width - 10
    parts.append(draw_text(place.x + 10, place.y + 17, name, "name"))
    detail = shorten(_short_name(item.detail), room - len(name) * 8.4 - 8, 6.5)
    parts.append(draw_text(right, place.y + 17, detail, "small muted", "end"))
    link = pcie_name(item.hop.now) if item.hop is not None and item.hop.now else ""
    if item.measured:
        link = link.removeprefix("PCIe ")
        origin = item.measured_from
        words = (f"{link}, {origin}" if link else origin, origin, link)
        link = _longest(words, room - len(rate) * 6.8)
    parts.append(draw_text(place.x + 10, place.y + 32, link, "small muted"))
    parts.append(draw_text(right, place.y + 32, rate, "rate short" if degraded else "rate", "end"))
    if item.kind == "gpu" and fabric:
        parts.append(
            f'<rect class="fabric" x="{place.x + place.width - 3:.1f}" y="{place.y + 6:.1f}" '
            f'width="6" height="{place.height - 12:.1f}" rx="3"/>'
        )
    return parts


def _longest(texts: Sequence[str], room: float) -> str:
    """Return the first text that fits: half a word would tell nothing."""
    return next((text for text in texts if len(text) * 6.0 <= room), "")


def _fabric_bar(text: str, drawing: Drawing) -> list[str]:
    y = drawing.height + 28
    width = drawing.width - 2 * MARGIN
    return [
        f'<rect class="fabric" x="{MARGIN}" y="{y:.1f}" width="{width:.1f}" height="34" rx="17"/>',
        draw_text(drawing.width / 2, y + 22, shorten(text, width - 40, 7.4), "name", "middle"),
    ]


def _interconnects(topology: Topology, drawing: Drawing) -> list[str]:
    """A line between neighbouring packages, down the margin where they are in different rows."""
    names = {"Intel": "UPI", "AMD": "xGMI", "POWER": "X-bus", "Grace": "NVLink-C2C"}
    name = next((kind for vendor, kind in names.items() if vendor in topology.cpu_model), "")
    parts: list[str] = []
    for left, right in pairwise(drawing.groups):
        if right.item.name == NOWHERE:
            continue
        y, far = left.y + 30, right.y + 30
        if right.y == left.y:
            parts.append(draw_line(left.x + left.width, y, right.x, y, 5.0))
            middle = (left.x + left.width + right.x) / 2
            parts.append(draw_text(middle, y - 8, name, "small muted", "middle"))
        else:
            way = f"M{left.x:.1f},{y:.1f} H16 V{far:.1f} H{right.x:.1f}"
            parts.append(f'<path class="line" d="{way}" stroke-width="5"/>')
            parts.append(draw_text(6, y - 8, name, "small muted"))
    return parts


def _footer(drawing: Drawing, height: float, used: set[str], measured: bool) -> list[str]:
    y = height - 28
    x = float(MARGIN)
    parts: list[str] = []
    for kind, label in _LEGEND:
        if kind in used:
            parts.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y - 11:.1f}" width="16" height="14" rx="4"/>'
            )
            parts.append(draw_text(x + 23, y, label, "small"))
            x += 40 + len(label) * 7
    what = "measured of theoretical" if measured else "theoretical"
    note = f"rates: {what}, one way, before packet headers"
    parts.append(draw_text(drawing.width - MARGIN, y, note, "small muted", "end"))
    return parts


def _used(items: list[Item]) -> set[str]:
    found: set[str] = set()
    for item in items:
        found.add(item.detail.partition(" ")[0] if item.kind == "node" else item.kind)
        found |= _used(item.children)
    return found


def _short_name(text: str) -> str:
    for word in ("NVIDIA ", "Tesla ", "GeForce "):
        text = text.removeprefix(word)
    return text


def _rate(hop: Hop | None) -> str:
    if hop is None or hop.limit is None:
        return ""
    value = hop.limit.value / 1e9
    return f"{value:.0f} GB/s" if value >= 100 else f"{value:.1f} GB/s"


def _weight(hop: Hop | None) -> float:
    """Line width: one pixel more for each fourfold rate above 1 GB/s."""
    if hop is None or hop.limit is None:
        return 1.2
    return max(1.2, min(5.0, 1.2 + math.log(max(hop.limit.value / 1e9, 1.0), 4)))


def _tip(item: Item) -> str:
    words = [item.name, item.address, item.detail]
    if item.measured:
        words.append(f"measured {item.measured} {item.measured_from}")
    if item.hop is not None and item.hop.limit is not None:
        words += [item.hop.limit.link, item.hop.limit.formula]
    return " | ".join(word for word in words if word)
