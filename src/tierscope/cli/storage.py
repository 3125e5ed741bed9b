"""``tierscope storage``: a tour of paths, or initiators against drives."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tierscope.cli import kv_cache, options, storage_training
from tierscope.cli.measure import carry_out, fitted, time_limit_seconds, with_verdict
from tierscope.cli.output import Output, waiting
from tierscope.cli.parsing import complete_path
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.plans.grammar import parse_size

if TYPE_CHECKING:
    from tierscope.model.endpoint import Target
    from tierscope.model.run import Run
    from tierscope.model.storage import PathFacts
    from tierscope.model.topology import Topology
    from tierscope.suites.storage_tour import Given, Tour

_PSEUDO = ("tmpfs", "ramfs", "overlay", "squashfs", "iso9660", "devtmpfs")
"""Mounted file systems that are on no drive, or that nobody writes to."""
_OF_QUALIFY = ("round_time", "destroy_data", "second_word")
"""Parameters that go with --qualify only."""
_NAMED = 6
"""Mounts that are named; of more, the number."""


@options.command(params=[*storage_training.PARAMETERS])
@click.argument("paths", metavar="[PATH|DIR|DEVICE]...", nargs=-1, shell_complete=complete_path)
@click.option(
    "--from",
    "initiator",
    metavar="ENDPOINT",
    help="Initiator: node:0 or cpus:0-7,16; with --matrix several nodes and GPUs",
)
@click.option(
    "--size",
    metavar="SIZE",
    help="Bytes of the file made in a directory  [default: 1g, or a tenth of the free space]",
)
@click.option(
    "--time-limit",
    metavar="TIME",
    help="Fit the measurements into this time, as in 20s  [default: 75 s for each path; with "
    "--matrix 3 s for each pair]",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Every NUMA node and GPU reads every target: drives and arrays, unless some are named",
)
@click.option(
    "--training",
    metavar="LIST",
    help="Read what training reads: unet3d, resnet50, cosmoflow, or files with DLIO's keys",
)
@click.option(
    "--qualify",
    metavar="TESTS",
    help="Tests of SNIA's PTS until they are steady, hours each: iops, throughput, latency, "
    "write-saturation, or all",
)
@click.option(
    "--round",
    "round_time",
    metavar="TIME",
    help="With --qualify: length of a round of each access  [default: 60s]",
)
@click.option(
    "--destroy-data",
    metavar="NAME",
    help="With --qualify: the device may be overwritten; its name in /dev/disk/by-id, or its "
    "serial number",
)
@click.option(
    "--second-word",
    metavar="WORD",
    help="With --destroy-data: confirm overwriting unrecognised data: destroy-unknown-data",
)
@click.option("--overwrite", is_flag=True, help="Allow writing to files not made by tierscope")
@click.option("--keep", is_flag=True, help="Keep the files that were made, for later runs")
@click.option(
    "--clean",
    is_flag=True,
    help="Remove what earlier runs left in these directories; measure nothing",
)
@options.file_option("--rated", "Data-sheet ratings of drives, to compare with")
@kv_cache.kv_cache_options
@options.output_options
def storage(matrix: bool, clean: bool, training: str | None, output: Output, **given: Any) -> int:
    """Measure storage: page cache and drive, threads, queue depths, block sizes, reads and writes.

    In a directory, a file is made, filled, measured and removed; nothing else is written. A file
    or a device is read as it is. Each path takes less than 90 s. `tierscope storage io` is the
    command `io`; a file of that name is written `./io`.

    \b
    Examples:
      tierscope storage /tmp
      tierscope storage /tmp --size 256m --json
      tierscope storage /dev/nvme0n1 --rated drives.yaml
      tierscope storage /data /scratch --dry-run
      tierscope storage --matrix
      tierscope storage --matrix /dev/nvme0n1 /data --from node:0,node:1
      tierscope storage /data --training unet3d --size 100g --accelerators 1,2,4
      tierscope storage --kv-cache llama3-8b /data --prefill-rate 8000
      tierscope storage /dev/nvme9n1 --qualify all --destroy-data SERIAL
      tierscope storage /data --clean
    """
    context = click.get_current_context()
    if matrix:
        options.refuse_given(context, "--matrix only reads", "overwrite", *_OF_QUALIFY)
    if given["qualify"] is None:
        options.refuse_given(context, "it goes with --qualify", *_OF_QUALIFY)
    of_cache = {name: given.pop(name) for name in kv_cache.GIVEN}
    if not of_cache["kv_cache"]:
        options.refuse_given(context, "it goes with --kv-cache", *kv_cache.GIVEN)
    if training is not None:
        return storage_training.measure_training(training, given["paths"], given, output)
    storage_training.refuse_without_training()
    args = Args(**{name: given[name] for name in Args.__dataclass_fields__})
    if of_cache["kv_cache"]:
        return _measure_kv_cache(of_cache, args, output)
    if not args.paths and (clean or not matrix):
        what = "directories" if clean else "a directory, a file or a device, or give --matrix"
        raise click.UsageError(f"name {what}")
    if args.qualify is not None and not clean:
        options.refuse_given(context, "--qualify takes its time", "time_limit")
        return _measure_qualification(args, output)
    if clean:
        return _clean_storage(args.paths, as_json=output.json is not None)
    return _measure_matrix(args, output) if matrix else _measure_tour(args, output)


@dataclass(frozen=True)
class Args:
    """The options of ``tierscope storage`` as they were given."""

    paths: tuple[str, ...]
    initiator: str | None = None
    size: str | None = None
    overwrite: bool = False
    keep: bool = False
    rated: Path | None = None
    time_limit: str | None = None
    qualify: str | None = None
    round_time: str | None = None
    destroy_data: str | None = None
    second_word: str | None = None


def _measure_tour(args: Args, output: Output) -> int:
    """Measure the tour of each path and print what it says."""
    from tierscope.plans.fit import check_memory
    from tierscope.suites.storage_tour import show_tour

    topology = machine_of(args)
    made = storage_tour(topology, args)
    check_memory(made.plan, topology)
    show = with_verdict(lambda console, run: show_tour(console, run, made))
    return carry_out("storage", made.plan, topology, output, show=show)


def _measure_kv_cache(of_cache: dict[str, Any], args: Args, output: Output) -> int:
    """Measure a language model's cache in memory and in these directories."""
    why = "--kv-cache has --prefix, and removes its files"
    ignored = ("matrix", "clean", "size", "overwrite", "keep", "rated", "qualify")
    options.refuse_given(click.get_current_context(), why, *ignored)
    found = [found_path(path) for path in dict.fromkeys(args.paths)]
    for target, facts in found:
        if facts.kind != "directory":
            raise UserError(
                f"{target.path}: --kv-cache takes directories, in which it makes a file"
            )
    paths = tuple(target.path for target, _ in found)
    asked = kv_cache.asked_of(of_cache, paths, args.initiator)
    return kv_cache.measure_kv_cache(machine_of(args), asked, args.time_limit, output)


