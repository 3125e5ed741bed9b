"""What training reads, against DLIO: the same file system, dataset and step times, in turn.

Takes DLIO from $DLIO, the folder of a virtual environment; without one this part is left out. It
is made for dlio-benchmark 2.0.0, which runs without PyTorch and DALI, by TensorFlow's loader:

    python -m venv dlio
    dlio/bin/pip install --no-deps dlio-benchmark pydftracer==1.0.2
    dlio/bin/pip install numpy hydra-core==1.3.2 omegaconf pandas psutil h5py Pillow PyYAML \\
        tensorflow-cpu mpi4py mpich

Files are made below $DIRECTORY, by default the current one, and removed. Before each run of DLIO
the page cache drops its dataset (POSIX_FADV_DONTNEED), as tierscope does before each epoch; so a
run of either is one epoch.

Both sides count an epoch as a whole: DLIO's own utilisation leaves its first step out. TensorFlow
parses records and stacks batches, tierscope does not decode; so the CPU limits DLIO where samples
are many and small. Ratios are ours / theirs.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pairs import Comparison, asked, measure, take_turns
from tierscope.kinds.training.workload import Workload, workload_of
from tierscope.report.figures import figure_of

DLIO = os.environ.get("DLIO")
DIRECTORY = Path(os.environ.get("DIRECTORY", ".")).resolve()
PAIRS = int(os.environ.get("PAIRS", "4"))
_TFRECORD2IDX = '#!/bin/sh\n: > "$2"\n'
"""Stands for DALI's program, which writes indices that TensorFlow's reader does not need."""


@dataclass(frozen=True)
class Case:
    """A dataset and an accelerator's step."""

    name: str
    format: str
    files: int
    samples: int
    sample_size: int
    batch: int
    step_s: float
    readers: int

    @property
    def steps(self) -> int:
        """Of an epoch."""
        return self.files * self.samples // self.batch

    def text(self) -> str:
        """The same as a workload's file."""
        return json.dumps(
            {
                "dataset": {
                    "format": self.format,
                    "num_files_train": self.files,
                    "num_samples_per_file": self.samples,
                    "record_length_bytes": self.sample_size,
                },
                "reader": {
                    "batch_size": self.batch,
                    "read_threads": self.readers,
                    "file_shuffle": "seed",
                },
                "train": {"computation_time": self.step_s},
                "metric": {"au": 0.9},
            }
        )


def cases() -> Iterator[Case]:
    """MLPerf's workloads for an H100, with fewer files; of unet3d also smaller samples."""
    for name, files in (("resnet50", 4), ("cosmoflow", 400), ("unet3d", 21)):
        yield _case(workload_of(name), name, files)


def _case(found: Workload, name: str, files: int) -> Case:
    return Case(
        name,
        found.format,
        files,
        found.samples,
        found.sample_size,
        found.batch,
        found.steps["h100"],
        found.readers,
    )


def compare() -> Iterator[Comparison | str]:
    """Samples/s and utilisation of each case."""
    if DLIO is None:
        yield "dlio: skipped; name the folder of its virtual environment in DLIO"
        return
    program = Path(DLIO).resolve() / "bin/dlio_benchmark"
    if not program.is_file():
        raise SystemExit(f"{program} is missing: install dlio-benchmark there (see dlio.py)")
    for case in cases():
        yield from compared(case, program)


def compared(case: Case, program: Path) -> Iterator[Comparison]:
    """The figures of one case, in pairs."""
    with dataset(case, program) as run:
        sides = take_turns(PAIRS, lambda: ours(case), lambda: theirs(case, program, run))
    for place, (name, unit) in enumerate((("samples", "1/s"), ("utilisation", "ratio"))):
        yield Comparison(
            f"{case.name} {name}", unit, *([one[place] for one in side] for side in sides)
        )


Side = tuple[float, float]
"""Samples/s and utilisation of an epoch."""


def ours(case: Case) -> Side:
    """The median of epochs by an engine of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "case.yaml")
        file.write_text(case.text())
        size = str(case.files * (case.samples * (case.sample_size + 16) + 512))
        options = {"workload": str(file), "size": size, "epochs": "1", "to": f"file:{DIRECTORY}"}
        measured = measure(asked("training", 1, **options))
    samples, utilisation = figure_of(measured, "samples"), figure_of(measured, "utilisation")
    assert samples is not None
    assert utilisation is not None
    return samples, utilisation


@contextmanager
def dataset(case: Case, program: Path) -> Iterator[Path]:
    """DLIO's files of a case, in a folder that is removed."""
    folder = Path(tempfile.mkdtemp(prefix="bench-dlio-", dir=DIRECTORY))
    try:
        index = folder / "tfrecord2idx"
        index.write_text(_TFRECORD2IDX)
        index.chmod(0o700)
        dlio(case, program, folder, generate=True)
        yield folder
    finally:
        shutil.rmtree(folder)


def theirs(case: Case, program: Path, folder: Path) -> Side:
    """One epoch of DLIO, of which the page cache has nothing."""
    for path in (folder / "data").rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    dlio(case, program, folder, generate=False)
    (output,) = (folder / "out").glob("*_output.json")
    # Of each step, its wait and its computation.
    seconds = sum(json.loads(output.read_text())["1"]["proc"]["block1"])
    return case.steps * case.batch / seconds, case.steps * case.step_s / seconds


def dlio(case: Case, program: Path, folder: Path, generate: bool) -> None:
    """Run DLIO with a case's parameters."""
    values = {
        "framework": "tensorflow",
        "workflow.generate_data": generate,
        "workflow.train": not generate,
        "workflow.evaluation": False,
        "workflow.checkpoint": False,
        "dataset.data_folder": folder / "data",
        "dataset.format": case.format,
        "dataset.num_files_train": case.files,
        "dataset.num_files_eval": 0,
        "dataset.num_samples_per_file": case.samples,
        "dataset.record_length": case.sample_size,
        "reader.data_loader": "tensorflow",
        "reader.batch_size": case.batch,
        "reader.read_threads": case.readers,
        "reader.file_shuffle": "seed",
        "train.epochs": 1,
        "train.computation_time": case.step_s,
    }
    words = [f"++workload.{key}={value}" for key, value in values.items()]
    environment = {
        **os.environ,
        "PATH": f"{folder}:{program.parent}:{os.environ['PATH']}",
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        [program, "workload=default", *words, f"hydra.run.dir={folder / 'out'}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"DLIO failed: {done.stderr.strip().splitlines()[-1:]}")


if __name__ == "__main__":
    for line in compare():
        print(line, flush=True)
