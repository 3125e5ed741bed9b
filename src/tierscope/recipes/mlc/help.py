"""What ``tierscope mlc --help`` prints."""

from tierscope.recipes.drop_in.help_lines import help_line, paragraph
from tierscope.recipes.mlc.options import BARE, MODES, OPTIONS
from tierscope.recipes.mlc.traffic import MIXES

_OWN = (
    ("-h, --help", "print this"),
    ("--version", "print the version"),
    ("--start-at TIME", "begin measuring then, as in 18:30:00 or 2026-05-04T18:30:00Z"),
    ("--json", "one JSON document in place of the text, with intervals"),
)
_INDENT = 32
_TYPES = ", ".join(f"{name[1:]} {mix.words}" for name, mix in MIXES.items() if name != "R")
_STATUS = (
    "Exit status: 0 measured, 1 something failed, 2 the request was wrong, 3 nothing could be "
    "measured, 130 interrupted. 'tierscope show last' has every figure with its interval and "
    "evidence, 'tierscope show last --json' as JSON. See docs/mlc.md."
)


def help_text() -> str:
    """Return the whole text."""
    parts = [
        "usage: tierscope mlc [--MODE] [OPTIONS]",
        "",
        *paragraph(
            "Modes, options and text of Intel's Memory Latency Checker, measured by tierscope. "
            f"Without a mode: {', '.join(BARE)}, in this order."
        ),
        "",
        "Modes:",
        *(help_line(f"--{mode}", what, _INDENT) for mode, what in MODES.items()),
        "",
        "Options:",
        *(
            help_line(f"-{one.flag} {one.metavar}".rstrip(), one.what)
            for one in OPTIONS
            if one.modes and not (one.refused or one.ignored)
        ),
        "",
        "Of tierscope:",
        *(help_line(name, what) for name, what in _OWN),
        "",
        "Without effect:",
        *(
            help_line(f"-{one.flag} {one.metavar}".rstrip(), one.ignored)
            for one in OPTIONS
            if one.ignored
        ),
        "",
        "Refused, each with the reason:",
        "  " + ", ".join(f"-{one.flag}" for one in OPTIONS if one.refused),
        "",
        "Types of traffic (-W), reads to writes on the memory's bus:",
        *("  " + line for line in paragraph(_TYPES)),
        "",
        "Per-thread files (-o), a line for each CPU or range of CPUs:",
        "  CPUS R|Wn seq|rand SIZE dram NODE",
        "  CPUS W21|W23|W27 seq SIZE dram NODE dram NODE PERCENT   pages in turn; PERCENT on the",
        "                                                          second; as R, W3 and W7",
        "",
        "Examples:",
        "  tierscope mlc",
        "  tierscope mlc --latency_matrix",
        "  tierscope mlc --bandwidth_matrix -W5 -b500m -X",
        "  tierscope mlc --loaded_latency -d0 -t4 --json",
        "",
        *paragraph(_STATUS),
    ]
    return "\n".join(parts) + "\n"
