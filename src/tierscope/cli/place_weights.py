"""``tierscope place weights``: interleave weights, found and applied."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tierscope.cli import options
from tierscope.cli.generated import Given, given_options, parameter
from tierscope.cli.measure import finish, planned, refinement_of, taken
from tierscope.cli.output import Output
from tierscope.model.errors import ExitCode, UserError
from tierscope.plans.grammar import format_size
from tierscope.runs.store import find_run
from tierscope.suites.place_weights import OPTIONS

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.kinds.plan import Plan
    from tierscope.kinds.traffic.show import Weights
    from tierscope.model.run import Run
    from tierscope.model.topology import Topology
    from tierscope.place.weights import Applied
    from tierscope.runs.measure import Outcome
    from tierscope.suites.place_weights import Choice

ROOT = "/"
"""Below it are the kernel's files; tests put a tree of files in its place."""


@options.command(params=[parameter(option) for option in OPTIONS])
@click.option(
    "--run",
    "run",
    metavar="RUN",
    shell_complete=options.complete_run,
    help="Choose weights from a run of 'expand', or from one with each node's bandwidth",
)
@click.option(
    "--use",
    metavar="TARGET",
    help="Use these weights, even if others are better, as in node:0,2@3:1",
)
@click.option("--apply", "apply", is_flag=True, help="Write the kernel's weights (needs root)")
@click.option(
    "--revert", is_flag=True, help="Restore the weights and the mode that --apply replaced"
)
@options.stated_options
@options.output_options
def weights(
    output: Output,
    run: str | None,
    use: str | None,
    apply: bool,
    revert: bool,
    **given: Given,
) -> int:
    """Find the interleave weights with the most bandwidth, and apply them.

    It measures each node, predicts the best shares of pages, measures those and others about them,
    and says whether spreading pages pays. The kernel has one table of weights for the whole machine
    (Linux 6.9); programs use it with numactl --weighted-interleave. With several initiators, as
    in --from node:*, the weights are those with which the worst-off initiator loses least.

    \b
    Examples:
      tierscope place weights
      tierscope place weights --to node:0,2 --mix 50:50 --apply
      tierscope place weights --run last --apply
      tierscope place weights --revert
    """
    if revert:
        context = click.get_current_context()
        options.refuse_given(
            context, "--revert goes alone, with --json", *_others(context, "revert", "json")
        )
        return _revert(output)
    return place_weights(Args(given_options(OPTIONS, given), run, use, apply), output)


def _others(context: click.Context, *names: str) -> list[str]:
    return [one.name for one in context.command.params if one.name and one.name not in names]


class Args(NamedTuple):
    """Arguments of the command."""

    given: dict[str, str]
    run: str | None
    use: str | None
    apply: bool


@dataclass
class _Done:
    """The choice of weights, and what was done about it."""

    choice: "Choice"
    applied: "Applied | None" = None
    under_kernel: "Outcome | None" = None
    why_not: str = ""
    """Why nothing was written."""


def place_weights(args: Args, output: Output) -> int:
    """Measure or read a study, choose weights, write them where asked, print what came of it."""
    from tierscope.machine.discover import discover
    from tierscope.suites.place_weights import choose

    output.check()
    if args.apply and not output.dry_run:
        _check_may_write()
    topology = discover()
    wanted = _wanted(args, topology)
    outcome = _measured(args, topology, wanted, output)
    if outcome is None:
        return 0
    done = _Done(choose(outcome.run, wanted))
    _decide(args, done, topology, output)
    status = finish(
        outcome,
        output,
        show=lambda console, run, path: _show(console, run, path, done),
        more=lambda _run: {"weights": _json(done)},
    )
    return status or (int(done.under_kernel.exit_code) if done.under_kernel else 0)


def _revert(output: Output) -> int:
    """Restore what was there before the first ``--apply``."""
    from tierscope.place.weights import read_table, revert, table_words

    output.check()
    found = revert(ROOT)
    table, differences = found if found else (read_table(ROOT), [])
    said = "nothing to restore: no weights were applied since the machine started"
    if found:
        said = "restored the kernel's weights: " + table_words(table.weights)
    if differences:
        said += f"; the kernel does not take back all: {'; '.join(differences)}"

    content = {
        "restored": found is not None,
        "weights": table.weights,
        "auto": table.auto if table.mode else None,
        "differences": differences,
    }
    output.emit(content, said)
    return int(ExitCode.SOMETHING_FAILED if differences else ExitCode.ALL_MEASURED)


