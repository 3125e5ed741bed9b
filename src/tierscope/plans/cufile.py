"""Values of a key of cufile.json, as ``--cufile KEY=V1,V2`` gives them."""

import json
import os
import re
from typing import Any

from tierscope.machine.cufile_audit import audit, find_cufile, read_cufile
from tierscope.machine.cufile_json import Key, keys, parse, with_value
from tierscope.machine.files import Files
from tierscope.model.errors import UserError, did_you_mean
from tierscope.plans import grammar

_MOST = 1 << 62
_OURS = {
    "profile.cufile_stats": "tierscope sets it to 3, to count the ways that data took",
    "logging.dir": "tierscope gives cuFile's log a folder of its own",
}
"""Keys whose value would have no effect here."""
_NEXT = re.compile(r",(?![^\[]*\])")
"""A comma outside of brackets."""


def cufile_settings(text: str) -> list[str]:
    """Return ``section.key=value`` for each value, which is JSON.

    Raises UserError where the key is unknown or ambiguous, a value is not one that it may have, or
    the cufile.json that is to be changed cannot be read.
    """
    name, sign, values = text.partition("=")
    if not sign or not values.strip():
        raise UserError(f"'{text}' is not KEY=VALUES such as io_batchsize=32,128")
    key = _key(name.strip().replace(":", "."))
    given = read_cufile(*find_cufile(Files(), os.environ))
    before = _problems(given.values)
    found = []
    for value in _values(key, values):
        setting = f"{key.name}={json.dumps(value)}"
        changed = _problems(with_value(given.values, key.name, value))
        if new := [one for one in changed if one not in before]:
            raise UserError(
                f"{setting} does not go with {given.name or 'the defaults of cuFile'}: {new[0]}"
            )
        found.append(setting)
    return list(dict.fromkeys(found))


def _problems(values: dict[str, Any]) -> list[str]:
    """Return what is wrong with values, without the lines."""
    parsed = parse(json.dumps(values), "cufile.json")
    found = audit(parsed, "", Files(), {})[0].findings
    return [
        f"{one.subject.partition(', line ')[0]}: {one.found}"
        for one in found
        if one.severity == "problem"
    ]


def _key(name: str) -> Key:
    known = keys()
    if name in known:
        found = known[name]
    else:
        same = [one for one, key in known.items() if one.endswith(f".{name}") and not key.missing]
        if len(same) != 1:
            names = tuple(known) + tuple(one.rpartition(".")[2] for one in known)
            more = f"; it may be {', '.join(same)}" if same else did_you_mean(name, names)
            raise UserError(f"'{name}' is not a key of cufile.json{more}")
        found = known[same[0]]
    if found.name in _OURS:
        raise UserError(f"{found.name} makes no difference: {_OURS[found.name]}")
    return found


def _values(key: Key, text: str) -> list[Any]:
    if key.kind == "integer":
        least = 0 if key.least is None else max(0, key.least)
        found: list[Any] = [*grammar.expand_counts(text, _MOST, least)]
    else:
        found = [_value(word.strip()) for word in _NEXT.split(text)]
    for value in found:
        wrong = key.wrong_type(value) or key.wrong_value(value)
        if wrong:
            raise UserError(f"{key.name}={json.dumps(value)}: {wrong}")
    return found


def _value(word: str) -> Any:
    """Return a word as JSON; what is not JSON is text."""
    try:
        return json.loads(word)
    except ValueError:
        return word
