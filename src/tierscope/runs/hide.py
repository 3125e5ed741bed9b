"""Replace the names in a run's records, each by the same word wherever it stands.

What a string may hold follows from its key, as ``sort_of_key`` and the sets below declare. A string
that holds a name, a path or an endpoint is replaced as such. Of all other strings a word stays only
if tierscope itself writes it (``vocabulary``), of hardware's own words unless it looks like an
address. Numbers, keys and words of the format are left alone.
"""

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tierscope.runs.vocabulary import PCI, is_own, is_own_id

_SORTS = (
    ("user", r"user|username|login|logname|owner|email"),
    ("host", r"host|hosts|hostname|machine|server|servers|rack|switch|domain"),
    ("serial", r"serial|asset|wwn|wwid|eui|nguid|token"),
    ("uuid", r"uuid"),
    ("guid", r"guid|gid|lid"),
    ("mac", r"mac|hwaddr"),
    ("ip", r"ip|ipv4|ipv6"),
)
_KEYS = [(sort, re.compile(rf"(?:.*[_-])?(?:{words})(?:[_-](?:number|name|id|address))?", re.I))
         for sort, words in _SORTS]  # fmt: skip
ENDPOINTS = frozenset(("initiator", "target"))
"""Keys whose values are endpoints: ``node:0``, ``file:PATH``, ``host:NAME,NAME``."""
PATHS = frozenset((
    "path", "real", "point", "directory", "dir", "folder", "file", "files", "backing_file",
    "log", "output", "source",
))  # fmt: skip
"""Keys whose values may be ``SERVER:PATH``; what begins with a slash is a path under any key."""
TEXTS = frozenset((
    "reason", "remedy", "refused", "note", "notes", "detail", "why", "said", "message",
    "warning", "warnings", "command", "inferred_from", "unreadable", "open_error", "options",
))  # fmt: skip
"""Keys whose values are sentences or words of people: they may hold any name."""
HARDWARE = frozenset((
    "cpu", "cpu_model", "product", "bios", "microcode", "model", "firmware", "vbios",
    "part_number", "manufacturer", "slot", "type", "kernel", "hypervisor", "virtual",
    "compiler", "driver", "gpu_driver", "architecture", "tierscope", "engine",
    "versions", "libraries", "system", "mpi", "library", "clock",
))  # fmt: skip
"""Keys whose values are words of makers and of the kernel, which a run is sent for."""
HASHES = frozenset(("git_commit", "sha256"))
"""Keys whose values are hashes of contents."""
_NAMED_HARDWARE = frozenset(("vendor", "uuid", "sm_clock_hz", "memory_bytes", "index"))
"""Keys beside a ``name`` that is a model's: of GPUs and PCI devices."""

