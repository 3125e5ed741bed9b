"""Find ``tierscope-engine``, start it, and stream its events."""

from tierscope.engine.events import stream
from tierscope.engine.find import find_engine
from tierscope.engine.query import capabilities, check, topology_xml

__all__ = ["capabilities", "check", "find_engine", "stream", "topology_xml"]
