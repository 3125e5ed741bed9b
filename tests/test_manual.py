"""Manual pages and completion scripts, as the wheel installs them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tierscope.cli.described import described_app, described_commands
from tierscope.cli.manual import pages

ROOT = Path(__file__).parent.parent
SHARE = ROOT / "share"
PAGES = pages()
SCRIPTS = {
    "bash": "bash-completion/completions/tierscope",
    "zsh": "zsh/site-functions/_tierscope",
    "fish": "fish/vendor_completions.d/tierscope.fish",
}


def rendered(name: str, text: str) -> str:
    """Return a page as man shows it on a terminal of 80 columns, without a warning."""
    answer = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=78n"],
        input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert answer.stderr == "", name
    return answer.stdout


def test_pages_are_current() -> None:
    kept = {path.name: path.read_text() for path in (SHARE / "man/man1").iterdir()}
    assert kept == PAGES, "run 'make docs'"


def test_pages_are_rendered_without_warnings_within_80_columns() -> None:
    shown = rendered("all", "".join(PAGES.values()))
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert shown.count("\nSYNOPSIS\n") == len(PAGES)


@pytest.mark.parametrize("words", ["tierscope place exec", "tierscope query", "tierscope doctor"])
def test_a_page_says_what_help_says(words: str) -> None:
    (command,) = [one for one in described_commands() if one.words == words]
    name = words.replace(" ", "-")
    shown = " ".join(rendered(name, PAGES[f"{name}.1"]).replace("\\\n", "").split())
    assert shown.startswith(f"{name.upper()}(1)")
    assert f"NAME {name} - {command.entry.summary[0].lower()}" in shown
    for option in command.options:
        assert f"{', '.join(option.names)}{option.metavar} {option.help}" in shown
    for paragraph in command.paragraphs:
        text = paragraph.text.removeprefix("Exit status:") or " ".join(paragraph.code)
        assert " ".join(text.split()) in shown


def test_groups_lead_to_the_pages_of_their_commands() -> None:
    for command in [described_app(), *described_commands()]:
        name = command.words.replace(" ", "-")
        for entry in command.below:
            assert f"{'tierscope' if entry.group else name}-{entry.name}.1" in PAGES
            shown = entry.name.replace("-", r"\-")
            assert rf"\fB{shown}\fR" in PAGES[f"{name}.1"]


def test_examples_that_are_continued_are_the_same_commands() -> None:
    examples = 0
    for command in described_commands():
        name = f"{command.words.replace(' ', '-')}.1"
        shown = " ".join(rendered(name, PAGES[name]).replace("\\\n", "").split())
        for paragraph in command.paragraphs:
            if paragraph.title.startswith("Example"):
                examples += len(paragraph.code)
                assert " ".join(" ".join(paragraph.code).split()) in shown
    assert examples > 100


@pytest.mark.parametrize("shell", SCRIPTS)
def test_completion_scripts_complete(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}; tools/bootstrap --programs installs it")
    script = SHARE / SCRIPTS[shell]
    program = tmp_path / "tierscope"
    program.write_text(f"#!{sys.executable}\nfrom tierscope.cli.main import main; main()\n")
    program.chmod(0o755)
    asked = {
        "bash": f"source '{script}'; COMP_WORDS=(tierscope gpu la); COMP_CWORD=2\n"
        "_tierscope_completion tierscope; echo ${COMPREPLY[@]}",
        # Outside of a terminal compadd has no one to tell, so it is asked what it would add.
        "zsh": f"compadd() {{ print -r -- ${{@[-1]}} }}; _describe() {{ print -l ${{(P)3}} }}\n"
        f"fpath=('{script.parent}' $fpath); autoload -Uz _tierscope\n"
        "words=(tierscope gpu la); CURRENT=3; _tierscope",
        "fish": f"set fish_complete_path '{script.parent}'; complete -C 'tierscope gpu la'",
    }[shell]
    flags = {"zsh": ["-f"], "fish": ["--no-config"]}.get(shell, [])
    answer = subprocess.run(
        [shell, *flags, "-c", asked],
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert re.match(r"latency\b", answer.stdout.strip()), answer
