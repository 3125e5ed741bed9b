"""What ``tierscope gdsio --help`` prints."""

from tierscope.recipes.drop_in.help_lines import help_line, paragraph
from tierscope.recipes.gdsio.options import BY_FLAG, Option
from tierscope.recipes.gdsio.transfers import TRANSFERS

_OWN = (
    ("-h, --help", "print this"),
    ("-v, --version", "print the version"),
    ("--overwrite", "files that are not tierscope's may be overwritten"),
    ("--start-at TIME", "begin measuring then, as in 18:30:00 or 2026-05-04T18:30:00Z"),
    ("--require WAY", "fail unless all data goes by p2p, nvfs, gpudirect (either) or odirect"),
    ("--json", "one JSON document in place of the result line"),
)


_STATUS = (
    "Exit status: 0 measured, 1 something failed or data is wrong, 2 the request was wrong, "
    "3 nothing could be measured, 130 interrupted. See docs/storage.md."
)


def help_text() -> str:
    """Return the whole text."""
    jobs = [option for option in BY_FLAG.values() if option.of_job]
    rest = [option for option in BY_FLAG.values() if not option.of_job]
    parts = [
        "usage: tierscope gdsio -D DIR|-f FILE [FLAGS] [-D DIR|-f FILE [FLAGS]]...",
        "       tierscope gdsio JOBS.gdsio",
        "",
        *paragraph(
            "gdsio's flags and job files, measured by tierscope: the same result line, with true "
            "queue depth, without set-up in any figure, and with the way that the data took."
        ),
        "",
        "For each file or directory:",
        *map(_row, jobs),
        "",
        "For all of them:",
        *map(_row, rest),
        "",
        "Of tierscope:",
        *(help_line(name, what) for name, what in _OWN),
        "",
        "Transfer types (-x):",
        *(help_line(f"{number} {one.word}", one.name) for number, one in enumerate(TRANSFERS)),
        "",
        "Examples:",
        "  tierscope gdsio -D /data -d 0 -w 8 -s 500M -i 1M -x 0 -I 1",
        "  tierscope gdsio -D /data -d 0 -w 8 -s 500M -i 1M -x 0 -I 0 -T 10",
        "  tierscope gdsio -f /data/x -x 1 -w 2 -s 64M -i 4K -I 2 -T 5 --json",
        "  tierscope gdsio jobs.gdsio",
        "",
        *paragraph(_STATUS),
    ]
    return "\n".join(parts) + "\n"


def _row(option: Option) -> str:
    return help_line(f"-{option.flag} {option.metavar}".rstrip(), option.what)
