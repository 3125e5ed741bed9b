"""The table of commands: what each one imports, takes, says of itself and completes."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from forked import tierscope
from tierscope.cli.app import app
from tierscope.cli.completion import current_shell
from tierscope.cli.generated import given_options
from tierscope.cli.parsing import Entry, LazyGroup
from tierscope.cli.reference import with_reference
from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.forms import form_of, request_words
from tierscope.plans.request import Request
from tierscope.suites.registry import SUITES

ROOT = Path(__file__).parent.parent
PROGRAM = "from tierscope.cli.main import main; main()"
STATED = {"memory", "socket-link"}
OUTPUT = {
    "json",
    "csv",
    "dry-run",
    "out",
    "start-at",
    "energy",
    "-o",
    "verbose",
    "-v",
    "record",
    "help",
}


def commands(group: LazyGroup = app, above: str = "") -> Iterator[tuple[str, Entry]]:
    """Yield every command with the words that call it, without its group's name."""
    for entry in group.entries:
        if above and entry.group:
            continue
        words = f"{above}{entry.name}"
        yield words, entry
        command = entry.load()
        if isinstance(command, LazyGroup):
            yield from commands(command, f"{words} ")


COMMANDS = dict(commands())
CPU_KINDS = [name for name, kind in KINDS.items() if not kind.command.startswith("gpu ")]
PLANNED = {name: (KINDS.get(name) or SUITES[name]).command or name for name in request_words()}
"""The command of each word that plans know."""


