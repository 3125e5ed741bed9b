"""A run's pictures as files of their own: the tier map, each kind's, the topology."""

from collections.abc import Iterator

from tierscope.model.run import Run
from tierscope.report.best_to import best_to
from tierscope.report.legal import legal_text
from tierscope.report.pictures.draw import png_for_file, png_of_svg, svg_for_file
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.pictures.tier_map import tier_maps
from tierscope.report.topology_svg import draw as draw_topology
from tierscope.report.view import Views, kinds_in


def picture_files(
    runs: list[tuple[str, Run]], form: str, views: Views
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every picture of every run; ``form`` is png or svg."""
    draw = png_for_file if form == "png" else svg_for_file
    for name, run in runs:
        prefix = f"{name}-" if len(runs) > 1 else ""
        origin = origin_of(run)
        for picture in tier_maps(run, views):
            yield f"{prefix}{picture.key}.{form}", draw(picture, origin)
        for kind in kinds_in(run, views):
            for picture in pictures_of(run, kind, views):
                yield f"{prefix}{picture.key}.{form}", draw(picture, origin)
        if run.header.topology:
            svg = legal_text(draw_topology(run.header.topology, best_to(run), origin=origin))
            content = png_of_svg(svg) if form == "png" else svg.encode()
            yield f"{prefix}topology.{form}", content


def origin_of(run: Run) -> str:
    """Say which machine a picture is of, when it was measured, and by what."""
    header = run.header
    parts = [f"{header.host}, {header.machine['cpu']}", header.started[:10]]
    parts += [f"tierscope {header.tierscope}"]
    parts += ["emulated: figures mean nothing"] if header.emulated else []
    return "; ".join(parts)
