"""Read run files."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, get_args

from pydantic import ValidationError

from tierscope.model.base import RECORDED
from tierscope.model.errors import UserError
from tierscope.model.given_file import open_given
from tierscope.model.run import (
    RECORDS,
    RUN_VERSION,
    Footer,
    Header,
    Measurement,
    PlanRecord,
    Record,
    RecordAdapter,
    RepetitionRecord,
    Run,
    Status,
    check_figure,
)
from tierscope.runs.checksum import KEYS, REWRITTEN, Line, damage_of, is_whole, opened
from tierscope.runs.store import BOM, HEAD_BYTES, LINE_BYTES, is_run, too_long

_MAX_BLANK = 100_000
_MAX_WHERE = 120
"""Characters of a place that a message names."""
_REPETITION = re.compile(
    rb'\{"record":"repetition","repetition":\{"event":"repetition","id":"([A-Za-z0-9._:-]+)",'
)
"""A repetition's id, as ``RunWriter`` writes it; repetitions are parsed only where they are
needed."""


@dataclass
class Contents:
    """The records of a run file."""

    path: str
    header: Header
    planned: list[dict[str, Any]]
    """Specs of the whole plan, in its order."""
    measurements: dict[str, Measurement] = field(default_factory=dict)
    """By id; the last one of each."""
    repetitions: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)
    """Lines with their numbers, by id."""
    open: set[str] = field(default_factory=set)
    """Ids with repetitions after their last measurement, or without one."""
    footer: Footer | None = None
    """None where records follow the last one."""
    length: int = 0
    """Bytes up to the end of the last whole record."""
    last: int | None = None
    """Number of the last whole record by its checksum; None in a file without checksums."""

    def repetitions_of(self, name: str) -> list[RepetitionRecord]:
        """Return a measurement's repetitions; raises UserError for a line that is damaged."""
        found = []
        for number, line in self.repetitions.get(name, []):
            try:
                found.append(RepetitionRecord.model_validate_json(line, context=RECORDED))
            except ValidationError as error:
                raise _damaged(self.path, number, _problem(error)) from None
        return found


def read_run(path: Path) -> Run:
    """Return the run; ``footer`` is None where the file was cut, torn last line or not.

    Raises UserError, with the line, for a file that is no run file or was damaged before its end.
    """
    return run_of(read_contents(path))


def read_contents(path: Path) -> Contents:
    """Return the records of a run file; see ``read_run``."""
    try:
        with open_given(path) as file:
            return _contents(file, str(path))
    except OSError as error:
        raise UserError(f"run '{path}' cannot be read: {error.strerror}") from None
    except MemoryError:
        raise UserError(f"run '{path}' cannot be read: it is larger than the memory") from None


def read_bytes(path: Path) -> bytes:
    """Return a run file's content; only its beginning where it is something else."""
    try:
        with open_given(path) as file:
            content = file.read(HEAD_BYTES)
            if is_run(content):  # else it is something else, perhaps without end
                content += file.read()
    except OSError as error:
        raise UserError(f"run '{path}' cannot be read: {error.strerror}") from None
    except MemoryError:
        raise UserError(f"run '{path}' cannot be read: it is larger than the memory") from None
    return content


def parse_run(content: bytes, path: str) -> Run:
    """Return the run of a file's content; ``path`` is for error messages only."""
    return run_of(parse_contents(content, path))


def run_of(contents: Contents) -> Run:
    """Return a run from its records; repetitions without a measurement are concluded."""
    if contents.open:
        from tierscope.runs.resume import concluded

        contents.measurements |= {m.id: m for m in concluded(contents)}
    order = {spec.get("id"): number for number, spec in enumerate(contents.planned)}
    last = len(order)
    found = [_explained(one, contents.header) for one in contents.measurements.values()]
    found.sort(key=lambda m: order.get(m.id, last))
    first = len(contents.header.plan.get("measurements", []))
    return Run(
        header=contents.header,
        measurements=found,
        footer=contents.footer,
        added=contents.planned[first:],
    )


