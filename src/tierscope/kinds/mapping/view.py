"""How the cost of mapping memory is shown."""

from tierscope.kinds.mapping.pictures import mapping
from tierscope.report.view import View

VIEW = View(
    title="Mapping",
    method="One thread maps, writes to each page and unmaps, each timed by itself; the pages' "
    "nodes are read back before they go; medians of the parts, scaled to a MiB.",
    headline="per page",
    headings={
        "map": "map, all pages",
        "populate_per_page": "populate, per page",
        "unmap_per_page": "unmap, per page",
    },
    pictures=(mapping,),
)
