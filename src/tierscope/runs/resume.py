"""Go on with a run that was cut or interrupted, in the same file."""

from pathlib import Path

from tierscope.engine.query import capabilities
from tierscope.kinds.plan import Spec
from tierscope.model.errors import UserError
from tierscope.model.run import Header
from tierscope.model.topology import Topology
from tierscope.runs.book import Book, was_cut
from tierscope.runs.conclude import specs_of
from tierscope.runs.measure import Outcome, Watch, carry_on
from tierscope.runs.read import Contents, parse_contents, read_bytes
from tierscope.runs.record import summarize
from tierscope.runs.write import RunWriter


class NothingToResumeError(UserError):
    """The run is complete."""


def read_resumable(path: Path) -> tuple[Contents, list[Spec]]:
    """Return the records and the plan of a run that can go on.

    Raises NothingToResumeError where it is complete, UserError where the file is of version 1 or
    cannot be read.
    """
    contents = parse_contents(read_bytes(path), str(path))
    if contents.header.version == 1:
        raise UserError(
            f"run '{path}' is of version 1, which has no visits to go on from; run its plan again"
        )
    if contents.footer is not None and not contents.footer.interrupted:
        raise NothingToResumeError(f"run '{path}' is complete: there is nothing to resume")
    return contents, specs_of(contents.planned, str(path))


def resume(path: Path, topology: Topology, watch: Watch) -> Outcome:
    """Measure what a run lacks, on the machine that it began on; see ``measure`` for the outcome.

    What was visited counts: a measurement goes on with the rest of its budget. Raises what
    ``read_resumable`` does, and UserError where the machine is another one.
    """
    contents, specs = read_resumable(path)
    _check_machine(path, contents.header, topology)
    capabilities()
    book = Book(specs)
    for name in book.specs:
        book.visits[name] = [record.visit for record in contents.visits_of(name)]
    book.measurements = {
        name: measurement
        for name, measurement in contents.measurements.items()
        if name in book.specs and name not in contents.open and not was_cut(measurement)
    }
    writer = RunWriter.resume(path, contents.length)
    return carry_on(contents.header, writer, book, topology, watch)


def _check_machine(path: Path, header: Header, topology: Topology) -> None:
    """Refuse another machine, or one that has changed: its figures do not belong to this run."""
    if header.host != topology.host:
        raise UserError(
            f"run '{path}' is of host {header.host}, this is {topology.host}; resume it there"
        )
    now = summarize(topology)
    for what in ("cpu", "packages", "cores", "usable_cpus", "gpus"):
        if header.machine.get(what) != now[what]:
            raise UserError(
                f"run '{path}' began on a machine with other {what.replace('_', ' ')}: "
                f"{header.machine.get(what)} then, {now[what]} now; make a new run"
            )
