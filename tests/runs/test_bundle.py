"""Bundles: nothing in them names a machine, a site or a person, and they read like the run."""

import gzip
import io
import json
import re
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import synthetic
from tests.runs.planted import WORDS, Planted, records

from tierscope.cli.app import app
from tierscope.kinds.plan import Plan
from tierscope.kinds.registry import KINDS
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.metric import DISTRIBUTIONS, METRICS
from tierscope.model.run import RecordAdapter
from tierscope.runs.bundle import bundle
from tierscope.runs.hide import Hidden
from tierscope.runs.read import parse_readable, read_run


def write(records_: list[dict[str, Any]], path: Path) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records_))
    return path


def unpacked(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {name: archive.extractfile(name).read() for name in archive.getnames()}  # type: ignore[union-attr]


def run_in(path: Path, folder: Path) -> Path:
    (content,) = (text for name, text in unpacked(path).items() if name.endswith("/run.jsonl"))
    copy = folder / "copy.jsonl"
    copy.write_bytes(content)
    return copy


def squeezed(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", text.lower())


def leaks(written: Path, secrets: list[Planted]) -> list[tuple[str, str]]:
    """Return what of these is anywhere in an archive, in any case, with or without separators."""
    whole = gzip.decompress(written.read_bytes()).decode().lower() + written.name.lower()
    bare = squeezed(whole)
    return [
        (sort, needle)
        for one in secrets
        for sort, needle in one.needles()
        if needle.lower() in whole or (len(squeezed(needle)) >= 8 and squeezed(needle) in bare)
    ]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Planted]]:
    found, secrets = records()
    folder = tmp_path_factory.mktemp("planted")
    return write(found, folder / f"{secrets[0].host}.jsonl"), secrets


def test_the_planted_secrets_would_be_found(planted: tuple[Path, list[Planted]]) -> None:
    path, secrets = planted
    text = path.read_text().lower()
    missing = [needle for one in secrets for _, needle in one.needles()
               if needle.lower() not in text]  # fmt: skip
    # Of a host without a domain, its name with one is nowhere.
    assert not missing


def test_nothing_that_was_planted_is_left(planted: tuple[Path, list[Planted]]) -> None:
    path, secrets = planted
    written = bundle(path)
    assert leaks(written.path, secrets) == []
    assert {"host", "user", "serial", "uuid", "mac", "guid", "ip", "name"} <= set(written.replaced)


def test_the_copy_shows_the_same_figures(
    planted: tuple[Path, list[Planted]], tmp_path: Path
) -> None:
    path, _ = planted
    copy = run_in(bundle(path, tmp_path).path, tmp_path)
    before, after = read_run(path), read_run(copy)
    assert (
        len(after.measurements)
        == len(before.measurements)
        == len({m.id for m in after.measurements})
    )
    for old, new in zip(before.measurements, after.measurements, strict=True):
        assert (old.kind, old.status, old.estimate, old.samples) == (
            new.kind, new.status, new.estimate, new.samples
        )  # fmt: skip
        assert old.target.partition(":")[0] == new.target.partition(":")[0]
    for words in (["show", "copy.jsonl"], ["compare", "copy.jsonl", "copy.jsonl"]):
        done = CliRunner().invoke(app, [word.replace("copy.jsonl", str(copy)) for word in words])
        assert done.exit_code in (0, 1), done.output
        assert "internal error" not in done.output


def test_a_run_without_names_stays_as_it_is(tmp_path: Path) -> None:
    path = synthetic.write(synthetic.full(), tmp_path / "20260105-140307-full.jsonl")
    written = bundle(path)
    assert written.path.name == "20260105-140307-full-bundle.tar.gz"
    copy = run_in(written.path, tmp_path)
    (before, _), (after, _) = (parse_readable(one.read_bytes(), "") for one in (path, copy))
    for header in (before[0][1], after[0][1]):
        for key in ("host", "name"):
            del header[key]
        for key in ("host", "source"):
            del header["topology"][key]
    assert before == after


@pytest.mark.parametrize("word", WORDS)
def test_a_host_or_user_that_is_called_like_a_word_of_the_format(word: str, tmp_path: Path) -> None:
    path = synthetic.write(
        synthetic.run(
            synthetic.memory_measurements(synthetic.Maker())[:6],
            host=word,
            command=["tierscope", "run", f"/home/{word}/plan.yaml"],
        ),
        tmp_path / f"{word}.jsonl",
    )
    changed = [json.loads(line) for line in path.read_text().splitlines()]
    changed[0]["topology"] |= {"host": word, "unreadable": [f"{word}: lost", f"the host '{word}'"]}
    changed[1] |= {"status": "skipped", "cause": "other", "reason": f"{word} is lost",
                   "figures": [], "n": 0, "samples": []}  # fmt: skip
    write(changed, path)
    written = bundle(path)
    assert written.path.name == "run-bundle.tar.gz"
    copy = run_in(written.path, tmp_path)
    header, first = (json.loads(line) for line in copy.read_text().splitlines()[:2])
    texts = [*header["topology"]["unreadable"], first["reason"], *header["command"]]
    assert not [one for one in texts if word in re.findall(r"[A-Za-z0-9]+", one)[:-1]]
    assert header["host"] == header["topology"]["host"] == "host1"
    assert [m.id for m in read_run(copy).measurements] == [
        m.id for m in read_run(path).measurements
    ]


