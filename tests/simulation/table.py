"""Print the tables of docs/method.md: python tests/simulation/table.py [FIGURES [SEED]]."""

import secrets
import sys
from concurrent.futures import ProcessPoolExecutor

from processes import FAMILIES, PROCESSES
from simulate import DESIGNS, Tally, simulate

_NAMES = ("rounds", "rounds, one set of pages", "quick", "alone")


def _covered(tally: Tally) -> str:
    given = 1 - tally.share("none")
    if given < 0.02:  # too few to say how many of them hold the median
        return f"– of {given:.0%}"
    return f"{tally.coverage():.1%}" + (f" of {given:.0%}" if given < 0.995 else "")


def _stopped(tally: Tally, stop: str) -> str:
    share = tally.share(stop)
    return f"{tally.coverage(stop):.1%} of {share:.0%}" if share >= 0.02 else f"– of {share:.0%}"


def _head(*columns: str) -> str:
    return f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def main(figures: int, seed: str) -> None:
    """Print how often intervals hold, of all designs, and how wide they are, of the first."""
    with ProcessPoolExecutor() as workers:
        families = {
            name: [
                workers.submit(_of_family, name, number, figures, seed)
                for number in range(len(DESIGNS))
            ]
            for name in FAMILIES
        }
        processes = {name: workers.submit(_of_process, name, figures, seed) for name in PROCESSES}
        print(_head("series", *_NAMES))
        for name, tallies in families.items():
            cells = [_covered(tally.result()) for tally in tallies]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        print(_head("series", "covered", "at precision", "at budget", "half-width", "of oracle's"))
        for name, found in processes.items():
            tally = found.result()
            print(
                f"| {name} | {_covered(tally)} | {_stopped(tally, 'precision')} "
                f"| {_stopped(tally, 'budget')} | {tally.width:.2%} "
                f"| {tally.width / tally.oracle:.2f} |",
                flush=True,
            )
    print(f"\nseed {seed}")


def _of_family(name: str, design: int, figures: int, seed: str) -> Tally:
    return simulate(FAMILIES[name], DESIGNS[design], figures, f"{seed} {name}")


def _of_process(name: str, figures: int, seed: str) -> Tally:
    return simulate(PROCESSES[name], DESIGNS[0], figures, f"{seed} {name}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1000, (sys.argv[2:] or [secrets.token_hex(4)])[0]
    )
