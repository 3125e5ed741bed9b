"""Names that the system gives as bytes, as text."""

import os
from pathlib import Path


def shown(name: str | Path) -> str:
    """Return a file's name, or a word of a command line, as text to show and to keep.

    Names of files are bytes; those that are no UTF-8 become the replacement character, as do
    surrogates that YAML and JSON can write but no file's name has.
    """
    try:
        return os.fsencode(name).decode(errors="replace")
    except UnicodeEncodeError:
        return str(name).encode(errors="surrogatepass").decode(errors="replace")


def is_text(word: str) -> bool:
    """Return whether a word of a command line was UTF-8."""
    return shown(word) == word
