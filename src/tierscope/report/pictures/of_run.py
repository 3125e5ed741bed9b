"""All pictures of one kind in a run, as its view draws them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tierscope.model.run import Run
from tierscope.report import figures
from tierscope.report.pictures.picture import Gathered, Picture
from tierscope.report.view import Views, sides_of, view_of


def pictures_of(run: Run, kind: str, views: Views) -> Iterator[Picture]:
    """Yield all pictures of one kind in a run, before they are drawn; their keys are unique."""
    measured = [m for m in run.measurements if m.kind == kind and m.has_figure]
    if not measured:
        return
    view = view_of(views, kind)
    gathered = Gathered(kind, view.title, measured, run, view.endpoints)
    used: Counter[str] = Counter()
    for picture in chain.from_iterable(draw(gathered) for draw in view.pictures):
        used[picture.key] += 1
        number = used[picture.key]
        said = filter(None, (picture.subtitle, figures.bound_text(picture.measurements)))
        key = picture.key if number == 1 else f"{picture.key}-{number}"
        yield replace(picture, key=key, subtitle="; ".join(said))


def pictures_beside(runs: Sequence[tuple[str, Run]], views: Views) -> dict[str, list[Picture]]:
    """Return the pictures of several runs beside each other, by kind."""
    found: dict[str, list[Picture]] = {}
    for kind, view in views.items():
        sides = sides_of(runs, kind)
        if view.beside and len(sides) > 1 and (pictures := view.beside(sides)):
            found[kind] = pictures
    return found
