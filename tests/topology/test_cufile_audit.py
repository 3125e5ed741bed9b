"""Each kind of mistake in a cufile.json is found, with its line; a right file has none."""

import json
from pathlib import Path
from typing import Any

import pytest

from tierscope.machine.cufile_audit import audit, find_cufile, read_cufile, settings_of
from tierscope.machine.cufile_json import OVERRIDES, keys, parse
from tierscope.machine.files import Files
from tierscope.model.cufile import CufileAudit
from tierscope.model.finding import Finding

ADDRESSES = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     +-- 10.0.1.0/24 2 0 2
           |-- 10.0.1.2
              /32 host LOCAL
           |-- 10.0.1.0
              /24 link UNICAST
        |-- 10.0.1.255
           /32 link BROADCAST
"""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/fib_trie").write_text(ADDRESSES)
    (tmp_path / "var/log").mkdir(parents=True)
    return Files(tmp_path)


def look_through(
    files: Files, values: dict[str, Any], environment: dict[str, str] | None = None
) -> CufileAudit:
    """Each key of ``values``, given as ``section.key``, stands in a line of its own."""
    whole: dict[str, Any] = {}
    for name, value in values.items():
        *above, last = name.split(".")
        at = whole
        for section in above:
            at = at.setdefault(section, {})
        at[last] = value
    parsed = parse(json.dumps(whole, indent=1), "cufile.json")
    return audit(parsed, "--cufile-json", files, environment or {})[0]


def problems(found: CufileAudit) -> list[Finding]:
    return [finding for finding in found.findings if finding.severity == "problem"]


P = "properties."
RIGHT: dict[str, Any] = {
    "logging.dir": "/var/log",
    "logging.level": "ERROR",
    "profile.cufile_stats": 0,
    "execution.max_io_threads": 4,
    "execution.parallel_io": True,
    f"{P}max_direct_io_size_kb": 16384,
    f"{P}max_device_cache_size_kb": 131072,
    f"{P}per_buffer_cache_size_kb": 1024,
    f"{P}max_device_pinned_mem_size_kb": 33554432,
    f"{P}use_poll_mode": False,
    f"{P}poll_mode_max_size_kb": 4,
    f"{P}allow_compat_mode": True,
    f"{P}rdma_dev_addr_list": ["10.0.1.2"],
    f"{P}rdma_dc_key": "0xffeeddcc",
    f"{P}posix_pool_slab_size_kb": [4, 1024, 16384],
    f"{P}posix_pool_slab_count": [128, 64, 64],
    "fs.lustre.posix_gds_min_kb": 0,
    "fs.nfs.mount_table": {"/mnt": {"rdma_dev_addr_list": ["10.0.1.2"]}},
    "denylist.drivers": [],
    "denylist.mounts": ["/mnt/test"],
}


def test_a_right_file_has_no_finding(files: Files) -> None:
    found = look_through(files, RIGHT)
    assert found.findings == []
    given = [one for one in found.settings if one.line is not None]
    assert [one.key for one in given] == list(RIGHT)
    assert {one.verdict for one in given} == {"default", "changed"}
    assert len(found.settings) == len(keys())


@pytest.mark.parametrize(
    ("change", "subject", "said"),
    [
        ({f"{P}max_direct_io_size_kb": "16384"}, f"{P}max_direct_io_size_kb", "whole number"),
        ({f"{P}use_poll_mode": 1}, f"{P}use_poll_mode", "true or false"),
        ({"logging.level": 3}, "logging.level", "text in quotes"),
        ({"logging.level": "LOUD"}, "logging.level", "none of NOTICE"),
        ({f"{P}io_priority": "highest"}, f"{P}io_priority", "none of default"),
        ({f"{P}io_batchsize": 257}, f"{P}io_batchsize", "more than 256"),
        ({f"{P}io_batchsize": 0}, f"{P}io_batchsize", "less than 1"),
        ({"profile.cufile_stats": 4}, "profile.cufile_stats", "more than 3"),
        ({f"{P}poll_mode_max_size_kb": 6}, f"{P}poll_mode_max_size_kb", "not a multiple of 4"),
        ({f"{P}rdma_dev_addr_list": ["10.0.1"]}, f"{P}rdma_dev_addr_list", "not an IPv4 address"),
        ({f"{P}rdma_dev_addr_list": ["10.0.1.9"]}, f"{P}rdma_dev_addr_list", "no interface"),
        ({"fs.nfs.mount_table": {"mnt": {}}}, "fs.nfs.mount_table", "does not begin with /"),
        ({"fs.nfs.mount_table": {"/mnt": ["10.0.1.2"]}}, "fs.nfs.mount_table", "needs"),
        ({"fs.nfs.mount_table": {"/mnt": {"rdma_dev_addr_list": ["x"]}}}, "fs.nfs.mount_table",
         "not an IPv4 address"),
        ({"fs.nfs.mount_table": {"/mnt": {"rdma_dev_addr_list": ["10.0.1.9"]}}},
         "fs.nfs.mount_table", "no interface"),
        ({f"{P}rdma_dc_key": "ffeeddcc"}, f"{P}rdma_dc_key", "hexadecimal"),
        ({f"{P}rdma_dynamic_routing_order": ["P2P", "NVLINK"]}, f"{P}rdma_dynamic", "none of"),
        ({f"{P}posix_pool_slab_count": [128, 64]}, f"{P}posix_pool", "3 slab sizes and 2"),
        ({f"{P}gpu_bounce_buffer_slab_config.slab_size_kb": [2048, 1024],
          f"{P}gpu_bounce_buffer_slab_config.slab_count": [1, 1]},
         f"{P}gpu_bounce_buffer_slab_config", "ascending"),
        ({f"{P}max_direct_io_size_kb": 1028}, f"{P}max_direct_io_size_kb", "not a multiple of 64"),
        ({f"{P}max_direct_io_size_kb": 1024, f"{P}per_buffer_cache_size_kb": 2048},
         f"{P}per_buffer_cache_size_kb", "more than max_direct_io_size_kb"),
        ({f"{P}alow_compat_mode": True}, f"{P}alow_compat_mode", "no key of cuFile"),
        ({f"{P}max_io_threads": 4}, f"{P}max_io_threads", "no key of cuFile"),
        ({"miscelaneous.skip_topology_detection": True}, "miscelaneous", "no key of cuFile"),
        ({"execution": 4}, "execution", "a section is needed"),
        ({"blacklist.mounts": ["/x"]}, "blacklist", "older name of denylist"),
        ({f"{P}max_device_pinned_mem_size_kb": 4096}, f"{P}max_device_cache", "more than max_dev"),
        ({f"{P}max_device_cache_size_kb": 512}, f"{P}per_buffer_cache", "more than max_device"),
        ({f"{P}rdma_dynamic_routing": True, f"{P}rdma_dev_addr_list": [],
          "fs.nfs.mount_table": {}}, f"{P}rdma_dynamic_routing", "no addresses"),
        ({f"{P}force_compat_mode": True, f"{P}allow_compat_mode": False},
         f"{P}force_compat_mode", "allow_compat_mode is false"),
        ({f"{P}gpu_bounce_buffer_slab_config.slab_size_kb": [1024],
          f"{P}gpu_bounce_buffer_slab_config.slab_count": [4]},
         f"{P}max_direct_io_size_kb", "together with gpu_bounce_buffer"),
        ({f"{P}gpu_bounce_buffer_slab_config.slab_size_kb": [32768, 65536]},
         f"{P}gpu_bounce_buffer_slab_config", "no slab of 16384"),
        ({"logging.dir": "/nowhere"}, "logging.dir", "does not exist"),
        ({"miscellaneous.enable_static_routing": True}, "miscellaneous.enable", "not exist"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_problem_with_its_line(
    files: Files, change: dict[str, Any], subject: str, said: str
) -> None:
    values = {key: value for key, value in RIGHT.items() if key.split(".")[0] not in change}
    found = problems(look_through(files, values | change))
    about = [one for one in found if one.subject.startswith(subject) and said in one.found]
    assert about, found
    assert about[0].meaning
    assert "line" in about[0].subject or subject == f"{P}gpu_bounce_buffer_slab_config"


@pytest.mark.parametrize(
    ("change", "subject", "said"),
    [
        ({f"{P}allow_compat_mode": None}, f"{P}allow_compat_mode", "not set"),
        ({f"{P}force_compat_mode": True}, f"{P}force_compat_mode", "true"),
        ({f"{P}poll_mode_max_size_kb": 8}, f"{P}poll_mode_max_size_kb", "use_poll_mode is not"),
        ({f"{P}use_poll_mode": True, f"{P}poll_mode_max_size_kb": 32768},
         f"{P}poll_mode_max_size_kb", "more than max_direct_io"),
        ({f"{P}per_buffer_cache_size_kb": 16384}, f"{P}per_buffer", "8 bounce buffers"),
        ({f"{P}use_pci_p2pdma": False, "block.nvme.use_pci_p2pdma": True},
         f"{P}use_pci_p2pdma", "block.nvme.use_pci_p2pdma is true"),
        ({f"{P}rdma_dynamic_routing_order": ["P2P"]}, f"{P}rdma_dynamic_routing_order", "not true"),
        ({"execution.parallel_io": False}, "execution.parallel_io", "false"),
        ({"execution.max_io_threads": 0}, "execution.max_io_threads", "0"),
        ({"logging.level": "TRACE"}, "logging.level", "TRACE"),
        ({"profile.nvtx": True}, "profile.nvtx", "not a key of libcufile 1.20"),
        ({"profile.io_batchsize": 64}, "profile.io_batchsize", "not a key of libcufile 1.15"),
        ({"profile.cufile_stats": 3}, "profile.cufile_stats", "3"),
        ({"vendor.zzz": 1}, "vendor.zzz", "not a key of libcufile"),
        ({f"{P}max_direct_io_size_kb": None, f"{P}per_buffer_cache_size_kb": 2048,
          f"{P}max_device_cache_size_kb": 1 << 20},
         f"{P}per_buffer_cache_size_kb", "max_direct_io_size_kb (not set)"),
    ],
)  # fmt: skip
def test_what_a_reader_should_know_is_a_note(
    files: Files, change: dict[str, Any], subject: str, said: str
) -> None:
    values = {k: v for k, v in (RIGHT | change).items() if v is not None}
    found = look_through(files, values)
    assert problems(found) == []
    about = [one for one in found.findings if one.subject.startswith(subject)]
    assert any(said in one.found for one in about), found.findings


@pytest.mark.parametrize(
    ("name", "value", "meaning"),
    [
        (f"{P}io_batchsize", "77", "refuse the whole file"),
        (f"{P}io_batchsize", 512, "refuse the whole file"),
        (f"{P}rdma_dynamic_routing_order", ["X"], "refuse the whole file"),
        ("logging.dir", "/nowhere", "refuse the whole file"),
        ("logging.level", "LOUD", "without a word"),
        (f"{P}rdma_dev_addr_list", ["x"], "without a word"),
        (f"{P}io_batchsize", 77.5, "cut it to a whole number"),
        (f"{P}io_batchsize", None, "as if the key were not there"),
        ("properties", 5, "end the whole process"),
    ],
)
def test_what_cufile_does_with_a_mistake_is_said(
    files: Files, name: str, value: Any, meaning: str
) -> None:
    """As libcufile 1.15 and 1.20 were seen to do."""
    values = {"properties": value} if name == "properties" else RIGHT | {name: value}
    about = [one for one in look_through(files, values).findings if one.subject.startswith(name)]
    assert meaning in about[0].meaning


def test_keys_that_the_file_lacks_count_as_the_library_has_them(files: Files) -> None:
    found, config = audit(parse("{}", "f"), "", files, {})
    assert config.effective(f"{P}allow_compat_mode") is True
    assert config.effective("execution.max_io_threads") == 8
    (one,) = [one for one in found.settings if one.key == "execution.max_io_threads"]
    assert (one.default, one.built_in) == (4, {"1.15": 0, "1.20": 8})


def test_near_names_are_proposed(files: Files) -> None:
    for wrong, right in (
        (f"{P}max_device_cache_size", f"{P}max_device_cache_size_kb"),
        ("execution.io_batchsize", f"{P}io_batchsize"),
        ("Properties.IO_BatchSize", f"{P}io_batchsize"),
        ("allow_compat_mod", f"{P}allow_compat_mode"),
        ("fs.luster.posix_gds_min_kb", "fs.lustre.posix_gds_min_kb"),
        (f"{P}rdma_load_balancing", f"{P}rdma_load_balancing_policy"),
    ):
        (found,) = problems(look_through(files, {f"{P}allow_compat_mode": True, wrong: 1}))
        assert found.remedy == f"write {right}, if that is meant"


def test_quotes_around_a_number_come_with_the_number(files: Files) -> None:
    (found,) = problems(look_through(files, RIGHT | {f"{P}allow_compat_mode": "True"}))
    assert found.remedy == "write true without quotes"


def test_a_key_given_twice_names_both_lines() -> None:
    text = '{"properties": {\n"io_batchsize": 1,\n"io_batchsize": 2}}'
    findings = settings_of(parse(text, "f"), {})[1]
    assert [one.subject for one in findings] == ["properties.io_batchsize, line 3"]
    assert "line 2" in findings[0].found


def test_entries_of_the_older_section_count_all_the_same(files: Files) -> None:
    parsed = parse('{"blacklist": {"mounts": ["/data"]}}', "f")
    assert audit(parsed, "", files, {})[1].given("denylist.mounts") == ["/data"]


@pytest.mark.parametrize(("variable", "key"), OVERRIDES.items())
def test_the_environment_counts_before_the_file(files: Files, variable: str, key: str) -> None:
    found = look_through(files, RIGHT, {variable: "x"})
    (one,) = [one for one in found.settings if one.key == key]
    assert one.overridden_by == f"{variable}=x"


def test_hostile_names_and_values_are_shown_as_escapes(files: Files) -> None:
    found = look_through(files, {"a\x1b[31m": "\x9b31m", "logging.dir": "\ud800/\u202e"})
    for finding in found.findings:
        text = finding.subject + finding.found + finding.remedy
        assert text.isprintable()


def test_the_file_is_found_as_cufile_finds_it(files: Files) -> None:
    assert find_cufile(files, {}) == ("", "")
    usual = Path(files.root) / "etc/cufile.json"
    usual.parent.mkdir()
    usual.write_text("{}")
    assert find_cufile(files, {})[0] == str(usual)
    assert find_cufile(files, {"CUFILE_ENV_PATH_JSON": "/mine"}) == (
        "/mine",
        "named by CUFILE_ENV_PATH_JSON",
    )
    assert find_cufile(files, {"CUFILE_ENV_PATH_JSON": "/mine"}, "/other")[0] == "/other"


def test_without_a_file_the_reader_is_told(files: Files) -> None:
    found, config = audit(read_cufile(""), "", files, {})
    assert "neither" in found.findings[0].found
    assert config.effective("properties.io_batchsize") == 128


def test_every_key_has_a_meaning_and_a_source_for_its_default_and_advice() -> None:
    for key in keys().values():
        assert key.meaning, key
        assert (key.default is not None) <= bool(key.default_from), key
        assert bool(key.advice) == bool(key.advised_by), key
        if key.default is not None:
            assert not key.wrong_type(key.default), key
            assert not key.wrong_value(key.default), key
