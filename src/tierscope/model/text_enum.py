"""Words as an enumeration: enum.StrEnum, which Python 3.10 lacks."""

from enum import Enum


class TextEnum(str, Enum):
    """A word of a fixed set; str() and formatting give the word itself."""

    __str__ = str.__str__
