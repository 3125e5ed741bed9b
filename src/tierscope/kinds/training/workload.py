"""Workloads: which dataset is trained on, in which batches, and how long a step takes.

Files have the keys of DLIO's workload files; docs/storage.md says which are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tierscope.model.errors import UserError, shown
from tierscope.plans.grammar import as_float
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar

_FILE = Path(__file__).with_name("workloads.yaml")
FORMATS = ("npz", "tfrecord")
ACCELERATORS = ("h100", "a100")
_BUFFER = 256 << 10
_PREFETCH = 2
"""DLIO's default, in batches."""
_READ: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dataset": (
            "format",
            "num_files_train",
            "num_samples_per_file",
            "record_length_bytes",
            "record_length_bytes_stdev",
        ),
        "reader": (
            "batch_size",
            "read_threads",
            "prefetch_size",
            "transfer_size",
            "file_shuffle",
            "sample_shuffle",
        ),
        "train": ("computation_time",),
        "metric": ("au",),
    }
)
"""Keys that are read, by section."""
_IGNORED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dataset": (
            "data_folder",
            "file_prefix",
            "keep_files",
            "num_files_eval",
            "num_subfolders_eval",
            "num_subfolders_train",
            "record_length_bytes_resize",
            "generation_buffer_size",
        ),
        "reader": (
            "data_loader",
            "computation_threads",
            "shuffle_size",
            "read_type",
            "multiprocessing_context",
            "pin_memory",
            "dont_use_mmap",
            "preprocess_time",
            "batch_size_eval",
        ),
        "train": ("epochs", "seed", "seed_change_epoch", "total_training_steps"),
        "metric": ("exclude_start_steps", "exclude_end_steps"),
    }
)
"""Keys of DLIO that change nothing of what is read, or whose part options have."""
_OLDER: Mapping[str, str] = MappingProxyType(
    {
        "record_length": "record_length_bytes",
        "record_length_stdev": "record_length_bytes_stdev",
        "record_length_resize": "record_length_bytes_resize",
    }
)
"""Names of keys in DLIO 2.0 and before."""
_SECTIONS = ("model", "framework", "workflow", "checkpoint", "output", "profiling", "evaluation")
"""Sections of DLIO that say nothing of what training reads."""
_SHUFFLES = ("off", "seed", "random")


