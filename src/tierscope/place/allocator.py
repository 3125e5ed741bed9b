"""The allocator's libraries: preloading them by rules, and linking with them."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tierscope.model.errors import UserError
from tierscope.model.given_file import open_given
from tierscope.place.launch import find_installed, preload_obstacle, with_library

RULES, WORDS, JSON = "TIERSCOPE_ALLOC_RULES", "TIERSCOPE_ALLOC", "TIERSCOPE_ALLOC_JSON"
"""The variables that the preloaded library reads (alloc/settings.c)."""
_HEAT = "TIERSCOPE_ALLOC_HEAT"
"""Nodes and a folder: an arena for each call site, whose addresses are written there."""
_PROCESS = "TIERSCOPE_ALLOC_PROCESS"
"""The process that a program was started as; the library sets it for the program's children."""
_PRELOADED = "_lib/libtierscope-alloc-preload.so"


def rules_file(name: str) -> str:
    """Return a file of rules as the library takes it: its whole path. Raises UserError."""
    if re.search(r"[;\n]", name):
        raise UserError(f"'{name}': a file of rules cannot have ; or a line break in its name")
    path = str(Path(name).absolute())
    try:
        open_given(path).close()  # the library would wait for a pipe
    except OSError as error:
        raise UserError(f"{path}: the rules cannot be read: {error.strerror}") from None
    return path


def check_rules(rules: str) -> tuple[int, int]:
    """Return how many arenas and rules there are; raises UserError with what is wrong.

    ``rules`` is a file's whole path, or rules themselves with ; between them. The library itself
    reads them in a process of its own, and makes the arenas, so that nodes and capacities count as
    on this machine.
    """
    library = find_installed(_PRELOADED)
    environment = {
        b"LD_PRELOAD": os.fsencode(library),
        WORDS.encode(): b"strict,check",
        RULES.encode(): os.fsencode(rules),
    }
    # Any program will do: it ends before it begins.
    done = subprocess.run([sys.executable, "-c", ""], env=environment, capture_output=True)
    if done.returncode == 0 and (counts := done.stdout.split()):
        return int(counts[0]), int(counts[1])
    message = done.stderr.decode(errors="replace").strip().removeprefix("tierscope-alloc: ")
    raise UserError(message or f"{library} cannot be preloaded")


def environment_for(
    program: Path,
    rules: str,
    words: Sequence[str],
    statistics: Path | None,
    environment: dict[bytes, bytes],
    heat: str = "",
) -> dict[bytes, bytes]:
    """Return the environment in which a program follows rules; raises UserError where it cannot.

    ``statistics`` is a file that each of its processes appends a line of JSON to, ``heat`` the
    nodes and the folder of ``place.heat``: NODES:FOLDER.
    """
    library = find_installed(_PRELOADED)
    if why := preload_obstacle(program, library):
        raise UserError(
            f"rules need a preloaded library, and {why}; link the program with the allocator "
            "(tierscope alloc flags), or place all of its memory (tierscope place exec)"
        )
    if rules:
        check_rules(rules)
    settings = {RULES: rules, WORDS: ",".join(words), JSON: str(statistics or ""), _HEAT: heat}
    ours = {name.encode() for name in (*settings, _PROCESS)}
    kept = {name: value for name, value in environment.items() if name not in ours}
    added = {name: value for name, value in settings.items() if value}
    return with_library(kept, library) | {
        name.encode(): os.fsencode(value) for name, value in added.items()
    }


def compile_flags() -> list[str]:
    """Return the compiler's options for the allocator's headers."""
    return [f"-I{shlex.quote(str(find_installed('_include')))}"]


def libraries() -> Path:
    """Return the folder that the libraries are in; raises UserError without them."""
    return find_installed("_lib/libtierscope-alloc.so").parent


def link_flags(library: str) -> list[str]:
    """Return the linker's options for one of the libraries, which programs find where it is."""
    folder = find_installed(f"_lib/lib{library}.so").parent
    return [
        f"-L{shlex.quote(str(folder))}",
        f"-Wl,-rpath,{shlex.quote(str(folder))}",
        f"-l{library}",
    ]
