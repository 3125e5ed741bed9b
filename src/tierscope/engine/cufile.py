"""The environment of an engine that has a setting of cuFile of its own, or a place for its log.

cuFile reads its configuration once a process, so that each setting needs an engine. The engine gets
a copy of the cufile.json that cuFile would read, with one value changed, by the variable that names
the file.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tierscope.engine.process import engine_environment
from tierscope.machine.cufile_audit import find_cufile, read_cufile
from tierscope.machine.cufile_json import OVERRIDES, VARIABLE, with_value
from tierscope.machine.files import Files
from tierscope.model.errors import UserError

_ALLOW = "CUFILE_ALLOW_COMPAT_MODE"
_LOG = "CUFILE_LOGFILE_PATH"


@contextlib.contextmanager
def environment_with(setting: str) -> Iterator[dict[str, str]]:
    """Give the environment of an engine with a setting, ``key=value``, until the block ends.

    Variables that would count before the key are left out. The engine itself chooses compatibility
    mode by a variable, so that one is set instead. Raises UserError where the cufile.json that is
    to be changed cannot be read, or no copy can be written.
    """
    key, _, text = setting.partition("=")
    found = read_cufile(*find_cufile(Files(), os.environ))
    changed = json.dumps(with_value(found.values, key, json.loads(text)), indent=1)
    environment = engine_environment()
    for variable, overridden in OVERRIDES.items():
        if overridden == key:
            environment.pop(variable, None)
    if OVERRIDES[_ALLOW] == key:
        environment[_ALLOW] = text
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tierscope-cufile-"))
            path = Path(folder, "cufile.json")
            path.write_text(changed)
        except OSError as error:
            raise UserError(
                f"no cufile.json with {setting} can be written to {tempfile.gettempdir()}: "
                f"{error.strerror}; name another directory in TMPDIR"
            ) from None
        yield {**environment, VARIABLE: str(path)}


@contextlib.contextmanager
def log_at(path: Path) -> Iterator[dict[str, str]]:
    """Give the variable by which cuFile logs to a file, until the block ends; an empty file is
    removed then. No variable where our environment names a file."""
    if _LOG in os.environ:
        yield {}
        return
    try:
        yield {_LOG: str(path.absolute())}
    finally:
        with contextlib.suppress(OSError):
            if not path.stat().st_size:
                path.unlink()
