"""From the options of ``tierscope place weights`` to the kernel's weights."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console

from tierscope.cli.flow import finish, planned, refinement_of, taken
from tierscope.cli.forms import Forms, emit
from tierscope.cli.options import Output
from tierscope.kinds.plan import Plan
from tierscope.kinds.streams.spreads import Weights, target_of, words_of
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Run
from tierscope.model.topology import Topology
from tierscope.placement.weights import (
    Applied,
    apply,
    commands,
    has_table,
    may_write,
    read_table,
    revert,
    table_words,
)
from tierscope.plans.grammar import format_size
from tierscope.plans.request import Request
from tierscope.recipes.expand import shares, studied
from tierscope.recipes.place_options import FURTHER, MIX, SINGLE
from tierscope.recipes.place_weights import Choice, choice_json, choose, predicted_shares
from tierscope.runs.export import to_json
from tierscope.runs.measure import Outcome
from tierscope.runs.read import read_run
from tierscope.runs.store import find_run
from tierscope.topology.discover import discover

ROOT = "/"
"""Below it are the kernel's files; tests put a tree of files in its place."""


class Asked(NamedTuple):
    """What the command was asked for."""

    given: dict[str, str]
    run: str | None
    use: str | None
    apply: bool


@dataclass
class _Done:
    """What was decided and what was done about it."""

    choice: Choice
    applied: Applied | None = None
    under_kernel: Outcome | None = None
    why_not: str = ""
    """Why nothing was written."""


def place_weights(asked: Asked, output: Output) -> int:
    """Measure or read a study, choose weights, write them where asked, print what came of it."""
    output.forms.check()
    if asked.apply and not output.dry_run:
        _check_may_write()
    topology = discover()
    wanted = _wanted(asked, topology)
    outcome = _measured(asked, topology, wanted, output)
    if outcome is None:
        return 0
    done = _Done(choose(outcome.run, wanted))
    _decide(asked, done, topology, output)
    status = finish(
        outcome,
        output,
        show=lambda console, run, path: _show(console, run, path, done),
        more=lambda _run: {"weights": _json(done)},
    )
    return status or (int(done.under_kernel.exit_code) if done.under_kernel else 0)


def revert_weights(forms: Forms) -> int:
    """Restore what was there before the first ``--apply``."""
    forms.check()
    found = revert(ROOT)
    table, differences = found if found else (read_table(ROOT), [])
    said = "nothing to restore: no weights were applied since the machine started"
    if found:
        said = "restored the kernel's weights: " + table_words(table.weights)
    if differences:
        said += f"; the kernel does not take back all: {'; '.join(differences)}"

    def tables() -> None:
        click.echo(said)

    content = {
        "restored": found is not None,
        "weights": table.weights,
        "auto": table.auto if table.mode else None,
        "differences": differences,
    }
    emit(forms, lambda: json.dumps(content), tables)
    return int(ExitCode.SOMETHING_FAILED if differences else ExitCode.ALL_MEASURED)


def _check_may_write() -> None:
    read_table(ROOT)  # says so where the kernel has none
    if not may_write(ROOT):
        raise UserError(
            "--apply writes the kernel's weights, which needs root; without --apply the commands "
            "that do so are printed"
        )


def _wanted(asked: Asked, topology: Topology) -> Weights | None:
    if asked.use is None:
        return None
    try:
        (_, nodes), *_ = studied(Request(kind="expand", options=_ends(asked)), topology)
        return shares(asked.use, nodes)
    except UserError as error:
        raise UserError(f"--use: {error}", error.exit_code) from None


def _ends(asked: Asked) -> dict[str, str]:
    return {name: text for name, text in asked.given.items() if name in ("from", "to")}


