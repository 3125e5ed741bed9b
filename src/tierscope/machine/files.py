"""Read sysfs and procfs below a root, so that a test's tree reads like a machine."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tierscope.model.endpoint import parse_ranges


class Files:
    """Files below one root; what exists but could not be read is kept in ``unreadable``."""

    def __init__(self, root: str | Path = "/") -> None:
        self.root = str(root).rstrip("/")
        self.live = self.root == ""
        self.unreadable: dict[str, str] = {}

    def text(self, path: str) -> str | None:
        """The file's text without surrounding blanks; None where it is absent or unreadable."""
        try:
            descriptor = os.open(self.root + path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return _read_all(descriptor).decode(errors="replace").strip(" \t\n\0")
            finally:
                os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._note(path, error)
            return None

    def data(self, path: str, size: int) -> bytes:
        """The file's first bytes; empty where it cannot be read."""
        try:
            with open(self.root + path, "rb") as file:  # noqa: PTH123
                return file.read(size)
        except OSError as error:
            self._note(path, error)
            return b""

    def descriptor(self, path: str) -> int | None:
        """An open descriptor for reads at offsets, for the caller to close; None if refused."""
        try:
            return os.open(self.root + path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self._note(path, error)
            return None

    def _note(self, path: str, error: OSError) -> None:
        """Many attributes answer EINVAL or ENODEV where they do not apply; a refusal hides."""
        if isinstance(error, PermissionError):
            self.unreadable[path] = error.strerror or "permission denied"

    def number(self, path: str) -> int | None:
        """The file's text as a decimal or 0x number; None where it is neither."""
        text = self.text(path)
        try:
            return int(text, 0) if text else None
        except ValueError:
            return None

    def fields(self, path: str) -> dict[str, int]:
        """Numbers by name of a file such as vmstat, meminfo or memory.stat; kB become bytes."""
        found = {}
        for line in (self.text(path) or "").splitlines():
            words = line.replace(":", " ").split()
            if words[:1] == ["Node"]:  # a node's meminfo begins its lines with "Node 0"
                words = words[2:]
            if len(words) >= 2 and words[1].isdigit():
                found[words[0]] = int(words[1]) * (1024 if words[2:] == ["kB"] else 1)
        return found

    def ranges(self, path: str) -> list[int]:
        """The file's text as a list such as 0-3,8; empty where it is absent or empty."""
        text = self.text(path)
        try:
            return parse_ranges(text) if text else []
        except ValueError:
            return []

    def cpus(self, path: str) -> list[int]:
        """CPUs of ``path`` + _list; of the mask at ``path`` itself where a kernel has no list."""
        name = path.removesuffix("_map")
        listed = self.ranges(f"{name}_list")
        return listed or mask(self.text(path))

    def names(self, path: str, prefix: str = "") -> list[str]:
        """Names in a directory that start with ``prefix``, numbers in numeric order."""
        try:
            entries = os.listdir(self.root + path)  # noqa: PTH208
        except OSError:
            return []
        return sorted((name for name in entries if name.startswith(prefix)), key=natural)

    def numbered(self, path: str, prefix: str) -> Iterator[tuple[int, str]]:
        """(N, path) of each entry ``prefixN`` in a directory, ascending."""
        for name in self.names(path, prefix):
            if name[len(prefix) :].isdigit():
                yield int(name[len(prefix) :]), f"{path}/{name}"

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory."""
        return os.path.exists(self.root + path)  # noqa: PTH110

    def is_folder(self, path: str) -> bool:
        """Whether there is such a directory, not a link to one."""
        whole = self.root + path
        return os.path.isdir(whole) and not os.path.islink(whole)  # noqa: PTH112, PTH114

    def target(self, path: str) -> str:
        """The path, below the root, that a symbolic link leads to; empty where it is none."""
        if not os.path.islink(self.root + path):  # noqa: PTH114
            return ""
        real = os.path.realpath(self.root + path)
        return real if self.live else real.removeprefix(os.path.realpath(self.root))

    def link_name(self, path: str) -> str:
        """Last part of what a symbolic link says, which costs no walk; empty where it is none."""
        try:
            return os.readlink(self.root + path).rpartition("/")[2]  # noqa: PTH115
        except OSError:
            return ""


def mask(text: str | None) -> list[int]:
    """Members of the kernel's mask of 32-bit words, the highest first: 00000000,00000003."""
    value = 0
    for word in (text or "").split(","):
        if not re.fullmatch(r"[0-9a-fA-F]{1,8}", word):
            return []
        value = value << 32 | int(word, 16)
    return [index for index in range(value.bit_length()) if value >> index & 1]


def _read_all(descriptor: int) -> bytes:
    """A whole file, without a buffered file's cost; procfs gives long ones in short pieces."""
    parts: list[bytes] = []
    while part := os.read(descriptor, 1 << 14):
        parts.append(part)
    return b"".join(parts)


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that puts nvme2 before nvme10."""
    parts: list[tuple[int, int | str]] = []
    digits = ""
    for character in name + "\0":
        if character.isdigit():
            digits += character
            continue
        if digits:
            parts.append((0, int(digits)))
            digits = ""
        parts.append((1, character))
    return tuple(parts)


def unescape(path: str) -> str:
    """A path of mountinfo: the kernel writes blanks in it as octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)
