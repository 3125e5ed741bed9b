"""A request: measurements as a person asks for them, before they are compared with a machine.

Flags, YAML plans and suites all become requests; ``expand`` makes specs of them by the form of
their kind.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tierscope.model.base import Model
from tierscope.model.errors import UserError
from tierscope.model.run import Refinement
from tierscope.model.spec import MeasurementSpec
from tierscope.model.topology import Topology
from tierscope.plans.options import Option


class Request(Model):
    """One cartesian product of option values."""

    kind: str
    """A word of ``plans.forms``: a kind's name, or a suite's whose requests plans take too."""
    name: str = ""
    """Names the request in its measurements' ids."""
    options: dict[str, str]
    """Text in the grammar of ``plans.grammar``, by option; an absent one has its default."""
    origins: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    """Source of each option ("plan.yaml:7: key 'size'"); others are flags."""

    def origin(self, option: str) -> str:
        """Say where an option was given, to begin an error line with."""
        return self.origins.get(option, f"--{option}")

    def wrong(self, option: str, what: object) -> UserError:
        """Return the error that says what is wrong with an option, and where it stands."""
        return UserError(f"{self.origin(option)}: {what}")


@dataclass(frozen=True)
class RequestForm:
    """The options of a kind's requests, and how they expand into specs."""

    options: tuple[Option, ...]
    expand: Callable[[Request, Topology, bool], Iterator[MeasurementSpec]]
    """From a request, the machine and whether its kernel offers THP; raises UserError."""
    help: str = ""
    """Paragraphs below the command's summary, lines as they are to be printed."""
    examples: tuple[str, ...] = ()
    """Command lines, without ``tierscope``."""
    refinement: Callable[[Request], Refinement] | None = None
    """How the curves of a request get further points; None where it has no curves."""
