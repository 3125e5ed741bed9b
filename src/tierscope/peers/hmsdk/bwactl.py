"""HMSDK's bwactl: kernel weights from a matrix of bandwidths."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tierscope.cli.measure import planned, progress_of
from tierscope.cli.output import Output
from tierscope.machine.discover import discover
from tierscope.model.errors import ExitCode, UserError, shown
from tierscope.model.given_file import open_given
from tierscope.model.topology import Topology
from tierscope.peers.drop_in import errors_at
from tierscope.peers.hmsdk.lstopo import read_lstopo
from tierscope.peers.hmsdk.weights import Group, groups_of, initiator_of, parse_groups, weigh
from tierscope.peers.mlc_text import Matrix, parse_matrix
from tierscope.place import weights as kernel
from tierscope.place.features import WEIGHTS
from tierscope.plans.request import Request
from tierscope.runs.measure import measure

_MAX_BYTES = 1 << 24
_EXACT = 1e-9


def set_weights(
    output: Output,
    mlc_file: Path | None,
    lstopo_file: Path | None,
    grouping: str | None,
    max_weight: int,
    hmsdk_rule: bool,
    dry_run: bool,
) -> int:
    """Compute the weights of each group, print them, and write them where that is possible."""
    output.check([path for path in (mlc_file, lstopo_file) if path])
    machine = None
    if lstopo_file:
        with errors_at("--lstopo-file"):
            machine = read_lstopo(lstopo_file)
    nodes = _groups(grouping, machine)
    if machine is None and mlc_file is None:
        machine = discover()
    initiators = [initiator_of(group, machine) for group in nodes]
    if mlc_file is not None:
        matrix = parse_matrix(_text(mlc_file), shown(mlc_file))
    else:
        matrix = _measured(initiators, nodes, output)
    groups = [
        weigh(initiator, members, matrix, max_weight, hmsdk_rule)
        for initiator, members in zip(initiators, nodes, strict=True)
    ]
    weights = {node: weight for group in groups for node, weight in group.weights.items()}
    written = not dry_run and kernel.may_write()
    if written:
        kernel.apply(weights)
    found = {"groups": [_json(group) for group in groups], "written": written}
    output.emit(found, _text_of(groups))
    for group in groups:
        click.echo(_note(group), err=True)
    if written:
        click.echo("written, and read back", err=True)
        return 0
    if dry_run:
        return 0
    click.echo(f"not written{_why_not()}; run it, or these lines, as root", err=True)
    return ExitCode.SOMETHING_FAILED


def _groups(text: str | None, machine: Topology | None) -> list[list[int]]:
    if text is None:
        return groups_of(machine or discover())
    with errors_at("--topology"):
        return parse_groups(text)


def _text_of(groups: Sequence[Group]) -> str:
    """Return the text of HMSDK's bwactl, whose lines a shell executes."""
    lines = ["Bandwidth ratio for all NUMA nodes"]
    for group in groups:
        lines.append(f"from node{group.initiator} compute cores:")
        lines += [
            f"   echo {weight} > {WEIGHTS}/node{node}" for node, weight in group.weights.items()
        ]
    return "\n".join(lines)


def _text(path: Path) -> str:
    try:
        with open_given(path) as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise UserError(f"--mlc-file: {shown(path)} cannot be read: {error.strerror}") from None


def _measured(initiators: Sequence[int], groups: Sequence[Sequence[int]], output: Output) -> Matrix:
    """Measure the read bandwidth of each group's CPUs to each of its nodes."""
    requests = [
        Request(
            kind="bandwidth",
            options={
                "from": f"node:{initiator}",
                "to": ",".join(f"node:{node}" for node in nodes),
                "op": "read",
            },
        )
        for initiator, nodes in zip(initiators, groups, strict=True)
    ]
    topology = discover()
    plan = planned(requests, topology)
    with progress_of(plan.measurements) as watch:
        outcome = measure(plan, "bwactl", topology, sys.argv, None, watch)
    if outcome.error:
        raise outcome.error
    output.say(f"measured: {outcome.path}")
    found: Matrix = {}
    for m in outcome.run.measurements:
        if m.status != "measured" or m.estimate is None:
            raise UserError(f"{m.initiator} -> {m.target} was {m.status}: {m.reason}")
        initiator, target = (int(end.partition(":")[2]) for end in (m.initiator, m.target))
        found.setdefault(initiator, {})[target] = m.estimate
    return found


def _why_not() -> str:
    return (
        ": you are not root"
        if kernel.has_table()
        else ": this kernel has no weights (Linux 6.9 does)"
    )


def _note(group: Group) -> str:
    rates = ", ".join(f"node {n} at {rate / 1e9:.4g} GB/s" for n, rate in group.bandwidths.items())
    if len(group.weights) == 1:
        return f"CPUs of node {group.initiator} read {rates}"
    how = f"the ratio is off by {group.error:.2%}" if group.error > _EXACT else "the exact ratio"
    return f"CPUs of node {group.initiator} read {rates}: {how}"


def _json(group: Group) -> dict[str, object]:
    return {
        "initiator": group.initiator,
        "bandwidths": {str(node): rate for node, rate in group.bandwidths.items()},
        "weights": {str(node): weight for node, weight in group.weights.items()},
        "error": group.error,
    }
