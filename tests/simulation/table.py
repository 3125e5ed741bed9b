"""Print the table of docs/method.md: python tests/simulation/table.py [FIGURES [SEED]]."""

import sys

from processes import PROCESSES
from simulate import DESIGNS, Tally, simulate

_HEAD = "| series | covered | at precision | at budget | no interval | half-width | of oracle's |"


def _cell(tally: Tally, stop: str) -> str:
    share = tally.share(stop)
    if share < 0.02:  # too few to say how many of them hold the median
        return f"– of {share:.0%}" if share else "–"
    return f"{tally.coverage(stop):.1%} of {share:.0%}"


def main(figures: int, seed: str) -> None:
    """Print a table for each design."""
    for design in DESIGNS:
        print(f"\n**{design.name[0].upper()}{design.name[1:]}**\n\n{_HEAD}\n|---|" + "---|" * 6)
        for name, make in PROCESSES.items():
            tally = simulate(make, design, figures, f"{seed} {name}")
            print(
                f"| {name} | {tally.coverage():.1%} | {_cell(tally, 'precision')} "
                f"| {_cell(tally, 'budget')} | {tally.share('none'):.1%} | {tally.width:.2%} "
                f"| {tally.width / tally.oracle:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, (sys.argv[2:] or ["1"])[0])
