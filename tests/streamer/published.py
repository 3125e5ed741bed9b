"""The published figures of the STREAMer study, as they are and as its folders have them."""

import csv
from collections import defaultdict
from pathlib import Path

from tierscope.peers.streamer.importer import read_results
from tierscope.peers.streamer.study import Memory, Study, Way

CSV = Path(__file__).parent / "published.csv"
FOLDERS = {"1a": "local_PMDK", "1b": "remote_PMDK", "1c": "remote_PMDK_affinity",
           "2a": "remote_NUMA", "2b": "remote_NUMA_allcores"}  # fmt: skip
RATES = ("copy_MBps", "scale_MBps", "add_MBps", "triad_MBps")
STREAM = """\
{first}-------------------------------------------------------------
STREAM version $Revision: 5.10 $
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:{copy:16.1f}     0.1     0.1     0.1
Scale:{scale:15.1f}     0.1     0.1     0.1
Add:{add:17.1f}     0.1     0.1     0.1
Triad:{triad:15.1f}     0.1     0.1     0.1
"""


def study() -> Study:
    """The machine with DDR5 and CXL memory."""
    return read_results(CSV, "STREAMer")[0]


def memory(found: Study, number: int, persistent: bool) -> Memory:
    return next(one for one in found.memories(persistent) if one.numbers == (number,))


def way(found: Study, socket: int, number: int, persistent: bool) -> Way:
    return Way((socket,), memory(found, number, persistent))


def write_folders(root: Path, tables: bool = True) -> None:
    """Write the figures as STREAMer keeps them: with its tables, or STREAM's outputs only.

    One configuration of 1c lies outside of all groups, as it does in the study's own repository.
    """
    rows = defaultdict(list)
    for row in csv.DictReader(CSV.open()):
        rows[row["group"], row["sockets"], row["memory"], row["affinity"]].append(row)
    stray = ("1c", "Socket0Socket1", "CXLDAX", "Spread")
    for (group, sockets, where, affinity), members in rows.items():
        path = "@mnt@pmem0" if where.endswith("DAX") else "NOPATH"
        name = f"noHT_{sockets}_{where}_{affinity}_noFT_{path}_Arrays100000000_Cores{len(members)}"
        key = (group, sockets, where, affinity)
        folder = (root if key == stray else root / FOLDERS[group]) / name
        folder.mkdir(parents=True)
        table = "Number of Threads,Copy Rate (MB/s),Scale Rate (MB/s),Add Rate (MB/s),"
        table += "Triad Rate (MB/s)\n"
        for row in members:
            rates = [float(row[rate]) for rate in RATES]
            first = "PATH = /mnt/pmem0/pool.obj\n" if where.endswith("DAX") else ""
            text = STREAM.format(
                first=first, copy=rates[0], scale=rates[1], add=rates[2], triad=rates[3]
            )
            (folder / f"output.{row['threads']}.txt").write_text(text)
            table += ",".join([row["threads"], *map(str, rates)]) + "\n"
        if tables:
            (folder / "output_data.csv").write_text(table)
