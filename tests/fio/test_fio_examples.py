"""fio's own example files: which of them run, and why the others do not."""

import os
from pathlib import Path

import pytest

from tierscope.model.errors import UserError
from tierscope.peers.fio.job_file import parse_jobs
from tierscope.peers.fio.jobs import Job
from tierscope.peers.fio.options import RefusedError
from tierscope.peers.fio.plan import stages

Example = tuple[str, list[str], str]
FOLDER = os.environ.get("FIO_EXAMPLES", "")
"""Where the example files of fio 3.33 are, for those who have them."""
RUNS = "runs"
VARIABLES = {
    "FIO_DIR": "/data", "GPU_DEV_IDS": "0", "FIO_BS": "4k", "FIO_RW": "read", "FIO_IODEPTH": "4",
    **dict.fromkeys(("POOL", "CONT", "uri", "S3_KEY", "S3_ID", "SSE_KEY", "SWIFT_id"), "x"),
    "STORAGE_CLASS": "x",
}  # fmt: skip
"""Those that the examples take from the environment."""


def examples() -> list[Example]:
    """Return names, the options of each job, and the beginning of the reason or ``runs``."""
    table = (Path(__file__).parent / "examples.txt").read_text().splitlines()
    rows = [line.split(" | ") for line in table if line and not line.startswith("#")]
    return [(name, options.split(" / "), outcome) for name, options, outcome in rows]


EXAMPLES = examples()


def reasons(text: str) -> list[str]:
    """Return why jobs do not run, a line for each option; nothing where they do."""
    found: list[str] = []
    jobs = []
    for section in parse_jobs(text, "x.fio", VARIABLES)[0]:
        try:
            jobs.append(Job(section))
        except RefusedError as error:
            found += error.lines
        except UserError as error:
            found.append(str(error))
    if not found:
        stages(jobs)
    return found


@pytest.mark.parametrize(
    ("name", "jobs", "outcome"), EXAMPLES, ids=[name for name, _, _ in EXAMPLES]
)
def test_what_an_example_asks_for_runs_or_is_refused_with_its_reason(
    name: str, jobs: list[str], outcome: str
) -> None:
    named = zip("ab", jobs, strict=False)
    sections = [f"[{job}]\n" + options.replace(" ", "\n") for job, options in named]
    found = reasons("\n".join(["[global]", "size=4g", *sections]))
    if outcome == RUNS:
        assert not found, name
    else:
        assert any(f": {outcome}" in said for said in found), (name, found)


def test_the_table_has_all_examples() -> None:
    assert len(EXAMPLES) == 86
    assert sum(outcome == RUNS for _, _, outcome in EXAMPLES) >= 45


@pytest.mark.skipif(not FOLDER, reason="$FIO_EXAMPLES does not name the folder of fio's examples")
@pytest.mark.parametrize(("name", "outcome"), [(name, outcome) for name, _, outcome in EXAMPLES])
def test_the_example_itself_does_what_the_table_says(name: str, outcome: str) -> None:
    text = (Path(FOLDER) / f"{name}.fio").read_text()
    for device in ("/dev/sd", "/dev/nvme", "/dev/fio", "/dev/XXX", "/dev/dax"):
        text = text.replace(device, "/data/device-")
    found = reasons(text)
    assert (not found) == (outcome == RUNS), found
    if found:
        assert any(f": {outcome}" in said for said in found), found
