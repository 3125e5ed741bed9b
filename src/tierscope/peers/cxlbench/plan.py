"""The plan of workload files, and the fate of each case."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError, counted
from tierscope.model.run import Case
from tierscope.peers.cxlbench.drafts import Draft, draft_of, draft_of_two
from tierscope.peers.cxlbench.placing import Means, Part
from tierscope.peers.cxlbench.workload import Benchmark, RawCase, Workload, expand
from tierscope.plans.axes import identity, reason
from tierscope.plans.expand import with_new_id
from tierscope.plans.fit import check_memory
from tierscope.plans.grammar import format_size

_NOT_USED = {
    "number_operations": "operations are measured until the interval is narrow enough or the time "
    "is up",
    "min_io_chunk_size": "each thread walks a part of its own or draws from the whole region, and "
    "chases go through the whole region in one cycle",
    "generate_read_data": "memory is always written before it is read",
    "replications": "each case has several repetitions in one run",
}
_MEANS = {
    "run_time": "the most time that a case gets; it ends sooner once its interval is narrow enough",
    "latency_sample_frequency": "one of so many chains is timed by itself; all of them make the "
    "other figures",
}
"""Remarks on keys of the files."""


@dataclass
class Prepared:
    """Specs and cases of workload files."""

    specs: list[Spec]
    cases: list[Case]
    remarks: list[str]
    """About the files as a whole."""

    @property
    def plan(self) -> Plan:
        """The plan; raises UserError where nothing can be measured here."""
        if not self.specs:
            why = next((case.refused for case in self.cases if case.refused), "there are no cases")
            raise UserError(
                f"none of {counted(len(self.cases), 'case')} can be measured here; the first: {why}"
            )
        return Plan(version=PLAN_VERSION, measurements=self.specs)


def prepare(workload: Workload, means: Means) -> Prepared:
    """Return specs and cases; equal cases share a measurement."""
    found = Prepared([], [], [*workload.remarks, *_remarks(workload.benchmarks)])
    made: dict[str, Spec | str] = {}
    taken: set[str] = set()
    for raw in expand(workload.benchmarks):
        notes: list[str] = []
        refused, ids = "", []
        try:
            draft = _draft(raw, means, notes)
            key = repr(draft)
            if key not in made:
                made[key] = _made(raw, draft, means, taken)
                if not isinstance(made[key], str):
                    found.specs.append(made[key])  # type: ignore[arg-type]
            spec = made[key]
            if isinstance(spec, str):
                refused = spec
            else:
                ids = [spec.id]
        except UserError as error:
            refused = str(error)
        except ValidationError as error:
            refused = reason(error)
        found.cases.append(
            Case(
                file=raw.benchmark.file,
                benchmark=raw.benchmark.name,
                matrix=raw.matrix,
                config=raw.config,
                measurements=ids,
                refused=refused,
                notes=list(dict.fromkeys(notes)) if ids else [],
            )
        )
    return found


def _draft(raw: RawCase, means: Means, notes: list[str]) -> Draft:
    parts = [Part(values, means, notes) for values in raw.parts]
    return draft_of_two(parts) if raw.benchmark.parallel else draft_of(parts[0])


def _made(raw: RawCase, draft: Draft, means: Means, taken: set[str]) -> Spec | str:
    """Return the spec, or why there is none."""
    try:
        found: Spec = KINDS[draft["kind"]].spec.model_validate({**draft, "id": _id(raw)})
        alone = Plan.model_construct(version=PLAN_VERSION, measurements=[found])
        check_memory(alone, means.topology)
    except ValidationError as error:
        return reason(error)
    except UserError as error:
        needs = str(error).partition("; ask for")[0].partition(" ")[2]
        return needs if means.fit else f"{needs}; --fit makes it smaller"
    found = with_new_id(found, taken)
    taken.add(found.id)
    return found


def _id(raw: RawCase) -> str:
    """Name a case: the benchmark and what the matrix varies."""
    words = [_word(key, value) for part in raw.parts for key, value in part.varied.items()]
    return identity([raw.benchmark.name, *words])


def _word(key: str, value: Any) -> str:
    if isinstance(value, tuple):
        return "-".join(map(str, value))
    return format_size(value) if key.endswith("_size") else str(value)


def _remarks(benchmarks: Sequence[Benchmark]) -> list[str]:
    given = {key for one in benchmarks for part in one.parts for key in (*part.args, *part.matrix)}
    used = [f"{key}: {text}" for key, text in _MEANS.items() if key in given]
    return used + [f"{key} is not used: {text}" for key, text in _NOT_USED.items() if key in given]
