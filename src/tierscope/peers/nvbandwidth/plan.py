"""All of nvbandwidth's test cases as a suite."""

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.topology import Topology
from tierscope.peers.nvbandwidth.cases import TESTS
from tierscope.peers.nvbandwidth.cells import Settings, make_cells
from tierscope.plans.gpu import require_gpus
from tierscope.suites.suite import Prepared


def prepare(_name: str, topology: Topology, _thp: bool) -> Prepared:
    """Return every cell of every test case."""
    settings = Settings(topology, require_gpus(topology))
    specs = [cell.spec for test in TESTS for cell in make_cells(test, settings)]
    return Prepared(Plan(version=PLAN_VERSION, measurements=specs))
