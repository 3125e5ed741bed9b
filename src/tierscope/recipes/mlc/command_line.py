"""MLC's command line: ``--mode`` and options as getopt reads them (``-b500m``, ``-b 500m``)."""

import getopt
from collections.abc import Sequence

from tierscope.model.errors import UserError, did_you_mean
from tierscope.recipes.drop_in.given import Given
from tierscope.recipes.mlc.options import BY_FLAG, MODES, Line, Option

_SHORT = "h" + "".join(f"{flag}:" if option.metavar else flag for flag, option in BY_FLAG.items())
_ALIASES = {"peak_bandwidth": "peak_injection_bandwidth"}
"""Names of older versions."""
_SCAN = "memory_bandwidth_scan"
_OWN = ("help", "version", "json")
_LONG = (*MODES, *_ALIASES, _SCAN, *_OWN)
_HELP = "see 'tierscope mlc --help'"


def parse_line(arguments: Sequence[str]) -> Line:
    """Parse MLC's arguments; UserError names the option and what it allows."""
    try:
        pairs, rest = getopt.gnu_getopt([*arguments], _SHORT, _LONG)
    except getopt.GetoptError as error:
        raise UserError(_said(error)) from None
    if rest:
        raise UserError(f"'{rest[0]}' belongs to no option; {_HELP}")
    line = Line(shown=" ".join(one for one in arguments if one != "--json"))
    for name, text in pairs:
        if name.startswith("--"):
            _take_word(line, name[2:])
        elif name == "-h":
            line.help = True
        else:
            _take_flag(line, BY_FLAG[name[1:]], text)
    _check_together(line)
    return line


def remarks(line: Line) -> list[str]:
    """Say which options change nothing, and why."""
    found = []
    for flag, given in line.given.items():
        option = BY_FLAG[flag]
        if option.ignored:
            found.append(f"{given.place} changes nothing: {option.ignored}")
        elif not set(option.modes) & set(line.modes):
            found.append(f"{given.place} changes nothing with --{' --'.join(line.modes)}")
    return found


def _take_word(line: Line, name: str) -> None:
    if name in _OWN:
        setattr(line, name, True)
        return
    if name == _SCAN:
        raise UserError(
            f"--{_SCAN} is refused: it goes by physical addresses, 1 GiB at a time, which programs "
            "cannot choose; --bandwidth_matrix measures each node"
        )
    mode = _ALIASES.get(name, name)
    if line.mode and line.mode != mode:
        raise UserError(f"--{name} stands beside --{line.mode}: one mode at a time, or none")
    line.mode = mode


def _take_flag(line: Line, option: Option, text: str) -> None:
    place = f"-{option.flag}"
    if option.refused:
        raise UserError(f"{place} is refused: {option.refused}")
    if option.flag in line.given and option.metavar:
        raise UserError(f"{place} is given twice")
    try:
        line.given[option.flag] = Given(option.parse(text.strip()), place)
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def _check_together(line: Line) -> None:
    """Refuse options that contradict each other."""
    for one, other in (("d", "g"), ("R", "W"), ("R", "o"), ("W", "o"), ("Y", "Z"), ("i", "j")):
        if one in line.given and other in line.given:
            raise UserError(f"-{one} and -{other} contradict each other; give one")


def _said(error: getopt.GetoptError) -> str:
    """Say in our words what getopt did not understand."""
    name = f"-{error.opt}" if len(error.opt) == 1 else f"--{error.opt}"
    if "requires argument" in error.msg:
        option = BY_FLAG[error.opt]
        return f"{name} needs {option.metavar}{', ' if option.what else ''}{option.what}"
    if "must not have an argument" in error.msg:
        return f"{name} takes no value"
    if "not a unique prefix" in error.msg:
        return f"--{error.opt} is short for several modes; {_HELP}"
    known = tuple(f"--{one}" for one in _LONG)
    return f"unknown option {name}{did_you_mean(name, known)}; {_HELP}"
