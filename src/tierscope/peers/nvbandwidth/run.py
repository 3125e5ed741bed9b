"""nvbandwidth's command line: from its options to its test cases, measured and printed."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NoReturn

from tierscope.engine.process import capabilities
from tierscope.kinds.gpu_ranks.spec import RankGpu, rank_gpus
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.machine.discover import discover
from tierscope.machine.launcher import launched_rank
from tierscope.machine.settings import thp_available
from tierscope.model.capability import Capability
from tierscope.model.endpoint import whole_number
from tierscope.model.errors import ExitCode, UserError, did_you_mean
from tierscope.model.event import Event
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.peers.drop_in import say
from tierscope.peers.nvbandwidth.cases import OF_V09, TESTS
from tierscope.peers.nvbandwidth.cells import Settings, Test, make_cells, waived
from tierscope.peers.nvbandwidth.output import Outcome, json_of, perf_of, text_of
from tierscope.plans.gpu import require_gpus
from tierscope.plans.machine import MIB
from tierscope.report.summary import warnings_line
from tierscope.runs.measure import measure
from tierscope.runs.record import version

LIKE = "v0.9"
_MAX_MIB = 1 << 22
"""4 TiB, the largest copy that a plan may have."""
_NOTE = """\
NOTE: Measured by tierscope. Intervals, samples and evidence of all figures are in the run file:
tierscope show last

"""
"""The end of the text, where nvbandwidth has a note, too."""


class _Parser(argparse.ArgumentParser):
    """Reports a wrong option in one line, and ends as nvbandwidth does."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see 'tierscope nvbandwidth --help')")


def run(arguments: Sequence[str], start_at: datetime | None = None) -> int:
    """Carry out a command line; returns 0, 1 for wrong options and any failure, 130 if cut."""
    as_json = "-j" in arguments or "--json" in arguments or "json" in arguments
    try:
        options = _parser().parse_args(arguments)
        options.format = options.format or ("json" if options.json else "text")
        as_json = options.format == "json"
        if options.version:
            print(f"nvbandwidth {LIKE} (tierscope {version()})")
            return 0
        if options.list:
            print(_listing(), end="")
            return 0
        return _measure(options, start_at)
    except UserError as error:
        if as_json:
            print(json.dumps({"nvbandwidth": {"error": str(error)}}, indent=2))
        say("nvbandwidth", str(error))
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tierscope nvbandwidth",
        description="nvbandwidth's test cases, measured by tierscope: same names, indices, "
        "options and output. Samples are taken until the 95% interval is within 1%.",
        epilog="example: tierscope nvbandwidth -t host_to_device_memcpy_ce 4 -b 256 --json",
    )
    _add_what_to_measure(parser)
    _add_how_to_print(parser)
    return parser


def _add_what_to_measure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    count: dict[str, Any] = {"type": int, "metavar": "N"}
    add("-b", "--bufferSize", type=int, default=Settings.buffer_bytes // MIB, metavar="MIB",
        help="size of a copy; default: %(default)s")  # fmt: skip
    add("-t", "--testcase", **several, metavar="NAME", help="names or indices")
    add("-p", "--testcasePrefixes", **several, metavar="PREFIX",
        help="test cases whose names begin with one of these")  # fmt: skip
    add("-s", "--skipVerification", action="store_true", help="do not verify what was copied")
    add("-d", "--disableAffinity", action="store_true",
        help="issue copies from any CPU, not one near the GPU")  # fmt: skip
    add("-i", "--testSamples", **count,
        help="accepted and ignored; at least 15 samples are taken")  # fmt: skip
    add("-P", "--targetNumPairs", **count, default=Settings.target_pairs,
        help="ordered pairs of ranks in multinode test cases, of every rank one at least; "
        "default: -1, all")  # fmt: skip
    add("-H", "--useHugePages", action="store_true",
        help="host memory in transparent huge pages, then registered with CUDA")  # fmt: skip
    add("--pair", nargs=2, metavar="UUID", help="only these two GPUs as a pair, both directions")
    # The command line has taken it out before.
    add("--start-at", metavar="TIME", help="begin measuring then, as in 18:30:00")
    add("--loopCount", **count, help="accepted and ignored; samples are sized by time")


