"""Lines of help: a name, and what it means beside it."""

import textwrap

WIDTH = 98
_INDENT = 20


def paragraph(text: str) -> list[str]:
    """Return a text in lines."""
    return textwrap.wrap(text, WIDTH)


def help_line(name: str, what: str, indent: int = _INDENT) -> str:
    """Return a name with its meaning, in as many lines as that takes."""
    first, *more = textwrap.wrap(what, WIDTH - indent)
    head = f"  {name}".ljust(indent)
    if len(head) > indent or not head.endswith(" "):
        first, more = "", [first, *more]
    return "\n".join([f"{head}{first}".rstrip(), *(" " * indent + line for line in more)])