def _measured(
    asked: Asked, topology: Topology, wanted: Weights | None, output: Output
) -> Outcome | None:
    """Return the study, measured now or read; None after a dry run."""
    for option in SINGLE:
        if "," in asked.given.get(option, "") or ".." in asked.given.get(option, ""):
            raise UserError(
                f"--{option}: the kernel has one table of weights, so name one value; 'tierscope "
                "expand' compares several"
            )
    given = {"mix": MIX, "further": FURTHER, "ratios": "none", **asked.given}
    if wanted is not None:
        given |= {"shares": target_of(wanted), "further": "0"}
    if asked.run is not None:
        path = find_run(asked.run)
        run = read_run(path)
        try:
            choose(run)
        except UserError as error:
            if error.exit_code is not ExitCode.NOTHING_MEASURED:
                raise
        else:
            return Outcome(run, path, None)
        (initiator, nodes), *_ = studied(Request(kind="expand", options=_ends(asked)), topology)
        found = predicted_shares(run, given["mix"], nodes, str(initiator))
        given["shares"] = ",".join(filter(None, (given.get("shares"), found)))
    requests = [Request(kind="expand", name="weights", options=given)]
    plan = planned(requests, topology)
    return taken("weights", plan, topology, output, refinement_of(requests))


def _decide(asked: Asked, done: _Done, topology: Topology, output: Output) -> None:
    choice = done.choice
    if not asked.apply:
        return
    if asked.use is None and not choice.pays:
        done.why_not = "no gain is shown, so no weights were written; --use writes given ones"
        return
    if len(choice.weights) < 2:
        done.why_not = f"{words_of(choice.weights)} needs no weights, so none were written"
        return
    plan = _under_kernel(choice, topology)  # refuses the run of another machine
    done.applied = apply(dict(choice.weights), ROOT)
    try:
        done.under_kernel = taken("weights-applied", plan, topology, output)
    except UserError as error:
        raise UserError(
            f"the weights were written ({table_words(dict(choice.weights))}), but could not be "
            f"measured: {error}; 'tierscope place weights --revert' restores what was there",
            ExitCode.SOMETHING_FAILED,
        ) from None


def _under_kernel(choice: Choice, topology: Topology) -> Plan:
    """Return the applied weights by the kernel's own policy, and each own node only."""
    requests = []
    for study in choice.studies:
        pattern = study.pattern
        shared = {
            "from": study.initiator,
            "threads": str(choice.threads),
            "mix": str(pattern["mix"]),
            "order": str(pattern["order"]),
            "access-size": str(pattern["access_size"]),
            "size": format_size(int(pattern["size"])),
            "pages": str(pattern["pages"]),
            "budget": "1s",
        }
        spread = {"to": target_of(choice.weights), "policy": "weighted", "mechanism": "kernel"}
        requests.append(Request(kind="streams", name="kernel", options=shared | spread))
        if study.local is not None:
            local = {**shared, "to": f"node:{study.local}"}
            requests.append(Request(kind="streams", name="local", options=local))
    return planned(requests, topology)


def _show(console: Console, run: Run, path: Path, done: _Done) -> None:
    from tierscope.recipes.place_weights_table import Kernel, show_choice
    from tierscope.report.run import show_end, show_machine, show_missing

    show_machine(console, run)
    kernel = Kernel(
        applied=done.applied,
        under=done.under_kernel.run if done.under_kernel else None,
        why_not=done.why_not,
        writable=may_write(ROOT),
        present=has_table(ROOT),
    )
    show_choice(console, run, done.choice, kernel)
    show_missing(console, run)
    show_end(console, run, path)


def _json(done: _Done) -> dict[str, Any]:
    """Return what was decided, and what was done about it."""
    applied, under = done.applied, done.under_kernel
    return {
        **choice_json(done.choice),
        "commands": commands(dict(done.choice.weights)),
        "applied": applied and {
            "before": applied.before.weights,
            "after": applied.after.weights,
            "auto_before": applied.before.auto if applied.before.mode else None,
            "one_way": applied.one_way,
        },
        "not_applied": done.why_not,
        "under_kernel": under and json.loads(to_json(under.run))["results"],
    }  # fmt: skip
