"""Jobs of database applications: waiting for a server; pgbench with percentiles."""

import subprocess
import sys
from pathlib import Path

import pytest

from tierscope.kinds.effect.application import application, search_path
from tierscope.kinds.effect.jobs import pgbench, until


def job(module: str, *words: object, path: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, module, *map(str, words)]
    environment = {"PATH": path or "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_a_command_is_run_again_until_it_succeeds(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    script = f"echo >> {tries}; test $(wc -l < {tries}) -ge 3"
    assert job(until.__file__, 30, "sh", "-c", script).returncode == 0
    assert len(tries.read_text()) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (0.1, "sh", "-c", "echo not ready >&2; exit 2"),
            "sh did not succeed within 0.1 s: not ready",
        ),
        ((0.1, "false"), "false did not succeed within 0.1 s: exit status 1"),
        ((0.1, "sleep", "60"), "sleep had not ended after 0.1 s"),
        ((5, "no-such-program"), "no-such-program: No such file or directory"),
    ],
)
def test_why_a_command_never_succeeded_is_said(words: tuple[object, ...], said: str) -> None:
    done = job(until.__file__, *words)
    assert (done.returncode, done.stderr) == (1, said + "\n")


def test_times_come_from_the_logs_of_all_threads(tmp_path: Path) -> None:
    """Lines as PostgreSQL's documentation has them: client, transaction, time, script, when."""
    (tmp_path / "transactions.77").write_text(
        "0 199 2241 0 1175850568 995598\n0 200 2465 0 1175850568 998079\n"
    )
    (tmp_path / "transactions.77.1").write_text("1 7 1900 0 1175850569 12\n")
    (tmp_path / "other.77").write_text("1 7 5 0 1175850569 12\n")
    assert [*pgbench.logged(tmp_path)] == [1900, 2241, 2465]


def test_a_log_without_transactions_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "transactions.77").write_text("")
    with pytest.raises(SystemExit, match="pgbench logged no transaction"):
        pgbench.logged(tmp_path)


def test_the_first_error_of_pgbench_is_said(tmp_path: Path) -> None:
    path = search_path(application("postgres").path, {"PATH": "/usr/bin:/bin"})
    if not any(Path(folder, "pgbench").exists() for folder in path.split(":")):
        pytest.skip("there is no pgbench: tierscope apps install postgres")
    done = job(pgbench.__file__, tmp_path, "--host", tmp_path, "postgres", path=path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f'"{tmp_path}/.s.PGSQL.5432" failed: No such file or directory' in done.stderr


def test_without_pgbench_one_line_says_so(tmp_path: Path) -> None:
    done = job(pgbench.__file__, tmp_path, "postgres", path=str(tmp_path))
    assert (done.returncode, done.stderr) == (1, "pgbench: No such file or directory\n")
