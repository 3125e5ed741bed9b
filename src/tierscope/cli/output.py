"""Output of commands: tables, JSON, CSV, files and progress."""

import contextlib
import json as json_module
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

STDOUT = "-"


@dataclass(frozen=True)
class Output:
    """Options about results; commands use the fields that they have options for.

    ``json`` and ``csv`` are a file's name, ``-`` for standard output, None where not asked for.
    """

    json: str | None = None
    csv: str | None = None
    dry_run: bool = False
    directory: Path | None = None
    """The run file, or a directory for it; None: the data directory."""
    start_at: datetime | None = None
    """When the first repetition is to begin; None: at once."""
    energy: bool = False
    """Energy is measured beside it."""
    verbose: bool = False
    """Tables say all that is known of their figures."""
    others: Mapping[str, Path | None] = field(default_factory=dict)
    """Further files that the command writes, by the options that name them."""

    @property
    def printed(self) -> str:
        """Form on stdout: json, csv, the option of a further file, or tables."""
        from tierscope.runs.output import is_stdout

        forms = [form for form, target in self._forms().items() if target == STDOUT]
        further = [name for name, path in self.others.items() if path and is_stdout(path)]
        return (forms + further + ["tables"])[0]

    def beside(self, others: Mapping[str, Path | None]) -> "Output":
        """Return the output of a command that writes further files, by the options for them.

        Where one of them is standard output, no tables are printed.
        """
        return replace(self, others=others)

    def check(self, inputs: Iterable[Path] = ()) -> None:
        """Raise UserError where results cannot be written, before anything is measured or read.

        ``inputs`` are the files that the command reads.
        """
        from tierscope.model.errors import UserError
        from tierscope.runs.output import check_outputs

        asked = self._forms()
        if list(asked.values()).count(STDOUT) > 1:
            raise UserError(
                "--json or --csv can go to stdout, not both; name a file, as --csv=FILE"
            )
        forms = {f"--{form}": Path(target) for form, target in asked.items() if target}
        check_outputs({**forms, **self.others}, inputs)

    def emit(
        self,
        json: Callable[[], str] | Mapping[str, Any] | list[Any],
        tables: "Callable[[Console], None] | str | None",
        csv: Callable[[], str] | None = None,
        indent: int | None = None,
    ) -> None:
        """Print what stdout gets, and write the files that were asked for.

        ``json`` is the data, or a function that returns text; ``tables`` prints to a console, or is
        the text to print. Tables are printed beside files, too.
        """
        from tierscope.runs.output import write_output

        self.check()
        as_json = json if callable(json) else lambda: json_module.dumps(json, indent=indent)
        make = {"json": as_json, "csv": csv or _no_csv}
        if self.printed in make:
            click.echo(_lines(make[self.printed]()), nl=False)
        elif self.printed != "tables" or not tables:
            pass
        elif isinstance(tables, str):
            click.echo(_lines(tables), nl=False)
        else:
            from tierscope.report.style import detailed, make_console

            with detailed(self.verbose):
                tables(make_console())
        for form, path in self.files():
            write_output(path, _lines(make[form]()), f"--{form}")
            self.say_written(form, path)

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield the forms, json and csv, that go to files."""
        for form, target in self._forms().items():
            if target not in (None, STDOUT):
                yield form, Path(str(target))

    def say_written(self, what: str, path: Path) -> None:
        """Say which file was written: ``report: PATH``."""
        from tierscope.runs.output import is_stdout

        if not is_stdout(path):
            self.say(f"{what}: {path}")

    def say(self, line: str) -> None:
        """Print a line beside tables; on standard error where stdout has something else."""
        click.echo(line, err=self.printed != "tables")

    def _forms(self) -> dict[str, str | None]:
        return {"json": self.json, "csv": self.csv}


def make_folder(folder: Path, form: str) -> None:
    """Make a folder for pictures where it is missing; ``form`` is png or svg. Raises UserError."""
    from tierscope.model.errors import UserError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--{form}: {folder} cannot be made: {error.strerror}") from None


def write_pictures(folder: Path, form: str, files: Iterable[tuple[str, bytes]]) -> int:
    """Write pictures (name, content) into a folder; return how many. Raises UserError."""
    from tierscope.runs.output import write_output

    make_folder(folder, form)
    count = 0
    for name, content in files:
        write_output(folder / name, content, f"--{form}")
        count += 1
    return count


@contextlib.contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Show ``text`` with a moving sign until the block ends, if stderr is a terminal.

    The block gets a function that shows another text.
    """
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(text)) as status:
        yield lambda text: status.update(Text(text))


def say_start(start_at: datetime | None) -> None:
    """Say on standard error how long there is to wait, or by how much it is too late."""
    if start_at is None:
        return
    left = (start_at - datetime.now(timezone.utc)).total_seconds()
    when = start_at.isoformat()
    if left < 0:
        click.echo(f"late by {-left:.1f} s: the start was to be at {when}", err=True)
    else:
        click.echo(f"measuring begins at {when}, in {left:.1f} s", err=True)


def _lines(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _no_csv() -> str:
    from tierscope.model.errors import UserError

    raise UserError("--csv: there are no measurements to write; --json prints what there is")
