"""Lists of hosts as Slurm writes them: ``node[001-003,7],login1``.

As in slurm.conf(5): brackets hold numbers and ranges; a range counts with as many digits as its
first number has; a name may have several brackets.
"""

import math
import re
from collections.abc import Iterable, Iterator
from itertools import product

from tierscope.model.errors import UserError

_MOST = 1_000_000
"""Hosts in one list."""
_WORD = r"(?:[^\[\],\s]|\[[^\[\]]*\])+"
_LIST = re.compile(rf"\s*{_WORD}(?:\s*,\s*{_WORD})*\s*")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)")


def expand(text: str) -> list[str]:
    """Return the hosts of a list, in its order; raises UserError that says what is wrong."""
    if not _LIST.fullmatch(text):
        raise UserError(f"'{text}' is no list of hosts; write it as node[001-016,20],login1")
    found: list[str] = []
    for word in re.findall(_WORD, text):
        found += _expand_word(word)
        if len(found) > _MOST:
            raise UserError(f"'{text}' has more than {_MOST} hosts")
    return found


def _expand_word(word: str) -> Iterator[str]:
    parts = [
        _numbers(match[1]) if match[1] is not None else [match[2]] for match in _PART.finditer(word)
    ]
    if math.prod(map(len, parts)) > _MOST:
        raise UserError(f"'{word}' has more than {_MOST} hosts")
    return map("".join, product(*parts))


def _numbers(text: str) -> list[str]:
    found: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or last < first:
            raise UserError(f"'[{text}]' is no range of numbers; write it as [001-016,20]")
        if last - first >= _MOST:
            raise UserError(f"'[{text}]' has more than {_MOST} numbers")
        found += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return found


def compress(hosts: Iterable[str]) -> str:
    """Return hosts as one list, each once; ``expand`` gives them back."""
    numbered: dict[tuple[str, str], set[str]] = {}
    for host in hosts:
        match = _NUMBERED.fullmatch(host)
        key = (match[1], match[3]) if match else (host, "")
        numbered.setdefault(key, set()).add(match[2] if match else "")
    words = []
    for (prefix, suffix), numbers in sorted(numbered.items()):
        if "" in numbers:
            words.append(prefix)
        ranges = _ranges(sorted(numbers - {""}, key=lambda text: (int(text), len(text))))
        if len(ranges) == 1 and "-" not in ranges[0]:
            words.append(f"{prefix}{ranges[0]}{suffix}")
        elif ranges:
            words.append(f"{prefix}[{','.join(ranges)}]{suffix}")
    return ",".join(words)


def _ranges(numbers: list[str]) -> list[str]:
    """Join numbers that follow each other, as a range of the first one's width counts."""
    found: list[list[str]] = []
    for number in numbers:
        last = found[-1] if found else None
        if last and number == str(int(last[-1]) + 1).zfill(len(last[0])):
            last.append(number)
        else:
            found.append([number])
    return [one[0] if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in found]
