"""The responder of hand-overs that another host initiates, as a process of the engine."""

import signal
import subprocess
from collections.abc import Callable

from pydantic import ValidationError

from tierscope.engine.process import ending, find_engine, last_line
from tierscope.model.base import Count, Model
from tierscope.model.errors import UserError


class Served(Model):
    """What a responder did until it was stopped."""

    sessions: Count
    """Initiators' sessions that it joined, one for each repetition."""
    rounds: Count
    bytes: Count
    """Compared."""
    wrong_words: Count
    instructions: str
    """What it did about its caches where coherence was up to software."""


def respond(path: str, offset: int, destroy: str, cpu: int, ready: Callable[[], None]) -> Served:
    """Answer in a device of DAX or a shared file until SIGINT, SIGTERM or SIGHUP comes.

    ``ready`` is called once it listens. Raises UserError where the memory may not be used.
    """
    words = [path, str(offset), destroy, str(cpu)]
    with subprocess.Popen(
        [find_engine(), "handover-responder", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: process.terminate())
        assert process.stdout
        if process.stdout.readline() == "ready\n":
            ready()
        said, errors = process.communicate()
    try:
        return Served.model_validate_json(said)
    except ValidationError:
        why = last_line(errors) or f"the engine ended with {ending(process.returncode)}"
        raise UserError(why.removeprefix("tierscope-engine: ")) from None
