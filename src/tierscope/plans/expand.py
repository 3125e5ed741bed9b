"""Expand requests into the specs of a plan, on the machine at hand."""

from collections.abc import Iterator

from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.topology import Topology
from tierscope.plans.axes import ID_LENGTH
from tierscope.plans.forms import form_of
from tierscope.plans.request import Request, RequestForm

MAX_MEASUREMENTS = 100_000


def expand(requests: list[Request], topology: Topology, thp: bool) -> Plan:
    """Return the plan that the requests ask for; ``thp`` says whether the kernel offers THP.

    Raises UserError, naming the option and where it was written, for whatever this machine or the
    grammar refuses.
    """
    specs: list[Spec] = []
    taken: set[str] = set()
    for spec in _specs(requests, topology, thp):
        specs.append(with_new_id(spec, taken))
        taken.add(specs[-1].id)
        if len(specs) > MAX_MEASUREMENTS:
            raise UserError(f"the plan has more than {MAX_MEASUREMENTS} measurements; ask for less")
    return Plan(version=PLAN_VERSION, measurements=specs)


def _specs(requests: list[Request], topology: Topology, thp: bool) -> Iterator[Spec]:
    for request in requests:
        form = form_of(request.kind)
        _check_options(request, form)
        yield from form.expand(request, topology, thp)


def _check_options(request: Request, form: RequestForm) -> None:
    known = tuple(option.name for option in form.options)
    for name in request.options:
        if name not in known:
            raise request.wrong(
                name,
                f"{request.kind} has no such option{did_you_mean(name, known)}; "
                f"it takes {', '.join(known)}",
            )


def with_new_id(spec: Spec, taken: set[str]) -> Spec:
    """Return a spec whose id is not taken: its own, or that with a number behind it."""
    number, found = 1, spec.id
    while found in taken:
        number += 1
        found = f"{spec.id[: ID_LENGTH - 6]}.{number}"
    return spec if found == spec.id else spec.model_copy(update={"id": found})
