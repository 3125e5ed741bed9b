"""What NVIDIA's guide to benchmarking GPUDirect Storage prints of gdsio, its misprints mended.

Command lines, job files without their comments' words, and result lines.
"""

from pathlib import Path

_RANDOM_READS = "-D /nvme23/gds_dir -d 0 -w {} -s 1G -i 4K -x 0 -I 2 -k 0308 -T 120"
_NFS = "-D /mnt/nfs/ib0/data/0/gds_dir -d {} -w 32 -s {} -i {} -x 0 -I {} -T 120"

COMMAND_LINES = (
    "-D /nvme23/gds_dir -d 2 -w 8 -s 1G -i 1M -x 0 -I 0 -T 300",
    "-D /nvme23/gds_dir -d 2 -w 8 -s 500M -i 1M -x 0 -I 0 -T 120",
    "-D /nvme23/gds_dir -d 12 -w 8 -s 500M -i 1M -x 0 -I 0 -T 120",
    *(_RANDOM_READS.format(threads) for threads in (4, 8, 16, 32, 64, 128)),
    "-D /nvme23/gds_dir -d 10 -w 64 -s 1G -i 4K -x 0 -I 2 -k 0308 -T 120",
    _NFS.format(0, "500M", "4K", 3),
    _NFS.format(12, "500M", "4K", 3),
    _NFS.format(0, "500M", "4K", 2),
    _NFS.format(10, "500M", "4K", 2),
    _NFS.format(0, "1G", "1M", 1),
    _NFS.format(0, "1G", "1M", 0),
    _NFS.format(8, "1G", "1M", 0),
)

RANDOM_READS = """\
[global]
name=nfs_random_read
#0,1,2,3,4,5
xfer_type=0
#rw=read, rw=write, rw=randread, rw=randwrite
rw=randread
#bs=1M:4M:1M
bs=4k
#file-size
size=500M
#secs
runtime=120
[job1]
#numa node
numa_node=0
#gpu
gpu_dev_id=0
num_threads=16
directory=/mnt/nfs/ib0/data/0/gds_dir
[job2]
numa_node=0
gpu_dev_id=2
num_threads=16
directory=/mnt/nfs/ib1/data/0/gds_dir
[job3]
numa_node=0
gpu_dev_id=4
num_threads=16
directory=/mnt/nfs/ib2/data/0/gds_dir
[job4]
numa_node=0
gpu_dev_id=6
num_threads=16
directory=/mnt/nfs/ib3/data/0/gds_dir
"""

_JOB = """\
[job{number}]
numa_node={node}
gpu_dev_id={gpu}
num_threads=8
directory=/mnt/nfs/{port}/gds_dir
"""
_PORTS = (
    "ib0/data/0", "ib1/data/1", "ib2/data/0", "ib3/data/1",
    "ib6/data/0", "ib7/data/1", "ib8/data/0", "ib9/data/1",
)  # fmt: skip
LARGE_READS = """\
[global]
name=nfs_large_read
xfer_type=0
rw=read
bs=1M
size=1G
runtime=120
do_verify=0
""" + "".join(
    _JOB.format(number=2 * i + 1, node=i // 4, gpu=2 * i, port=port)
    for i, port in enumerate(_PORTS)
)

JOB_FILES = {"nfs_rr.gdsio": RANDOM_READS, "nfs_sr.gdsio": LARGE_READS}

_TRANSCRIPT = Path(__file__).with_name("guide.txt").read_text().splitlines()
RESULTS = tuple(
    (words.removeprefix("$ gdsio "), line)
    for words, line in zip(_TRANSCRIPT[::2], _TRANSCRIPT[1::2], strict=True)
)
"""Each with what printed it. Two results of the guide are left out, since they contradict their
command lines: ``-w 32`` prints 64 threads, ``-i 1M`` prints 2048 KiB."""