def _measure_qualification(args: Args, output: Output) -> int:
    """Measure the tests of --qualify and print them."""
    from tierscope.machine.settings import thp_available
    from tierscope.plans.fit import check_memory
    from tierscope.suites import storage_qualify as suite

    with options.blaming("--qualify"):
        tests = suite.parse_tests(args.qualify or "")
    with options.blaming("--round"):
        round_s = suite.parse_round(args.round_time)
    asked = suite.Asked(tests, args.destroy_data or "", args.second_word or "", round_s)
    topology = machine_of(args)
    found = [found_path(path) for path in dict.fromkeys(args.paths)]
    made = suite.qualification(topology, given_of(args, found), asked, thp_available())
    check_memory(made.plan, topology)

    def more(run: "Run") -> dict[str, Any]:
        return {"qualification": suite.qualification_json(suite.judged(run, made))}

    show = with_verdict(lambda console, run: suite.show_qualification(console, run, made))
    return carry_out("storage-qualify", made.plan, topology, output, show=show, more=more)


def _clean_storage(paths: Sequence[str], as_json: bool) -> int:
    """Remove what earlier runs left in these directories, as far as it is proven to be ours."""
    from tierscope.engine.targets import clean
    from tierscope.report.figures import size_text

    cleaned = []
    for path in dict.fromkeys(paths):
        with waiting(f"{path}: checking and removing files of earlier runs"):
            cleaned.append(clean(os.path.abspath(path)))  # noqa: PTH100  no stat
    if as_json:
        click.echo(json.dumps([one.model_dump(mode="json") for one in cleaned]))
        return 0
    for one in cleaned:
        if not one.files:
            click.echo(f"{one.directory}: nothing is left of earlier runs")
        for file in one.files:
            why = f": {file.reason}" if file.reason else ""
            what = size_text(file.bytes)
            if file.files is not None:
                what = f"{counted(file.files, 'file')}, {what}"
            click.echo(f"{one.directory}/{file.name}: {file.state}, {what}{why}")
    return 0


def storage_tour(topology: "Topology", args: Args, main_only: bool = False) -> "Tour":
    """Return the tour of the paths that were given; raises UserError where one cannot be used."""
    from tierscope.machine.settings import thp_available
    from tierscope.suites.storage_tour import tour

    found = [found_path(path) for path in dict.fromkeys(args.paths)]
    seconds = None if args.time_limit is None else time_limit_seconds(args.time_limit)
    return tour(topology, given_of(args, found), thp_available(), main_only, seconds)


