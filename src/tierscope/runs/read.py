"""Read run files."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.model.errors import UserError
from tierscope.model.run import (
    RUN_VERSION,
    Footer,
    Header,
    Measurement,
    PlanRecord,
    Record,
    RecordAdapter,
    RepetitionRecord,
    Run,
    check_figure,
)
from tierscope.runs.checksum import damage_of, is_whole, opened
from tierscope.runs.store import BOM, HEAD_BYTES, is_run

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

    def repetitions_of(self, name: str) -> list[RepetitionRecord]:
        """Return a measurement's repetitions; raises UserError for a line that is damaged."""
        found = []
        for number, line in self.repetitions.get(name, []):
            try:
                found.append(RepetitionRecord.model_validate_json(line))
            except ValidationError as error:
                raise UserError(_broken(self.path, number, line, error, self.header)) from None
        return found


def read_run(path: Path) -> Run:
    """Return the run; ``footer`` is None where the file was cut, torn last line or not.

    Raises UserError, with the line, for a file that is no run file or was damaged before its end.
    """
    return run_of(parse_contents(read_bytes(path), str(path)))


def read_bytes(path: Path) -> bytes:
    """Return a run file's content; only its beginning where it is something else."""
    try:
        with path.open("rb") as file:
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
    found = sorted(contents.measurements.values(), key=lambda m: order.get(m.id, last))
    first = len(contents.header.plan.get("measurements", []))
    return Run(
        header=contents.header,
        measurements=found,
        footer=contents.footer,
        added=contents.planned[first:],
    )


def parse_contents(content: bytes, path: str) -> Contents:
    """Return the records of a file's content; see ``read_run``."""
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    bom = len(BOM) if content.startswith(BOM) else 0
    lines[:1] = [line[bom:] for line in lines[:1]]
    contents: Contents | None = None
    for number, line in enumerate(lines, start=1):
        repetition = _REPETITION.match(line) if contents else None
        if contents and repetition and (number < len(lines) or content.endswith(b"\n")):
            name = repetition[1].decode()
            contents.repetitions.setdefault(name, []).append((number, line))
            contents.open.add(name)
            contents.footer = None
            contents.length += len(line) + 1
            continue
        try:
            record = RecordAdapter.validate_json(line)
        except ValidationError as error:
            torn = error.errors()[0]["type"] == "json_invalid"
            if number == len(lines) and contents and torn:
                break  # by a crash or a full disk; what came before stands
            if contents and not line.strip():
                contents.length += len(line) + 1
                continue
            header = contents.header if contents else None
            raise UserError(_broken(path, number, line, error, header)) from None
        if isinstance(record, Header) != (contents is None):
            raise _misplaced(path, number, record)
        if isinstance(record, Header):
            contents = Contents(path, record, [*record.plan.get("measurements", [])])
            contents.length = bom
        elif contents:
            _add(contents, record, number, line)
        assert contents
        contents.length += len(line) + 1
    if contents is None:
        raise UserError(f"{path} is empty: its run ended before its header was written")
    contents.length = min(contents.length, len(content))
    return contents


def parse_readable(content: bytes, path: str) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Return what can be read of a run file, damaged or not, and what is wrong with it.

    The first list has the records that are whole, whatever they are, with the numbers of their
    lines; the second one a sentence for each line that is damaged, torn or missing.
    """
    texts = content.removeprefix(BOM).split(b"\n")
    lines = [(number, opened(text)) for number, text in enumerate(texts, 1) if text.strip()]
    last = 0 if any(line.number is not None for _, line in lines) else None
    records: list[tuple[int, dict[str, Any]]] = []
    problems: list[str] = []
    for number, line in lines:
        problem = damage_of(line, last)
        if not problem or is_whole(line, last):
            record = _parsed(line.record)
            if record is None:
                problem = "it is not a JSON object with a 'record'"
            else:
                records.append((number, record))
        if problem:
            problems.append(f"{path}:{number}: the run file is damaged here ({problem})")
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


def _add(contents: Contents, record: Record, number: int, line: bytes) -> None:
    where = f"{contents.path}:{number}"
    contents.footer = None
    if isinstance(record, Footer):
        contents.footer = record
    elif isinstance(record, PlanRecord):
        contents.planned += record.measurements
    elif isinstance(record, RepetitionRecord):
        contents.repetitions.setdefault(record.repetition.id, []).append((number, line))
        contents.open.add(record.repetition.id)
    elif isinstance(record, Measurement):
        _check(record, contents.header, where)
        contents.measurements[record.id] = record
        contents.open.discard(record.id)


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


def _broken(
    path: str, number: int, line: bytes, error: ValidationError, header: Header | None
) -> str:
    first = error.errors()[0]
    # The first part of a location is the record's name, which the message need not have.
    where = ".".join(map(str, first["loc"][1:]))[:_MAX_WHERE]
    problem = first["msg"].removeprefix("Value error, ")
    if header is not None:
        return f"{path}:{number}: the run file is damaged here ({where or 'line'}: {problem})"
    if not is_run(line[:HEAD_BYTES]):
        return f"{path} is not a tierscope run file"
    if first["type"] == "json_invalid":
        return f"{path} holds no run: it was cut inside its header"
    if where == "version":
        found = json.loads(line)
        return (
            f"{path}: tierscope {found.get('tierscope')!s:.{_MAX_WHERE}} wrote this run file of "
            f"version {found['version']!s:.{_MAX_WHERE}}; this one reads version {RUN_VERSION}: "
            "use the one that wrote it, or measure again"
        )
    return f"{path}:{number}: the header is damaged ({where}: {problem})"
