"""The forms of results, ``--json`` and ``--csv``: to stdout, or with ``=FILE`` into a file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
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

    def check(
        self, others: Mapping[str, Path | None] | None = None, inputs: Iterable[Path] = ()
    ) -> None:
        """Raise UserError where ``emit`` would, before anything is measured or read.

        ``others`` are the command's further outputs by option, ``inputs`` what it reads.
        """
        from tierscope.model.errors import UserError
        from tierscope.runs.output import check_outputs

        asked = self._asked()
        if list(asked.values()).count(STDOUT) > 1:
            raise UserError(
                "--json or --csv can go to stdout, not both; name a file, as --csv=FILE"
            )
        forms = {f"--{form}": Path(target) for form, target in asked.items() if target}
        check_outputs({**forms, **(others or {})}, inputs)

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
    from tierscope.cli.files import say_written
    from tierscope.model.errors import ExitCode
    from tierscope.runs.output import write_output

    forms.check()
    make = {"json": json, "csv": csv or _no_csv}
    if forms.printed == "tables":
        tables()
    else:
        click.echo(_lines(make[forms.printed]()), nl=False)
    for form, path in forms.files():
        write_output(path, _lines(make[form]()), f"--{form}", ExitCode.SOMETHING_FAILED)
        say_written(form, path, aside=forms.printed != "tables")


def _lines(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _no_csv() -> str:
    from tierscope.model.errors import UserError

    raise UserError("--csv: there are no measurements to write; --json prints what there is")
