"""All pictures of one kind in a run, as its view draws them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from tierscope.model.run import Run
from tierscope.report import figures
from tierscope.report.best import best_to
from tierscope.report.drawing import draw as draw_topology
from tierscope.report.naming import legal_text
from tierscope.report.pictures.draw import png_for_file, png_of_svg, svg_for_file
from tierscope.report.pictures.picture import Picture, PictureInput
from tierscope.report.pictures.tier_map import tier_maps
from tierscope.report.run_view import Beside
from tierscope.report.view import Views, kinds_in, sides_of, view_of


def pictures_of(run: Run, kind: str, views: Views) -> Iterator[Picture]:
    """Yield all pictures of one kind in a run, before they are drawn; their keys are unique."""
    measured = [m for m in run.measurements if m.kind == kind and m.has_figure]
    if not measured:
        return
    view = view_of(views, kind)
    given = PictureInput(kind, view.title, measured, run, view.endpoints)
    used: Counter[str] = Counter()
    for picture in chain.from_iterable(draw(given) for draw in view.pictures):
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


def picture_files(
    runs: list[tuple[str, Run]], form: str, views: Views, beside: Mapping[str, Beside] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every picture of every run; ``form`` is png or svg.

    ``beside`` are published figures that runs are shown beside, by the runs' names."""
    for name, run in runs:
        prefix = f"{name}-" if len(runs) > 1 else ""
        origin = origin_of(run)
        pictures = [*tier_maps(run, views)]
        for kind in kinds_in(run, views):
            pictures += pictures_of(run, kind, views)
        if beside and name in beside:
            pictures += beside[name].pictures()
        for file, content in drawn(pictures, form, origin):
            yield f"{prefix}{file}", content
        if run.header.topology:
            svg = legal_text(draw_topology(run.header.topology, best_to(run), origin=origin))
            content = png_of_svg(svg) if form == "png" else svg.encode()
            yield f"{prefix}topology.{form}", content


def beside_files(
    runs: list[tuple[str, Run]], form: str, views: Views
) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures of several runs beside each other."""
    origin = ", ".join(dict.fromkeys(run.header.host for _, run in runs))
    for pictures in pictures_beside(runs, views).values():
        yield from drawn(pictures, form, origin)


def drawn(pictures: Iterable[Picture], form: str, origin: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each picture; ``form`` is png or svg."""
    draw = png_for_file if form == "png" else svg_for_file
    for picture in pictures:
        yield f"{picture.key}.{form}", draw(picture, origin)


def origin_of(run: Run) -> str:
    """Say which machine a picture is of, when it was measured, and by what."""
    header = run.header
    if header.imported:
        return f"{header.host}; {header.imported.said}"
    return origin_text(
        header.host, header.machine["cpu"], header.started[:10], header.tierscope, header.emulated
    )


def origin_text(host: str, cpu: str, day: str, version: str, emulated: bool) -> str:
    """Say which machine a picture is of, and when and by which tierscope it was measured."""
    parts = [f"{host}, {cpu}", day, f"tierscope {version}"]
    return "; ".join([*parts, *(["emulated: figures mean nothing"] if emulated else [])])
