"""Where each thing of a machine's drawing goes; pure geometry, in pixels of the drawing."""

from dataclasses import dataclass, field

from tierscope.report.topology_outline import Item

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