_HEX = "[0-9a-f]"
_ADDRESSES = re.compile(
    rf"""(?<![0-9a-z])(?:
    (?P<uuid> (?:gpu-|mig-)? {_HEX}{{8}} - (?:{_HEX}{{4}}-){{3}} {_HEX}{{12}} )
    | (?P<mac> (?:{_HEX}{{2}}[:-]){{5,}} {_HEX}{{2}} | {_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}} )
    | (?P<guid> (?:{_HEX}{{4}}:){{3}} {_HEX}{{4}} (?!:) | 0x{_HEX}{{9,32}}
        | (?=[0-9]*[a-f])(?=[a-f]*[0-9]) {_HEX}{{12,}} )
    | (?P<user> [\w.+-]+ @ [\w-]+(?:\.[\w-]+)+ )
    )(?![0-9a-z])""",
    re.VERBOSE | re.IGNORECASE,
)
_RECORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_HASH = re.compile(rf"{_HEX}{{7,64}}")
_IP = re.compile(r"(?<![0-9A-Za-z:.])[0-9A-Fa-f]*[:.][0-9A-Fa-f:.]+(?:%\w+)?(?![0-9A-Za-z])")
_ENDPOINT = re.compile(r"\bhost:([^\s'\"]+)")
_SERVER = re.compile(
    r"(?<![\w.-])(?!(?:file|dev|dax|pmem|pool|alloc):)([A-Za-z0-9][\w.-]*|\[[^\]]+\]):(?=/)"
)
_PATH = re.compile(
    r"""(?<=')/[^']*(?=') | (?<=")/[^"]*(?=") | (?<![\w./>])(?:/|~)[^\s'"`,;()\[\]{}<>|=:]*""",
    re.VERBOSE,
)
_DOMAIN = re.compile(r"(?<![\w./-])[A-Za-z0-9][\w-]*(?:\.[A-Za-z][A-Za-z0-9-]*){2,}(?![\w/-])")
_PAIR = re.compile(r"([^\s,>→-]+)>([^\s,>]+)")
_BETWEEN = r"\s=,:;()'\"`<>|\[\]{}→"
_FRAGMENT = re.compile(rf"(?<![^{_BETWEEN}])(?!\d+ bytes\b)(?:{PCI}|[^{_BETWEEN}]+)")
_ID_MARK = re.compile(r"(?:^|\.)(?:file|dev|pmem|dax|host|pool):(?!node:|\d)")
_PLACED = re.compile(r"(?:host|user|serial|uuid|mac|guid|ip|path|name|word)\d+")
_SYSTEM = frozenset((
    "dev", "disk", "by-id", "by-path", "by-uuid", "by-label", "mapper", "shm", "tmp", "var",
    "usr", "lib", "lib64", "bin", "sbin", "local", "etc", "proc", "sys", "run", "opt", "mnt",
    "media", "home", "users", "root", "srv",
))  # fmt: skip
"""Folders that machines have alike."""
_PUBLIC = ("/proc/", "/sys/", "/usr/", "/etc/", "/lib/", "/dev/cpu/", "/dev/nvidia")
"""Below these, words of the system's own stay."""
_DEVICE = re.compile(
    r"/dev/(?:nvme\d+(?:n\d+(?:p\d+)?)?|[svh]d[a-z]{1,2}\d*|md\d+|dm-\d+|loop\d+|pmem\d+(?:\.\d|s)?|"
    r"dax\d+\.\d+|null|zero|full|shm)"
)
_EXTENSION = re.compile(r"\.(?:jsonl|json|yaml|yml|fio|csv|parquet|html|py|sh|txt|xml|so|log)$")
_HOMES = frozenset(("home", "users"))
_NOT_ALNUM = re.compile(r"[^0-9a-z]")


def sort_of_key(key: str) -> str:
    """Return what the value of a key names: host, user, serial, ...; empty: nothing by itself."""
    return next((sort for sort, keys in _KEYS if keys.fullmatch(key)), "")


