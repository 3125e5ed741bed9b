"""Options that several commands have, each written once.

The value of an option that goes into a request is text in the grammar of
``tierscope.plans.grammar``: a value, a list, a range.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="ENDPOINTS",
        help="Initiators: node:0, cpus:0-7,16 or node:*  [default: the first node with CPUs]",
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        metavar="ENDPOINTS",
        help="Targets: node:1, node:0,2@3:1 (interleaved by weight) or node:*  [default: the "
        "initiator's node]",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Bytes of the working set, of bandwidth each array's, as in 64k..1g  [default: past "
        "the caches]",
    ),
]
Pages = Annotated[
    str | None,
    typer.Option(
        metavar="LIST", help="base (or 4k), thp, 2m, 1g  [default: thp where the kernel has it]"
    ),
]
Stride = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Bytes from one access to the next, a multiple of 64  [default: 256]",
    ),
]
Isa = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="auto, sse4, avx2, avx512, neon, sve  [default: auto]"),
]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="bind, preferred, interleave, weighted, partition  [default: as the target's form "
        "says]",
    ),
]
Mechanism = Annotated[
    str | None, typer.Option(metavar="LIST", help="Who places pages: user, kernel  [default: user]")
]
Precision = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE", help="95% interval's half-width to reach, at most 50%  [default: 1%]"
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="SECONDS", help="Most for one measurement, up to 86400  [default: 2]"),
]
Sample = Annotated[
    str | None,
    typer.Option(metavar="SECONDS", help="Length of one sample, up to 60  [default: 0.01]"),
]
Pin = Annotated[
    str | None,
    typer.Option(
        metavar="HOW", help="cores (siblings last), one-a-core, compact, spread  [default: cores]"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the expanded plan with time and memory; end there")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where the run file goes  [default: the data directory]"),
]


class Output(NamedTuple):
    """What a measuring command prints and keeps, and where."""

    json: bool
    dry_run: bool
    directory: Path | None


def given(arguments: Mapping[str, object]) -> dict[str, str]:
    """Return a command's text options that were given, by their names: ``access-size``.

    Of the command's ``locals()``, so that its signature alone lists them.
    """
    return {
        name.rstrip("_").replace("_", "-"): value
        for name, value in arguments.items()
        if isinstance(value, str)
    }


def flags(**arguments: bool) -> dict[str, str]:
    """Return a command's switches that were set as options of a request: ``both-ways: yes``."""
    return {name.replace("_", "-"): "yes" for name, on in arguments.items() if on}