@dataclass(frozen=True)
class Workload:
    """What training reads, and how fast an accelerator takes it."""

    name: str
    format: str
    files: int
    samples: int
    """Of each file."""
    sample_size: int
    sample_stdev: int
    batch: int
    readers: int
    """Threads for each accelerator."""
    prefetch: int
    """Batches for each accelerator, as DLIO's files have it; ``ahead`` says what that means."""
    buffer: int
    """Bytes of one read."""
    shuffle: bool
    steps: Mapping[str, float]
    """Seconds of a step, by accelerator; a single one, of no name, where the file has but one."""
    needed: float
    """Share of the time that an accelerator has to compute."""

    def ahead(self, readers: int) -> int:
        """Return how many batches so many readers read ahead for an accelerator.

        Readers of npz are PyTorch's workers, which have as many batches each, at least one.
        """
        if self.format == "npz":
            return readers * -(-self.prefetch // readers)
        return self.prefetch


@cache
def workloads() -> Mapping[str, Workload]:
    """Return the workloads that have a name."""
    place, root = Place(_FILE.name), compose(_FILE.read_text(), _FILE.name)
    named = ((str(key.value), node) for key, node in root.value)
    return MappingProxyType({name: _workload(place, node, name) for name, node in named})


def workload_of(word: str) -> Workload:
    """Return the workload of a name, or of a file; raises UserError."""
    known = workloads()
    if word in known:
        return known[word]
    path = Path(word)
    if "/" not in word and not path.suffix:
        names = ", ".join(known)
        raise UserError(f"'{word}' is neither one of {names} nor a file (name.yaml, ./name)")
    return parse_workload(read_text(path, "workload"), shown(path), path.stem)


def parse_workload(text: str, path: str, name: str) -> Workload:
    """Return the workload of a file's text; raises UserError with file, line and key."""
    root = compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: the file is empty; it needs {', '.join(_READ)}")
    return _workload(Place(path), root, name)


def _workload(place: Place, root: Any, name: str) -> Workload:
    sections = mapping(place, root, "the workload", (*_READ, *_SECTIONS))
    if missing := [section for section in _READ if section not in sections]:
        raise place.error(root, f"the workload has no section '{missing[0]}'")
    values = _Values(place, root, sections)
    form = values.word("dataset", "format", FORMATS)
    readers = values.whole("reader", "read_threads", 1, 1024, 1)
    shuffles = [
        values.word("reader", key, _SHUFFLES, "off") for key in ("file_shuffle", "sample_shuffle")
    ]
    return Workload(
        name="".join(c if c.isalnum() or c in "._-" else "-" for c in name)[:64] or "file",
        format=form,
        files=values.whole("dataset", "num_files_train", 1, 10_000_000),
        samples=values.whole("dataset", "num_samples_per_file", 1, 1_000_000, 1),
        sample_size=values.whole("dataset", "record_length_bytes", 1, 1 << 40),
        sample_stdev=values.whole("dataset", "record_length_bytes_stdev", 0, 1 << 40, 0),
        batch=values.whole("reader", "batch_size", 1, 1_000_000, 1),
        readers=readers,
        prefetch=values.whole("reader", "prefetch_size", 0, 1024, _PREFETCH) or _PREFETCH,
        buffer=values.whole("reader", "transfer_size", 4096, 1 << 26, _BUFFER),
        shuffle=any(word != "off" for word in shuffles),
        steps=values.steps(),
        needed=values.number("metric", "au", 1, 0.9),
    )


class _Values:
    """Values of a workload's sections."""

    def __init__(self, place: Place, root: Any, sections: Mapping[str, Any]) -> None:
        self._place, self._root = place, root
        self._found = {
            name: mapping(
                place, sections[name], f"section '{name}'", (*keys, *_IGNORED[name]), _OLDER
            )
            for name, keys in _READ.items()
        }

    def word(self, section: str, key: str, allowed: tuple[str, ...], default: str = "") -> str:
        """Return one of the words allowed."""
        node = self._node(section, key, bool(default))
        word = default if node is None else scalar(self._place, node, key).lower()
        if word not in allowed:
            words = ", ".join(allowed)
            raise self._place.error(node, f"key '{key}': '{word}' is none of {words}")
        return word

    def number(self, section: str, key: str, high: float, default: float | None = None) -> float:
        """Return a number above 0."""
        node = self._node(section, key, default is not None)
        return default if node is None and default is not None else self._number(node, key, 0, high)

    def whole(self, section: str, key: str, low: int, high: int, default: int | None = None) -> int:
        """Return a number, rounded down: MLPerf's mean bytes of a record have decimals."""
        node = self._node(section, key, default is not None)
        if node is None and default is not None:
            return default
        return int(self._number(node, key, low - 1e-9, high))

    def steps(self) -> Mapping[str, float]:
        """Return the seconds of a step by accelerator."""
        from yaml import MappingNode

        key = "computation_time"
        node = self._node("train", key, False)
        if not isinstance(node, MappingNode):
            return {"": self._number(node, key, 0, 3600)}
        times = mapping(self._place, node, f"key '{key}'", ACCELERATORS)
        if not times:
            raise self._place.error(node, f"key '{key}' has no time")
        return {name: self._number(one, name, 0, 3600) for name, one in times.items()}

    def _node(self, section: str, key: str, optional: bool) -> Any:
        node = self._found[section].get(key)
        if node is None and not optional:
            raise self._place.error(self._root, f"section '{section}' has no key '{key}'")
        return node

    def _number(self, node: Any, key: str, low: float, high: float) -> float:
        text = scalar(self._place, node, key)
        value = as_float(text)
        if not low < value <= high:
            least = f"above {low:g}" if low == 0 else f"from {low + 1e-9:g}"
            raise self._place.error(
                node, f"key '{key}': '{text}' is not a number {least} to {high:g}"
            )
        return value
