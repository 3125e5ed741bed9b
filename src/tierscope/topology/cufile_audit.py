"""Look through a cufile.json key by key: types, ranges, names that are spelled wrong."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tierscope.model.cufile import CufileSetting, Verdict
from tierscope.model.finding import Finding
from tierscope.topology.cufile_json import CufileJson, Path
from tierscope.topology.cufile_keys import (
    LIBRARIES,
    NEW_SECTION,
    OLD_SECTION,
    OVERRIDES,
    TRIED,
    Key,
    current_name,
    keys,
    sections,
)

_NEAR = 0.75
"""Likeness from which on a name counts as another one spelled wrong."""


class Config:
    """What a cufile.json says, with the environment variables that count before it."""

    def __init__(
        self,
        values: Mapping[str, Any],
        environment: Mapping[str, str],
        lines: Mapping[str, int] | None = None,
    ) -> None:
        """``values`` are the keys of the right type and range, by name; ``lines`` where all are."""
        self._values = values
        self.lines = lines or {}
        self._environment = environment

    def given(self, name: str) -> Any:
        """The value that the file has; None where it has none that is right."""
        return self._values.get(name)

    def effective(self, name: str) -> Any:
        """The value that counts: of the environment, the file, or the newest library itself."""
        for variable, key in OVERRIDES.items():
            if key == name and (text := self._environment.get(variable)):
                truth = {"true": True, "1": True, "false": False, "0": False}
                return truth.get(text.lower(), text)
        if (found := self._values.get(name)) is not None:
            return found
        known = keys()[name]
        return known.built_in[-1] if known.built_in else known.default

    def is_true(self, name: str) -> bool:
        """Whether a key, known or not, counts as true."""
        return name in keys() and self.effective(name) is True


def settings_of(
    parsed: CufileJson, environment: Mapping[str, str]
) -> tuple[list[CufileSetting], list[Finding], Config]:
    """Return every key of the file and every known key that it lacks, and what is wrong."""
    settings: list[CufileSetting] = []
    findings: list[Finding] = []
    values: dict[str, Any] = {}
    for path, value in _leaves((), parsed.values):
        name = ".".join(path)
        line = parsed.lines[path][-1]
        key = keys().get(current_name(name))
        wrong = _unknown(name, value, line) if key is None else _wrong(key, name, value, line)
        if key is not None and wrong is None:
            values[key.name] = value
        if wrong is not None:
            findings.append(wrong)
        elif key is not None and key.missing:
            findings.append(_missing(key, name, line))
        settings.append(_setting(name, line, value, key, wrong is not None, environment))
    findings += [*_repeated(parsed), *_old_section(parsed)]
    there = {current_name(setting.key) for setting in settings}
    settings += [
        _setting(name, None, None, key, False, environment)
        for name, key in keys().items()
        if name not in there
    ]
    lines = {current_name(one.key): one.line for one in settings if one.line is not None}
    return settings, findings, Config(values, environment, lines)


def as_json(value: Any) -> str:
    """Return a value as JSON in which every character can be printed."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def _leaves(above: Path, values: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield keys with their values: what is known as one key is one, though it be an object."""
    for name, value in values.items():
        path = (*above, name)
        one = current_name(".".join(path)) in keys()
        if isinstance(value, dict) and value and not one:
            yield from _leaves(path, value)
        elif value != {} or one or not _is_section(path):
            yield path, value


def _is_section(path: Path) -> bool:
    return current_name(".".join(path) + ".x").removesuffix(".x") in sections()


def _setting(
    name: str,
    line: int | None,
    value: Any,
    key: Key | None,
    wrong: bool,
    environment: Mapping[str, str],
) -> CufileSetting:
    if key is None:
        return CufileSetting(key=name, line=line, value=value, verdict="unknown")
    verdict: Verdict = "wrong" if wrong else "default" if value == key.default else "changed"
    given = ""
    for variable, one in OVERRIDES.items():
        if one == key.name and environment.get(variable):
            given = f"{variable}={environment[variable]}"
    return CufileSetting(
        key=name,
        line=line,
        value=value,
        verdict="absent" if line is None else verdict,
        default=key.default,
        default_from=key.default_from,
        built_in=dict(zip(LIBRARIES, key.built_in, strict=False)),
        note=key.note,
        meaning=key.meaning,
        since=key.since,
        advice=key.advice,
        advised_by=key.advised_by,
        overridden_by=given,
    )


