"""Options of ``tierscope place weights``: those of the study that it makes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tierscope.analysis.spread import best_spread, whole_weights
from tierscope.kinds.traffic.show import (
    Study,
    Weights,
    normal,
    pays,
    ratio_of,
    show_spreads,
    target_of,
    weights_of,
    weights_text,
)
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Measurement, Run
from tierscope.place.weights import Applied, commands, table_words
from tierscope.plans.grammar import parse_mix
from tierscope.report import figures
from tierscope.report.style import new_table, note, title
from tierscope.suites.expand import REQUEST

_TAKEN = ("from", "to", "mix", "order", "access-size", "threads", "size", "pages", "pin",
          "further", "precision", "budget", "sample")  # fmt: skip
MIX = "67:33"
"""Default mix that weights are found for: two reads a write."""
FURTHER = "8"
_DEFAULTS = {"mix": MIX, "further": FURTHER}
OPTIONS = tuple(
    option.but(default=_DEFAULTS.get(option.name, ""))
    for option in REQUEST.options
    if option.name in _TAKEN
)
SINGLE = ("mix", "order", "access-size", "size")
"""Those that take one value: the kernel has one table."""


_OPERATIONS = {"read": "100:0", "write": "0:100", "write-nt": "0:100nt", "copy": "50:50",
               "copy-nt": "50:50nt"}  # fmt: skip
"""Mixes of the operations of kind bandwidth."""
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
    """Share of each initiator's best bandwidth that it loses by each one's weights."""

    @property
    def pays(self) -> bool:
        """Whether spreading pages is shown to pay for any of the initiators."""
        return any(pays(study, self.threads) for study in self.studies)


def choose(run: Run, wanted: Weights | None = None) -> Choice:
    """Return the weights that cost the initiators least; ``wanted``: those that were asked for.

    Raises UserError where the run spread no pages, or where it has several access patterns.
    """
    from tierscope.kinds.traffic.show import studies_of

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
    assert read.headline is not None
    mixed = {"estimate": rate, "ci_low": None, "ci_high": None}
    return read.model_copy(update={"figures": [read.headline.model_copy(update=mixed)]})


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


@dataclass(frozen=True)
class Kernel:
    """Changes to the kernel's table, made and possible."""

    applied: Applied | None
    under: Run | None
    """The run under the kernel's own policy."""
    why_not: str
    writable: bool
    present: bool


def show_choice(console: Console, run: Run, choice: Choice, kernel: Kernel) -> None:
    """Print the study, the weights and how to get them."""
    show_spreads(console, run)
    title(console, "Weights")
    if len(choice.studies) > 1:
        _show_losses(console, choice)
    for line in (*_of_choice(choice), *_of_kernel(choice, kernel)):
        note(console, line, style="")


def _of_choice(choice: Choice) -> Iterator[str]:
    weights = choice.weights
    if len(weights) == 1:
        yield f"Leave pages on node {weights[0][0]}: no shares that were measured are faster."
        return
    shown = "" if choice.pays else "; no gain over the own node is shown"
    yield f"{table_words(dict(weights))} ({weights_text(weights)}){shown}."


def _of_kernel(choice: Choice, kernel: Kernel) -> Iterator[str]:
    nodes = ",".join(str(node) for node, _ in choice.weights)
    if kernel.applied:
        yield from _of_applied(kernel.applied)
        if kernel.under:
            yield from _under(choice, kernel.under)
        yield f"Programs use them by: numactl --weighted-interleave={nodes} PROGRAM (2.0.19)"
        return
    if kernel.why_not:
        yield f"Not applied: {kernel.why_not}."
    if len(choice.weights) == 1 or (kernel.why_not and not choice.pays):
        return
    if not kernel.present:
        yield "This kernel has no weighted interleave (Linux 6.9 and later have it)."
        return
    yield "To apply them, run this again with --apply as root; or:"
    yield from (f"  {command}" for command in commands(dict(choice.weights)))


def _of_applied(applied: Applied) -> Iterator[str]:
    yield (
        f"Written and read back: {table_words(applied.after.weights)}; before: "
        f"{table_words(applied.before.weights)}. They count for pages allocated from now on. "
        "'tierscope place weights --revert' restores them."
    )
    if applied.one_way:
        yield (
            "The kernel has left its automatic mode and refuses to return to it before a reboot, "
            "since the firmware names no bandwidths; --revert restores the weights."
        )


def _under(choice: Choice, run: Run) -> Iterator[str]:
    """Say what the applied weights give under the kernel's own policy."""
    for study in choice.studies:
        found = [
            m
            for m in run.measurements
            if m.initiator == study.initiator and m.status == "measured" and m.estimate
        ]
        spread = next((m for m in found if m.pattern.get("mechanism") == "kernel"), None)
        local = next((m for m in found if m.pattern.get("mechanism") is None), None)
        if spread is None:
            missing = next((m for m in run.measurements if m.status != "measured"), None)
            yield f"Under the kernel's policy: not measured ({missing.reason if missing else ''})"
            continue
        unit, factor = figures.scale_of("B/s", [spread.estimate or 0.0])
        over = (
            f", {figures.text(figures.ratio(spread, local))} times node {study.local} only"
            if local
            else ""
        )
        pages = spread.evidence.pages if spread.evidence else None
        yield (
            f"Under the kernel's policy, {study.initiator}: "
            f"{figures.text(spread, factor, unit)}{over}{_pages_text(pages)}"
        )


def _pages_text(pages: dict[str, int] | None) -> str:
    if not pages:
        return ""
    total = sum(pages.values())
    shares = ", ".join(f"{count / total:.1%} on node {node}" for node, count in pages.items())
    return f"; pages: {shares}"


def _show_losses(console: Console, choice: Choice) -> None:
    """Print what each initiator loses by each one's weights, since the kernel has one table."""
    columns: dict[Weights, str] = {}
    for study in choice.studies:
        weights, _ = study.best_at(choice.threads)
        columns[weights] = f"{columns[weights]}, {study.initiator}" if weights in columns else (
            study.initiator)  # fmt: skip
    names = ("initiator", "own best")
    losses = (f"{ratio_of(weights)}\nof {owner}" for weights, owner in columns.items())
    table = new_table(*names, *losses, words=names)
    for study in choice.studies:
        own = choice.losses[study.initiator]
        best = _best_text(study, choice.threads)
        table.add_row(study.initiator, best, *(_loss_text(own[weights]) for weights in columns))
    console.print(table)
    note(
        console,
        "what each initiator has with each one's weights, against its own best: the kernel has one "
        "table for all; measured, else predicted",
    )


def _best_text(study: Study, threads: int) -> str:
    weights, best = study.best_at(threads)
    unit, factor = figures.scale_of("B/s", [best.estimate or 0.0])
    return f"{weights_text(weights)}, {figures.text(best, factor, unit)}"


def _loss_text(loss: float) -> str:
    return "best" if loss == 0 else f"-{figures.share_text(loss)}"
