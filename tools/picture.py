"""Draw a run's tables as the terminal shows them, for the README: tools/picture.py RUN OUT.svg."""

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 100


def main(run: str, picture: Path) -> None:
    """Show the run through the command itself and write what it prints as SVG."""
    command = [Path(sys.executable).with_name("tierscope"), "show", run]
    environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    shown = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        console.print(Text.from_ansi(shown.decode()))
        console.save_svg(str(picture), title="tierscope run")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
