"""Where the parts of the testbed are."""

import sys
from pathlib import Path

TESTBED = Path(__file__).resolve().parents[2] / "testbed"
sys.path.insert(0, str(TESTBED))  # a folder of scripts, not a package
