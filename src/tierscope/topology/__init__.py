"""Know the machine: discover its topology, the limit of every link, who is near whom.

``discover`` reads this machine, ``read_hwloc`` another machine's hwloc XML; both give one
``tierscope.model.topology.Topology``, from which ``path_limit`` and the affinity matrix come.
"""

from tierscope.topology.discover import discover
from tierscope.topology.paths import path_limit

__all__ = ["discover", "path_limit"]
