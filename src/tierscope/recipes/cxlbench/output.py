"""A run of CXL-Bench's cases as CXL-Bench's own result file, which its plotting scripts read.

Those want the same keys in all cases of a benchmark, no nulls and no cases without a figure.
Imported cases are given back as they were. Of cases that tierscope measured, a bandwidth is the
median in GiB/s; ``execution_time`` is the time of its samples, and ``accessed_bytes`` what that
bandwidth moves in it; threads have their own medians; ``thread_op_latency_avg`` of what is no chase
is the time of an access of one thread, as CXL-Bench computes it, and so no latency.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from tierscope.model.case import Case
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.text import shown
from tierscope.plans.machine import GIB
from tierscope.report.figures import figure_of

_CHASES = ("dependent_reads", "latency", "sequential_latency", "random_latency")
_LATENCY = {"avg": "mean", "median": "p50", "percentile_90": "p90", "percentile_99": "p99",
            "percentile_999": "p99.9", "percentile_9999": "p99.99", "max": "max"}  # fmt: skip
_WRITES = ("write", "stream-write")


def document(run: Run, path: Path) -> tuple[str, int]:
    """Return the file's text and the number of its cases; UserError where the run has none."""
    entries = results_of(run)
    if not entries:
        raise UserError(
            f"--cxlbench: run '{shown(path.stem)}' has no figures of CXL-Bench's cases; such runs "
            "come from 'tierscope run WORKLOAD.yaml' and 'tierscope import cxlbench'"
        )
    cases = sum(len(entry["benchmarks"]) for entry in entries)
    return json.dumps(entries, indent=2, sort_keys=True) + "\n", cases


def results_of(run: Run) -> list[dict[str, Any]]:
    """Return CXL-Bench's array of benchmarks; cases without a figure are left out."""
    measured = {m.id: m for m in run.measurements if m.has_figure}
    entries: list[dict[str, Any]] = []
    keys: list[object] = []
    for case in run.header.cases or []:
        members = [measured[name] for name in case.measurements if name in measured]
        results = case.reported.results if case.reported else _results(case, members, run)
        if results is None:
            continue
        key = (case.file, case.benchmark, case.reported.entry if case.reported else None)
        if not keys or keys[-1] != key:
            keys.append(key)
            about = case.reported.about if case.reported else _about(case, members, run)
            entries.append({**about, "benchmarks": []})
        entries[-1]["benchmarks"].append({"config": case.config, "results": results})
    return entries


def _parts(case: Case) -> list[str]:
    """Return the names of what runs at once, what writes last; none of a single benchmark."""
    if "exec_mode" in case.config:
        return []
    return sorted(case.config, key=lambda part: case.config[part].get("operation") in _WRITES)


def _about(case: Case, members: Sequence[Measurement], run: Run) -> dict[str, Any]:
    parts = _parts(case)
    ran = {m.evidence.isa for m in members if m.evidence and m.evidence.isa}
    vectors = {"avx512": "avx-512", "avx2": "avx-2"}
    return {
        "bm_name": case.benchmark,
        "bm_type": "parallel" if parts else "single",
        **({"sub_bm_names": parts} if parts else {}),
        "matrix_args": {part: list(case.matrix.get(part, {})) for part in parts}
        if parts
        else list(case.matrix),
        "nt_stores_instruction_set": next((vectors[isa] for isa in ran if isa in vectors), "none"),
        "git_hash": run.header.git_commit,
        "compiler": str(run.header.engine.get("compiler", "")),
        "hostname": run.header.host,
    }


