"""Options that only some structures have, each with its default and what it expands to."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tierscope.kinds.ops.structures import OF_STRUCTURES, STRUCTURES
from tierscope.model.errors import UserError
from tierscope.plans import grammar
from tierscope.plans.axes import checked
from tierscope.plans.options import Option
from tierscope.plans.request import Request


def _shares(text: str) -> list[float]:
    """Expand a list of shares: ``0,0.1,50%``."""
    found = [grammar.parse_number(word, -math.inf, math.inf) for word in grammar.split_words(text)]
    if not all(0 <= share <= 1 for share in found):
        raise UserError(f"'{text}' is out of range: from 0 to 100%")
    return found


def _outputs(text: str) -> list[str]:
    words = grammar.split_words(text)
    return [grammar.parse_choice(word, ("positions", "count")) for word in words]


def _counts(text: str) -> list[int]:
    return grammar.expand_counts(text, 1)


@dataclass(frozen=True)
class Own:
    """An option of some structures; its default is what an absent one means, word for word."""

    option: Option
    expand: Callable[[str], list[Any]]


OWN: Mapping[str, Own] = {
    "inner_node": Own(
        Option("inner-node", "SIZES", "Bytes of an inner node of a btree", "256"),
        grammar.expand_sizes,
    ),
    "leaf_node": Own(
        Option("leaf-node", "SIZES", "Bytes of a leaf of a btree", "512"), grammar.expand_sizes
    ),
    "key_bytes": Own(Option("key-bytes", "LIST", "Bytes of a column's key: 4, 8", "8"), _counts),
    "selectivity": Own(
        Option("selectivity", "LIST", "Share of a column's rows that are found, 0 to 100%", "1%"),
        _shares,
    ),
    "found": Own(
        Option("found", "LIST", "What a column's filter keeps: positions, count", "positions"),
        _outputs,
    ),
    "probe_ratio": Own(
        Option("probe-ratio", "COUNTS", "Probe rows for each build row of relations", "1"), _counts
    ),
    "misses": Own(
        Option("misses", "LIST", "Share of keys that relations or an lsm lack, 0 to 100%", "0"),
        _shares,
    ),
    "partitions": Own(
        Option("partitions", "COUNTS", "Partitions of relations, a power of two; 1: none", "1"),
        _counts,
    ),
    "runs": Own(Option("runs", "COUNTS", "Sorted runs that are merged, 2 to 256", "8"), _counts),
    "ratio": Own(
        Option("ratio", "COUNTS", "Keys of an lsm's level for each of the level above", "10"),
        _counts,
    ),
}


def own_axes(request: Request, structure: str, structures: list[str]) -> dict[str, list[Any]]:
    """Return the values of the structure's own options; UserError for one that none of
    ``structures``, what was asked for, has."""
    found: dict[str, list[Any]] = {}
    for field in OF_STRUCTURES:
        name = OWN[field].option.name
        if field in STRUCTURES[structure].own:
            given = request.options.get(name, OWN[field].option.default)
            found[field] = checked(request, name, OWN[field].expand, given)
        elif name in request.options and not any(field in STRUCTURES[s].own for s in structures):
            having = ", ".join(one for one, row in STRUCTURES.items() if field in row.own)
            raise request.wrong(name, f"goes with structure {having}, not with {structure}")
    return found
