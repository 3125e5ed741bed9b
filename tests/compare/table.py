"""Print the table of docs/compare.md: python tests/compare/table.py [COMPARISONS [SEED]]."""

import random
import secrets
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))
from simulate_runs import Machine

from tierscope.analysis.compare import Comparison, compare

FIGURES = (1, 2, 4, 15, 50)
LOSS, TOLERANCE = 0.05, 0.03
"""Of one figure, and the default of ``compare``; alarms are counted without a tolerance."""
MACHINES = {
    "rows 0.5%, runs alike": Machine(0.005, 0.0, 0.3),
    "rows 0.5%, runs 0.5%": Machine(0.005, 0.005, 0.3),
    "rows 1%, runs 1%": Machine(0.01, 0.01, 0.3),
    "rows 1%, runs 2%": Machine(0.01, 0.02, 0.3),
    "rows 1%, runs 0.5%, one figure four times as much": Machine(0.01, 0.005, 0.3, noisiest=4.0),
    "rows 0.5%, runs 0.5%, one run in three 2% slower": Machine(0.005, 0.005, 0.3, mode=0.02),
}


def main(comparisons: int, seed: str) -> None:
    """Print how often a machine seems to differ from itself, and how often a loss is found."""
    print(f"| standard deviations | {' | '.join(map(str, FIGURES))} figures |")
    print("|---|" + "---|" * len(FIGURES))
    with ProcessPoolExecutor() as workers:
        for name in MACHINES:
            cells = workers.map(
                _cell, *zip(*((name, n, comparisons, seed) for n in FIGURES), strict=True)
            )
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\nseed {seed}")


def _cell(name: str, figures: int, comparisons: int, seed: str) -> str:
    machine, chance = MACHINES[name], random.Random(f"{seed} {name} {figures}")
    asked = [(f"node:{n // 5}", 1 + n % 5) for n in range(figures)]
    lost = asked[-1:]

    def compared(shift: float, tolerance: float) -> Comparison:
        base, new = machine.run(chance, asked), machine.run(chance, asked, shift, lost)
        return compare(("base", base), ("new", new), tolerance)

    alarms = [compared(0.0, 0.0) for _ in range(comparisons)]
    losses = [compared(-LOSS, TOLERANCE).differences for _ in range(comparisons)]
    wrong = sum(bool(one.count("slower") + one.count("faster")) for one in alarms)
    changed = [
        difference
        for one in losses
        for difference in one
        if [(difference.target, difference.pattern["threads"])] == lost
    ]
    found = sum(one.verdict == "slower" for one in changed)
    least = median(1.0 if one.detectable is None else one.detectable for one in changed)
    return f"{wrong / comparisons:.1%}, {found / comparisons:.0%} (±{least:.1%})"


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 200, (sys.argv[2:] or [secrets.token_hex(4)])[0]
    )
