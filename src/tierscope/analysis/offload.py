"""How long a model takes to a GPU, and how fast it runs if part of it stays elsewhere, predicted.

Predictions are made of bandwidths that tierscope measures alone, and of what a job says that it
moves; none of them is fitted to the job's own times. Data goes through stages (storage, host
memory, link, GPU memory) that work at the same time on different pieces of it, so the slowest one
counts:

    t = max(bytes / rate of each stage) + what the pipeline takes to fill

The run has a measurement by each name of the plan ``offload`` of applications, which begins its id.
What a job prints are lines ``NAME: NUMBER UNIT``: figures and facts.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tierscope.model.errors import UserError
from tierscope.model.run import Figure, Measurement, Run

_LAUNCH_BYTES = 256 << 10
"""Bytes of the copy inside the GPU, queued behind another one, whose time a small kernel takes,
too: 16 sequences have so many between the parts of a layer with hidden size 8192."""
_ADAM_BYTES = 40
"""Bytes that an update in the GPU's memory moves for each parameter: its gradient (bf16, 2) becomes
fp32 (4) and is read (4), the master copy and two moments are read and written (24), and the master
copy (4) becomes the weight (2)."""
_LINE = re.compile(r"^(\w+): ([0-9.]+(?:e[+-]?[0-9]+)?)(?: (\S+))?$", re.MULTILINE)


@dataclass(frozen=True)
class Predicted:
    """A time, predicted and measured."""

    name: str
    formula: str
    """In words, with the names of the measurements it is made of."""
    seconds: float
    measured: float
    within: tuple[float, float] | None = None
    """Seconds between which the figures' intervals leave it; None where a figure has none."""

    @property
    def error(self) -> float:
        """By how much the prediction is too long, as a share of the measured time."""
        return self.seconds / self.measured - 1


def staged(size: float, read: float, copy: float, piece: float, threads: int) -> float:
    """Return the seconds to bring ``size`` bytes through pinned memory.

    ``read`` and ``copy`` are bytes/s of all threads together, from the source and to the GPU;
    ``threads`` threads read pieces of ``piece`` bytes. Before the slower stage begins, or after it
    has ended, the other one works alone: the copy of the last piece, or the read of the first ones.
    """
    if read < copy:
        return size / read + piece / copy
    return size / copy + threads * piece / read


def mapped(size: float, pageable: float, first: float, again: float) -> float:
    """Return the seconds to copy ``size`` cached bytes to the GPU from a mapping of their file.

    That is a copy from pageable memory (``pageable``, bytes/s, of memory that no cache holds), and
    a page fault for each page. A reader of a mapping has ``first`` bytes/s where each page is
    touched for the first time, and ``again`` where all of them were: the difference of their times
    is that of the faults.
    """
    return size / pageable + size * max(0.0, 1 / first - 1 / again)


def mapped_from_storage(size: float, read: float, cached: float) -> float:
    """Return the seconds of the same where no page is cached: the kernel reads ahead while pages
    are copied. ``read`` is bytes/s of one that only reads a mapping, ``cached`` the seconds of
    ``mapped``.
    """
    return max(size / read, cached)


def decoded(size: float, read: float, kernels: float, launch: float) -> float:
    """Return the seconds of a step that reads ``size`` bytes of weights and KV cache, all in the
    GPU's memory (``read``, bytes/s), by so many kernels, each of which takes ``launch`` seconds
    beside that of its bytes.

    Libraries' kernels do not reach the bandwidth of one that only reads, so a step takes longer.
    """
    return size / read + kernels * launch


def trained(passes: float, parameters: float, triad: float) -> float:
    """Return the seconds of a step with Adam's state in the GPU's memory.

    ``passes`` are the seconds of the forward and backward passes, whose arithmetic no bandwidth
    predicts; ``triad`` is bytes/s of two reads and a write.
    """
    return passes + parameters * _ADAM_BYTES / triad


def trained_from_host(passes: float, piece: float, pieces: int, slots: int, way: float) -> float:
    """Return the seconds of a step with Adam's state in host memory.

    It has ``pieces`` of ``piece`` bytes, which go through fewer ``slots`` on the GPU; ``way`` is
    bytes/s of the slower direction while both are in use. During the passes the first pieces
    arrive, and the last ones leave, one fewer than there are slots, where passes last long enough.
    """
    if passes < slots * piece / way:
        return max(passes, pieces * piece / way)
    return passes + (pieces - slots + 1) * piece / way


def figures_of(run: Run) -> dict[str, Figure]:
    """Return the figure in bytes/s by the name of each measurement that has one.

    Of ``both`` it is that of the slower direction, of ``pageable`` that of the first copy: a model
    is copied once, from memory that no cache holds.
    """
    named = ((m.id.partition(".")[0], m) for m in run.measurements if m.has_figure)
    return {name: found for name, m in named if (found := _figure(name, m)) is not None}


def _figure(name: str, m: Measurement) -> Figure | None:
    if name == "pageable":
        return next((f for f in m.figures if f.metric == "first_copy_bandwidth"), None)
    if name == "both":
        ways = (f for f in m.figures if f.part and f.metric == m.metric)
        return min(ways, key=lambda one: one.estimate, default=None)
    return m.headline


