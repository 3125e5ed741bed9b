"""The forms of results, ``--json`` and ``--csv``: to stdout, or with ``=FILE`` into a file."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

STDOUT = "-"


class Forms(NamedTuple):
    """Where each form goes that was asked for: ``-`` is stdout, None where it was not."""

    json: str | None = None
    csv: str | None = None

    @property
    def printed(self) -> str:
        """What stdout gets: json, csv or tables."""
        asked = self._asked()
        return next((form for form, target in asked.items() if target == STDOUT), "tables")

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield the forms that go to files."""
        for form, target in self._asked().items():
            if target not in (None, STDOUT):
                yield form, Path(str(target))

    def check(self) -> None:
        """Raise UserError where ``emit`` would, before anything is measured."""
        from tierscope.cli.files import check_writable
        from tierscope.model.errors import UserError

        asked = self._asked()
        if list(asked.values()).count(STDOUT) > 1:
            raise UserError(
                "--json or --csv can go to stdout, not both; name a file, as --csv=FILE"
            )
        for form, path in self.files():
            check_writable(path, f"--{form}")

    def _asked(self) -> dict[str, str | None]:
        return self._asdict()


def emit(
    forms: Forms,
    json: Callable[[], str],
    tables: Callable[[], None],
    csv: Callable[[], str] | None = None,
) -> None:
    """Write the files that were asked for, and print what stdout gets.

    ``json`` and ``csv`` make texts; ``tables`` prints. Tables are printed beside files, too.
    """
    from tierscope.cli.files import write_file
    from tierscope.model.errors import ExitCode

    forms.check()
    make = {"json": json, "csv": csv or _no_csv}
    if forms.printed == "tables":
        tables()
    else:
        click.echo(_lines(make[forms.printed]()), nl=False)
    for form, path in forms.files():
        write_file(path, _lines(make[form]()), f"--{form}", ExitCode.SOMETHING_FAILED)
        click.echo(f"{form}: {path}", err=forms.printed != "tables")


def _lines(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _no_csv() -> str:
    from tierscope.model.errors import UserError

    raise UserError("--csv: there are no measurements to write; --json prints what there is")
