"""Threads of a case: how many, and on which CPUs each of them may run."""

from dataclasses import dataclass, replace

from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError, counted
from tierscope.plans.pinning import one_per_core_first
from tierscope.recipes.cxlbench.cases import Values
from tierscope.recipes.cxlbench.limits import Means


@dataclass(frozen=True)
class Team:
    """Threads and their CPUs."""

    initiator: str
    cpus: tuple[int, ...]
    """Of each thread, where each has one of its own."""
    floating: tuple[int, ...] = ()
    """Else the CPUs that every thread may run on,"""
    sets: tuple[tuple[int, ...], ...] = ()
    """or those of each."""
    count: int = 1

    def fields(self) -> dict[str, object]:
        """The fields of a spec that say so."""
        sets = [list(self.floating)] * self.count if self.floating else list(map(list, self.sets))
        if not sets:
            return {"cpus": list(self.cpus)}
        return {"cpus": sorted({cpu for each in sets for cpu in each}), "cpu_sets": sets}

    def sharing(self) -> "Team":
        """The same threads as sets of CPUs, which others may run on, too."""
        if self.floating or self.sets:
            return self
        return replace(self, cpus=(), sets=tuple((cpu,) for cpu in self.cpus))

    @property
    def crowded(self) -> bool:
        """Whether there are more threads than CPUs."""
        return self.count > len(self.all_cpus)

    @property
    def all_cpus(self) -> set[int]:
        """Every CPU that one of them may run on."""
        return {*self.cpus, *self.floating, *(cpu for each in self.sets for cpu in each)}

    @property
    def first(self) -> int:
        """The CPU of a kind that has one thread."""
        return (self.floating or self.cpus or self.sets[0])[0]


def team_of(values: Values, means: Means, notes: list[str], most: int | None = None) -> Team:
    """Return the threads of a case; ``most`` is how many there may be where they are fitted.

    Raises UserError for nodes and CPUs that are not there.
    """
    asked = values["number_threads"]
    if asked < 1:
        raise UserError("number_threads is 0")
    if values["thread_pin_mode"] == "single-fixed":
        return _fixed(values, means, asked, notes, most)
    nodes = values["numa_task_nodes"]
    if not nodes:
        raise UserError("numa_task_nodes says on which nodes' CPUs threads run, and is missing")
    numbers = _nodes(means, nodes, notes)
    cpus = sorted({cpu for number in numbers for cpu in _cpus(means, number)})
    initiator = f"node:{','.join(map(str, numbers))}"
    count = _fitted(means, asked, min(len(cpus), most or len(cpus)), notes)
    if values["thread_pin_mode"] == "all-numa":
        if len(cpus) == 1 and count == 1:
            return Team(initiator, tuple(cpus))
        return Team(initiator, (), floating=tuple(cpus), count=count)
    if count > len(cpus):
        raise UserError(
            f"single-numa pins each of {asked} threads to a CPU of its own, and {initiator} has "
            f"{counted(len(cpus), 'CPU')}; --fit takes as many threads"
        )
    return Team(initiator, tuple(cpus[:count]), count=count)


def _nodes(means: Means, asked: tuple[int, ...], notes: list[str]) -> tuple[int, ...]:
    """Return the nodes whose CPUs run threads; fitted, those of them that have any."""
    numbers = tuple(dict.fromkeys(means.node(number, notes) for number in asked))
    if not means.fit:
        return numbers
    found = tuple(number for number in numbers if _usable(means, number))
    if found and found != numbers:
        absent = ", ".join(str(number) for number in numbers if number not in found)
        notes.append(f"no CPUs of node {absent}")
    return found or numbers


def _usable(means: Means, number: int) -> list[int]:
    node = means.topology.node(number)
    usable = set(means.topology.cpus)
    return [cpu for cpu in node.cpus if cpu in usable] if node else []


def _cpus(means: Means, number: int) -> list[int]:
    found = _usable(means, number)
    if not found:
        absent = means.topology.node(number) is None
        what = "there is no node" if absent else "no CPU that may be used is on node"
        raise UserError(
            f"numa_task_nodes: {what} {number}; --map-nodes {number}=N takes another one's CPUs"
        )
    return found


def _fitted(means: Means, asked: int, have: int, notes: list[str]) -> int:
    if not means.fit or asked <= have:
        return asked
    notes.append(f"{counted(have, 'thread')} for {asked}")
    return have


def _fixed(values: Values, means: Means, asked: int, notes: list[str], most: int | None) -> Team:
    cores = values["thread_cores"]
    if len(cores) < asked:
        raise UserError(f"thread_cores names {len(cores)} CPUs for {counted(asked, 'thread')}")
    usable = set(means.topology.cpus)
    count = _fitted(means, asked, min(len(usable), most or len(usable)), notes)
    chosen = list(cores[:count])
    absent = [cpu for cpu in dict.fromkeys(chosen) if cpu not in usable]
    if absent and not means.fit:
        raise UserError(
            f"thread_cores: CPU {format_ranges(tuple(sorted(absent)))} is not among those that may "
            "be used; --fit takes others"
        )
    spare = [
        cpu
        for cpu in one_per_core_first(sorted(usable), means.topology.siblings)
        if cpu not in chosen
    ]
    for cpu, other in zip(absent, spare, strict=False):
        notes.append(f"CPU {cpu} is CPU {other}")
        chosen = [other if one == cpu else one for one in chosen]
    initiator = f"cpus:{format_ranges(tuple(sorted(set(chosen))))}"
    if len(set(chosen)) < len(chosen):
        return Team(initiator, (), sets=tuple((cpu,) for cpu in chosen), count=count)
    return Team(initiator, tuple(chosen), count=count)
