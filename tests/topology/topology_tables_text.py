"""What ``tierscope topo`` prints of a machine."""

import io

from tierscope.model.topology import Topology
from tierscope.report.style import make_console
from tierscope.report.topology import show_machine


def shown(topology: Topology) -> str:
    """All tables as text, 100 columns wide, each line's words joined where notes fold."""
    file = io.StringIO()
    show_machine(make_console(file), topology, nvlink=True)
    text = file.getvalue()
    return text + " ".join(text.split())