def _results(case: Case, members: Sequence[Measurement], run: Run) -> dict[str, Any] | None:
    """Return what a case measured; None where a part of it has no figure."""
    parts = _parts(case)
    if not members:
        return None
    if not parts:
        return _single(case.config, members[0], _seconds(members[0], run))
    found = {}
    named = list(case.config)
    for part, config in case.config.items():
        number = named.index(part)
        own = members[number] if len(members) == len(named) else members[0]
        seconds = _seconds(own, run)
        if len(members) == len(named) or config.get("exec_mode") in _CHASES:
            results = _single(config, own, seconds)
        else:
            rate = figure_of(own, "bandwidth", part)
            if rate is None:  # the load of a chase, or the stream that others run beside
                rate = figure_of(own, "bandwidth") or (
                    own.estimate if own.metric == "bandwidth" else None
                )
            results = None if rate is None else _bandwidth(config, rate, [], seconds)
        if results is None:
            return None
        found[part] = {"results": results}
    return found


def _seconds(measurement: Measurement, run: Run) -> float:
    """Return how long the samples took together, by their least time."""
    sampling = (run.planned(measurement.id) or {}).get("sampling", {})
    return max(1, measurement.n) * float(sampling.get("sample_s", 0.01))


def _single(config: dict[str, Any], own: Measurement, seconds: float) -> dict[str, Any] | None:
    value = own.estimate
    if value is None:
        return None
    if config.get("exec_mode") == "custom":
        rate = value if own.metric == "operations" else figure_of(own, "operations")
        return None if rate is None else _custom(config, own, rate, seconds)
    if own.metric == "latency":
        return _chase(config, own, value, seconds)
    threads = own.evidence.threads if own.evidence else None
    return _bandwidth(config, value, threads or [], seconds) if own.unit == "B/s" else None


def _bandwidth(
    config: dict[str, Any], rate: float, threads: Sequence[float], seconds: float
) -> dict[str, Any]:
    """Return results in CXL-Bench's keys; ``rate`` and ``threads`` are bytes/s."""
    count = int(config["number_threads"])
    own = list(threads) if len(threads) == count else [rate / count] if count == 1 else []
    size = int(config["access_size"])
    times = [size / one * 1e9 for one in own if one > 0] or [count * size / rate * 1e9]
    return {
        "bandwidth": rate / GIB,
        "execution_time": seconds,
        "accessed_bytes": round(rate * seconds),
        "thread_bandwidth_avg": rate / count / GIB,
        "thread_bandwidth_std_dev": stdev(own) / GIB if len(own) > 1 else 0.0,
        "thread_op_latency_avg": fmean(times),
        "thread_op_latency_std_dev": stdev(times) if len(times) > 1 else 0.0,
        "threads": [
            {
                "bandwidth": one / GIB,
                "execution_time": seconds,
                "accessed_bytes": round(one * seconds),
            }
            for one in own
        ],
    }


def _chase(
    config: dict[str, Any], own: Measurement, latency: float, seconds: float
) -> dict[str, Any]:
    """Return results of dependent loads, whose time of an access is a latency, in ns."""
    size = int(config["access_size"])
    found = _bandwidth({**config, "number_threads": 1}, size / latency * 1e9, [], seconds)
    named = dict(_percentiles(own, "latency_"))
    return {**found, "thread_op_latency_avg": latency, **({"latency": named} if named else {})}


def _custom(
    config: dict[str, Any], own: Measurement, rate: float, seconds: float
) -> dict[str, Any]:
    count = int(config["number_threads"])
    timed = dict(_percentiles(own, "chain_latency_"))
    each = [{"execution_time": seconds, "num_operations": round(rate * seconds),
             "ops_per_second": rate}] if count == 1 else []  # fmt: skip
    return {
        "execution_time": seconds,
        "num_operations": round(rate * seconds),
        "ops_per_second": rate,
        "thread_ops_per_second_avg": rate / count,
        "thread_ops_per_second_std_dev": 0.0,
        "threads": each,
        **({"latency": timed} if timed and config.get("latency_sample_frequency") else {}),
    }


def _percentiles(own: Measurement, prefix: str) -> Iterator[tuple[str, float]]:
    for key, name in _LATENCY.items():
        value = figure_of(own, f"{prefix}{name}")
        if value is not None:
            yield key, value
