"""``tierscope export --mess``: curves as the Mess simulator's files."""

import json
from pathlib import Path

from tierscope.cli.files import make_folder, say_written
from tierscope.cli.forms import Forms, emit
from tierscope.model.errors import UserError, counted
from tierscope.model.text import shown
from tierscope.recipes.mess_files import curve_files
from tierscope.runs.output import write_output
from tierscope.runs.read import read_run
from tierscope.runs.store import find_run


def export_curves(names: tuple[str, ...], folder: Path, forms: Forms) -> None:
    """Write a run's curves into a folder; UserError of several runs, or of one without curves."""
    if len(names) > 1:
        raise UserError(f"--mess takes one run, not {len(names)}")
    path = find_run(names[0] if names else "last")
    forms.check(inputs=[path])
    files = curve_files(read_run(path))
    for name, text in files.items():
        make_folder((folder / name).parent, "mess")
        write_output(folder / name, text, "--mess")
    say_written(counted(len(files), "curve"), folder, aside=forms.printed != "tables")
    written = {"written": [{"file": shown(folder / name), "form": "mess"} for name in files]}
    emit(forms, lambda: json.dumps(written), lambda: None)
