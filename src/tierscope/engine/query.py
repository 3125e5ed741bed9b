"""The engine's commands that answer once: capabilities, topology, check."""

from typing import TYPE_CHECKING

from pydantic import ValidationError

from tierscope.engine.answer import answer_of
from tierscope.engine.find import VARIABLE, find_engine
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.capability import Capabilities
from tierscope.model.errors import ExitCode, UserError

if TYPE_CHECKING:
    import subprocess

_TIMEOUT_S = 60
_REFUSED = 2


def capabilities() -> Capabilities:
    """Return what the engine can measure here and, for what it cannot, why.

    Raises UserError where the engine is missing, dies or speaks another version of the door.
    """
    output = _ask("capabilities").stdout
    try:
        found = Capabilities.model_validate_json(output)
    except ValidationError as error:
        raise UserError(
            f"{find_engine()} does not answer like an engine of this tierscope "
            f"({_first_error(error)}); rebuild it with 'make build' or check {VARIABLE}"
        ) from None
    if found.plan_version != PLAN_VERSION:
        raise UserError(
            f"{find_engine()} reads plans of version {found.plan_version}, this tierscope writes "
            f"version {PLAN_VERSION}; rebuild it with 'make build' or check {VARIABLE}"
        )
    return found


def topology_xml() -> str:
    """Return this machine's topology as hwloc XML; raises UserError where the engine cannot."""
    text = _ask("topology").stdout
    if not text.lstrip().startswith("<"):
        raise UserError(
            f"'{find_engine()} topology' wrote no XML; rebuild it with 'make build' or check "
            f"{VARIABLE}"
        )
    return text


def check(plan: Plan) -> str | None:
    """Return None where the engine accepts the plan, else its one line of refusal."""
    answer = _call("check", plan.model_dump_json())
    if answer.returncode == 0:
        return None
    if answer.returncode == _REFUSED:
        return last_line(answer.stderr)
    raise _died("check", answer)


def last_line(text: str) -> str:
    """Return the last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _ask(command: str) -> "subprocess.CompletedProcess[str]":
    answer = _call(command, None)
    if answer.returncode != 0:
        raise _died(command, answer)
    return answer


def _call(command: str, text: str | None) -> "subprocess.CompletedProcess[str]":
    return answer_of([find_engine(), command], _TIMEOUT_S, text)


def _died(command: str, answer: "subprocess.CompletedProcess[str]") -> UserError:
    said = last_line(answer.stderr) or "it said nothing"
    return UserError(
        f"'{find_engine()} {command}' ended with {ending(answer.returncode)}: {said}",
        ExitCode.NOTHING_MEASURED,
    )


def ending(returncode: int) -> str:
    """Name how a process ended: ``exit status 3`` or ``signal SIGSEGV``."""
    import signal

    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return f"signal {signal.Signals(-returncode).name}"
    except ValueError:
        return f"signal {-returncode}"


def _first_error(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]
