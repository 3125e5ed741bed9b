"""fio's job files: sections, ``KEY=VALUE``, comments, ``${NAME}``."""

import os
import re
from collections.abc import Callable, Mapping, Sequence

from tierscope.model.errors import UserError
from tierscope.recipes.drop_in.given import Given
from tierscope.recipes.fio.engines import parse_engine
from tierscope.recipes.fio.fixed import check_fixed
from tierscope.recipes.fio.options import BY_NAME, Section, check_known, is_bare

_SECTION = re.compile(r"\[([^\[\]]+)\]")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_KEYWORD = re.compile(r"\$(pagesize|mb_memory|ncpus)\b")
_KEPT = ("filename_format",)
"""Options whose values have names with $ of their own."""


def parse_jobs(
    text: str, name: str, environment: Mapping[str, str] = os.environ
) -> tuple[list[Section], dict[str, Given]]:
    """Return the jobs of a file and its ``[global]``; UserError names file, line and key.

    ``name`` is what errors call the file. Of ``[global]``, a job has what stands before it.
    """
    reader = _Reader(name, environment)
    for number, line in enumerate(text.split("\n"), start=1):
        reader.take(f"{name}:{number}", re.split("[;#]", line, maxsplit=1)[0].strip())
    if not reader.jobs:
        raise UserError(f"{name}: there is no job; a job begins with [NAME]")
    return reader.jobs, reader.common


class _Reader:
    """Takes lines one by one."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self._name = name
        self._environment = environment
        self.common: dict[str, Given] = {}
        self.jobs: list[Section] = []
        self._values: dict[str, Given] | None = None
        """Of the section that is being read."""

    def take(self, place: str, line: str) -> None:
        """Read one line, without its comment."""
        if not line:
            return
        if line.startswith("["):
            self._begin(line, place)
            return
        if line.split()[0] == "include":
            raise UserError(f"{place}: other files are not read; put the lines of it here")
        if self._values is None:
            raise UserError(f"{place}: '{line}' stands before the first section, such as [global]")
        key, sign, value = (part.strip() for part in line.partition("="))
        set_option(self._values, key, value if sign else None, place, self._environment)

    def _begin(self, line: str, place: str) -> None:
        found = _SECTION.fullmatch(line)
        if found is None:
            raise UserError(f"{place}: '{line}' is no section such as [job1]")
        if found[1] == "global":
            self._values = self.common
            return
        self.jobs.append(Section(found[1], place, dict(self.common)))
        self._values = self.jobs[-1].own


def set_option(
    options: dict[str, Given],
    key: str,
    value: str | None,
    place: str,
    environment: Mapping[str, str],
) -> None:
    """Add an option to those of a section; UserError begins with the place and the key."""
    where = f"{place}: {key}"
    check_known(key, where)
    if value is None and not is_bare(key):
        raise UserError(f"{where}: the value is missing; write {key}=VALUE")
    text = "1" if value is None else _expanded(key, value, where, environment)
    if not text:
        raise UserError(f"{where}: the value is missing")
    name = BY_NAME[key].name if key in BY_NAME else key
    given = Given(text, where)
    if name == "ioengine":  # Before options that only another engine has.
        parse_engine(given)
    check_fixed(name, given)
    options[name] = given


def _expanded(key: str, text: str, where: str, environment: Mapping[str, str]) -> str:
    def variable(found: re.Match[str]) -> str:
        value = environment.get(found[1])
        if value is None:
            raise UserError(f"{where}: the environment has no variable '{found[1]}'")
        return value

    def keyword(found: re.Match[str]) -> str:
        return str(_KEYWORDS[found[1]]())

    expanded = _VARIABLE.sub(variable, text)
    return expanded if key in _KEPT else _KEYWORD.sub(keyword, expanded)


def _megabytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


_KEYWORDS: dict[str, Callable[[], int]] = {
    "pagesize": lambda: os.sysconf("SC_PAGE_SIZE"),
    "mb_memory": _megabytes,
    "ncpus": lambda: os.cpu_count() or 1,
}


def chosen(jobs: Sequence[Section], names: Sequence[str]) -> list[Section]:
    """Return the jobs of these names (``--section``), all where there is none."""
    known = [job.name for job in jobs]
    for name in names:
        if name not in known:
            raise UserError(f"--section: there is no job [{name}]; there are {', '.join(known)}")
    return [job for job in jobs if not names or job.name in names]
