"""Pictures of measurements: what to draw for each kind, and drawing it as SVG or PNG."""

from tierscope.report.pictures.draw import png_for_file, svg_for_file, svg_for_page
from tierscope.report.pictures.kinds import kind_of, kinds_in, pictures_of
from tierscope.report.pictures.picture import Picture

__all__ = [
    "Picture",
    "kind_of",
    "kinds_in",
    "pictures_of",
    "png_for_file",
    "svg_for_file",
    "svg_for_page",
]