def _check_may_write() -> None:
    from tierscope.place.weights import may_write, read_table

    read_table(ROOT)  # says so where the kernel has none
    if not may_write(ROOT):
        raise UserError(
            "--apply writes the kernel's weights, which needs root; without --apply the commands "
            "that do so are printed"
        )


def _wanted(args: Args, topology: "Topology") -> "Weights | None":
    from tierscope.plans.request import Request
    from tierscope.suites.expand import shares, studied

    if args.use is None:
        return None
    with options.blaming("--use"):
        (_, nodes), *_ = studied(Request(kind="expand", options=_ends(args)), topology)
        return shares(args.use, nodes)


def _ends(args: Args) -> dict[str, str]:
    return {name: text for name, text in args.given.items() if name in ("from", "to")}


def _measured(
    args: Args, topology: "Topology", wanted: "Weights | None", output: Output
) -> "Outcome | None":
    """Return the study, measured now or read; None after a dry run."""
    from tierscope.kinds.traffic.show import target_of
    from tierscope.plans.request import Request
    from tierscope.runs.measure import Outcome
    from tierscope.runs.read import read_run
    from tierscope.suites.expand import studied
    from tierscope.suites.place_weights import FURTHER, MIX, SINGLE, choose, predicted_shares

    for option in SINGLE:
        if "," in args.given.get(option, "") or ".." in args.given.get(option, ""):
            raise UserError(
                f"--{option}: the kernel has one table of weights, so name one value; 'tierscope "
                "expand' compares several"
            )
    given = {"mix": MIX, "further": FURTHER, "ratios": "none", **args.given}
    if wanted is not None:
        given |= {"shares": target_of(wanted), "further": "0"}
    if args.run is not None:
        path = find_run(args.run)
        run = read_run(path)
        try:
            choose(run)
        except UserError as error:
            if error.exit_code is not ExitCode.NOTHING_MEASURED:
                raise
        else:
            return Outcome(run, path, None)
        (initiator, nodes), *_ = studied(Request(kind="expand", options=_ends(args)), topology)
        found = predicted_shares(run, given["mix"], nodes, str(initiator))
        given["shares"] = ",".join(filter(None, (given.get("shares"), found)))
    requests = [Request(kind="expand", name="weights", options=given)]
    plan = planned(requests, topology)
    return taken("weights", plan, topology, output, refinement_of(requests))


def _decide(args: Args, done: _Done, topology: "Topology", output: Output) -> None:
    from tierscope.kinds.traffic.show import weights_text
    from tierscope.place.weights import apply, table_words

    choice = done.choice
    if not args.apply:
        return
    if args.use is None and not choice.pays:
        done.why_not = "no gain is shown, so no weights were written; --use writes given ones"
        return
    if len(choice.weights) < 2:
        done.why_not = f"{weights_text(choice.weights)} needs no weights, so none were written"
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


def _under_kernel(choice: "Choice", topology: "Topology") -> "Plan":
    """Return the applied weights by the kernel's own policy, and each own node only."""
    from tierscope.kinds.traffic.show import target_of
    from tierscope.plans.request import Request

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
        requests.append(Request(kind="traffic", name="kernel", options=shared | spread))
        if study.local is not None:
            local = {**shared, "to": f"node:{study.local}"}
            requests.append(Request(kind="traffic", name="local", options=local))
    return planned(requests, topology)


def _show(console: "Console", run: "Run", path: Path, done: _Done) -> None:
    from tierscope.kinds.views import VIEWS
    from tierscope.place.weights import has_table, may_write
    from tierscope.report.run import show_between
    from tierscope.suites.place_weights import Kernel, show_choice

    kernel = Kernel(
        applied=done.applied,
        under=done.under_kernel.run if done.under_kernel else None,
        why_not=done.why_not,
        writable=may_write(ROOT),
        present=has_table(ROOT),
    )
    show_between(console, run, path, lambda: show_choice(console, run, done.choice, kernel), VIEWS)


def _json(done: _Done) -> dict[str, Any]:
    """Return what was decided, and what was done about it."""
    from tierscope.place.weights import commands
    from tierscope.runs.export import to_json
    from tierscope.suites.place_weights import choice_json

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