def imported_by(*arguments: str) -> set[str]:
    """Return the modules that a command imports."""
    code = (
        f"import atexit, sys; sys.argv = ['tierscope', *{list(arguments)}]\n"
        "atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n" + PROGRAM
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return set(answer.stderr.splitlines())


def heavy(modules: set[str]) -> set[str]:
    """Return which of the libraries that take long to import are among these modules."""
    libraries = ("pydantic", "rich", "yaml", "jinja2", "duckdb", "quickjs", "resvg_py", "pynvml")
    return {name for name in libraries if name in modules}


def below(modules: set[str], *packages: str) -> list[str]:
    """Return the modules of these packages of ours."""
    names = tuple(f"tierscope.{package}." for package in packages)
    return sorted(module for module in modules if module.startswith(names))


def test_help_imports_registries_and_nothing_heavy() -> None:
    modules = imported_by("--help")
    assert heavy(modules) == set()
    assert below(modules, "model", "plans", "topology", "engine", "runs", "report") == []
    assert below(modules, "kinds", "peers", "suites") == [
        "tierscope.kinds.registry",
        "tierscope.peers.registry",
        "tierscope.suites.registry",
        "tierscope.suites.suite",
    ]


@pytest.mark.parametrize("command", ["list", "show", "topo"])
def test_looking_imports_nothing_that_measures(command: str, fake_engine: object) -> None:
    imported_by("bandwidth", "--op", "read", "--threads", "1", "--size", "1m")
    modules = imported_by(command)
    assert heavy(modules) <= {"pydantic", "rich"}
    assert below(modules, "engine", "suites") == [
        "tierscope.suites.registry",
        "tierscope.suites.suite",
    ]
    # Specs say which properties a run file has to have, and import the grammar of their values.
    assert command == "show" or below(modules, "plans") == []
    assert not {f"tierscope.plans.{name}" for name in ("expand", "fit", "yaml_plan")} & modules


def test_show_imports_the_views_of_the_kinds_that_it_shows(fake_engine: object) -> None:
    imported_by("bandwidth", "--op", "read", "--threads", "1", "--size", "1m")
    views = [name for name in below(imported_by("show"), "kinds") if name.endswith(".show")]
    assert views == ["tierscope.kinds.bandwidth.show"]


def test_a_kind_s_help_imports_no_other_kind() -> None:
    modules = imported_by("latency", "--help")
    assert not [name for name in below(modules, "kinds") if ".bandwidth." in name]
    assert "rich" not in modules


def test_commands_are_listed_below_headings() -> None:
    context = click.Context(app, info_name="tierscope")
    lines = app.get_help(context).splitlines()
    headings = ["Measure memory:", "Measure GPUs, storage, networks:", "Act:", "Look:"]
    headings += ["Compare:", "Other tools:"]
    assert [line for line in lines if line in headings] == headings
    shown = {entry.name for entry in app.entries if any(lists(line, entry) for line in lines)}
    assert shown == {entry.name for entry in app.entries if not entry.group}
    more = len(app.entries) - len(shown)
    assert lines[-1] == f"{more} more commands: tierscope --help-all"


def lists(line: str, entry: Entry) -> bool:
    """Whether a line of help begins with a command's name."""
    return line.startswith(f"  {entry.name} ")


@pytest.mark.parametrize("typed", [["--help-all"], ["help", "--all"]])
def test_every_command_is_listed_where_all_are_asked_for(typed: list[str]) -> None:
    lines = CliRunner().invoke(app, typed, prog_name="tierscope").output.splitlines()
    assert all(any(lists(line, entry) for line in lines) for entry in app.entries)
    assert not lines[-1].endswith("--help-all")


GROUPED = [entry for entry in app.entries if entry.group]


@pytest.mark.parametrize("entry", GROUPED, ids=lambda entry: f"{entry.group} {entry.name}")
def test_a_command_is_called_with_its_group_s_name_and_without(entry: Entry) -> None:
    names = {one.name for one in app.entries}
    assert entry.group in names
    for words in ([entry.group, "--help"], ["help", entry.group]):
        done = CliRunner().invoke(app, words)
        assert any(lists(line, entry) for line in done.output.splitlines())
    own = help_shown(entry.name, "--help")
    assert help_shown(entry.group, entry.name, "--help") == own
    assert help_shown("help", entry.group, entry.name) == own
    assert help_shown("help", entry.name) == own
    assert help_shown("help", entry.name, "--all").startswith(own.partition("\n")[0])
    assert complete(entry.name) == [one for one in names_of(app) if one.startswith(entry.name)]
    assert entry.name in complete(f"{entry.group} {entry.name[:2]}")


def names_of(group: LazyGroup) -> list[str]:
    return [entry.name for entry in group.entries]


def help_shown(*words: str) -> str:
    """Return what a command prints; some print with argparse, which writes past click's runner."""
    done = tierscope(*words)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


MOST_LISTED = 12
"""Options that a short help lists, beside --help."""


def listed_options(*typed: str) -> tuple[set[str], str]:
    """Return the options that a help lists, and its last line."""
    lines = CliRunner().invoke(app, typed, prog_name="tierscope").output.splitlines()
    found = (re.match(r"  (?:-\w, )?--([\w-]+)", line) for line in lines)
    return {one[1] for one in found if one} - {"help"}, lines[-1]


@pytest.mark.parametrize("name", PLANNED)
def test_the_short_help_of_a_measurement_has_few_options_and_the_long_one_all(name: str) -> None:
    words = PLANNED[name].split()
    short, last = listed_options(*words, "--help")
    every, end = listed_options(*words, "--help-all")
    params = (COMMANDS[PLANNED[name]].load()).params
    assert every == {one.opts[0][2:] for one in params if isinstance(one, click.Option)}
    assert len(short) <= MOST_LISTED
    own = {option.name for option in form_of(name).options}
    rare = {option.name for option in form_of(name).options if not option.essential}
    assert rare == every - short - OUTPUT - (STATED - own)
    more = len(every) - len(short)
    many = "s" if more > 1 else ""
    assert last == f"{more} more option{many}: tierscope {' '.join(words)} --help-all"
    assert listed_options("help", *words, "--all") == (every, end)
    one = min(every - short)
    assert f"--{one}" in complete(f"{' '.join(words)} --{one}")


def test_the_short_help_of_bandwidth_has_ten_options() -> None:
    short, _ = listed_options("bandwidth", "--help")
    assert len(short) == 10
    assert {"from", "to", "op", "threads", "size", "json"} <= short


def test_a_file_with_the_name_of_a_command_of_storage_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "io").write_bytes(bytes(1 << 20))
    monkeypatch.chdir(tmp_path)
    assert "cache.read" in help_shown("storage", "./io", "--dry-run")
    assert "io.node:0" in help_shown("storage", "io", "--dry-run")


@pytest.mark.parametrize("words", ["place", "tier", "hmsdk"])
def test_a_group_alone_prints_its_help(words: str) -> None:
    done = CliRunner().invoke(app, [words])
    assert done.exit_code == 0
    assert f"\n    tierscope {words} " in done.output


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_s_help_has_an_example(words: str) -> None:
    assert f"  tierscope {words}" in help_of(COMMANDS[words])


OWN_PARSERS = ("mlc", "nvbandwidth", "gdsio", "fio", "hmctl")
"""Commands that parse their words as their originals do; those that measure print JSON, too."""


def only_groups(words: str) -> bool:
    """Whether a command does nothing but to hold others."""
    command = COMMANDS[words].load()
    return isinstance(command, LazyGroup) and not command.params


@pytest.mark.parametrize(
    "words", [words for words in COMMANDS if words not in OWN_PARSERS and not only_groups(words)]
)
def test_every_command_prints_json(words: str) -> None:
    assert "--json" in {name for one in COMMANDS[words].load().params for name in one.opts}


