"""An engine that counts 2 GB/s read and 0.5 GB/s written, and 1 GB/s read of CXL memory."""

import sys
from pathlib import Path

ENGINE = """#!{python}
import json, sys, time
if sys.argv[1] != "traffic":
    sys.exit(9)
print(json.dumps({{"sources": [{{"name": "memory controllers", "available": True, "detail": "",
                                "reason": "", "remedy": ""}}]}}), flush=True)
reads, writes = "uncore_imc_0/cas_count_read", "uncore_imc_0/cas_count_write"
messages = "cxl_pmu_mem0.0/s2m_drs_memdata"
for second, _ in enumerate(sys.stdin):
    print(json.dumps({{"counts": [
        {{"source": "x", "counter": name, "cpu": 0, "bytes": rate * second, "seconds": second}}
        for name, rate in ((reads, 2e9), (writes, 5e8), (messages, 1e9))]}}), flush=True)
"""
HEADER = "Timestamp,SKT0-RD,SKT0-WR,SKT0-SUM,SKT0-CXLRD,SKT0-CXLWR,SKT0-CXLSUM"


def write_engine(path: Path) -> None:
    path.write_text(ENGINE.format(python=sys.executable))
    path.chmod(0o755)
