"""What works against tiering that is about to start."""

from tierscope.placement import balancing
from tierscope.placement.kernel import Kernel


def warnings(kernel: Kernel, damon: bool) -> list[str]:
    """Return a line for each thing that moves pages beside DAMON, or that users may not expect."""
    found = []
    if damon and balancing.is_on(kernel):
        found.append(
            "NUMA balancing is on and moves pages, too; "
            "sysctl kernel.numa_balancing=0 leaves them to DAMON"
        )
    if damon:
        found.append("DAMON moves pages that a program has bound to a node, too")
    return found
