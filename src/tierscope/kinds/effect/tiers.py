"""Placements under which the kernel moves a program's pages while it runs: ``tierscope tier``'s."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tierscope.kinds.effect.spec import Settings
from tierscope.model.errors import UserError
from tierscope.placement import cgroups, tiering
from tierscope.placement.balancing import why_nothing_moves
from tierscope.placement.kernel import Kernel
from tierscope.placement.tier_look import look
from tierscope.placement.tier_warnings import warnings
from tierscope.placement.tiering import Session
from tierscope.plans.tier_start import BALANCING, Asked, begin, label_and_rules, rules_in

_PAGE = 4096
NOTHING_MOVED = "in at least one run, no page was migrated"
"""How the notes of tiering begin that moved nothing."""
_FILES = (".yaml", ".yml", ".json")


class RightsError(Exception):
    """This user may not start tiering."""


class Tiered:
    """Tiering that is on for a run."""

    def __init__(self, kernel: Kernel, session: Session) -> None:
        self._kernel = kernel
        self._session = session
        self._before = self._migrated()

    def enter(self) -> None:
        """Enter the cgroup whose pages move; of tiering of the whole machine there is none."""
        if self._session.cgroup:
            cgroups.enter(self._kernel, self._session.cgroup)

    def migrated_bytes(self) -> int:
        """Return what the kernel has migrated between nodes since it began."""
        return _PAGE * (self._migrated() - self._before)

    def notes(self) -> list[str]:
        """Return what a reader has to know: what works against it, and why nothing moved."""
        by_damon = self._session.rules is not None
        found = warnings(self._kernel, by_damon)
        if not self.migrated_bytes():
            reasons = self._damons_reasons() if by_damon else why_nothing_moves(self._kernel)
            found += [f"{NOTHING_MOVED}: {reason}" for reason in reasons]
        return found

    def _damons_reasons(self) -> list[str]:
        # By now the cgroup is empty, which would be the only reason.
        session = replace(self._session, cgroup=None)
        seen = look(self._kernel, session, rules_in(session))
        return list(dict.fromkeys(reason for move in seen.moves for reason in move.reasons))

    def _migrated(self) -> int:
        return self._kernel.fields("/proc/vmstat").get("pgmigrate_success", 0)


def kernel_here() -> Kernel:
    """Return this machine's kernel, or a test's."""
    return Kernel("/")


def checked(settings: Settings) -> Settings:
    """Return settings with the file of rules by its whole path; raises UserError.

    Nothing is changed: the rules are made as for this machine, and thrown away.
    """
    if not settings.tier:
        if settings.pairs:
            raise UserError("'pair' goes with tier:PRESET, as in tier:hmsdk pair:0:2")
        return settings
    if settings.pairs and (_is_file(settings.tier) or settings.tier == BALANCING):
        raise UserError(f"tier:{settings.tier} is for nodes of its own; leave pair out")
    if _is_file(settings.tier):
        settings = settings.model_copy(update={"tier": str(Path(settings.tier).absolute())})
    try:
        label_and_rules(kernel_here(), _asked(settings), None)
    except UserError as error:
        raise UserError(f"tier:{settings.tier}: {error}".replace("--pair ", "pair:")) from None
    return settings


@contextlib.contextmanager
def tiered(settings: Settings) -> Iterator[Tiered | None]:
    """Have pages moved as a placement asks, from now to the end of the block; None: not at all.

    Raises UserError where that cannot be, RightsError where it needs root.
    """
    if not settings.tier:
        yield None
        return
    kernel = kernel_here()
    if kernel.live and os.geteuid() != 0:
        raise RightsError(f"tier:{settings.tier} needs root; run tierscope as root")
    session = begin(kernel, _asked(settings), own_cgroup=True)
    try:
        yield Tiered(kernel, session)
    finally:
        tiering.stop(kernel)


def _asked(settings: Settings) -> Asked:
    if _is_file(settings.tier):
        return Asked(tuple(settings.pairs), rules=Path(settings.tier))
    return Asked(tuple(settings.pairs), settings.tier)


def _is_file(tier: str) -> bool:
    return "/" in tier or tier.endswith(_FILES)
