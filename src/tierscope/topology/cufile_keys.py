"""The keys of cufile.json that are known, as ``cufile_keys.json`` describes them.

What the libraries use and refuse was found with libcufile 1.15 and 1.20 on a libcuda whose
functions do nothing: by their getters after cuFileDriverOpen had read {}, and by giving them files.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any

OLD_SECTION, NEW_SECTION = "blacklist", "denylist"
"""Of the deny list. libcufile 1.15 and 1.20 have the second name only."""
ADDRESSES = "rdma_dev_addr_list"
"""Of all storage, of a file system, and of each mount in a mount table."""
OVERRIDES = {
    "CUFILE_ALLOW_COMPAT_MODE": "properties.allow_compat_mode",
    "CUFILE_FORCE_COMPAT_MODE": "properties.force_compat_mode",
    "CUFILE_USE_PCIP2PDMA": "properties.use_pci_p2pdma",
    "CUFILE_LOGGING_LEVEL": "logging.level",
    "CUFILE_LOGFILE_PATH": "logging.dir",
    "CUFILE_SKIP_TOPOLOGY_DETECTION": "miscellaneous.skip_topology_detection",
    "CUFILE_IO_PRIORITY": "properties.io_priority",
}
"""Environment variables that count before the key of cufile.json."""
_WORDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "text": 'text in quotes ("...")',
    "integers": "a list of whole numbers ([4, 1024])",
    "texts": 'a list of texts (["..."])',
    "addresses": 'a list of IPv4 addresses (["10.0.1.2"])',
    "list": "a list ([...])",
    "mounts": "an object with a mount point in each key",
    "hex": 'a 32-bit number in hexadecimal as text ("0xffeeddcc")',
}
LIBRARIES = ("1.15", "1.20")
"""Releases of libcufile that the table was tried on; the order of ``Key.built_in``."""
TRIED = "libcufile 1.15 and 1.20"


@dataclass(frozen=True)
class Key:
    """One key; what is not known is None or empty."""

    name: str
    """With its sections: properties.io_batchsize."""
    kind: str
    meaning: str
    default: Any = None
    """None: none is documented, or documents differ (see the note)."""
    default_from: str = ""
    """``from`` in the file. "guide r1.12" is NVIDIA's "GPUDirect Storage Benchmarking and
    Configuration Guide" of March 2025 (CUDA 12.8), section 4.2.2; "gdscheck 1.16" is what that
    release's ``gdscheck -p`` prints."""
    note: str = ""
    """What else there is to say of the default or the range."""
    built_in: tuple[Any, ...] = ()
    """What the libraries use where the file lacks it, the newest one last; where that is known.
    "" and [] where the older one has no getter."""
    lenient: bool = False
    """The libraries take a wrong value without a word, in place of refusing the whole file."""
    least: int | None = None
    """As cuFileGetParameterMinMaxValue of both libraries says, the wider range; ``most`` too."""
    most: int | None = None
    multiple: int | None = None
    choices: tuple[str, ...] = ()
    since: str = ""
    """Release of GPUDirect Storage that brought it; "after 1.15" where all that is known is that
    libcufile 1.20 has it and 1.15 does not."""
    missing: str = ""
    """Libraries that do not have it, though documents do."""
    advice: str = ""
    advised_by: str = ""

    def wrong_type(self, value: Any) -> str:
        """Return what type is needed, where the value has another one; empty where it fits."""
        fits = {
            "boolean": lambda: isinstance(value, bool),
            "integer": lambda: _whole(value),
            "text": lambda: isinstance(value, str),
            "integers": lambda: isinstance(value, list) and all(map(_whole, value)),
            "texts": lambda: _texts(value),
            "addresses": lambda: _texts(value),
            "list": lambda: isinstance(value, list),
            "mounts": lambda: isinstance(value, dict),
            "hex": lambda: (
                isinstance(value, str) and re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}", value) is not None
            ),
        }
        return "" if fits[self.kind]() else f"{_WORDS[self.kind]} is needed"

    def wrong_value(self, value: Any) -> str:
        """Return what is wrong with a value of the right type; empty where nothing is."""
        if self.kind in ("integer", "integers"):
            numbers = value if isinstance(value, list) else [value]
            return next(filter(None, map(self._wrong_number, numbers)), "")
        if self.choices:
            words = value if isinstance(value, list) else [value]
            bad = [word for word in words if word not in self.choices]
            return f"{bad[0]!a} is none of {', '.join(self.choices)}" if bad else ""
        if self.kind == "mounts":
            return next(filter(None, map(_wrong_mount, value, value.values())), "")
        return _wrong_address(value) if self.kind == "addresses" else ""

    def _wrong_number(self, number: int) -> str:
        if self.least is not None and number < self.least:
            return f"{number} is less than {self.least}, the least allowed"
        if self.most is not None and number > self.most:
            return f"{number} is more than {self.most}, the most that {TRIED} take"
        if self.multiple and number % self.multiple:
            return f"{number} is no multiple of {self.multiple} (KiB)"
        return ""


@cache
def keys() -> dict[str, Key]:
    """Every known key by its name."""
    text = Path(__file__).with_name("cufile_keys.json").read_text(encoding="utf-8")
    return {name: _key(name, table) for name, table in json.loads(text).items()}


def current_name(name: str) -> str:
    """Return a key's name with the section that has another name now."""
    section, _, rest = name.partition(".")
    return f"{NEW_SECTION}.{rest}" if section == OLD_SECTION else name


def sections() -> set[str]:
    """Every object that holds known keys: properties, fs, fs.lustre, ..."""
    return {above for name in keys() for above in _above(name)}


def _above(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _key(name: str, table: dict[str, Any]) -> Key:
    values = {**table, **{name: tuple(table.get(name, ())) for name in ("choices", "built_in")}}
    values["default_from"] = values.pop("from", "")
    return Key(name=name, **values)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _wrong_mount(point: str, value: Any) -> str:
    """Return what is wrong with a row of a mount table."""
    if not point.startswith("/"):
        return f"{point!a} is no mount point: it does not begin with /"
    if not isinstance(value, dict) or list(value) != [ADDRESSES] or not _texts(value[ADDRESSES]):
        return f'{point!a} needs {{"{ADDRESSES}": ["10.0.1.2"]}}'
    return _wrong_address(value[ADDRESSES])


def _wrong_address(words: list[str]) -> str:
    bad = [word for word in words if not _is_address(word)]
    return f"{bad[0]!a} is no IPv4 address" if bad else ""


def _is_address(word: str) -> bool:
    try:
        IPv4Address(word)
    except AddressValueError:
        return False
    return True
