"""Read a run file back, cut or whole."""

from pathlib import Path

from pydantic import ValidationError

from tierscope.model.errors import UserError
from tierscope.model.event import check_figures
from tierscope.model.run import RUN_VERSION, Footer, Header, Measurement, RecordAdapter, Run

_HEAD = 200
_BEGIN = b'"record":"header"'
"""What the first bytes of every run file hold."""


def read_run(path: Path) -> Run:
    """Return the run; ``footer`` is None where the file was cut, torn last line or not.

    Raises UserError, with the line, for a file that is no run file or was damaged before its end.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_HEAD)
            if _BEGIN in content:  # else it is something else, perhaps without end
                content += file.read()
    except OSError as error:
        raise UserError(f"run '{path}' cannot be read: {error.strerror}") from None
    return parse_run(content, str(path))


def parse_run(content: bytes, path: str) -> Run:
    """Return the run of a file's content; ``path`` is for error messages only."""
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    header: Header | None = None
    footer: Footer | None = None
    measurements: list[Measurement] = []
    for number, line in enumerate(lines, start=1):
        try:
            record = RecordAdapter.validate_json(line)
        except ValidationError as error:
            if number == len(lines) and header is not None:
                break  # torn by a crash or a full disk; what came before stands
            raise UserError(_broken(path, number, line, error, header)) from None
        if (number == 1) != isinstance(record, Header) or footer is not None:
            raise UserError(f"{path}:{number}: a {record.record} record cannot stand here")
        if isinstance(record, Header):
            header = record
        elif isinstance(record, Footer):
            footer = record
        else:
            _check_figures(record, f"{path}:{number}")
            measurements.append(record)
    if header is None:
        raise UserError(f"{path} is empty: its run ended before its header was written")
    return Run(header=header, measurements=measurements, footer=footer)


def _check_figures(record: Measurement, where: str) -> None:
    """Refuse a measured figure that no engine gives, on which nothing could be reckoned."""
    if record.status != "measured":
        return
    try:
        check_figures(record.estimate, record.ci_low, record.ci_high)
    except ValueError as error:
        raise UserError(f"{where}: the run file is damaged here ({error})") from None


def _broken(
    path: str, number: int, line: bytes, error: ValidationError, header: Header | None
) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    if header is not None:
        return f"{path}:{number}: the run file is damaged here ({where or 'line'}: {first['msg']})"
    if _BEGIN not in line[:_HEAD]:
        return f"{path} is not a tierscope run file"
    if first["type"] == "json_invalid":
        return f"{path} holds no run: it was cut inside its header"
    if where.endswith("version"):
        return f"{path}: this tierscope reads run files of version {RUN_VERSION} ({first['msg']})"
    return f"{path}:{number}: the header is damaged ({where}: {first['msg']})"