def machine_of(args: Args) -> "Topology":
    """Return this machine with what data sheets promise of its drives."""
    from tierscope.machine.discover import discover
    from tierscope.plans.rated import read_rated, with_ratings

    drives = () if args.rated is None else read_rated(args.rated)
    return with_ratings(discover(), drives)


def given_of(args: Args, found: "Sequence[tuple[Target, PathFacts]]") -> "Given":
    """Return what suites are given: the options, and what each path is."""
    from tierscope.suites.storage_tour import Given

    with options.blaming("--size"):
        size = None if args.size is None else parse_size(args.size)
    return Given(
        targets=[target for target, _ in found],
        facts=[facts for _, facts in found],
        initiator=args.initiator or "",
        size=size,
        overwrite=args.overwrite,
        keep=args.keep,
    )


def found_path(given: str) -> "tuple[Target, PathFacts]":
    """Return what a path is, as a child sees it: tierscope itself never touches it."""
    from tierscope.engine.targets import known_path
    from tierscope.model.endpoint import EndpointKind, Target

    path = os.path.abspath(given.removeprefix("file:").removeprefix("dev:"))  # noqa: PTH100  no stat
    facts = known_path(path)
    if facts.kind == "missing":
        raise UserError(f"{given}: no such file or directory; name one that is there")
    if facts.kind == "other":
        raise UserError(f"{given}: neither a directory, a file nor a block device")
    if facts.open_error:
        raise UserError(f"{given} cannot be read: {facts.open_error}", ExitCode.NOTHING_MEASURED)
    if facts.kind == "directory" and _refuses_files(path):
        raise UserError(
            f"{given}: this user may not make files there; name a directory where that is allowed",
            ExitCode.NOTHING_MEASURED,
        )
    kind = EndpointKind.DEV if facts.kind == "block" else EndpointKind.FILE
    return Target(kind=kind, path=path), facts


def _refuses_files(path: str) -> bool:
    """Whether this user may not make files in a directory, which has just answered a child."""
    return os.access(path, os.F_OK) and not os.access(path, os.W_OK | os.X_OK)


def _measure_matrix(args: Args, output: Output) -> int:
    """Measure every initiator against every target, and print the matrices and what is lost."""
    from tierscope.machine.settings import thp_available
    from tierscope.plans.fit import check_memory
    from tierscope.suites.storage_matrix import (
        cells_of,
        groups_of,
        matrix,
        matrix_json,
        show_storage_matrix,
        together_json,
    )

    topology = machine_of(args)
    found, left_out = _targets(topology, args)
    made = matrix(topology, given_of(args, found), thp_available())
    made = replace(made, plan=fitted(made.plan, args.time_limit))
    check_memory(made.plan, topology)

    def more(run: "Run") -> dict[str, Any]:
        return {
            "matrix": matrix_json(cells_of(run, made)),
            "together": together_json(groups_of(run, made)),
            "left_out": left_out,
        }

    show = with_verdict(lambda console, run: show_storage_matrix(console, run, made, left_out))
    return carry_out("storage-matrix", made.plan, topology, output, show=show, more=more)


def _targets(
    topology: "Topology", args: Args
) -> "tuple[list[tuple[Target, PathFacts]], list[str]]":
    """Return the targets, and what of the machine is left out where none were named."""
    from tierscope.suites.storage_matrix import readable

    if args.paths:
        return [found_path(path) for path in dict.fromkeys(args.paths)], []
    found: list[tuple[Target, PathFacts]] = []
    left_out: list[str] = []
    for path in readable(topology):
        try:
            found.append(found_path(path))
        except UserError as error:
            left_out.append(str(error))
    if not found:
        why = f" ({'; '.join(left_out)})" if left_out else ""
        raise UserError(
            f"no drive or array of this machine can be read{why}: name a directory or a file"
            f"{', or run as root' if os.geteuid() else ''}",
            ExitCode.NOTHING_MEASURED,
        )
    return found, [*left_out, *_mounts(topology)]


def _mounts(topology: "Topology") -> Iterator[str]:
    """Say which mounts were not measured, the first one of each block device."""
    first = {mount.block or mount.path: mount for mount in reversed(topology.mounts)}
    paths = sorted(mount.path for mount in first.values() if mount.type not in _PSEUDO)
    if paths:
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        yield (
            f"file systems are measured where they are named, since a file is made there: "
            f"{', '.join(paths[:_NAMED])}{more}"
        )
