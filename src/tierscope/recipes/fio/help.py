"""What ``tierscope fio --help`` prints."""

from tierscope.recipes.drop_in.help_lines import help_line, paragraph
from tierscope.recipes.fio.options import OPTIONS

_OWN = (
    ("-h, --help", "print this"),
    ("-v, --version", "print the version"),
    ("--output-format=WORDS", "normal (default), json or json+; several with commas between"),
    ("-o, --output=FILE", "write results there"),
    ("--section=NAME", "only this job of a job file; may be given several times"),
    ("--parse-only", "check everything that can be known without looking at a file"),
    ("--showcmd", "print a job file as a command line"),
    ("--readonly", "refuse jobs that write"),
    ("--overwrite-others", "jobs may write to files that tierscope did not make"),
    ("--start-at=TIME", "begin measuring then, as in 18:30:00 or 2026-05-04T18:30:00Z"),
    ("--require=WAY", "fail unless all data goes by p2p, nvfs, gpudirect (either) or odirect"),
)
_STATUS = (
    "Exit status: 0 measured, 1 something failed or data is wrong, 2 the request was wrong, "
    "3 nothing could be measured, 130 interrupted. See docs/fio.md."
)
_INDENT = 28


def help_text() -> str:
    """Return the whole text."""
    parts = [
        "usage: tierscope fio [OPTIONS] JOB.fio [JOB2.fio]...",
        "       tierscope fio [OPTIONS] --name=JOB --OPTION=VALUE... [--name=JOB2 ...]",
        "",
        *paragraph(
            "fio's job files and command line, measured by tierscope: true queue depth, set-up in "
            "no figure, and fio's own output. What cannot be honoured is an error with its line."
        ),
        "",
        "Of the whole command:",
        *(help_line(name, what, _INDENT) for name, what in _OWN),
        "",
        "Of jobs, in job files without the dashes:",
        *(help_line(f"--{one.name}={one.metavar}", one.what, _INDENT) for one in OPTIONS),
        "",
        "Examples:",
        "  tierscope fio --name=a --rw=randread --bs=4k --size=64m --direct=1 --runtime=5",
        "  tierscope fio --output-format=json+ --output=result.json jobs.fio",
        "  tierscope fio --section=reads jobs.fio",
        "",
        *paragraph(_STATUS),
    ]
    return "\n".join(parts) + "\n"


def option_names() -> list[str]:
    """Return what a command line may have, for tab completion."""
    own = [word for name, _what in _OWN for word in name.split(", ") if word.startswith("--")]
    found = [word.partition("=")[0] + ("=" if "=" in word else "") for word in own]
    return [*found, *(f"--{one.name}=" for one in OPTIONS)]