def subject(name: str, line: int | None) -> str:
    """Return how a finding names a key."""
    shown = as_json(name)[1:-1]
    return f"{shown}, line {line}" if line else shown


def _unknown(name: str, value: Any, line: int) -> Finding:
    if _is_section(tuple(name.split("."))):
        return Finding(
            severity="problem",
            subject=subject(name, line),
            found=f"{as_json(value)}, where a section is needed",
            meaning=f"{TRIED} end the whole process with an error of their JSON parser",
            remedy=f'write "{name.rpartition(".")[2]}": {{ ... }}',
        )
    near = _nearest(name)
    if near:
        return Finding(
            severity="problem",
            subject=subject(name, line),
            found="no key of cuFile",
            meaning="cuFile passes over it, and its value has no effect",
            remedy=f"write {near}, if that is meant",
        )
    return Finding(
        severity="note",
        subject=subject(name, line),
        found="not a key of libcufile 1.15 or 1.20",
        meaning="it has an effect only if another release knows it",
        remedy="compare with the cufile.json that your release installs",
    )


def _missing(key: Key, name: str, line: int) -> Finding:
    return Finding(
        severity="note",
        subject=subject(name, line),
        found=f"not a key of {key.missing}",
        meaning="it has no effect there, though NVIDIA's guide lists it",
        remedy=key.advice,
    )


def _nearest(name: str) -> str:
    """Return the known key that is most likely meant: the same in another section, or alike."""
    last = name.rpartition(".")[2].lower()
    same = [known for known in keys() if known.rpartition(".")[2] == last]
    names = same or [
        known
        for known in keys()
        if difflib.SequenceMatcher(None, last, known.rpartition(".")[2]).ratio() >= _NEAR
    ]
    found = difflib.get_close_matches(current_name(name).lower(), names, n=1, cutoff=0.0)
    return found[0] if found else ""


def _wrong(key: Key, name: str, value: Any, line: int) -> Finding | None:
    needed = key.wrong_type(value)
    said = f"{as_json(value)}: {needed}" if needed else key.wrong_value(value)
    if not said:
        return None
    if value is None:
        meaning = "cuFile reads it as if the key were not there"
    elif needed and isinstance(value, float):
        meaning = f"{TRIED} cut it to a whole number"
    elif key.lenient or (not needed and key.kind == "addresses"):
        meaning = f"{TRIED} take it without a word, and do something else"
    else:
        meaning = f"{TRIED} refuse the whole file: cuFile's driver does not open"
    return Finding(
        severity="note" if value is None else "problem",
        subject=subject(name, line),
        found=said,
        meaning=meaning,
        remedy=_retyped(key, value) if needed else _allowed(key),
    )


def _retyped(key: Key, value: Any) -> str:
    """Return what to write, where a number or a truth value stands in quotes."""
    if not isinstance(value, str):
        return ""
    try:
        inner = json.loads(value.strip().lower())
    except ValueError:
        return ""
    fits = not key.wrong_type(inner) and not key.wrong_value(inner)
    return f"write {json.dumps(inner)} without quotes" if fits else ""


def _allowed(key: Key) -> str:
    parts = [f"at least {key.least}"] if key.least is not None else []
    parts += [f"at most {key.most}"] if key.most is not None else []
    parts += [f"a multiple of {key.multiple}"] if key.multiple else []
    if key.kind in ("integer", "integers") and parts:
        return f"give {', '.join(parts)}"
    return f"give {' or '.join(key.choices)}" if key.choices and key.kind == "text" else ""


def _repeated(parsed: CufileJson) -> Iterator[Finding]:
    for path, lines in parsed.lines.items():
        if len(lines) > 1 and "" not in path:
            *before, last = lines
            yield Finding(
                severity="problem",
                subject=subject(".".join(path), last),
                found=f"given before, in line {', '.join(map(str, before))}",
                meaning="cuFile takes the last one; what only an earlier one has is lost",
                remedy="keep one",
            )


def _old_section(parsed: CufileJson) -> Iterator[Finding]:
    if OLD_SECTION in parsed.values:
        both = NEW_SECTION in parsed.values
        yield Finding(
            severity="problem",
            subject=subject(OLD_SECTION, parsed.lines[(OLD_SECTION,)][-1]),
            found=f"the older name of {NEW_SECTION}" + (", which is there, too" if both else ""),
            meaning=f"{TRIED} pass over it: nothing in it is denied",
            remedy=f"move its entries to {NEW_SECTION}" if both else f"rename it to {NEW_SECTION}",
        )
