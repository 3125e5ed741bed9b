"""What ``tierscope place weights`` prints below the study: the weights, and what the kernel has."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from tierscope.kinds.streams.spread_table import gain_text, show_spreads
from tierscope.kinds.streams.spreads import Study, Weights, gain, ratio_of, words_of
from tierscope.model.run import Run
from tierscope.placement.weights import Applied, commands, table_words
from tierscope.recipes.place_weights import Choice
from tierscope.report import figures
from tierscope.report.style import new_table, note, title


@dataclass(frozen=True)
class Kernel:
    """What was done to the kernel's table, and what could be."""

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
    yield f"{table_words(dict(weights))} ({words_of(weights)}){shown}."


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
        over = f", {gain_text(gain(spread, local))} times node {study.local} only" if local else ""
        pages = spread.evidence.pages if spread.evidence else None
        yield (
            f"Under the kernel's policy, {study.initiator}: "
            f"{figures.with_interval(spread, factor)} {unit}{over}{_pages_text(pages)}"
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
    table = new_table()
    table.add_column("initiator", no_wrap=True)
    table.add_column("own best", no_wrap=True)
    for weights, owner in columns.items():
        table.add_column(f"{ratio_of(weights)}\nof {owner}", justify="right")
    for study in choice.studies:
        table.add_row(study.initiator, _best_text(study, choice.threads),
                      *(Text(_loss_text(choice.losses[study.initiator][weights]))
                        for weights in columns))  # fmt: skip
    console.print(table)
    note(
        console,
        "what each initiator has with each one's weights, against its own best: the kernel has one "
        "table for all; measured, else predicted",
    )


def _best_text(study: Study, threads: int) -> str:
    weights, best = study.best_at(threads)
    unit, factor = figures.scale_of("B/s", [best.estimate or 0.0])
    return f"{words_of(weights)}, {figures.with_interval(best, factor)} {unit}"


def _loss_text(loss: float) -> str:
    return "best" if loss == 0 else f"-{figures.share_text(loss)}"
