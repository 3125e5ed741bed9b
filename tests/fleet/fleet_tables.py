"""Tables of a fleet as ``fleet gather`` leaves them, with hosts that were made slow on purpose."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tierscope.fleet.tables import COLUMNS

PATHS = 50
_MODELS = (("Example Systems R1", "Example 9000"), ("Example Systems R2", "Example 9900"))


@dataclass(frozen=True)
class Planted:
    """A host that is slow on a path."""

    host: str
    id: str
    by: float


def measurements(paths: int = PATHS) -> Iterator[dict[str, Any]]:
    """Yield what each host measures: bandwidths over threads, latencies over sizes."""
    for number in range(paths):
        target = f"node:{number % 2}"
        if number % 3:
            pattern: dict[str, Any] = {"operation": "read", "threads": 1 + number, "size": 1 << 30}
            yield {"id": f"bandwidth.{number}", "kind": "bandwidth", "initiator": "node:0",
                   "target": target, "pattern": pattern, "metric": "bandwidth", "unit": "B/s",
                   "value": 2e10 + 4e9 * number, "limit": 307.2e9}  # fmt: skip
        else:
            pattern = {"order": "random", "size": 1 << (20 + number // 6), "pages": "thp"}
            yield {"id": f"latency.{number}", "kind": "latency", "initiator": "node:0",
                   "target": target, "pattern": pattern, "metric": "latency", "unit": "ns",
                   "value": 90.0 + number, "limit": None}  # fmt: skip


def make_fleet(
    folder: Path, hosts: int, paths: int = PATHS, models: int = 1, seed: int = 1, by: float = 0.04
) -> list[Planted]:
    """Write figures.parquet and hosts.parquet; return what was planted: of 1% of the hosts, at
    least one, a path is slower by ``by``. Noise between hosts is 1%.

    The last hosts of 100 or more are lost, failed or cannot.
    """
    chance = random.Random(seed)
    names = [f"node{number:04}" for number in range(hosts)]
    absent = dict(zip(names[-3:], ("lost", "failed", "cannot"), strict=True)) if hosts > 99 else {}
    plan = list(measurements(paths))
    slow = chance.sample([name for name in names if name not in absent], max(1, hosts // 100))
    planted = [Planted(host, chance.choice(plan)["id"], by) for host in slow if plan]
    folder.mkdir(parents=True, exist_ok=True)
    rows = (
        _row(name, number, one, models, planted, chance)
        for index, name in enumerate(names)
        if name not in absent
        for number, one in enumerate(plan)
        if not (index % 97 == 5 and number == 7)
    )
    _write(folder, "figures", rows)
    described = [_host(name, absent.get(name, "measured"), models, slow) for name in names]
    _write(folder, "hosts", iter(described))
    _write(folder, "together", iter(()))
    return planted


def _model(name: str, models: int) -> int:
    return int(name[4:]) % models


def _row(
    host: str, number: int, one: dict[str, Any], models: int, planted: list[Planted],
    chance: random.Random,
) -> dict[str, Any]:  # fmt: skip
    worse = next((p.by for p in planted if (p.host, p.id) == (host, one["id"])), 0.0)
    factor = 1 - worse if one["unit"] == "B/s" else 1 + worse
    value = one["value"] * (1 + 0.3 * _model(host, models)) * chance.gauss(1, 0.01) * factor
    skipped = host.endswith("3") and number == 4
    return {
        **{key: one[key] for key in ("id", "kind", "initiator", "target")},
        "host": host, "run": host, "number": number, "figure": 0,
        "part": "", "compared": not skipped,
        "pattern": one["pattern"],
        "status": "skipped" if skipped else "measured",
        "reason": "not enough free memory" if skipped else "",
        "metric": None if skipped else one["metric"], "unit": None if skipped else one["unit"],
        "estimate": None if skipped else value, "ci_low": None if skipped else value * 0.997,
        "ci_high": None if skipped else value * 1.003, "limit_value": one["limit"],
        "limit_link": "8 channels of DDR5-4800" if one["limit"] else "",
        "efficiency": value / one["limit"] if one["limit"] and not skipped else None,
    }  # fmt: skip


def _host(name: str, state: str, models: int, slow: list[str]) -> dict[str, Any]:
    product, cpu = _MODELS[_model(name, models)]
    reasons = {"lost": "its rank stopped answering after 12 s", "failed": "the engine broke",
               "cannot": "node:1 has no memory"}  # fmt: skip
    measured = state == "measured"
    facts = {"kernel": "Linux 6.12.0", "thp": "madvise", "memory of node:0": "DRAM 256 GiB",
             "governor": "powersave" if name in slow[:1] else "performance"}  # fmt: skip
    return {
        "host": name, "state": state, "reason": reasons.get(state, ""),
        "run": f"hosts/{name}.jsonl" if measured else "", "rack": f"r{int(name[4:]) // 40}",
        "model": f"{product}, 2 x {cpu}" if measured else None,
        "facts": facts if measured else {},
    }  # fmt: skip


def _write(folder: Path, name: str, rows: Iterator[dict[str, Any]]) -> None:
    lines = folder / f"{name}.jsonl.tmp"
    with lines.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    duckdb.sql(
        f"COPY (SELECT * FROM read_json('{lines}', format = 'newline_delimited', "
        f"columns = {COLUMNS[name]})) TO '{folder / name}.parquet' (FORMAT parquet)"
    )
    lines.unlink()
