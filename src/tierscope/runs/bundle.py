"""A run with what a bug report needs beside it, without names that tell whose machine it is."""

import getpass
import io
import json
import os
import platform
import re
import socket
import tarfile
from importlib import metadata
from pathlib import Path
from typing import Any

from tierscope.model.run import Header
from tierscope.runs.output import write_output
from tierscope.runs.read import parse_contents, read_bytes
from tierscope.runs.record import version
from tierscope.runs.store import BOM

_UUID = re.compile(
    r"\b(?:GPU-|MIG-)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
)
_MAC = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b")
_HOME = re.compile(r"(/home/|/Users/)([^/\s\"\\:,]+)")
_SECRET_KEY = re.compile(r"serial|uuid|asset", re.IGNORECASE)
"""Keys whose values name one device."""


def bundle(path: Path, directory: Path | None = None) -> Path:
    """Write NAME-bundle.tar.gz beside a run file, or into a directory; return its path.

    It holds the run file, the topology and versions. Host and user names, UUIDs, MAC addresses and
    serial numbers are replaced, each by the same word everywhere. Raises UserError where the run
    cannot be read or the bundle cannot be written.
    """
    content = read_bytes(path)
    contents = parse_contents(content, str(path))
    hide = _Anonymizer(contents.header)
    lines = content[: contents.length].removeprefix(BOM).decode("utf-8", "replace").split("\n")
    records = [hide.value(json.loads(line)) for line in lines if line.strip()]
    stem = hide.text(path.stem)
    versions = _versions(contents.header)
    files = {
        "run.jsonl": "".join(_line(record) for record in records),
        "topology.json": json.dumps(records[0].get("topology"), indent=1) + "\n",
        "versions.json": json.dumps(hide.value(versions), indent=1) + "\n",
    }
    target = (directory or path.parent) / f"{stem}-bundle.tar.gz"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            data = text.encode(errors="replace")
            entry = tarfile.TarInfo(f"{stem}-bundle/{name}")
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    write_output(target, packed.getvalue(), "--out")
    return target


def _line(record: Any) -> str:
    """Write a record as run files have it."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"


def _versions(header: Header) -> dict[str, Any]:
    """Return what ran: as the run has it, and as it is installed now."""
    distributions = metadata.distributions()
    return {
        "run": {
            "tierscope": header.tierscope,
            "git_commit": header.git_commit,
            "engine": header.engine,
            "environment": header.environment,
        },
        "now": {
            "tierscope": version(),
            "python": platform.python_version(),
            "kernel": platform.release(),
            "system": platform.platform(),
            "libraries": {one.metadata["Name"]: one.version for one in distributions},
        },
    }


class _Anonymizer:
    """Replaces names, each by one word wherever it occurs."""

    def __init__(self, header: Header) -> None:
        self._words: dict[str, str] = {}
        for host in sorted({header.host, socket.gethostname(), platform.node()}, key=len)[::-1]:
            word = self._name("host", host)
            self._words.setdefault(host.partition(".")[0], word)
        for user in (_user(), os.environ.get("SUDO_USER", "")):
            if user != "root":
                self._name("user", user)

    def value(self, value: Any, key: str = "") -> Any:
        """Return a JSON value without names."""
        if isinstance(value, dict):
            return {self.text(k): self.value(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.value(one, key) for one in value]
        if isinstance(value, str):
            return self._name("serial", value) if _SECRET_KEY.search(key) else self.text(value)
        return value

    def text(self, text: str) -> str:
        """Return a text without names."""
        text = _HOME.sub(lambda match: match[1] + self._name("user", match[2]), text)
        text = _UUID.sub(lambda match: self._name("uuid", match[0]), text)
        text = _MAC.sub(lambda match: self._name("mac", match[0]), text)
        if not self._words:
            return text
        known = "|".join(re.escape(word) for word in sorted(self._words, key=len, reverse=True))
        # Only whole words: a host may be called "vm".
        pattern = rf"(?<![A-Za-z0-9])(?:{known})(?![A-Za-z0-9])"
        return re.sub(pattern, lambda match: self._words[match[0]], text)

    def _name(self, kind: str, name: str) -> str:
        """Return the word that stands for a name from now on; an empty name stays."""
        if not name or name in self._words.values():
            return name
        if name not in self._words:
            taken = {word for word in self._words.values() if word.startswith(kind)}
            self._words[name] = f"{kind}{len(taken) + 1}"
        return self._words[name]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
