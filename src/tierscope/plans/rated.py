"""Files that say what data sheets promise of drives; docs/file-formats.md describes them."""

import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError, shown
from tierscope.model.rating import RatedDrive
from tierscope.model.topology import Topology
from tierscope.plans.options import RATED
from tierscope.plans.request import Request
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar

_RATES = ("read", "write")
_COUNTS = ("read_iops", "write_iops")
_BANDWIDTH = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)B/s", re.ASCII)
_COUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kM]?)", re.ASCII)
_FACTOR = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_MAX_DRIVES = 10_000


def with_ratings_of(topology: Topology, requests: Sequence[Request]) -> Topology:
    """Add to a machine what the files say that its requests name; raises UserError."""
    return with_ratings(topology, itertools.chain.from_iterable(map(ratings_of, requests)))


def with_ratings(topology: Topology, drives: Iterable[RatedDrive]) -> Topology:
    """Return the machine with what data sheets promise of drives, each named once."""
    found = list(dict.fromkeys(drives))
    return topology.model_copy(update={"ratings": found}) if found else topology


def ratings_of(request: Request) -> tuple[RatedDrive, ...]:
    """Return the drives of the file that a request names, if it names one."""
    name = request.options.get(RATED.name)
    try:
        return () if name is None else read_rated(Path(name))
    except UserError as error:
        raise request.wrong(RATED.name, error) from None


def read_rated(path: Path) -> tuple[RatedDrive, ...]:
    """Return the drives of a file (``--rated``); raises UserError with file, line and key."""
    return parse_rated(read_text(path, "file of ratings"), shown(path))


def parse_rated(text: str, path: str) -> tuple[RatedDrive, ...]:
    """Return the drives of a file's text, YAML or JSON; ``path`` is for error messages and sources.

    A mapping from a drive's model to what its data sheet says::

        "SAMSUNG MZQL23T8HCLS-*":
          read: 6.8 GB/s
          write: 4000 MB/s
          read_iops: 1M
          write_iops: 180k
    """
    from yaml import MappingNode

    place, root = Place(path), compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: the file is empty; it needs drive models with their ratings")
    if not isinstance(root, MappingNode) or not root.value or len(root.value) > _MAX_DRIVES:
        raise place.error(root, "has to be a mapping from drive models, as `lsblk -o MODEL` shows "
                          f"them, to {', '.join((*_RATES, *_COUNTS))}")  # fmt: skip
    found: dict[str, RatedDrive] = {}
    for key, node in root.value:
        model = scalar(place, key, "model")
        if model in found:
            raise place.error(key, f"drive model '{model}' is given twice")
        found[model] = _drive(place, model, key, node)
    return tuple(found.values())


def _drive(place: Place, model: str, key: Any, node: Any) -> RatedDrive:
    values = mapping(place, node, f"drive model '{model}'", (*_RATES, *_COUNTS))
    if not values:
        raise place.error(node, f"drive model '{model}' has no ratings")
    ratings = {name: _rating(place, values[name], name) for name in values}
    return RatedDrive(model=model, source=f"{place.path}:{key.start_mark.line + 1}", **ratings)


def _rating(place: Place, node: Any, name: str) -> float:
    text = scalar(place, node, name)
    form, example = (
        (_BANDWIDTH, "a rate such as 6.8 GB/s or 550 MB/s")
        if name in _RATES
        else (_COUNT, "a number of operations a second such as 1M, 180k or 95000")
    )
    match = form.fullmatch(text)
    value = float(match[1]) * _FACTOR[match[2]] if match else 0.0
    if not 0 < value <= 1e15:
        raise place.error(node, f"key '{name}': '{text}' is not {example}")
    return value