def test_future_keys_and_records_are_carried_without_names(tmp_path: Path) -> None:
    one = Planted(99)
    found, _ = records()
    header = {**found[0], "site": {"centre": one.project, "depth": 4, "mode": "read"}}
    future = {"record": "of-the-future", "who": one.user, "where": one.texts(), one.project: [1.5]}
    path = write([header, future], tmp_path / "future.jsonl")
    (content,) = [text for name, text in unpacked(bundle(path).path).items()
                  if name.endswith("run.jsonl")]  # fmt: skip
    kept, last = (json.loads(line) for line in content.splitlines())
    assert (kept["site"]["depth"], kept["site"]["mode"]) == (4, "read")
    assert last["record"] == "of-the-future"
    assert [1.5] in last.values()
    assert leaks(bundle(path).path, [one]) == []


def test_headers_of_the_archive_name_nobody(planted: tuple[Path, list[Planted]]) -> None:
    content = bundle(planted[0]).path.read_bytes()
    assert content[3] == 0  # no name in gzip's header
    assert content[4:8] == bytes(4)  # no time
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive.getmembers():
            assert (member.uid, member.gid, member.uname, member.gname, member.mtime) == (
                0, 0, "", "", 0,
            )  # fmt: skip
            assert member.name.startswith("run-bundle/")


def test_a_name_that_would_be_left_is_refused(
    planted: tuple[Path, list[Planted]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tierscope.runs.hide.Hidden.text", lambda _self, text, *_, **__: text)
    with pytest.raises(UserError, match=r"is not written: a \w+ is still in run.jsonl") as refused:
        bundle(planted[0], tmp_path)
    assert refused.value.exit_code == 4
    assert not list(tmp_path.iterdir())


def test_damaged_lines_are_named_and_the_rest_is_there(tmp_path: Path) -> None:
    lines = [json.dumps(record) for record in records()[0]]
    lines[2] = lines[2][: len(lines[2]) // 2]
    path = tmp_path / "damaged.jsonl"
    path.write_text("\n".join(lines) + "\n")
    done = CliRunner().invoke(app, ["bundle", str(path), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    (told,) = said["damaged"]
    assert told.startswith("3: the run file is damaged here")
    assert said["replaced"]["host"] > 1
    files = unpacked(Path(said["bundle"]))
    about = json.loads(files["damaged-bundle/bundle.json"])
    assert about == {key: said[key] for key in ("replaced", "kept", "damaged")}
    assert files["damaged-bundle/run.jsonl"].count(b"\n") == len(lines) - 1
    assert leaks(Path(said["bundle"]), records()[1]) == []


WHOLE = "".join(json.dumps(record) + "\n" for record in records()[0][:5]).encode()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_the_damage_is_a_bundle_is_written_or_refused_in_one_line(
    data: st.DataObject,
) -> None:
    damaged = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(damaged) - 1)))
        match data.draw(st.sampled_from(["byte", "cut", "drop", "double", "insert"])):
            case "byte":
                damaged[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
            case "cut":
                del damaged[at:]
            case "drop":
                del damaged[at : at + data.draw(st.integers(1, 3000))]
            case "double":
                damaged[at:at] = damaged[at : at + data.draw(st.integers(1, 3000))]
            case _:
                damaged[at:at] = data.draw(st.binary(max_size=12))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        path.write_bytes(bytes(damaged))
        done = CliRunner().invoke(app, ["bundle", str(path)], standalone_mode=False)
        archives = list(Path(folder).glob("*.tar.gz"))
        if done.exception is not None:
            assert isinstance(done.exception, UserError), done.exception
            assert "\n" not in str(done.exception)
            assert not archives
        else:
            (archive,) = archives
            (content,) = (t for n, t in unpacked(archive).items() if n.endswith("run.jsonl"))
            assert parse_readable(content, "")[1] == []


def words_of_the_format() -> set[str]:
    """Return the keys and the fixed values of plans, events and run files."""
    found: set[str] = {*METRICS, *DISTRIBUTIONS, *KINDS, *(cause.value for cause in Cause)}
    left: list[Any] = [RecordAdapter.json_schema(), Plan.model_json_schema()]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            found.update(one.get("properties", {}))
            found.update(word for word in [*one.get("enum", []), one.get("const")]
                         if isinstance(word, str))  # fmt: skip
            left += one.values()
        elif isinstance(one, list):
            left += one
    return found


def test_words_of_the_format_are_never_replaced() -> None:
    words = words_of_the_format()
    assert {"io_latency_p99", "c2c_links", "measured", "512m", "pool-objects"} <= words
    assert [word for word in sorted(words) if Hidden().text(word) != word] == []


@pytest.mark.parametrize(
    "name",
    ["gpu017", "node18", "cn0123", "n012", "nid001234", "r1i2n3", "jdoe", "svc-jdoe", "ab12345",
     "Müller", "10.1.2.3", "fe80::1", "acme.example.com", "S3EVNX0R123456", "415685391288"],
)  # fmt: skip
def test_names_in_sentences_alone_are_replaced(name: str) -> None:
    text = f"rank 3 on {name} was lost ({name}), see '/data/{name}/a b' and {name}:/x"
    said = Hidden().text(text, free=True)
    assert name.lower() not in said.lower()
    assert said.startswith("rank 3 on ")
    assert " was lost (" in said
