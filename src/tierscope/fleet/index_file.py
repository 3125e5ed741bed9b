"""Read ``fleet.json`` a host at a time: all hosts of a large fleet would fill the memory."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from tierscope.model.errors import UserError
from tierscope.model.fleet import FleetHost, FleetIndex, FleetJob

INDEX = "fleet.json"
_PIECE = 1 << 16
"""Characters that are read at once."""
_HOSTS = re.compile(r'(?<!\\)"hosts"\s*:\s*\[')
"""Inside text, quotes have a backslash before them."""
_BETWEEN = re.compile(r"[\s,]*")


def read_index(
    folder: Path, each: Callable[[FleetHost], None] = lambda _host: None
) -> FleetJob | None:
    """Return what was asked of a fleet, and call ``each`` with every host of its index.

    None where there is no ``fleet.json``. Raises UserError where that cannot be read.
    """
    path = folder / INDEX
    try:
        with path.open(encoding="utf-8") as file:
            return _read(file, each)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    except ValueError as error:
        why = str(error)
    raise UserError(
        f"{path} is no index of a fleet ({why}); without it, the run files are gathered as they are"
    )


def _read(file: IO[str], each: Callable[[FleetHost], None]) -> FleetJob:
    head = file.read(_PIECE)
    while not (found := _HOSTS.search(head)) and (more := file.read(_PIECE)):
        head += more
    if not found:
        return FleetIndex.model_validate_json(head)
    head, text = head[: found.end()], head[found.end() :]
    decode = json.JSONDecoder().raw_decode
    at = count = 0
    while True:
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
        if text[at : at + 1] == "]":
            break
        try:
            _, end = decode(text, at)
        except ValueError:
            more = file.read(_PIECE)
            if not more:
                raise
            text, at = text[at:] + more, 0
            continue
        each(FleetHost.model_validate_json(text[at:end]))
        at, count = end, count + 1
    rest = head + text[at:] + file.read()
    if not count:
        return FleetIndex.model_validate_json(rest)
    return FleetJob.model_validate({k: v for k, v in json.loads(rest).items() if k != "hosts"})
