"""Text that XML can hold: names of hosts, devices and files may have any sign in them."""

from typing import Any


def legal_text(text: str) -> str:
    """Return text with every sign that XML 1.0 forbids (most control signs) replaced."""
    return "".join(sign if _legal(sign) else "\ufffd" for sign in text)


def _legal(sign: str) -> bool:
    return (
        sign in "\t\n\r"
        or "\x20" <= sign <= "\ud7ff"
        or "\ue000" <= sign <= "\ufffd"
        or sign >= "\U00010000"
    )


def legal_values(value: Any) -> Any:
    """Return a structure of dicts and lists with all its text, keys too, made legal."""
    if isinstance(value, str):
        return legal_text(value)
    if isinstance(value, dict):
        return {legal_values(key): legal_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [legal_values(item) for item in value]
    return value