class Hidden:
    """What was replaced, and by what."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        """By the name in lower case."""
        self._counts: Counter[str] = Counter()
        self._texts: list[str] = []
        self._ids: dict[str, str] = {}
        self._public: set[str] = set()
        """Words of hardware that a run names as such, in lower case."""
        self._pattern: dict[bool, re.Pattern[str] | None] = {}

    def counts(self) -> dict[str, int]:
        """Return how many names of each sort were replaced."""
        return dict(sorted(self._counts.items()))

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield each name that was replaced, in lower case, with its sort."""
        for name, word in self._words.items():
            yield name, word.rstrip("0123456789")

    def name(self, sort: str, name: str) -> str:
        """Return the word that stands for a name from now on; an empty one stays."""
        bare = name.strip()
        if not bare or _PLACED.fullmatch(bare):
            return name
        short = bare.lower().partition(".")[0] if sort == "host" and not _is_ip(bare) else ""
        found = self._words.get(bare.lower())
        if found is None and short in self._words:
            found = self._words[bare.lower()] = self._words[short]
        if found is None:
            self._counts[sort] += 1
            found = self._words[bare.lower()] = f"{sort}{self._counts[sort]}"
            self._pattern.clear()
        if short:
            domain = bare.lower().partition(".")[2]
            for part in (short, domain) if "." in domain else (short,):
                if part not in self._words:
                    self._words[part] = found
                    self._pattern.clear()
        return found

    def learn(self, records: list[dict[str, Any]]) -> None:
        """Note all names, those of typed fields and words of hardware before those of texts."""
        self._learn(records)
        for text in self._texts:
            self.text(text, free=True)

    def _learn(self, value: Any, key: str = "", hardware: bool = False) -> None:
        if isinstance(value, dict):
            self._learn_id(value)
            for inner, one in value.items():
                self._learn(one, inner, _is_of_hardware(inner, key, value, hardware))
        elif isinstance(value, list):
            for one in value:
                self._learn(one, key, hardware)
        elif isinstance(value, str) and key not in TEXTS:
            if self._typed(value, key) is None and hardware:
                self._public.update(word.lower() for word in _FRAGMENT.findall(value))
        elif isinstance(value, str):
            self._texts.append(value)
            for match in _ENDPOINT.finditer(value):
                self._hosts(match[1])

    def _learn_id(self, record: dict[str, Any]) -> None:
        """Give a measurement's id another one where it holds a path or a name."""
        name, ends = record.get("id"), [record.get(key) for key in sorted(ENDPOINTS)]
        if not isinstance(name, str) or name in self._ids:
            return
        named = any(
            isinstance(one, str) and ("/" in one or one.startswith("host:")) for one in ends
        )
        if named or _ID_MARK.search(name) or not is_own_id(name):
            kind = record.get("kind", record.get("event", "measurement"))
            kind = kind if isinstance(kind, str) and is_own(kind) else "measurement"
            self._ids[name] = f"{kind}.name{len(self._ids) + 1}"[-64:]

    def value(self, value: Any, key: str = "", hardware: bool = False) -> Any:
        """Return a JSON value without names; of numbers and the like as it is."""
        if isinstance(value, dict):
            return {
                self._key(inner): self.value(
                    one, inner, _is_of_hardware(inner, key, value, hardware)
                )
                for inner, one in value.items()
            }
        if isinstance(value, list):
            return [self.value(one, key, hardware) for one in value]
        if not isinstance(value, str):
            return value
        if key in ("id", "measurements") and value in self._ids:
            return self._ids[value]
        if key in ("id", "measurements") and is_own_id(value):
            return self._known(value, free=False)
        if (key == "record" and _RECORD.fullmatch(value)) or (
            key in HASHES and _HASH.fullmatch(value)
        ):
            return value
        typed = self._typed(value, key)
        if typed is not None:
            return typed
        return self.text(value, key in TEXTS, hardware)

    def _key(self, key: str) -> str:
        if key in self._ids:
            return self._ids[key]
        return key if is_own(key) and not key.startswith(("/", "host:")) else self.text(key)

    def _typed(self, value: str, key: str) -> str | None:
        """Return the replacement of a value that is a name, a path or an endpoint; else None."""
        if key in TEXTS:
            return None
        if sort := sort_of_key(key):
            return self._by_form(sort, value)
        kind, colon, rest = value.partition(":")
        if key in ENDPOINTS and colon and rest.startswith("/"):
            return f"{kind}:{self.path(rest)}" if is_own(kind) else None
        if key in ENDPOINTS and kind == "host":
            return f"host:{self._hosts(rest)}"
        if value.startswith("/"):
            return self.path(value)
        if key in PATHS and (match := _SERVER.match(value)):
            return f"{self._by_form('host', match[1])}:{self.path(value[match.end() :])}"
        return None

    def _by_form(self, sort: str, name: str) -> str:
        return self.name("ip" if _is_ip(name.strip("[]")) else sort, name)

    def _hosts(self, names: str) -> str:
        return ",".join(self._by_form("host", one) for one in names.split(","))

    def path(self, path: str) -> str:
        """Return a path with the folders and devices that machines have alike, without others."""
        if _DEVICE.fullmatch(path) or (path.startswith(_PUBLIC) and is_own(path)):
            return path
        parts: list[str] = []
        for part in path.split("/"):
            home = bool(parts) and parts[-1].lower() in _HOMES
            if home and part:
                parts.append(self.name("user", part))
            elif self._is_common(part):
                parts.append(part)
            else:
                end = _EXTENSION.search(part)
                parts.append(self.name("name", part[: end.start()] if end else part)
                             + (end[0] if end else ""))  # fmt: skip
        return "/".join(parts)

    def _is_common(self, part: str) -> bool:
        """Whether a part of a path is the same on other machines, or has been replaced."""
        system = part.lower() in _SYSTEM and part.lower() not in self._words
        return system or part in ("", ".", "..", "~") or _PLACED.fullmatch(part) is not None

    def text(self, text: str, free: bool = False, hardware: bool = False) -> str:
        """Return a text without names: ``free`` if people or programs wrote it as sentences."""
        if not text or (not free and not hardware and self._is_plain(text)):
            return text
        text = _ENDPOINT.sub(lambda match: f"host:{self._hosts(match[1])}", text)
        text = _IP.sub(self._address, text)
        text = _ADDRESSES.sub(lambda match: self.name(match.lastgroup or "name", match[0]), text)
        text = _DOMAIN.sub(self._domain, text)
        text = _SERVER.sub(lambda match: f"{self._by_form('host', match[1])}:", text)
        text = self._known(text, free)
        text = _PATH.sub(lambda match: self.path(match[0]), text)
        text = _PAIR.sub(self._pair, text)
        return text if hardware else _FRAGMENT.sub(self._fragment, text)

    def _is_plain(self, text: str) -> bool:
        """Whether it is words of the format alone: ``read``, though a host has that name."""
        return is_own(text) and not re.search(r"[/@>]|host:", text) and not self._looks(text)

    def _looks(self, text: str) -> bool:
        return bool(_ADDRESSES.search(text)) or any(
            _is_ip(match[0].partition("%")[0]) for match in _IP.finditer(text)
        )

    def _address(self, match: re.Match[str]) -> str:
        bare = match[0].rstrip(".:")
        if not _is_ip(bare.partition("%")[0]):
            return match[0]
        return self.name("ip", bare) + match[0][len(bare) :]

    def _domain(self, match: re.Match[str]) -> str:
        return match[0] if is_own(match[0]) else self.name("host", match[0])

    def _pair(self, match: re.Match[str]) -> str:
        """``A>B`` names two hosts of messages."""
        sides = [self._words.get(side.lower(), side) for side in match.groups()]
        return ">".join(sides)

    def _fragment(self, match: re.Match[str]) -> str:
        word = match[0]
        bare = word.rstrip(".!?")
        if "/" in bare and all(is_own(part) for part in bare.split("/")):
            return word
        if bare and (is_own(bare) or bare.lower() in self._public):
            return word
        parts = bare.split("/")
        if all(
            part in ("", ".", "..") or part in _SYSTEM or _PLACED.fullmatch(part) for part in parts
        ):
            return word
        return self.name("word", bare) + word[len(bare) :]

    def _known(self, text: str, free: bool) -> str:
        """Replace names that are known; those that are words of the format in sentences only."""
        if free not in self._pattern:
            names = [name for name, sort in self.names() if _is_replaced(name, sort, free)]
            names.sort(key=len, reverse=True)
            joined = "|".join(map(re.escape, names))
            self._pattern[free] = (
                re.compile(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])", re.I) if names else None
            )
        pattern = self._pattern[free]
        return pattern.sub(lambda m: self._words[m[0].lower()], text) if pattern else text


