"""Repetitions of measurements of storage as the engine reports them, without an engine."""

from typing import Any

from tierscope.model.event import Column, Distribution, Evidence, IoEvidence, Repetition, Series
from tierscope.model.histogram import bucket_of

SAMPLES = 4
OPERATIONS = 250
"""Of each sample, which lasts a quarter of a second; all of them take a millisecond."""


def io_repetition(
    spec: Any,
    verified: str | None = None,
    device_bytes: int | None = None,
    process_bytes: int | None = None,
    **io: Any,
) -> Repetition:
    """Return a repetition of a second; ``io`` are further observations."""
    block = spec.pattern.block_size
    operations = SAMPLES * OPERATIONS
    reads = 0 if spec.pattern.operation == "write" else operations
    names = [job.name for job in spec.jobs]
    parts = {"": 1.0, **({name: 1 / len(names) for name in names} if len(names) > 1 else {})}
    series = Series(
        name="windows",
        starts=[number / SAMPLES for number in range(SAMPLES)],
        durations=[1 / SAMPLES] * SAMPLES,
        columns=[
            Column(
                metric=metric, part=part, values=[SAMPLES * OPERATIONS * share * factor] * SAMPLES
            )
            for part, share in parts.items()
            for metric, factor in (("bandwidth", block), ("iops", 1))
        ],
        distributions=[
            Distribution(
                metric="io_latency",
                part=part,
                samples=[[bucket_of(1_000_000), round(OPERATIONS * share)]] * SAMPLES,
            )
            for part, share in parts.items()
        ],
    )
    counted = {
        "files": ["/data/gdsio.0"], "reads": reads, "writes": operations - reads,
        "bytes_read": reads * block, "bytes_written": (operations - reads) * block, "set_up_s": 0.1,
    }  # fmt: skip
    evidence = Evidence(
        storage_io=IoEvidence.model_validate(counted | io),
        verified=verified,
        device_bytes_read=device_bytes,
        device_bytes_written=device_bytes,
        process_bytes_read=process_bytes,
        process_bytes_written=process_bytes,
    )
    return Repetition(
        id=spec.id,
        seconds=1.0,
        fresh=False,
        interrupted=False,
        series=[series],
        evidence=evidence,
    )
