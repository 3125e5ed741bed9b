"""Go on with a run that was cut or interrupted, in the same file."""

from dataclasses import dataclass
from pathlib import Path

from tierscope.engine.query import capabilities
from tierscope.kinds.plan import Spec
from tierscope.model.errors import UserError
from tierscope.model.run import Header
from tierscope.model.topology import Topology
from tierscope.runs.book import Book, was_cut
from tierscope.runs.conclude import specs_of
from tierscope.runs.measure import Outcome, Watch, carry_on
from tierscope.runs.read import parse_contents, read_bytes
from tierscope.runs.record import summarize
from tierscope.runs.write import RunWriter


class NothingToResumeError(UserError):
    """The run is complete."""


@dataclass(frozen=True)
class Resumable:
    """A run that can go on."""

    path: Path
    header: Header
    book: Book
    length: int
    """Bytes of the file up to the end of its last whole record."""

    @property
    def pending(self) -> list[Spec]:
        """What is still to be measured, or to be gone on with."""
        book = self.book
        return [spec for name, spec in book.specs.items() if name not in book.measurements]


def resumable(path: Path) -> Resumable:
    """Return a run that can go on.

    Raises NothingToResumeError where it is complete, UserError where the file is of version 1 or
    cannot be read.
    """
    contents = parse_contents(read_bytes(path), str(path))
    if contents.header.version == 1:
        raise UserError(
            f"run '{path}' is of version 1, which has no visits to go on from; run its plan again"
        )
    if contents.header.imported is not None:
        raise UserError(f"run '{path}' is imported: tierscope measured nothing that could go on")
    if contents.footer is not None and not contents.footer.interrupted:
        raise NothingToResumeError(f"run '{path}' is complete: there is nothing to resume")
    book = Book(specs_of(contents.planned, str(path)))
    for name in book.specs:
        for record in contents.visits_of(name):
            book.add_visit(record.visit)
    book.measurements = {
        name: measurement
        for name, measurement in contents.measurements.items()
        if name in book.specs and name not in contents.open and not was_cut(measurement)
    }
    return Resumable(path, contents.header, book, contents.length)


def resume(run: Resumable, topology: Topology, watch: Watch) -> Outcome:
    """Measure what a run lacks, on the machine that it began on; see ``measure`` for the outcome.

    What was visited counts: a measurement goes on with the rest of its budget. Raises UserError
    where the machine is another one, or another process goes on with the run.
    """
    _check_machine(run.path, run.header, topology)
    if run.header.topology is not None:  # data sheets as they were when the run began
        topology = topology.model_copy(update={"ratings": run.header.topology.ratings})
    capabilities()
    writer = RunWriter.resume(run.path, run.length)
    return carry_on(run.header, writer, run.book, topology, watch)


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
