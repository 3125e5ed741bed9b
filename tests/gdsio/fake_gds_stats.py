#!/usr/bin/env python3
"""Stands in for NVIDIA's gds_stats: prints what FAKE_GDS_STATS names, by process and level.

``guide``: the layout of NVIDIA's guide; ``none``: an error; ``other``: text of another program;
``hang``: nothing, for a long time.
"""

import os
import sys
import time
from itertools import pairwise

GLOBAL = """\
cuFile STATS VERSION : 3
GLOBAL STATS:
Total Files: 8
Total Read Errors : 0
Total Read Size (MiB): 78193
Read BandWidth (GiB/s): 6.32129
Avg Read Latency (us): 1044
Total Write Errors : 0
Total Write Size (MiB): 0
Write BandWidth (GiB/s): 0
Avg Write Latency (us): 0
"""
EDGES = [0, *(4 << step for step in range(15))]
NO_READS = "bw=0 util(%)=0 n=0 posix=0 unalign=0 r_sparse=0 r_inline=0 err=0 MiB=0"
READS = "bw=6.32129 util(%)=797 n=78193 posix=0 unalign=0 r_sparse=0 r_inline=0 err=0 MiB=78193"
NO_WRITES = "bw=0 util(%)=0 n=0 posix=0 unalign=0 err=0 MiB=0"


def sizes():
    print("READ-WRITE SIZE HISTOGRAM :")
    for low, high in pairwise(EDGES):
        print(f"{low}-{high}(KiB): {78193 if low == 1024 else 0} 0")
    print("65536-...(KiB): 0 0")


def gpus():
    print("PER_GPU STATS:")
    for gpu in range(16):
        busy = gpu == 2
        print(
            f"GPU {gpu} Read: {READS if busy else NO_READS} Write: {NO_WRITES} "
            f"BufRegister: n={8 * busy} err=0 free=0 MiB={8 * busy}"
        )
    print("PER_GPU POOL BUFFER STATS:")
    print("GPU : 0 pool_size_MiB : 64 usage : 63/64 used_MiB : 63")
    print("PER_GPU POSIX POOL BUFFER STATS:")
    for gpu in range(2):
        print(f"GPU {gpu} 4(KiB) :0/0 1024(KiB) :{gpu}/64 16384(KiB) :0/0 ")
    print("\nPER_GPU RDMA STATS:")
    print("GPU 0000:34:00.0 :   ")
    print("\nRDMA MRSTATS:\npeer name   nr_mrs      mr_size(MiB)")


def main():
    words = sys.argv[1:]
    assert words[::2] == ["-p", "-l"], words
    what, level = os.environ["FAKE_GDS_STATS"], int(words[3])
    if what == "none":
        print("no statistics", file=sys.stderr)
        sys.exit(1)
    if what == "hang":
        time.sleep(600)
    if what == "other":
        print("usage: something else")
        return
    print(GLOBAL, end="")
    if level > 1:
        sizes()
    if level > 2:
        gpus()


main()
