"""Text that XML can hold: names of hosts, devices and files may have any sign in them."""

import re
from typing import Any

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legal_text(text: str) -> str:
    """Return text with every sign that XML 1.0 forbids (most control signs) replaced."""
    return _ILLEGAL.sub("\ufffd", text)


def legal_values(value: Any) -> Any:
    """Return a structure of dicts and lists with all its text, keys too, made legal."""
    if isinstance(value, str):
        return legal_text(value)
    if isinstance(value, dict):
        return {legal_values(key): legal_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [legal_values(item) for item in value]
    return value
