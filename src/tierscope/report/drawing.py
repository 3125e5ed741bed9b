"""The drawing of a machine as SVG: layout in pixels, then boxes, lines and labels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from tierscope.machine.links import pcie_name
from tierscope.model.errors import counted
from tierscope.model.path import Hop
from tierscope.model.topology import Topology
from tierscope.report.topology_outline import (
    NOWHERE,
    Item,
    fabric_summary,
    limit_text,
    memory_words,
    outline,
)

CARD = 204
"""Width of a card: wide enough for a GPU's name."""
CARD_HEIGHT = 40
GAP = 14
LEVEL = 74
"""From one row of switches to the next."""
BOX_HEIGHT = 26
"""A host bridge's or switch's box."""
MARGIN = 40
NODE_HEIGHT = 40
NODE_LINE = 15
"""What each further line of a node's box takes: a memory-side cache."""
GROUP_HEAD = 44
_IN_STACK = 8
"""Cards on top of each other before another column starts."""
_ROW_WIDTH = 1900
"""Packages beyond this width go into another row."""
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


@dataclass
class Place:
    """An item, its box, and what is below it."""

    item: Item
    x: float
    y: float
    width: float
    height: float
    children: list["Place"] = field(default_factory=list)

    @property
    def centre(self) -> float:
        """x of the box's middle."""
        return self.x + self.width / 2


@dataclass
class Drawing:
    """All packages placed, and how much room they take."""

    groups: list[Place]
    rows: list[list[Place]]
    width: float
    height: float


def lay_out(items: list[Item], top: float, least: float = 0.0) -> Drawing:
    """Place packages side by side from ``top`` down, in as many rows as their width takes.

    The drawing is at least ``least`` wide.
    """
    rows: list[list[Place]] = [[]]
    x, y, bottom, widest = float(MARGIN), top, top, 0.0
    for item in items:
        width = _group_width(item)
        if rows[-1] and x + width > _ROW_WIDTH:
            rows.append([])
            x, y = float(MARGIN), bottom + GAP * 3
        place = _place_group(item, x, y, width)
        rows[-1].append(place)
        bottom = max(bottom, lowest(place))
        x += width + GAP * 4
        widest = max(widest, x - GAP * 4 + MARGIN)
    groups = [place for row in rows for place in row]
    return Drawing(groups=groups, rows=rows, width=max(widest, least), height=bottom)


def lowest(place: Place) -> float:
    """y of the lowest edge of an item and all that is below it."""
    return max([place.y + place.height, *(lowest(child) for child in place.children)])


def _nodes(item: Item) -> list[Item]:
    return [child for child in item.children if child.kind == "node"]


def _roots(item: Item) -> list[Item]:
    return [child for child in item.children if child.kind != "node"]


def _group_width(item: Item) -> float:
    below = sum(_width(root) + GAP for root in _roots(item)) - GAP
    nodes = min(len(_nodes(item)), 4) * (CARD + GAP) + GAP
    return max(below, nodes, 2 * CARD + 3 * GAP)


def _place_group(item: Item, x: float, y: float, width: float) -> Place:
    """A package: its nodes inside its box, its host bridges below."""
    columns = max(1, int((width - GAP) // (CARD + GAP)))
    nodes = _nodes(item)
    node_rows = -(-len(nodes) // columns)
    tall = NODE_HEIGHT + NODE_LINE * max((len(node.children) for node in nodes), default=0)
    height = GROUP_HEAD + node_rows * (tall + GAP / 2) + GAP / 2
    place = Place(item, x, y, width, height)
    for index, node in enumerate(nodes):
        row, column = divmod(index, columns)
        place.children.append(
            Place(
                node,
                x + GAP + column * (CARD + GAP),
                y + GROUP_HEAD + row * (tall + GAP / 2),
                CARD,
                tall,
            )
        )
    used = sum(_width(root) + GAP for root in _roots(item)) - GAP
    at = x + max(0.0, (width - used) / 2)
    for root in _roots(item):
        place.children.append(_place_branch(root, at, y + height + LEVEL - BOX_HEIGHT))
        at += _width(root) + GAP
    return place


def _leaves(item: Item) -> list[Item]:
    return [child for child in item.children if not child.children]


def _branches(item: Item) -> list[Item]:
    return [child for child in item.children if child.children]


def _width(item: Item) -> float:
    columns = -(-len(_leaves(item)) // _IN_STACK)
    parts = [_width(branch) for branch in _branches(item)] + [float(CARD)] * columns
    return max(float(CARD), sum(parts) + GAP * (len(parts) - 1))


def _place_branch(item: Item, x: float, y: float) -> Place:
    """A host bridge or switch over its leaves' stacks and its own switches."""
    width = _width(item)
    if not item.children:  # a device whose place on the bus is hidden
        return Place(item, x, y, CARD, CARD_HEIGHT)
    box = min(width, 156.0)
    place = Place(item, x + (width - box) / 2, y, box, BOX_HEIGHT)
    at, below = x, y + LEVEL
    leaves = _leaves(item)
    for start in range(0, len(leaves), _IN_STACK):
        for row, leaf in enumerate(leaves[start : start + _IN_STACK]):
            top = below - GAP + row * (CARD_HEIGHT + GAP / 2)
            place.children.append(Place(leaf, at + GAP, top, CARD - GAP, CARD_HEIGHT))
        at += CARD + GAP
    for branch in _branches(item):
        place.children.append(_place_branch(branch, at, below))
        at += _width(branch) + GAP
    return place


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
    ]
    dark = [
        ".paper{fill:#0b0f15}",
        "text{fill:#e6ebf2}",
        ".muted{fill:#93a1b3}",
        ".rate{fill:#cbd5e1}",
        ".line{stroke:#5b6b80}",
        ".nvlink{stroke:#8ccf3c}",
        ".short{fill:#ff8a7a}",
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
        counted(cores, "core"),
        memory_words(topology),
        counted(len(topology.gpus), "GPU") if topology.gpus else "",
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
    return limit_text(hop.limit)


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
