"""Know the machine: discover its topology, the limit of every link, who is near whom.

``discover.discover`` reads this machine, ``hwloc.read_hwloc`` another machine's hwloc XML; both
give one ``tierscope.model.topology.Topology``, from which ``paths.path_limit`` and the affinity
matrix come.
"""
