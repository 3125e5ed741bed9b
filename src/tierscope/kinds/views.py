"""The views of all kinds, for what shows runs."""

from collections.abc import Iterator, Mapping

from tierscope.kinds.registry import KINDS
from tierscope.report.view import View


class _Views(Mapping[str, View]):
    """A kind's view is imported when it is looked up."""

    def __getitem__(self, kind: str) -> View:
        return KINDS[kind].view

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)

    def __contains__(self, kind: object) -> bool:
        return kind in KINDS


VIEWS = _Views()
"""By name, in the registry's order."""
