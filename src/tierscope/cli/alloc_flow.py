"""From rules to a program that runs by them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from tierscope.cli.forms import STDOUT, Forms
from tierscope.model.errors import ExitCode, UserError
from tierscope.placement.allocator import environment_for
from tierscope.placement.launch import own_environment
from tierscope.placement.programs import find_program
from tierscope.placement.start import become


def start_program(
    name: str,
    command: tuple[str, ...],
    rules: Callable[[], str],
    words: Sequence[str],
    forms: Forms,
) -> NoReturn:
    """Become the program, with the rules that ``rules`` returns. Raises UserError."""
    if not command:
        raise UserError(f"name the program behind --, as in: tierscope alloc {name} -- ./server")
    if forms.json == STDOUT:
        raise UserError("--json: stdout is the program's; name a file, as in --json=heap.json")
    forms.check()
    setting = rules()
    program = find_program(command[0])
    statistics = Path(forms.json).absolute() if forms.json else None
    environment = environment_for(program, setting, words, statistics, own_environment())
    if statistics:
        from tierscope.runs.output import write_output

        write_output(statistics, "", "--json", ExitCode.SOMETHING_FAILED)
    become(program, command, environment)
