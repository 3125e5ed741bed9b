"""Which ranks exchange messages with which, and in how many rounds."""

from collections.abc import Sequence
from typing import TypeVar

from tierscope.model.errors import UserError

_T = TypeVar("_T")


def all_rounds(members: Sequence[_T]) -> list[list[tuple[_T, _T]]]:
    """Return rounds in which each member meets each other one once, and one at a time.

    The circle method: the first one stays, the others move on by one place each round. Of an odd
    number one rests in each round.
    """
    circle: list[_T | None] = [*members, *([None] if len(members) % 2 else [])]
    rounds = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        facing = zip(circle[:half], reversed(circle[half:]), strict=True)
        pairs = [(a, b) for a, b in facing if a is not None and b is not None]
        rounds.append([(a, b) if members.index(a) < members.index(b) else (b, a) for a, b in pairs])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return [sorted(pairs, key=lambda pair: members.index(pair[0])) for pairs in rounds]


def bisection(members: Sequence[_T]) -> list[tuple[_T, _T]]:
    """Return the pairs of the first half with the second; of an odd number the last one rests."""
    half = len(members) // 2
    return list(zip(members[:half], members[half : 2 * half], strict=True))


def named_pair(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the two names of ``A-B``, each a name or its number in ``names``.

    Names may have hyphens in them, so every one is tried as what separates the two. Raises
    UserError.
    """

    def known(word: str) -> str | None:
        if word in names:
            return word
        return names[int(word)] if word.isdecimal() and int(word) < len(names) else None

    found = []
    for at, sign in enumerate(text):
        one, other = known(text[:at]), known(text[at + 1 :])
        if sign == "-" and one and other:
            found.append((one, other))
    if len(found) != 1:
        listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        why = "can be read in several ways" if found else "names no two ranks"
        raise UserError(
            f"'{text}' {why}; write first, all, bisection, or A-B of these names or their numbers "
            f"from 0 on: {listed}"
        )
    if found[0][0] == found[0][1]:
        raise UserError(f"'{text}' is one rank; name two")
    return found[0]
