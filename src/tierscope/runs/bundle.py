"""A run with what a bug report needs beside it, without names that tell whose machine it is."""

import contextlib
import getpass
import gzip
import io
import json
import os
import platform
import re
import socket
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.model.run import Run
from tierscope.runs.checksum import sealed
from tierscope.runs.hide import Hidden, found_in
from tierscope.runs.output import write_output
from tierscope.runs.read import parse_readable, parse_run, read_bytes
from tierscope.runs.record import version
from tierscope.runs.store import BOM, HEAD_BYTES, is_run
from tierscope.runs.vocabulary import is_own

_RUN = "run.jsonl"
KEPT = (
    "samples, figures, sizes, counts and times",
    "when the run began and ended",
    "models and firmware of the machine, CPUs, memory, GPUs, drives and network ports",
    "kernel, drivers and their settings",
    "names of devices and PCI addresses",
    "versions of tierscope, the compiler, Python and what tierscope depends on",
    "options of the command line, and words of tierscope's own messages",
)
"""What a bundle says of a machine."""


@dataclass(frozen=True)
class Bundle:
    """An archive that was written."""

    path: Path
    replaced: dict[str, int]
    """Names that were replaced, by sort."""
    damaged: list[str]
    """A sentence for each line that is damaged; what could be read of the others is there."""


def bundle(path: Path, directory: Path | None = None) -> Bundle:
    """Write NAME-bundle.tar.gz beside a run file, or into a directory.

    It holds what can be read of the run file, the topology, versions, and what was replaced. Raises
    UserError where nothing can be read, the bundle cannot be written, or a name would be left.
    """
    content = read_bytes(path)
    if not is_run(content[:HEAD_BYTES]):
        raise UserError(f"{path} is not a tierscope run file")
    found, damaged = parse_readable(content, _RUN)
    records = [record for _, record in found]
    if not records:
        raise UserError(f"{path}: no line of it can be read")
    hide = _hidden(records)
    try:
        hide.learn([*records, _versions(records[0])])
        clean = [hide.value(record) for record in records]
        versions = hide.value(_versions(records[0]))
    except RecursionError:
        raise UserError(f"{path}: a record is nested too deeply") from None
    lines = "".join(_line(record, number) for number, record in enumerate(clean, start=1))
    # A sentence of a damaged line may quote the line.
    told = [hide.text(one.removeprefix(f"{_RUN}:"), free=True) for one in damaged]
    about = {"replaced": hide.counts(), "kept": KEPT, "damaged": told}
    texts = {
        _RUN: lines,
        "topology.json": _page(clean[0].get("topology")),
        "versions.json": _page(versions),
        "bundle.json": _page(about),
    }
    stem = path.stem if _is_nobodys(path.stem, hide) else "run"
    _check(content, texts, hide, stem)
    target = (directory or path.parent) / f"{stem}-bundle.tar.gz"
    write_output(target, _packed(stem, texts), "--out")
    return Bundle(target, hide.counts(), told)


def _hidden(records: list[dict[str, Any]]) -> Hidden:
    """Return what knows the names of this machine and of whoever packs, and the run's hosts."""
    hide = Hidden()
    for record in records:
        if isinstance(record.get("host"), str):
            hide.name("host", record["host"])
    for host in (socket.gethostname(), platform.node()):
        hide.name("host", host)
    for user in (_user(), os.environ.get("SUDO_USER", "")):
        if user != "root":
            hide.name("user", user)
    return hide


def _is_nobodys(stem: str, hide: Hidden) -> bool:
    """Whether a file's name may stay: only words of tierscope's own, and no name that it hides."""
    words = set(re.findall(r"[a-z0-9]+", stem.lower()))
    return is_own(stem) and words.isdisjoint(name for name, _ in hide.names())


def _check(content: bytes, texts: dict[str, str], hide: Hidden, stem: str) -> None:
    """Read back what is about to be written; raises UserError where a name is in it, or where a run
    that can be read would not be the same run."""
    left = found_in(hide.names(), {**texts, "its name": stem})
    if left:
        raise _refusal(left)
    written, broken = parse_readable(texts[_RUN].encode(errors="replace"), _RUN)
    if broken or len(written) != texts[_RUN].count("\n"):
        raise _refusal(f"{counted(len(broken) or 1, 'line')} of it could not be read back")
    try:
        before = parse_run(content.removeprefix(BOM), "")
    except UserError:
        return
    try:
        after = parse_run(texts[_RUN].encode(errors="replace"), _RUN)
    except UserError as error:
        raise _refusal(f"it could not be read back: {error}") from None
    if _figures(before) != _figures(after):
        raise _refusal("its figures could not be read back")


def _figures(run: Run) -> list[tuple[str, list[float], list[tuple[str, float]]]]:
    """Return what nothing may change; parts of figures and sources of limits may hold names."""
    return [
        (m.status, m.samples, [(one.metric, one.estimate) for one in m.figures])
        for m in run.measurements
    ]


def _refusal(why: str) -> UserError:
    return UserError(
        f"the bundle is not written: {why}; please report this", ExitCode.COMMAND_FAILED
    )


def _packed(stem: str, texts: dict[str, str]) -> bytes:
    """Return the archive; its headers have neither users nor times."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in texts.items():
            data = text.encode(errors="replace")
            entry = tarfile.TarInfo(f"{stem}-bundle/{name}")
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)


def _line(record: Any, number: int) -> str:
    """Write a record as run files have it, with its number and checksum."""
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
    return sealed(text.encode(errors="replace"), number).decode() + "\n"


def _page(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _versions(header: dict[str, Any]) -> dict[str, Any]:
    """Return what ran: as the run has it, and as it is installed now."""
    return {
        "run": {
            key: header.get(key) for key in ("tierscope", "git_commit", "engine", "environment")
        },
        "now": {
            "tierscope": version(),
            "python": platform.python_version(),
            "kernel": platform.release(),
            "system": platform.platform(),
            "libraries": dict(_libraries()),
        },
    }


def _libraries() -> Iterator[tuple[str, str]]:
    """Yield what tierscope depends on, with the versions that are installed."""
    for requirement in metadata.requires("tierscope") or []:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        with contextlib.suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
