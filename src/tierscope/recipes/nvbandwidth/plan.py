"""The plan of all of nvbandwidth's test cases that a machine can run."""

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.topology import Topology
from tierscope.plans.gpu import require_gpus
from tierscope.recipes.nvbandwidth.cases import TESTS
from tierscope.recipes.nvbandwidth.cells import Settings, make_cells
from tierscope.recipes.registry import Prepared


def prepare(_name: str, topology: Topology, _thp: bool) -> Prepared:
    """Return every cell of every test case."""
    settings = Settings(topology, require_gpus(topology))
    specs = [cell.spec for test in TESTS for cell in make_cells(test, settings)]
    return Prepared(Plan(version=PLAN_VERSION, measurements=specs))