def examples() -> list[str]:
    """Return the command lines that helps show, but for those parsed apart and what goes below."""
    entries = [entry for words, entry in COMMANDS.items() if words not in OWN_PARSERS]
    lines = [line.strip() for entry in entries for line in help_of(entry).splitlines()]
    typed = [line.partition(" && ")[0] for line in lines if line.startswith("tierscope ")]
    return sorted({line for line in typed if not line.count('"') % 2})


def help_of(entry: Entry) -> str:
    return entry.load().help or ""


@pytest.mark.parametrize("typed", examples())
def test_every_example_parses(typed: str) -> None:
    arguments = shlex.split(typed)[1:]
    words = arguments[0] if " ".join(arguments[:2]) not in COMMANDS else " ".join(arguments[:2])
    COMMANDS[words].load().make_context(words, arguments[len(words.split()) :])


@pytest.mark.parametrize("name", PLANNED)
def test_flags_are_the_keys_of_plans(name: str) -> None:
    command = COMMANDS[PLANNED[name]].load()
    options = (one for one in command.params if not one.name.endswith("_words"))
    flags = {opt.removeprefix("--") for one in options for opt in one.opts}
    keys = {option.name for option in form_of(name).options}
    # That of the machine is a key of the plan itself, where it is no key of the request.
    assert flags - OUTPUT - (STATED - keys) == keys


@pytest.mark.parametrize("name", CPU_KINDS)
@pytest.mark.usefixtures("four_ranks")
def test_a_kind_s_examples_make_plans(
    name: str, machine: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine of three nodes with memory; those of GPUs need a GPU."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keys.bin").write_bytes(
        b"".join(number.to_bytes(8, "little") for number in range(1000))
    )
    for example in form_of(name).examples:
        if "gpu:" in example:
            continue
        words = shlex.split(example)
        command = COMMANDS[PLANNED[name]].load()
        with command.make_context(name, words[1:]) as context:
            given = given_options(form_of(name).options, context.params)
        assert expand([Request(kind=name, options=given)], machine, thp=True).measurements


def complete(typed: str) -> list[str]:
    """Return the completions of a command line whose last word has been begun."""
    words, _, begun = typed.rpartition(" ")
    completion = ShellComplete(app, {}, "tierscope", "_TIERSCOPE_COMPLETE")
    return [item.value for item in completion.get_completions(words.split(), begun)]


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("ban", ["bandwidth"]),
        ("stre", ["stream", "streamer"]),
        ("gpu m", ["memory", "matrix"]),
        ("bandwidth --acc", ["--access-size"]),
        ("gpu copy --both", ["--both-ways"]),
        ("run --profile st", ["standard", "stream", "streamer"]),
        ("run st", ["standard", "stream", "streamer", "st"]),
        ("run /etc/pa", ["/etc/pa"]),
        ("mesure", []),
    ],
)
def test_words_are_completed(typed: str, completed: list[str]) -> None:
    assert complete(typed) == completed


def test_runs_are_completed_by_name_and_tag(fake_engine: object) -> None:
    imported_by("bandwidth", "--op", "read", "--threads", "1", "--size", "1m")
    imported_by("tag", "last", "golden")
    (name,) = complete("show 2")
    assert name.endswith("-bandwidth")
    assert complete("compare gol") == ["golden"]
    assert complete("report last go") == ["golden"]


def test_completion_works_in_bash(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    program = tmp_path / "tierscope"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}\n")
    program.chmod(0o755)
    script = (
        "tierscope --install-completion && tierscope --install-completion && source ~/.bashrc\n"
        "COMP_WORDS=(tierscope gpu la); COMP_CWORD=2\n"
        "_tierscope_completion tierscope; echo ${COMPREPLY[@]}"
    )
    answer = subprocess.run(
        ["bash", "-c", script],
        env={**environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    assert answer.stdout.splitlines()[-1] == "latency"
    assert (tmp_path / ".bashrc").read_text().count("source") == 1


def test_an_unknown_shell_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getppid", lambda: 1 << 23)  # no process has this number
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    with pytest.raises(UserError, match="no tab completion for the shell 'tcsh'"):
        current_shell()


def test_the_reference_is_current() -> None:
    document = (ROOT / "docs/cli.md").read_text()
    assert with_reference(document) == document, "run 'make docs'"


def test_json_of_writers_names_what_they_wrote(tmp_path: Path, fake_engine: object) -> None:
    imported_by("bandwidth", "--op", "read", "--threads", "1", "--size", "1m")
    page = tmp_path / "page.html"
    table = tmp_path / "runs.csv"
    for arguments, expected in (
        (["report", "-o", str(page), "--json"], {"report": str(page)}),
        (
            ["export", "--csv", str(table), "--json"],
            {"written": [{"file": str(table), "measurements": 1, "runs": 1}]},
        ),
    ):
        answer = tierscope(*arguments)
        assert answer.returncode == 0, answer.stderr
        assert json.loads(answer.stdout) == expected
