"""hmctl's command line, and the environment that it sets for hmalloc (HMSDK).

It sets no policy of the process: memory that a program gets by malloc or mmap goes where it would
have gone. Only memory from hmalloc's functions follows these variables.
"""

import getopt
import sys
from collections.abc import Sequence

from tierscope.model.errors import UserError
from tierscope.place.launch import become, find_program, own_environment
from tierscope.place.nodes import check_nodes, select_nodes
from tierscope.place.policy import Mode, kernel_mode

_OPTIONS: dict[str, tuple[str, Mode]] = {
    "-m": ("--membind", "bind"),
    "-P": ("--preferred-many", "preferred-many"),
    "-p": ("--preferred", "preferred"),
    "-w": ("--weighted-interleave", "weighted"),
    "-i": ("--interleave", "interleave"),
}
"""In order of precedence."""
_USAGE = """\
Usage: tierscope hmctl [-?] [-m NODES] [-p NODE] [-P NODES] [-i NODES] [-w NODES] [--help]
            [--usage] [--membind=NODES] [--preferred=NODE] [--preferred-many=NODES]
            [--interleave=NODES] [--weighted-interleave=NODES] PROGRAM [ARGUMENT]...
"""
_HELP = """\
Usage: tierscope hmctl [OPTION]... PROGRAM [ARGUMENT]...
Start PROGRAM with the environment that HMSDK's hmalloc reads.

  -m, --membind=NODES              hmalloc's memory on these nodes only
  -p, --preferred=NODE             on this node as long as it has room
  -P, --preferred-many=NODES       on these nodes as long as they have room
  -i, --interleave=NODES           page by page over these nodes
  -w, --weighted-interleave=NODES  by the kernel's weights of these nodes
  -?, --help                       this text
      --usage                      the options in short

Options end at PROGRAM. Of several, -m counts before -P, -p, -w, -i. NODES are as numactl writes
them: 0,2-3, all, !1, +0. Memory from malloc and mmap is not placed; `tierscope place exec` does
that.
"""


def run(words: Sequence[str]) -> int:
    """Print help, or become the program. Raises UserError."""
    options, command = _parse(words)
    if "--usage" in options or "--help" in options:
        sys.stdout.write(_USAGE if "--usage" in options else _HELP)
        return 0
    if not command:
        raise UserError("hmctl: name a program; 'tierscope hmctl --help' shows how")
    added = {name.encode(): value.encode() for name, value in variables(options).items()}
    program = find_program(command[0])
    return become(program, command, own_environment() | added)


def variables(options: dict[str, str]) -> dict[str, str]:
    """Return hmalloc's variables for options by their long names. Raises UserError."""
    found = {"HMALLOC_JEMALLOC": "1"}
    for long, mode in _OPTIONS.values():
        if long in options:
            nodes = select_nodes(options[long])
            if nodes.weights:
                raise UserError(f"hmctl {long}: the weights are the kernel's; name nodes only")
            if mode == "preferred" and len(nodes.nodes) > 1:
                raise UserError("hmctl --preferred: name one node; --preferred-many takes several")
            check_nodes(nodes.nodes)
            found["HMALLOC_MPOL_MODE"] = str(kernel_mode(mode))
            found["HMALLOC_NODEMASK"] = str(sum(1 << node for node in nodes.nodes))
            break
    return found


def _parse(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return options by their long names, the last of each, and the program's command line."""
    longs = [f"{long.removeprefix('--')}=" for long, _ in _OPTIONS.values()]
    short = "".join(f"{letter[1]}:" for letter in _OPTIONS) + "?"
    try:
        given, command = getopt.getopt([*words], short, [*longs, "help", "usage"])
    except getopt.GetoptError as error:
        raise UserError(f"hmctl: {error.msg}; 'tierscope hmctl --help' lists the options") from None
    names = {letter: long for letter, (long, _) in _OPTIONS.items()} | {"-?": "--help"}
    return {names.get(name, name): value for name, value in given}, command
