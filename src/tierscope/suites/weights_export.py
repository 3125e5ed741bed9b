"""Weights that a run found, as files of other programs: numactl, udev, systemd."""

from collections.abc import Callable, Iterator

from tierscope.kinds.traffic.show import verdict, weights_text
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Run
from tierscope.model.text import printable
from tierscope.place.features import WEIGHTS
from tierscope.place.weights import table_words
from tierscope.suites.place_weights import Choice, choose


def numactl_script(run: Run) -> str:
    """Return a shell script that starts a program with its pages interleaved by weight."""
    choice = chosen(run)
    nodes = ",".join(str(node) for node, _ in choice.weights)
    lines = [
        "#!/bin/sh",
        *_comments(run, choice),
        "# It takes numactl 2.0.19, Linux 6.9, and the weights in the kernel's table:",
        *(f"#   echo {weight} > {WEIGHTS}/node{node}" for node, weight in choice.weights),
        f'exec numactl --weighted-interleave={nodes} -- "$@"',
    ]
    return _text(lines)


def udev_rules(run: Run) -> str:
    """Return rules that write a node's weight when the node appears, for /etc/udev/rules.d."""
    choice = chosen(run)
    return _text([*_comments(run, choice), *map(_rule, choice.weights)])


def systemd_unit(run: Run) -> str:
    """Return a service that writes the weights at boot, for /etc/systemd/system."""
    choice = chosen(run)
    lines = [
        *_comments(run, choice),
        "[Unit]",
        f"Description=Interleave weights of memory, {table_words(dict(choice.weights))}",
        f"ConditionPathIsDirectory={WEIGHTS}",
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        *(f"ExecStart={_shell(node, weight)}" for node, weight in choice.weights),
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return _text(lines)


FORMS: dict[str, Callable[[Run], str]] = {
    "numactl": numactl_script,
    "udev": udev_rules,
    "systemd": systemd_unit,
}
"""By the option of ``tierscope export`` that writes it."""


def chosen(run: Run) -> Choice:
    """Return the weights of a run; raises UserError where it found one node to be the best."""
    choice = choose(run)
    if len(choice.weights) < 2:
        raise UserError(
            f"run '{run.header.name}': {weights_text(choice.weights)} is the best, so there are no "
            "weights to write",
            ExitCode.NOTHING_MEASURED,
        )
    return choice


def _comments(run: Run, choice: Choice) -> Iterator[str]:
    header = run.header
    yield f"# {table_words(dict(choice.weights))}: measured by tierscope {header.tierscope},"
    yield f"# run {header.name} on {header.host}."
    for study in choice.studies:
        yield f"# {study.initiator}, {study.pattern['mix']} read:write: " + verdict(
            study, choice.threads
        )


def _rule(share: tuple[int, int]) -> str:
    node, weight = share
    return (
        f'ACTION!="remove", SUBSYSTEM=="node", KERNEL=="node{node}", '
        f'TEST=="{WEIGHTS}/node{node}", RUN+="{_shell(node, weight)}"'
    )


def _shell(node: int, weight: int) -> str:
    return f"/bin/sh -c 'echo {weight} > {WEIGHTS}/node{node}'"


def _text(lines: list[str]) -> str:
    """Join lines; what a run file says must not become lines of its own."""
    return "".join(f"{printable(line, '?')}\n" for line in lines)
