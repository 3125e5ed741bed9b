"""A run's pictures as files of their own."""

from collections.abc import Iterator

from tierscope.model.run import Run
from tierscope.report.pictures.draw import png_for_file, svg_for_file
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.view import Views, kinds_in


def picture_files(
    runs: list[tuple[str, Run]], form: str, views: Views
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every picture of every run; ``form`` is png or svg."""
    draw = png_for_file if form == "png" else svg_for_file
    for name, run in runs:
        prefix = f"{name}-" if len(runs) > 1 else ""
        for kind in kinds_in(run, views):
            for picture in pictures_of(run, kind, views):
                yield f"{prefix}{picture.key}.{form}", draw(picture)