def _add_how_to_print(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-l", "--list", action="store_true", help="list the test cases and exit")
    add("-v", "--verbose", action="store_true",
        help="samples; minimum, maximum and average of each matrix")  # fmt: skip
    add("-m", "--useMean", action="store_true", help="the mean of the samples, not the median")
    add("-j", "--json", action="store_true", help="one JSON document at the end")
    add("-F", "--format", choices=("text", "json", "perf"), help="text, json or perf lines")
    add("--perfFormatter", action="store_true", help="&&&& PERF in place of SUM")
    add("--version", action="store_true", help="print the version and exit")


def _listing() -> str:
    lines = ["Index, Name:", "\tDescription", "======================="]
    for index, test in enumerate(TESTS):
        lines += [f"{index}, {test.name}:", f"\t{test.description}", ""]
    return "\n".join(lines) + "\n"


def chosen_tests(names: Sequence[str], prefixes: Sequence[str]) -> list[Test]:
    """Return the test cases asked for, by default v0.9's; raises UserError for unknown ones."""
    if names and prefixes:
        raise UserError("give --testcase or --testcasePrefixes, not both")
    if prefixes:
        chosen = [test for test in TESTS if test.name.startswith(tuple(prefixes))]
        if not chosen:
            raise UserError(f"no test case begins with {' or '.join(prefixes)}")
        return chosen
    if names:
        return list(dict.fromkeys(map(_test, names)))
    return [test for test in OF_V09 if launched_rank() is not None or not test.over_ranks]


def _test(name: str) -> Test:
    if (index := whole_number(name)) is not None:
        if index >= len(TESTS):
            raise UserError(f"there is no test case {name}; indices go from 0 to {len(TESTS) - 1}")
        return TESTS[index]
    found = next((test for test in TESTS if test.name == name), None)
    if found is None:
        known = tuple(test.name for test in TESTS)
        raise UserError(f"there is no test case '{name}'{did_you_mean(name, known)}; see --list")
    return found


def _settings(
    options: argparse.Namespace, topology: Topology, ranks: list[RankGpu], no_ranks: str
) -> Settings:
    if options.bufferSize < 1:
        raise UserError(f"--bufferSize: {options.bufferSize} is not a positive number of MiB")
    if options.bufferSize > _MAX_MIB:
        raise UserError(f"--bufferSize: {options.bufferSize} MiB are more than {_MAX_MIB}")
    wanted, most = options.targetNumPairs, len(ranks) * (len(ranks) - 1)
    if wanted < -1:
        raise UserError(f"--targetNumPairs: {wanted} is neither -1, all pairs, nor a number")
    if ranks and wanted > most:
        raise UserError(
            f"--targetNumPairs: {wanted} are more than the {most} ordered pairs of "
            f"{len(ranks)} ranks"
        )
    gpus = require_gpus(topology)
    pairs: list[tuple[int, int]] | None = None
    if options.pair:
        known = {gpu.uuid: number for number, gpu in enumerate(gpus)}
        missing = [uuid for uuid in options.pair if uuid not in known]
        if missing:
            raise UserError(
                f"--pair: no GPU has the UUID {missing[0]}; there are {', '.join(known)}"
            )
        one, other = (known[uuid] for uuid in options.pair)
        pairs = [(one, other), (other, one)]
    return Settings(
        topology=topology,
        gpus=gpus,
        buffer_bytes=options.bufferSize * MIB,
        verify=not options.skipVerification,
        affinity=not options.disableAffinity,
        huge_pages=options.useHugePages and thp_available(),
        ranks=ranks,
        no_ranks=no_ranks,
        pairs=pairs,
        target_pairs=wanted,
    )


def _ignored(options: argparse.Namespace) -> list[str]:
    """Say which options change nothing here, as nvbandwidth warns of them."""
    said = []
    if options.useHugePages and not thp_available():
        said.append(
            "--useHugePages is ignored: transparent huge pages are off; "
            "'echo madvise > /sys/kernel/mm/transparent_hugepage/enabled' allows them"
        )
    if options.targetNumPairs > 0 and launched_rank() is None:
        said.append("--targetNumPairs is ignored: there are no MPI ranks to make pairs of")
    return said


def _ranks() -> tuple[list[RankGpu], str]:
    """Return the GPU of each MPI rank, or why there are none; the others wait for MPI to start."""
    if launched_rank() is None:
        return [], ""
    try:
        return rank_gpus(), ""
    except UserError as error:
        return [], str(error)


def _measure(options: argparse.Namespace, start_at: datetime | None) -> int:
    tests = chosen_tests(options.testcase, options.testcasePrefixes)
    gpu = next(entry for entry in capabilities().capabilities if entry.name == "gpu")
    if not gpu.available:
        raise UserError(f"no GPU can be used: {gpu.reason}; {gpu.remedy}")
    ranks, no_ranks = _ranks()
    topology = discover()
    settings = _settings(options, topology, ranks, no_ranks)
    outcomes = [_outcome(test, settings) for test in tests]
    _share(outcomes)
    if options.useMean and any(test.parts for test in tests):
        sys.stderr.write("--useMean: test cases of several matrices have medians nevertheless\n")
    printer = _Printer(options, outcomes)
    document = _document(topology, gpu)
    if ignored := _ignored(options):
        document["warning"] = "; ".join(ignored)
        say("nvbandwidth", *ignored)
    if printer.text:
        print(_banner(settings, gpu, document), end="", flush=True)
    code = ExitCode.ALL_MEASURED
    specs = list({cell.spec.id: cell.spec for one in outcomes for cell in one.cells}.values())
    if specs:
        printer.print_due()
        plan = Plan(version=PLAN_VERSION, measurements=specs)
        done = measure(
            plan, "nvbandwidth", topology, sys.argv, None, printer.watch, start_at=start_at
        )
        document["run_file"] = str(done.path)
        if done.error:
            document["error"] = str(done.error)
            for outcome in outcomes:
                outcome.cut = str(done.error)
        say("nvbandwidth", str(done.error or ""), warnings_line(done.run))
        code = done.exit_code
    printer.finish(document)
    if code is ExitCode.INTERRUPTED:
        return int(code)
    failed = "error" in document or any(outcome.status == "Error" for outcome in outcomes)
    return 1 if failed else 0


def _outcome(test: Test, settings: Settings) -> Outcome:
    reason = waived(test, settings)
    cells = [] if reason else make_cells(test, settings)
    return Outcome(test, settings.size(test), cells, reason)


def _share(outcomes: Sequence[Outcome]) -> None:
    """Let cells that are the same measurement be one: with one GPU, it is all of them."""
    known: dict[str, Spec] = {}
    for outcome in outcomes:
        outcome.cells = [
            replace(
                cell, spec=known.setdefault(cell.spec.model_dump_json(exclude={"id"}), cell.spec)
            )
            for cell in outcome.cells
        ]


class _Printer:
    """Prints each test case as soon as its last cell is there, in order."""

    def __init__(self, options: argparse.Namespace, outcomes: list[Outcome]) -> None:
        self._options = options
        self._waiting = list(outcomes)
        self._all = outcomes
        self.text = options.format == "text"

    def watch(self, event: Event | Measurement) -> None:
        """Record a concluded measurement."""
        if isinstance(event, Measurement):
            for outcome in self._all:
                if any(cell.spec.id == event.id for cell in outcome.cells):
                    outcome.found[event.id] = event
            self.print_due()

    def print_due(self) -> None:
        """Print complete test cases, in order."""
        while self._waiting and self._waiting[0].complete:
            self._print(self._waiting.pop(0))

    def _print(self, outcome: Outcome) -> None:
        given = self._options
        if self.text:
            text = text_of(outcome, given.verbose, given.useMean, given.perfFormatter)
            print(text, end="", flush=True)
        elif given.format == "perf":
            print(perf_of(outcome, given.useMean), end="", flush=True)
            if outcome.error:  # Perf lines have no place for it.
                sys.stderr.write(f"Error: {outcome.test.name}: {outcome.error}\n")

    def finish(self, document: dict[str, Any]) -> None:
        """Print interrupted test cases, and the document where JSON is asked for."""
        for outcome in self._waiting:
            self._print(outcome)
        if self.text:
            print(_NOTE, end="", flush=True)
        if self._options.format == "json":
            mean, verbose = self._options.useMean, self._options.verbose
            document["testcases"] = [json_of(outcome, verbose, mean) for outcome in self._all]
            print(json.dumps({"nvbandwidth": document}, indent=2))


def _cuda_version(gpu: Capability, whose: str) -> int:
    """Return 13010 for "13.1", as CUDA counts; 0 where the engine does not know."""
    major, _, minor = gpu.versions.get(whose, "0.0").partition(".")
    return int(major) * 1000 + int(minor) * 10


def _devices(topology: Topology) -> list[str]:
    """``0: NVIDIA H100 (00000000:18:00)``: domain of eight digits, bus and device."""
    return [
        f"{gpu.index}: {gpu.name} ({gpu.address.partition('.')[0].rjust(14, '0')})"
        for gpu in topology.gpus
    ]


def _banner(settings: Settings, gpu: Capability, document: dict[str, Any]) -> str:
    devices = "".join(f"Device {line}\n" for line in _devices(settings.topology))
    devices += "".join(
        f"Process {one.rank} ({one.host}): device {one.gpu}: {one.name}\n" for one in settings.ranks
    )
    return (
        f"nvbandwidth Version: {LIKE}\nBuilt from Git version: {document['git_version']}\n\n"
        f"CUDA Runtime Version: {document['CUDA Runtime Version']}\n"
        f"CUDA Driver Version: {_cuda_version(gpu, 'cuda_driver')}\n"
        f"Driver Version: {document['Driver Version']}\n\n{settings.topology.host}\n{devices}\n"
    )


def _document(topology: Topology, gpu: Capability) -> dict[str, Any]:
    return {
        "CUDA Runtime Version": _cuda_version(gpu, "cuda_runtime"),
        "Driver Version": topology.gpu_driver or "unknown",
        "GPU Device list": [f"{line}: ({topology.host})" for line in _devices(topology)],
        "git_version": f"tierscope {version()}",
        "version": LIKE,
        "run_file": None,
    }
