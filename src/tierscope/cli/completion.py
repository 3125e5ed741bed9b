"""Tab completion: the script of the shell that asks, and where that shell looks for it."""

import os
from pathlib import Path

from click.shell_completion import get_completion_class

from tierscope.machine.data_directory import home_directory
from tierscope.model.errors import UserError
from tierscope.runs.output import write_output

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_TIERSCOPE_COMPLETE"


def script(shell: str = "") -> str:
    """Return the script that makes a shell complete ``tierscope``; by default the shell's own."""
    from tierscope.cli.app import app

    found = get_completion_class(shell or current_shell())
    assert found is not None
    return found(app, {}, "tierscope", _VARIABLE).source()


def install() -> str:
    """Write the script where this shell finds it, and return a line that says so."""
    shell = current_shell()
    home = home_directory()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share") / "tierscope"
    if shell == "fish":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        path = config / "fish/completions/tierscope.fish"
        _write(path, script(shell))
    else:
        path = data / f"completion.{shell}"
        _write(path, script(shell))
        set_up = "autoload -Uz compinit && compinit; " if shell == "zsh" else ""
        _append(home / f".{shell}rc", f"{set_up}source '{path}'  # tierscope\n")
    return f"completion for {shell}: {path}; it works in new shells\n"


def current_shell() -> str:
    """Return the shell that started this program, else the user's; UserError for other shells."""
    try:
        parent = Path(f"/proc/{os.getppid()}/comm").read_text().strip()
    except OSError:
        parent = ""
    user = Path(os.environ.get("SHELL", "")).name
    for name in (parent, user):
        if name in SHELLS:
            return name
    raise UserError(
        f"there is no tab completion for the shell '{user or parent}'; start "
        f"tierscope from one of {', '.join(SHELLS)}"
    )


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path.parent} cannot be made: {error.strerror}") from None
    write_output(path, text, "--install-completion")


def _append(path: Path, line: str) -> None:
    """Add a line to a shell's start-up file unless it is there."""
    try:
        text = path.read_text() if path.exists() else ""
        if line not in text:
            with path.open("a") as file:
                file.write(("" if text.endswith("\n") or not text else "\n") + line)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
