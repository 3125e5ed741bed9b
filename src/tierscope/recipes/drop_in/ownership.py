"""Whose files are in a directory, before anything is measured."""

from tierscope.engine.leftovers import leftovers
from tierscope.engine.paths import PathError, PathSilentError
from tierscope.model.errors import UserError
from tierscope.model.storage import PathFacts


def is_foreign(facts: PathFacts) -> bool:
    """Return whether a path is a file that no manifest beside it says tierscope made.

    Raises PathSilentError where the directory does not answer.
    """
    if facts.kind != "file":
        return False
    directory, _, name = facts.path.rpartition("/")
    try:
        own = leftovers(directory or "/").files
    except PathSilentError:
        raise
    except PathError:  # a directory that may not be listed
        return True
    return name not in [one.name for one in own]


def refuse_overwriting(path: str, place: str, option: str = "--overwrite") -> UserError:
    """Return the error for files of others that would be written."""
    return UserError(
        f"{place}: {path} is there, and tierscope did not make it; name another directory, "
        f"or say {option}"
    )
