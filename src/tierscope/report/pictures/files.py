"""Write a run's pictures as files of their own."""

from pathlib import Path

from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.report.pictures.draw import png_for_file, svg_for_file
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.view import Views, kinds_in
from tierscope.runs.replace import replace_file


def write_pictures(runs: list[tuple[str, Run]], folder: Path, form: str, views: Views) -> int:
    """Write all pictures of all runs, replacing those of the same name; return how many.

    ``form`` is png or svg. Raises UserError where the folder cannot be written.
    """
    draw = png_for_file if form == "png" else svg_for_file
    count = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, run in runs:
            prefix = f"{name}-" if len(runs) > 1 else ""
            for kind in kinds_in(run, views):
                for picture in pictures_of(run, kind, views):
                    replace_file(folder / f"{prefix}{picture.key}.{form}", draw(picture))
                    count += 1
    except OSError as error:
        raise UserError(f"pictures cannot be written to {folder}: {error.strerror}") from None
    return count