def _explained(measurement: Measurement, header: Header) -> Measurement:
    """Return a measurement, with a reason where only later versions can show it."""
    from tierscope.kinds.registry import KINDS

    unknown = []
    if measurement.kind not in KINDS:
        unknown.append(f"the kind '{measurement.kind}'")
    if measurement.status not in get_args(Status):
        unknown.append(f"the status '{measurement.status}'")
    if not unknown or measurement.reason:
        return measurement
    reason = f"written by tierscope {header.tierscope}; this one does not know "
    return measurement.model_copy(update={"reason": reason + " and ".join(unknown)})


def parse_contents(content: bytes, path: str) -> Contents:
    """Return the records of a file's content; see ``read_run``."""
    return _contents(io.BytesIO(content), path)


def _contents(file: BinaryIO, path: str) -> Contents:
    lines = _lines(file, path)
    number, text = next(lines, (0, b""))
    if not number:
        raise UserError(f"{path} is empty: its run ended before its header was written")
    contents = _begun(text.removeprefix(BOM), path)
    contents.length = len(text)
    for number, text in lines:
        if text.strip() and not _take(contents, number, text, file):
            break  # torn by a crash or a full disk; what came before stands
        contents.length += len(text)
    return contents


def _lines(file: BinaryIO, path: str) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines with their ends; raises UserError where no run has such ones."""
    number = blank = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        if number == 1 and not is_run(line[:HEAD_BYTES]):
            raise UserError(f"{path} is not a tierscope run file")
        if why := too_long(line):
            raise UserError(f"{path}:{number}: {why}")
        blank += line.isspace()
        if blank > _MAX_BLANK:
            raise UserError(f"{path}:{number}: more than {_MAX_BLANK} blank lines: it is no run")
        yield number, line


def _begun(text: bytes, path: str) -> Contents:
    """Return the contents of a file whose header is here."""
    line = opened(text)
    problem = damage_of(line, 0) if line.number is not None else ""
    if problem:
        raise UserError(f"{path}:1: the header is damaged ({problem})")
    try:
        record = RecordAdapter.validate_json(line.record, context=RECORDED)
    except ValidationError as error:
        raise UserError(_broken_header(path, line.record, error)) from None
    if not isinstance(record, Header):
        raise _misplaced(path, 1, record)
    if any(key in (record.model_extra or {}) for key in KEYS):
        raise UserError(f"{path}:1: the header is damaged (its checksum is broken; {REWRITTEN})")
    return Contents(path, record, [*record.plan.get("measurements", [])], last=line.number)


def _take(contents: Contents, number: int, text: bytes, file: BinaryIO) -> bool:
    """Add the record of a line; False where it is the last one and torn."""
    line = opened(text)
    torn = not text.endswith(b"\n")
    if problem := damage_of(line, contents.last):
        if torn and contents.last is not None and not is_whole(line, contents.last):
            return False
        raise _damaged(contents.path, number, problem)
    repetition = _REPETITION.match(line.record)
    if repetition and not (torn and contents.last is None):
        name = repetition[1].decode()
        contents.repetitions.setdefault(name, []).append((number, line.record))
        contents.open.add(name)
        contents.footer = None
    else:
        try:
            record = RecordAdapter.validate_json(line.record, context=RECORDED)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "json_invalid" and contents.last is None and not file.read(1):
                return False
            if first["type"] != "union_tag_invalid" or first["loc"]:
                raise _damaged(contents.path, number, _problem(error)) from None
            # Else it is of a later version, and nothing here needs it.
        else:
            _add(contents, record, number, line)
    contents.last = line.number
    return True


def record_of(text: bytes) -> Record | None:
    """Return the record of a line by itself; None where it is damaged or of a later version."""
    line = opened(text)
    try:
        return RecordAdapter.validate_json(line.record, context=RECORDED) if line.intact else None
    except ValidationError:
        return None


def is_later(text: bytes) -> bool:
    """Return whether a line holds a record that only later versions know."""
    line = opened(text)
    record = _parsed(line.record) if line.intact else None
    return record is not None and record["record"] not in RECORDS


def parse_readable(content: bytes, path: str) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Return what can be read of a run file, damaged or not, and what is wrong with it.

    The first list has the records that are whole, whatever they are, with the numbers of their
    lines; the second one a sentence for each line that is damaged, torn or missing.
    """
    content = content.removeprefix(BOM)
    sealed = any(opened(text).number is not None for text in io.BytesIO(content))
    last = 0 if sealed else None
    records: list[tuple[int, dict[str, Any]]] = []
    problems: list[str] = []
    for number, text in enumerate(io.BytesIO(content), start=1):
        if not text.strip():
            continue
        line = opened(text)
        problem = damage_of(line, last)
        if not problem or is_whole(line, last):
            record = _parsed(line.record)
            if record is None:
                problem = "it is not a JSON object with a 'record'"
            else:
                records.append((number, record))
        if problem:
            problems.append(str(_damaged(path, number, problem)))
        if last is not None:
            sure = line.intact and line.number is not None
            last = max(last, line.number or 0) if sure else last + 1
    return records, problems


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(record, dict) and isinstance(record.get("record"), str)
    return record if whole else None


