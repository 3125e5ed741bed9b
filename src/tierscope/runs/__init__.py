"""Write, read, find and export run files."""

from tierscope.runs.export import to_csv, to_json
from tierscope.runs.measure import Outcome, exit_code, measure
from tierscope.runs.read import read_run
from tierscope.runs.record import make_header, measurement_of
from tierscope.runs.store import find_run, new_run_path
from tierscope.runs.write import RunWriter

__all__ = [
    "Outcome",
    "RunWriter",
    "exit_code",
    "find_run",
    "make_header",
    "measure",
    "measurement_of",
    "new_run_path",
    "read_run",
    "to_csv",
    "to_json",
]