def facts_of(output: str) -> dict[str, float]:
    """Return the numbers that a job has printed, by their names; times are seconds."""
    return {name: float(number) for name, number, _ in _LINE.findall(output)}


def predictions(figures: Mapping[str, Figure], facts: Mapping[str, float]) -> list[Predicted]:
    """Return a row for each time of a job that the measurements predict.

    What the interval of each figure leaves open is added in quadrature, as of independent figures.
    Raises UserError where a job's time needs a measurement that the run lacks.
    """
    rates = {name: one.estimate for name, one in figures.items()}
    rows = [*_rows(rates, facts)]
    shorter, longer = [0.0] * len(rows), [0.0] * len(rows)
    for name, one in figures.items():
        for end, far in ((one.ci_low, one.estimate / 2), (one.ci_high, 2 * one.estimate)):
            for at, other in enumerate(_rows({**rates, name: end or far}, facts)):
                change = other.seconds - rows[at].seconds
                # Without an interval, nobody knows how far the true rate is.
                left_open = change**2 if end or not change else math.inf
                shorter[at] += left_open if change < 0 else 0.0
                longer[at] += left_open if change > 0 else 0.0
    return [
        replace(row, within=(row.seconds - less**0.5, row.seconds + more**0.5))
        if math.isfinite(less + more) else row
        for row, less, more in zip(rows, shorter, longer, strict=True)
    ]  # fmt: skip


def _rows(rates: Mapping[str, float], facts: Mapping[str, float]) -> list[Predicted]:
    try:
        return [*_of_load(rates, facts), *_of_decoding(rates, facts), *_of_training(rates, facts)]
    except KeyError as error:
        raise UserError(
            f"the run has no figure '{error.args[0]}'; 'apps run' measures it with the application"
        ) from None


def _of_load(rates: Mapping[str, float], facts: Mapping[str, float]) -> Iterator[Predicted]:
    size = facts.get("size", 0.0)
    for name, measured in facts.items():
        source, _, way = name.partition("_")
        if way == "staged" and f"{source}-staged" in rates:
            # What reads and copies take of the same memory from each other is in this one.
            seconds, formula = size / rates[f"{source}-staged"], f"size / {source}-staged"
        elif way == "staged":
            seconds = staged(
                size, rates[source], rates["h2d"], facts["piece"], int(facts["threads"])
            )
            formula = f"max(size / {source}, size / h2d) + fill"
        elif way == "cufile":
            seconds, formula = size / rates[f"{source}-cufile"], f"size / {source}-cufile"
        elif way == "mmap":
            seconds, formula = _mapped(size, source, rates)
        else:
            continue
        yield Predicted(name, formula, seconds, measured)


def _mapped(size: float, source: str, rates: Mapping[str, float]) -> tuple[float, str]:
    own = source if source in ("cache", "memory") else "cache"
    cached = mapped(size, rates["pageable"], rates[f"{own}-mapped"], rates[f"{own}-touched"])
    formula = f"size / pageable + size / {own}-mapped - size / {own}-touched"
    if own == source:
        return cached, formula
    return (
        mapped_from_storage(size, rates[f"{source}-mapped"], cached),
        f"max(size / {source}-mapped, {formula})",
    )


def _of_decoding(rates: Mapping[str, float], facts: Mapping[str, float]) -> Iterator[Predicted]:
    if "layer_size" not in facts:
        return
    layers = facts["layers"]
    weights, cache = layers * facts["layer_size"], layers * facts["kv_size"]
    launch = _LAUNCH_BYTES / rates["launch"]
    here = decoded(weights + cache, rates["gpu-read"], layers * facts["kernels"], launch)
    formula = "(weights + cache) / gpu-read + kernels * launch"
    ways = {
        "decode_gpu": (0.0, formula),
        "decode_host": (weights / rates["h2d"], f"max(weights / h2d, {formula})"),
        "kv_host": (cache / rates["h2d"], f"max(cache / h2d, {formula})"),
    }
    if "decode_storage_step" in facts:
        slower = min(rates["storage"], rates["h2d"])
        ways["decode_storage"] = (weights / slower, f"max(weights / storage, {formula})")
    for name, (moved, words) in ways.items():
        if measured := facts.get(f"{name}_step"):
            yield Predicted(name, words, max(moved, here), measured)


def _of_training(rates: Mapping[str, float], facts: Mapping[str, float]) -> Iterator[Predicted]:
    passes = facts.get("train_gpu_passes")
    if passes is None:
        return
    piece, slots = facts["state_piece"], int(facts["slots"])
    pieces = round(12 * facts["parameters"] / piece)
    ways = {
        "train_gpu": (
            trained(passes, facts["parameters"], rates["gpu-triad"]),
            f"passes + {_ADAM_BYTES} * parameters / gpu-triad",
        ),
        "train_host": (
            trained_from_host(passes, piece, pieces, slots, rates["both"]),
            "passes + (pieces - slots + 1) * piece / both",
        ),
    }
    if "train_storage_step" in facts:
        moved = 2 * pieces * piece / rates["storage-both"]
        ways["train_storage"] = (max(passes, moved), "max(passes, 2 * state / storage-both)")
    for name, (seconds, words) in ways.items():
        if measured := facts.get(f"{name}_step"):
            yield Predicted(name, words, seconds, measured)