def _add(contents: Contents, record: Record, number: int, line: Line) -> None:
    where = f"{contents.path}:{number}"
    contents.footer = None
    if isinstance(record, Footer):
        contents.footer = record
    elif isinstance(record, PlanRecord):
        contents.planned += record.measurements
    elif isinstance(record, RepetitionRecord):
        contents.repetitions.setdefault(record.repetition.id, []).append((number, line.record))
        contents.open.add(record.repetition.id)
    elif isinstance(record, Measurement):
        _check(record, contents.header, where)
        contents.measurements[record.id] = record
        contents.open.discard(record.id)
    else:
        raise _misplaced(contents.path, number, record)


def _misplaced(path: str, number: int, record: Record) -> UserError:
    return UserError(f"{path}:{number}: a {record.record} record cannot stand here")


def _check(record: Measurement, header: Header, where: str) -> None:
    """Refuse figures that nothing gives, and patterns that no table could show."""
    from tierscope.kinds.recorded import check_recorded

    try:
        if record.has_figure:
            _check_source(record, header)
        check_recorded(record)
        if record.has_figure:
            check_figure(record)
    except ValueError as error:
        raise UserError(f"{where}: the run file is damaged here ({error})") from None


def _check_source(record: Measurement, header: Header) -> None:
    """Raise ValueError where a figure does not say of itself whether tierscope measured it."""
    if (record.status == "imported") != (header.imported is not None):
        whose = "no other program" if header.imported is None else header.imported.program
        raise ValueError(f"status is {record.status}, but by the header {whose} measured it")


def _damaged(path: str, number: int, problem: str) -> UserError:
    return UserError(f"{path}:{number}: the run file is damaged here ({problem})")


def _problem(error: ValidationError) -> str:
    """Return where in a record something is wrong, and what."""
    first = error.errors()[0]
    # The first part of a location is the record's name, which the message need not have.
    where = ".".join(map(str, first["loc"][1:]))[:_MAX_WHERE]
    return f"{where or 'line'}: {first['msg'].removeprefix('Value error, ')}"


def _broken_header(path: str, line: bytes, error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return f"{path} holds no run: it was cut inside its header"
    if first["loc"][1:] == ("version",):
        found = json.loads(line)
        return (
            f"{path}: tierscope {found.get('tierscope')!s:.{_MAX_WHERE}} wrote this run file of "
            f"version {found['version']!s:.{_MAX_WHERE}}; this one reads version {RUN_VERSION}: "
            "use the one that wrote it, or measure again"
        )
    return f"{path}:1: the header is damaged ({_problem(error)})"
