"""From studies of spread pages to the weights of the kernel's one table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tierscope.analysis.spread import best_spread, whole_weights
from tierscope.kinds.streams.spread_table import pays
from tierscope.kinds.streams.spreads import (
    Study,
    Weights,
    normal,
    target_of,
    weights_of,
)
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Measurement, Run
from tierscope.plans.grammar import parse_mix

_OPERATIONS = {"read": "100:0", "write": "0:100", "write-nt": "0:100nt", "copy": "50:50",
               "copy-nt": "50:50nt"}  # fmt: skip
"""Of kind bandwidth, the mix that an operation is."""
_FULL_DUPLEX = ("CXL", "GPU")
"""Kinds of nodes behind a link that carries both directions at once."""


@dataclass(frozen=True)
class Choice:
    """The weights that are best for all initiators of a run."""

    weights: Weights
    threads: int
    studies: Sequence[Study]
    """One for each initiator."""
    losses: Mapping[str, dict[Weights, float]]
    """Of each initiator: the share of its best bandwidth that it loses by each one's weights."""

    @property
    def pays(self) -> bool:
        """Whether spreading pages is shown to pay for any of the initiators."""
        return any(pays(study, self.threads) for study in self.studies)


def choose(run: Run, wanted: Weights | None = None) -> Choice:
    """Return the weights that cost the initiators least; ``wanted``: those that were asked for.

    Raises UserError where the run spread no pages, or where it has several access patterns.
    """
    from tierscope.kinds.streams.spreads import studies_of

    found = studies_of(run)
    if not found:
        raise UserError(
            f"run '{run.header.name}' has no measured figure of pages spread over nodes",
            ExitCode.NOTHING_MEASURED,
        )
    patterns = {json.dumps(study.pattern, sort_keys=True) for study in found}
    counts = {threads for study in found for threads in study.threads}
    if len(patterns) > 1 or len({one.initiator for one in found}) < len(found):
        raise UserError(
            f"run '{run.header.name}' has {len(patterns)} access patterns, and the kernel has one "
            "table of weights; name a run with one mix, order, access size and size"
        )
    threads = max(counts)
    studies = [study for study in found if threads in study.threads]
    bests = [study.best_at(threads)[0] for study in studies]
    losses = {
        study.initiator: {weights: _loss(study, threads, weights) for weights in bests}
        for study in studies
    }
    least = min(bests, key=lambda weights: max(own[weights] for own in losses.values()))
    return Choice(wanted or least, threads, studies, losses)


def _loss(study: Study, threads: int, weights: Weights) -> float:
    """Return the share of its best bandwidth that an initiator loses: measured, else predicted."""
    _, best = study.best_at(threads)
    assert best.estimate
    measured = study.at(threads).get(weights)
    expected = study.expected(threads, weights)
    if measured is not None and measured.estimate:
        return max(0.0, 1 - measured.estimate / best.estimate)
    return max(0.0, 1 - expected.bandwidth / best.estimate) if expected else 0.0


def predicted_shares(run: Run, mix: str, nodes: Sequence[int], initiator: str) -> str:
    """Return the shares that a run's figures of single nodes let expect, as a target.

    Figures of traffic in the same mix count first, then operations that are that mix, then reads
    and writes apart. Raises UserError where a node has none.
    """
    curves = {node: _curve(run, mix, initiator, node) for node in nodes}
    missing = [node for node, curve in curves.items() if not curve]
    if missing:
        raise UserError(
            f"run '{run.header.name}' has no bandwidth from {initiator} to node {missing[0]}; "
            "name a run that measured each node, as 'tierscope matrix' does"
        )
    pattern = {"mix": mix}
    points: dict[tuple[Weights, int], Measurement] = {
        (((node, 1),), threads): m for node, curve in curves.items() for threads, m in curve.items()
    }
    study = Study(initiator, pattern, None, points)
    limits = study.limits(max(threads for _, threads in points))
    weights = whole_weights(limits, best_spread(limits))
    return target_of(normal(zip(study.nodes, weights, strict=True)))


def _curve(run: Run, mix: str, initiator: str, node: int) -> dict[int, Measurement]:
    """Return a node's figures by threads, of the best source there is."""
    own = [
        m
        for m in run.measurements
        if m.status == "measured"
        and m.initiator == initiator
        and weights_of(m.target) == ((node, 1),)
        and m.pattern.get("order") == "sequential"
        and not m.pattern.get("beside")
        and not m.fits_caches
    ]
    same = [m for m in own if _mix_of(m) == mix]
    if same:
        return _by_threads(same)
    writes, stores = parse_mix(mix)
    reads = _by_threads([m for m in own if _mix_of(m) == "100:0"])
    written = _by_threads(
        [m for m in own if _mix_of(m) == ("0:100nt" if stores == "nt" else "0:100")]
    )
    kinds = {int(one["node"]): str(one["kind"]) for one in run.header.machine["nodes"]}
    both = sorted(reads.keys() & written.keys())
    duplex = kinds.get(node) in _FULL_DUPLEX
    return {n: _mixed(reads[n], written[n], writes / 100, duplex) for n in both} or reads


def _mixed(read: Measurement, write: Measurement, writes: float, duplex: bool) -> Measurement:
    """Return the figure that a mix has: directions take turns, or the busier one limits."""
    parts = ((1 - writes) / (read.estimate or 1.0), writes / (write.estimate or 1.0))
    rate = 1 / (max(parts) if duplex else sum(parts))
    return read.model_copy(update={"estimate": rate, "ci_low": None, "ci_high": None})


def _mix_of(m: Measurement) -> str:
    """Return the mix that a bandwidth is of; empty of other figures."""
    if m.metric != "bandwidth":
        return ""
    return str(m.pattern.get("mix") or _OPERATIONS.get(str(m.pattern.get("operation")), ""))


def _by_threads(found: Sequence[Measurement]) -> dict[int, Measurement]:
    best: dict[int, Measurement] = {}
    for m in sorted(found, key=lambda one: one.estimate or 0.0):
        best[int(m.pattern["threads"])] = m
    return best


def choice_json(choice: Choice) -> dict[str, Any]:
    """Return the choice as the command's JSON has it."""
    return {
        "weights": dict(choice.weights),
        "target": target_of(choice.weights),
        "threads": choice.threads,
        "pays": choice.pays,
        "losses": [
            {"initiator": initiator, "weights": dict(weights), "loss": loss}
            for initiator, own in choice.losses.items()
            for weights, loss in own.items()
        ],
    }
