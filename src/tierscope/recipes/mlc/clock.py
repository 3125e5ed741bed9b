"""The clock in which MLC counts: the CPU's base frequency."""

import re
from pathlib import Path

from tierscope.model.errors import UserError

_CPUINFO = "proc/cpuinfo"
_BASE = "sys/devices/system/cpu/cpu0/cpufreq/base_frequency"


def base_hz(root: Path = Path("/")) -> float:
    """Return the base frequency in Hz.

    It is what cpufreq says, else what the CPU's name says (``@ 2.10GHz``), else the frequency that
    /proc/cpuinfo shows, which virtual machines never change. UserError where none is known.
    """
    base = _text(root / _BASE).strip()
    if base.isdecimal() and int(base):
        return int(base) * 1e3
    cpuinfo = _text(root / _CPUINFO)
    named = re.search(r"^model name.*@\s*([0-9.]+)GHz", cpuinfo, re.MULTILINE)
    if named:
        return float(named[1]) * 1e9
    shown = re.search(r"^cpu MHz\s*:\s*([0-9.]+)", cpuinfo, re.MULTILINE)
    if shown and float(shown[1]):
        return float(shown[1]) * 1e6
    raise UserError("the CPU's base frequency, in which MLC counts, is not known here")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
