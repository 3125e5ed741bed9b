"""Run files of version 1 read as before, but for what version 2 names differently.

The files were written by version 1 (``gpu.jsonl`` by its test suite, in the same form), and
``NAME.show.json`` is what its ``show --json`` said of them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tierscope.runs.export import to_json
from tierscope.runs.read import parse_run, read_run

FILES = Path(__file__).with_name("version1")
NAMES = sorted(path.stem for path in FILES.glob("*.jsonl"))
NEW_KEYS = {
    "bound_by", "cause", "visits", "rounds", "no_interval", "unreliable", "fits_caches",
    "fits_memory_side_cache", "distributions", "series",
}  # fmt: skip
NEW_TOPOLOGY_KEYS = ("thp_page_bytes",)
NEW_PART_KEYS = {
    "pci": ("slot", "max_payload_able", "max_read_request"),
    "gpus": ("vbios", "power_limit_w", "power_default_w", "power_max_w"),
    "blocks": ("firmware",),
    "cxl_memories": ("firmware",),
    "dimms": ("manufacturer", "part_number", "firmware"),
}
"""Of parts of the topology."""
GPU_KEYS = {"initiator", "target", "pattern"}
"""Of copies, version 2 names where bytes come from and go to, and how they are moved."""


def shown(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(to_json(read_run(FILES / f"{name}.jsonl")))
    return document


def expected(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FILES / f"{name}.show.json").read_text())
    return document


def run_as_before(run: dict[str, Any]) -> dict[str, Any]:
    """Return what stands of a run, without what its topology has had since."""
    for key in ("ratings", "namespaces", "bios", "microcode", "gpu_driver"):
        (run["topology"] or {}).pop(key, None)
    for key in ("clock", "start_at", "energy", "cases", "imported", "fleet"):
        assert run.pop(key) is None
    for key in ("late_s", "imported"):
        (run["footer"] or {}).pop(key, None)
    for node in (run["topology"] or {}).get("nodes", []):
        node.pop("memory_side_caches", None)
    for kind in ("mounts", "blocks"):
        for one in (run["topology"] or {}).get(kind, []):
            one.pop("dax", None)
            one.pop("server", None)
            one.pop("interfaces", None)
    for kind, keys in NEW_PART_KEYS.items():
        for one in (run["topology"] or {}).get(kind, []):
            for key in keys:
                assert one.pop(key) in (None, "")
    for gpu in (run["topology"] or {}).get("gpus", []):
        for link in gpu["nvlinks"]:
            link.pop("peer_package", None)
    return run


def as_before(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without what version 2 adds and names differently."""
    kept = {key: value for key, value in result.items() if key not in NEW_KEYS}
    if kept["kind"].startswith("gpu"):
        kept = {key: value for key, value in kept.items() if key not in GPU_KEYS}
    drop = ("metric", "part", "no_interval", "unreliable")
    kept["figures"] = [{k: v for k, v in f.items() if k not in drop} for f in result["figures"]]
    if result["limit"]:
        new = ("degraded", "without_write_allocate")
        kept["limit"] = {k: v for k, v in result["limit"].items() if k not in new}
    return kept


@pytest.mark.parametrize("name", NAMES)
def test_a_file_shows_as_it_did(name: str) -> None:
    before, now = expected(name), shown(name)
    machine = now["run"].get("topology") or {}
    assert [machine.pop(key, None) for key in NEW_TOPOLOGY_KEYS] == [None] * len(NEW_TOPOLOGY_KEYS)
    assert run_as_before(now["run"]) == before["run"]
    assert [as_before(r) for r in now["results"]] == [as_before(r) for r in before["results"]]


def figures(name: str) -> dict[str, set[tuple[str, str]]]:
    return {
        result["id"]: {(figure["metric"], figure["part"]) for figure in result["figures"]}
        for result in shown(name)["results"]
    }


def test_figures_are_named_by_metric_and_part() -> None:
    gpu = figures("gpu")
    assert gpu["all-to-host.ce.512m"] == {
        ("bandwidth", "gpu:0 -> node:0"),
        ("bandwidth", "gpu:1 -> node:1"),
    }
    assert gpu["gpu0.sm.gpu:0.64m.s128"] == {
        (f"sm_latency_{which}", "") for which in ("min", "p5", "p50", "p95", "max")
    }
    assert gpu["gpu:0.to.gpu:1.ce.64m.read"] == {("call_latency", "")}
    (streams,) = figures("streams").values()
    assert ("bandwidth", "stream2") in streams
    assert ("total_bandwidth", "") in streams


def test_figures_of_one_name_keep_it() -> None:
    (mapping,) = figures("mapping").values()
    assert mapping == {("map", ""), ("populate_per_page", ""), ("unmap_per_page", "")}


def test_what_was_text_is_typed() -> None:
    results = {result["id"]: result for result in shown("gpu")["results"]}
    degraded = {name for name, r in results.items() if r["limit"] and r["limit"]["degraded"]}
    assert degraded == {"gpu:0.to.gpu:1.ce.64m.read"}
    assert results["gone"]["cause"] == results["wrong"]["cause"] == "other"
    assert results["gone"]["visits"] == 0
    assert results["all-to-host.ce.512m"]["visits"] == 1


def test_copies_are_named_from_where_to_where() -> None:
    results = {result["id"]: result for result in shown("gpu")["results"]}
    one = results["gpu:0.to.gpu:1.ce.64m.read"]
    assert (one["initiator"], one["target"]) == ("gpu:0", "gpu:1")
    assert (one["pattern"]["engine"], one["pattern"]["issued"]) == ("ce", "by a read")


def test_records_after_a_footer_are_refused() -> None:
    content = (FILES / "latency.jsonl").read_bytes()
    line = content.split(b"\n")[1]
    with pytest.raises(Exception, match="a measurement record cannot stand here"):
        parse_run(content + line + b"\n", "x")
