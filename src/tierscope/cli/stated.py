"""``--memory``, ``--socket-link``: what the user states of this machine, kept for later runs."""

from typing import TYPE_CHECKING

import click

from tierscope.cli.options import blaming
from tierscope.model.errors import UserError

if TYPE_CHECKING:
    from tierscope.plans.request import Request

_OTHERS = ("source", "fsroot", "topology")
"""Arguments of commands that name another machine's file."""


def keep_stated(name: str, text: str, option: str) -> None:
    """Keep what is stated of this machine, or forget it; raises UserError, which begins with the
    option.

    ``name`` is the statement's. Standard error says what is stated of memory that the system
    reports differently.
    """
    from tierscope.machine.discover import discover
    from tierscope.machine.memory import unused_statements
    from tierscope.machine.stated import STATEMENTS, check_stated, stated_path
    from tierscope.runs.output import replace_file

    context = click.get_current_context(silent=True)
    if context and any(context.params.get(other) for other in _OTHERS):
        raise UserError(f"{option} is of this machine; it does not go with another one's file")
    field, parse = STATEMENTS[name]
    with blaming(option):
        stated = parse(text)
        topology = discover().model_copy(update={field: stated})
        check_stated(topology)
    path = stated_path(topology.host, name)
    try:
        if stated:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, f"{text.strip()}\n".encode())
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
    if name == "memory":
        for line in unused_statements(topology):
            click.echo(f"tierscope: {line}", err=True)


def requests_of(text: str, name: str) -> "list[Request]":
    """Return the requests of a plan's text, and keep what it states of this machine.

    What the options state comes before that.
    """
    from tierscope.plans.yaml_plan import parse_file

    plan = parse_file(text, name)
    context = click.get_current_context(silent=True)
    for key, value in plan.stated.items():
        if not (context and context.params.get(key.replace("-", "_"))):
            keep_stated(key, value, f"{name}: key '{key}'")
    return plan.requests
