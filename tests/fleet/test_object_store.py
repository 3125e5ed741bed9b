"""A fleet's tables in an object store: a server of S3 on this machine, as moto has one."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fleet import made
from tests.fleet.test_fleet_gather import do

from object_store import object_store
from tierscope.fleet.gather import gather
from tierscope.fleet.outliers import outliers_of
from tierscope.fleet.tables import is_url, query_fleet
from tierscope.model.errors import UserError


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment for a server with a fleet of 20 hosts, of which one is slow."""
    folder = tmp_path_factory.mktemp("fleet")
    made.fleet(folder, 20, slow=[7])
    gather(folder, folder)
    with object_store(folder, "results") as environment:
        yield environment


@pytest.fixture
def keys(bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("keys")
def test_sql_and_outliers_in_an_object_store() -> None:
    place = "s3://results/fleet/"
    sql = "select count(*), count(distinct host) from figures"
    assert query_fleet(place, sql)[1] == [(160, 20)]
    assert [one.host for one in outliers_of(place).outliers] == [made.name_of(7)]


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    "other", ["s3://results/fleet/../secret.parquet", "/etc/passwd", "s3://other/x.parquet"]
)
def test_a_query_reaches_nothing_else_there(other: str) -> None:
    with pytest.raises(UserError, match="the query failed: Permission Error"):
        query_fleet("s3://results/fleet", f"select * from read_text('{other}')")


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("place", "said"),
    [("s3://results/none", "No files found"), ("s3://nobody/fleet", "NoSuchBucket"),
     ("http://127.0.0.1:9/fleet", "error sending request")],
)  # fmt: skip
def test_what_is_not_there_is_one_line(place: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as found:
        query_fleet(place, "from hosts")
    assert "\n" not in str(found.value)
    assert "Traceback" not in str(found.value)


def test_a_store_needs_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.fsspec", None)
    with pytest.raises(UserError, match=r"pip install 'tierscope\[object-store\]'"):
        query_fleet("s3://results/fleet", "from hosts")


@pytest.mark.parametrize(
    ("place", "url"),
    [("s3://bucket/fleet", True), ("gs://b/f", True), ("https://host/f", True), ("fleet", False),
     ("/data/s3:/fleet", False), ("ftp://host/fleet", False)],
)  # fmt: skip
def test_places(place: str, url: bool) -> None:
    assert is_url(place) == url


@pytest.mark.usefixtures("keys")
def test_a_check_and_a_report_of_an_object_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = do("fleet", "check", "s3://results/fleet")
    assert done.return_value == 1
    assert made.name_of(7) in done.stdout
    done = do("fleet", "report", "s3://results/fleet", "--json")
    assert json.loads(done.stdout)["slow"] == [made.name_of(7)]
    assert made.name_of(19) in (tmp_path / "fleet.html").read_text()
    rules = tmp_path / "golden.yaml"
    rules.write_text('rules: ["every node:0 -> node:0 read: >= 100 GB/s"]\n')
    for command in ("check", "report"):
        refused = do("fleet", command, "s3://results/fleet", "--expect", rules).exception
        assert "--expect needs the run files" in str(refused)