def _is_of_hardware(key: str, above: str, beside: dict[str, Any], hardware: bool) -> bool:
    """Whether the value of a key is of hardware: by itself, or as all of what it is in."""
    model = key == "name" and bool(_NAMED_HARDWARE & beside.keys())
    said = key.partition(" ")[0] in HARDWARE  # of an environment: "firmware of CPUs"
    return (hardware or model or said or above in HARDWARE) and key not in TEXTS


def _is_replaced(name: str, sort: str, free: bool) -> bool:
    """Whether a name is looked for in texts; a serial number or a folder may be called ``1``."""
    return is_foreign(name) or (free and sort in ("host", "user"))


def is_foreign(name: str) -> bool:
    """Return whether a name cannot be a word, a number or a device of the format."""
    return not is_own(name) or (name.isdigit() and len(name) > 5)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def found_in(names: Iterable[tuple[str, str]], texts: Mapping[str, str]) -> str:
    """Return the sort of a name that is still in a text, and which text; empty: none is.

    Names are looked for in any case; those with digits without what separates their parts, too.
    """
    foreign = [(name, sort) for name, sort in names if is_foreign(name)]
    for place, text in texts.items():
        lower = text.lower()
        bare = _NOT_ALNUM.sub("", lower)
        for name, sort in foreign:
            squeezed = _NOT_ALNUM.sub("", name)
            mixed = not name.isdigit() and any(sign.isdigit() for sign in name)
            number = sort in ("serial", "uuid", "mac", "guid")
            if number and mixed and len(squeezed) >= 8 and squeezed in bare:
                return f"a {sort} is still in {place}"
            if name in lower and re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", lower):
                return f"a {sort} is still in {place}"
    return ""
