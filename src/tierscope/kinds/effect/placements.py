"""Placements as people write them: ``slow=bind node:2 cpus:0-7 thp:never env:NAME=VALUE``.

Nodes have all forms of placement/nodes.py. ``tier:hmsdk pair:0:2`` has pages moved meanwhile.

A name before ``=`` is for tables; without one the words are the name. ``as-found`` changes nothing.
"""

from typing import Any, cast

from tierscope.kinds.effect.spec import Settings
from tierscope.kinds.effect.tiers import checked
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError, did_you_mean
from tierscope.placement.huge_pages import HUGE_PAGES
from tierscope.placement.nodes import Selection, is_selection, select_nodes
from tierscope.placement.policy import MODES, Mode, Policy

AS_FOUND = "as-found"
_NAME_LENGTH = 40
_FORMS = (
    "as-found, " + ", ".join(MODES) + ", node:0,2@3:1, 0,2-3, all, !1, +0, balancing, cpus:0-7, "
    "thp:never, thp:madvise, thp:always, "
    "tier:PRESET pair:0:2, tier:FILE, env:A=B"
)


def parse_placements(text: str) -> dict[str, Settings]:
    """Return placements by name, from a line each; one alone is compared with ``as-found``.

    Raises UserError for words that are none, names that come twice, and words that do not fit
    together.
    """
    found: dict[str, Settings] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, settings = _parse(line)
        if name in found:
            raise UserError(f"two placements are '{name}'; name them, as in slow=node:2")
        found[name] = settings
    return found if len(found) > 1 or AS_FOUND in found else {AS_FOUND: Settings(), **found}


def _parse(line: str) -> tuple[str, Settings]:
    first = line.split()[0]
    named = "=" in first and ":" not in first.partition("=")[0]
    name, _, rest = line.partition("=") if named else (line, "", line)
    if not name.strip() or len(name) > _NAME_LENGTH:
        raise UserError(f"'{line}': name it in 1 to {_NAME_LENGTH} characters: slow=node:2")
    words = rest.split()
    if not words:
        raise UserError(f"'{line}': no words after the name; they are {_FORMS}")
    return " ".join(name.split()), _settings(words)


def _settings(words: list[str]) -> Settings:
    mode: str | None = None
    nodes: str | None = None
    fields: dict[str, Any] = {"environment": {}, "pairs": []}
    for word in words:
        key, colon, value = word.partition(":")
        if word in MODES:
            mode = _once(mode, word)
        elif word == "balancing":
            fields["balancing"] = True
        elif key == "thp" and value in HUGE_PAGES:
            fields["thp"] = _once(fields.get("thp"), value)
        elif key == "tier" and value:
            fields["tier"] = _once(fields.get("tier"), value)
        elif key == "pair" and value:
            fields["pairs"].append(value)
        elif key == "env" and "=" in value[1:]:
            variable, _, text = value.partition("=")
            fields["environment"][variable] = text
        elif key in ("cpus", "cpu") and colon:
            fields["cpus"] = list(parse_endpoint(word).numbers)
        elif is_selection(word):
            nodes = _once(nodes, word)
        elif word != AS_FOUND or len(words) > 1:
            hint = did_you_mean(
                word, (*MODES, "balancing", *(f"thp:{one}" for one in HUGE_PAGES), AS_FOUND)
            )
            raise UserError(f"'{word}' is none of {_FORMS}{hint}")
    if mode or nodes:
        selected = select_nodes(nodes) if nodes else Selection(())
        chosen = mode or ("weighted" if selected.weights else "bind")
        policy = Policy(
            cast("Mode", chosen), selected.nodes, selected.weights, fields.get("balancing", False)
        )
        fields |= {
            "mode": policy.mode,
            "nodes": list(policy.nodes),
            "weights": list(policy.weights),
            "balancing": policy.balancing,
        }
    elif fields.get("balancing"):
        raise UserError("'balancing' goes with bind and preferred-many")
    return checked(Settings.model_validate(fields))


def _once(before: str | None, word: str) -> str:
    if before is not None:
        raise UserError(f"'{before}' and '{word}' are in one placement; name one")
    return word
