"""The command of a kind or a suite, made from the options that it takes."""

from collections.abc import Callable, Iterable, Mapping

import click

from tierscope.cli.options import command, output_options, stated_options
from tierscope.cli.output import Output
from tierscope.cli.parsing import ListedOption
from tierscope.model.errors import UserError, is_text
from tierscope.plans.options import Option
from tierscope.plans.request import RequestForm

Given = str | bool | tuple[str, ...] | None
Measure = Callable[[dict[str, str], Output], int]
"""Measures what options ask for, by name; returns the exit status."""


def request_command(name: str, summary: str, form: RequestForm, measure: Measure) -> click.Command:
    """Return a command with a form's options and those that say where results go."""

    @output_options
    def call(output: Output, **given: Given) -> int:
        return measure(given_options(form.options, given), output)

    names = {option.name for option in form.options}
    # What is stated limits what places pages; copies to GPUs have a --memory of their own.
    if "pages" in names and "memory" not in names:
        call = stated_options(call)
    params = [parameter(option) for option in form.options]
    params += [
        click.Argument([_words_of(option)], metavar=f"[{option.metavar}]...", nargs=-1)
        for option in form.options
        if option.words
    ]
    return command(name, params=params, help=help_text(summary, form))(call)


def parameter(option: Option) -> click.Parameter:
    """Return the flag of an option; its value is text, since plans read it by the same grammar."""
    text = f"{option.help}  [default: {option.default}]" if option.default else option.help
    if option.rest:
        return click.Argument([option.name], metavar=f"[-- {option.metavar}]", nargs=-1)
    return ListedOption(
        [f"--{option.name}"],
        metavar=option.metavar or None,
        multiple=option.many,
        is_flag=option.flag,
        help=text,
        essential=option.essential,
    )


def _words_of(option: Option) -> str:
    return f"{option.name}_words"


def given_options(options: Iterable[Option], arguments: Mapping[str, Given]) -> dict[str, str]:
    """Return the options that were given, as a request takes them: ``both-ways: yes``."""
    given = {}
    for option in options:
        value = arguments.get(option.name.replace("-", "_"))
        if words := arguments.get(_words_of(option)):
            if value is not None:
                raise UserError(f"name paths by --{option.name}, or without it; not in both ways")
            value = ",".join(map(str, words))  # type: ignore[arg-type]
        if isinstance(value, tuple):
            value = option.joined(value) or None
        if value is True:
            given[option.name] = "yes"
        elif isinstance(value, str):
            if not is_text(value):
                raise UserError(f"--{option.name}: '{value}' is not UTF-8 text")
            given[option.name] = value
    return given


def help_text(summary: str, form: RequestForm) -> str:
    """Return what ``--help`` says above the options."""
    examples = "\n".join(f"  tierscope {example}" for example in form.examples)
    text = "\n\n".join(f"\b\n{paragraph}" for paragraph in form.help.split("\n\n") if paragraph)
    parts = [summary, text, f"\b\nExamples:\n{examples}" if examples else ""]
    return "\n\n".join(part for part in parts if part)
