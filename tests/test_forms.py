"""Where results go: --json, --csv and --parquet, to stdout or to files, and older spellings."""

import csv
import io
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tierscope.cli.app import app
from tierscope.cli.parsing import Command, FormOption
from tierscope.model.errors import UserError

SMALL = ("bandwidth", "--op", "read,copy", "--threads", "1", "--size", "1m")


def do(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, standalone_mode=False)


@pytest.fixture
def kept(fake_engine: object) -> None:
    assert do(*SMALL).exit_code == 0


def columns(text: str) -> list[str]:
    return next(csv.reader(io.StringIO(text)))


def test_a_measurement_s_csv_is_that_of_export(fake_engine: object) -> None:
    measured = do(*SMALL, "--csv")
    assert measured.stdout == do("export", "last", "--csv").stdout == do("show", "--csv").stdout
    assert {"run", "operation", "estimate", "samples", "host"} <= set(columns(measured.stdout))
    assert len(measured.stdout.splitlines()) == 3


def test_files_are_written_beside_the_tables(fake_engine: object, tmp_path: Path) -> None:
    one, other = tmp_path / "a.csv", tmp_path / "b"
    done = do(*SMALL, "--csv", str(one), f"--json={other}")
    assert done.stdout.lstrip().startswith(("Usable", "Measure again"))
    assert f"csv: {one}" in done.stdout
    assert "estimate" in columns(one.read_text())
    assert len(json.loads(other.read_text())["results"]) == 2


def test_one_form_can_be_printed_and_another_written(fake_engine: object, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    done = do(*SMALL, "--json", f"--csv={file}")
    assert json.loads(done.stdout)["run"]["complete"] is True
    assert len(file.read_text().splitlines()) == 3


def test_a_file_that_cannot_be_written_is_told_before_measuring(fake_engine: object) -> None:
    done = do(*SMALL, "--csv=/no/such/place/x.csv")
    assert "--csv: '/no/such/place/x.csv' cannot be written" in str(done.exception)
    assert json.loads(do("list", "--json").stdout)["runs"] == []


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_a_form_leaves_the_run_behind_it_alone(kept: None, form: str) -> None:
    assert do("show", form, "last").stdout == do("show", "last", form).stdout
    assert "no-such-run" in str(do("show", form, "no-such-run").exception)


def test_two_forms_cannot_share_stdout(kept: None) -> None:
    for arguments in (["show", "--json", "--csv"], ["export", "--csv", "--parquet=-"]):
        done = do(*arguments)
        assert isinstance(done.exception, UserError)
        assert "stdout" in str(done.exception)


def test_parquet_can_be_piped(kept: None, tmp_path: Path) -> None:
    import duckdb

    file = tmp_path / "piped.parquet"
    file.write_bytes(do("export", "--parquet", "-").stdout_bytes)
    assert duckdb.connect().execute(f"select count(*) from '{file}'").fetchone() == (2,)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["topo"], "topology"),
        (["topo", "node:0", "node:0"], "hops"),
        (["doctor"], "findings"),
        (["list"], "runs"),
        (["tag", "last"], "tags"),
        (["compare", "last", "last"], "comparisons"),
        (["query", "select 1 as one"], "rows"),
        ([*SMALL, "--dry-run"], "plan"),
    ],
)
def test_json_goes_to_a_file_beside_the_tables(
    kept: None, tmp_path: Path, arguments: list[str], key: str
) -> None:
    file = tmp_path / "found.json"
    done = do(*arguments, f"--json={file}")
    assert key in json.loads(file.read_text())
    assert done.stdout.startswith(do(*arguments).stdout.splitlines()[0])


def test_a_plan_has_no_csv(fake_engine: object) -> None:
    assert "--json prints what there is" in str(do(*SMALL, "--dry-run", "--csv").exception)


def test_the_older_spelling_of_out_works(kept: None, tmp_path: Path) -> None:
    for number, option in enumerate(("--output", "--out", "-o")):
        page = tmp_path / f"{number}.html"
        assert do("report", option, str(page)).exit_code == 0
        assert page.exists()


WORDS = st.sampled_from(["last", "a.csv", "a.json", "-", "--csv", "--csv=b", "--all", "x=y", ""])


@given(st.lists(WORDS))
def test_only_files_follow_a_form(words: list[str]) -> None:
    """Whatever stands around them: each word is an argument, a flag, or the file of a form."""

    @click.command(
        cls=Command,
        params=[
            FormOption(["--csv"]),
            click.Option(["--all"], is_flag=True),
            click.Argument(["runs"], nargs=-1),
        ],
    )
    def command(csv: str | None, all: bool, runs: tuple[str, ...]) -> None:  # noqa: A002
        assert all == ("--all" in words)
        assert (csv is None) == (not {"--csv", "--csv=b"} & set(words))
        assert csv in (None, "-", "a.csv", "b")
        assert [word for word in runs if word not in ("-", "a.csv")] == [
            word for word in words if word in ("last", "a.json", "x=y", "")
        ]

    command.main([*words], standalone_mode=False)
