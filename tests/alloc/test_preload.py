"""Programs of every sort with the allocator preloaded: blocks are where the rules say."""

import os
import re
import subprocess
import sys
from json import loads
from pathlib import Path

import pytest

from tierscope.place.allocator import RULES, WORDS
from tierscope.place.launch import find_installed

HERE = Path(__file__).parent
LARGE = "arena tier 0;size >= 4K -> tier"


def preloaded(rules: str, words: str = "strict") -> dict[str, str]:
    library = find_installed("_lib/libtierscope-alloc-preload.so")
    return os.environ | {"LD_PRELOAD": str(library), RULES: rules, WORDS: words}


def run(
    command: list[object], rules: str, words: str = "strict"
) -> "subprocess.CompletedProcess[str]":
    words_of_command = [str(word) for word in command]
    environment = preloaded(rules, words)
    return subprocess.run(
        words_of_command, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    options = ["-O1", "-fno-builtin", "-pthread", "-Wno-unused-result"]
    subprocess.run(["cc", *options, "-o", folder / "probe", HERE / "probe.c"], check=True)
    for name in ("first", "second"):
        source = (
            f"#include <stdlib.h>\nvoid *{name}(void) {{ char *b = malloc(64); *b = 1; return b; }}"
        )
        (folder / f"{name}.c").write_text(source)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", folder / f"{name}.so", folder / f"{name}.c"],
            check=True,
        )
    subprocess.run(
        ["c++", "-O1", "-pthread", "-o", folder / "objects", HERE / "objects.cpp"], check=True
    )
    return folder / "probe"


@pytest.mark.parametrize(
    ("way", "rules"),
    [
        ("functions", LARGE),
        ("limits", LARGE),
        ("resizing", LARGE),
        ("sites", "arena tier 0;site probe:load_* -> tier"),
        ("threads", 'arena tier 0;thread "worker ?" -> tier'),
        ("mappings", "arena tier 0;map >= 1M -> tier"),
        ("forks", f"{LARGE};map >= 1M -> tier"),
        ("ratio", "arena tier 0;ratio plain:tier 2:1"),
    ],
)
def test_memory_is_where_the_rules_say(way: str, rules: str, probe: Path) -> None:
    done = run([probe, way], rules)
    assert (done.returncode, done.stdout) == (0, "as the rules say\n"), done.stderr


@pytest.mark.parametrize("nodes", ["0", "bind:0", "0@2", "0 capacity=1M"])
def test_mremap_does_what_it_does_without_the_library(nodes: str, tmp_path: Path) -> None:
    program = tmp_path / "mremap_cases"
    subprocess.run(["cc", "-O1", "-o", program, HERE / "mremap_cases.c"], check=True)
    plain = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    done = run([program], f"arena tier {nodes};map >= 64K -> tier")
    assert (done.returncode, done.stdout) == (0, plain)
    assert len(plain.splitlines()) == 30
    assert "LOST" not in plain


LIMIT_KB = 2_000_000
"""Of address space."""


def limited(command: list[object], rules: str) -> "subprocess.CompletedProcess[str]":
    return run(["sh", "-c", f'ulimit -v {LIMIT_KB}; exec "$@"', "sh", *command], rules)


@pytest.mark.parametrize("nodes", ["0", "bind:0", "0@3", "interleave:0", "pmem:/dev/shm"])
@pytest.mark.parametrize("way", ["functions", "limits", "resizing"])
def test_blocks_are_where_the_rules_say_in_little_address_space(
    nodes: str, way: str, probe: Path
) -> None:
    done = limited([probe, way], f"arena tier {nodes};size >= 4K -> tier")
    assert (done.returncode, done.stdout) == (0, "as the rules say\n"), done.stderr


@pytest.mark.parametrize("way", ["mappings", "forks"])
def test_mappings_are_where_the_rules_say_in_little_address_space(way: str, probe: Path) -> None:
    done = limited([probe, way], f"{LARGE};map >= 1M -> tier")
    assert (done.returncode, done.stdout) == (0, "as the rules say\n"), done.stderr


def test_a_rule_that_takes_nothing_takes_little_address_space(probe: Path) -> None:
    done = limited([probe, "address-space"], "arena tier 0;size >= 1G -> tier")
    assert int(done.stdout.split()[0]) < 0.05 * LIMIT_KB


def test_what_other_threads_unmap_during_a_fork_is_forgotten(probe: Path) -> None:
    done = run([probe, "forks"], f"{LARGE};map >= 1M -> tier", "strict,statistics")
    assert done.returncode == 0, done.stderr
    assert re.search(r"arena tier: .*, 0 B mapped\n", done.stderr)


def test_what_mremap_adds_counts_or_is_spilled(tmp_path: Path) -> None:
    source = tmp_path / "grow.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <sys/mman.h>\n"
        "int main(void) {\n"
        "  const unsigned long step = 1 << 20;\n"
        "  char *range = mmap(0, step, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
        "  for (int i = 1; i < 20; ++i)\n"
        "    range = mremap(range, i * step, (i + 1) * step, MREMAP_MAYMOVE);\n"
        "  return mremap(range, 20 * step, 3 * step, 0) != range;\n}\n"
    )
    subprocess.run(["cc", "-o", tmp_path / "grow", source], check=True)
    done = run(
        [tmp_path / "grow"], "arena tier 0 capacity=4M;map >= 1M -> tier", "strict,statistics"
    )
    assert done.returncode == 0
    assert (
        "arena tier: 3.0 MiB committed of 4.0 MiB, 0 B in blocks, 3.0 MiB mapped; " in done.stderr
    )
    assert "; 16.0 MiB in 16 calls spilled" in done.stderr


def test_the_first_rule_that_fits_counts(probe: Path) -> None:
    done = run([probe, "functions"], "arena tier 0;size < 4K -> plain;size >= 0 -> tier")
    assert done.returncode == 0, done.stderr
    done = run([probe, "functions"], "arena tier 0;size >= 0 -> tier;size < 4K -> plain")
    assert (done.returncode, done.stdout) == (1, "")


def test_code_that_is_unloaded_leaves_no_call_site_behind(probe: Path) -> None:
    libraries = [probe.with_name(f"{name}.so") for name in ("first", "second")]
    done = run([probe, "libraries", *libraries], "arena tier 0;site second.so:second -> tier")
    assert done.returncode == 0, done.stderr


MANY_SITES = """
#include <stdlib.h>
#define SITE(n) \\
  __attribute__((noinline)) void *site_##n(void) { char *b = malloc(64); *b = 1; return b; }
SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)
void get(void **blocks) {
  void *(*const sites[])(void) = {site_0, site_1, site_2, site_3, site_4, site_5, site_6, site_7};
  for (int i = 0; i < 8; ++i) blocks[i] = sites[i]();
}
"""


@pytest.mark.parametrize("copies", [1, 4, 3000])
def test_libraries_that_are_loaded_again_and_again_keep_their_call_sites(
    copies: int, probe: Path, tmp_path: Path
) -> None:
    (tmp_path / "many.c").write_text(MANY_SITES)
    library = tmp_path / "many.so"
    subprocess.run(
        ["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", library, tmp_path / "many.c"],
        check=True,
    )
    paths = [tmp_path / f"many{number}.so" for number in range(copies)]
    for path in paths:
        path.hardlink_to(library)
    rules = "arena tier 0;site many*.so:site_* -> tier;site probe:load_index -> tier"
    json = tmp_path / "statistics"
    command = [probe, "reloading", 3000, *paths]
    done = subprocess.run(
        [str(word) for word in command],
        env=preloaded(rules, "strict,sites") | {"TIERSCOPE_ALLOC_JSON": str(json)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "as the rules say\n"), done.stderr
    one = loads(json.read_text())
    assert one["lookups"]["unknown"] == 0
    blocks = {
        f"{site['object']}:{site['function']}": site["blocks"]
        for site in one["call_sites"]
        if "function" in site
    }
    assert blocks["probe:load_index"] == 3000
    assert blocks[f"many{copies - 1}.so:site_7"] == 3000 // copies
    named = sum(count for name, count in blocks.items() if name.startswith("many"))
    unloaded = sum(site["blocks"] for site in one["call_sites"] if site["object"] == "?")
    assert named + unloaded == 3000 * 8
    assert (unloaded > 0) == (copies == 3000)


def test_an_offset_names_a_call_site_as_the_list_of_sites_shows_it(probe: Path) -> None:
    stripped = probe.with_name("stripped")
    subprocess.run(["strip", "-o", stripped, probe], check=True)
    listed = run([stripped, "load"], "", "sites").stderr
    found = re.search(r"^ +100000 +1000 +100  (stripped\+0x[0-9a-f]+)$", listed, re.MULTILINE)
    assert found, listed
    done = run([stripped, "sites"], f"arena tier 0;site {found[1]} -> tier")
    assert done.returncode == 0, done.stderr


def test_functions_that_are_not_exported_have_names(probe: Path) -> None:
    listed = run([probe, "load"], "", "sites").stderr
    assert re.search(r"^ +100000 +1000 +100  probe:load_index$", listed, re.MULTILINE), listed


@pytest.mark.parametrize("rules", [LARGE, "arena tier 0 capacity=16M;size >= 1 -> tier",
                                   "arena tier 0;ratio plain:tier 1:3",
                                   "arena tier 0;site libstdc++*:* -> tier"])  # fmt: skip
def test_objects_of_c_plus_plus(rules: str, probe: Path) -> None:
    done = run([probe.with_name("objects")], rules)
    assert (done.returncode, done.stdout) == (0, "49990000\n"), done.stderr


def test_a_full_arena_that_fails_is_bad_alloc_and_one_that_spills_goes_on(probe: Path) -> None:
    command = [probe.with_name("objects")]
    rules = "arena tier 0 capacity=4M full={};size >= 1 -> tier"
    done = run(command, rules.format("fail"))
    assert done.returncode == -6
    assert "terminate called" in done.stderr
    assert run(command, rules.format("spill")).returncode == 0


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ("arena tier 0;size >= 1Q -> tier", f"{RULES}:2: this size is not understood; write: "),
        ("arena tier 777;size >= 1 -> tier", f"{RULES}:1: arena tier: a node of it does not exist"),
        ("/no/file", "/no/file: the rules cannot be read: No such file or directory"),
    ],
)
def test_wrong_rules_are_one_line_and_plain_memory_or_an_end(rules: str, complaint: str) -> None:
    done = run(["echo", "ran"], rules, "")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert done.stderr.startswith(f"tierscope-alloc: {complaint}")
    assert done.stderr.count("\n") == 1
    strict = run(["echo", "ran"], rules, "strict")
    assert (strict.returncode, strict.stdout, strict.stderr) == (1, "", done.stderr)


@pytest.mark.parametrize(
    ("mode", "folder_mode", "owner", "complaint"),
    [
        (0o644, 0o755, 0, ""),
        (0o600, 0o1777, 0, ""),
        (0o666, 0o755, 0, "the file is writable by others (mode 0666); "),
        (0o644, 0o777, 0, "{} is writable by others (mode 0777); "),
        (0o644, 0o755, 1000, "the file belongs to user 1000; "),
    ],
)
def test_root_follows_no_rules_that_others_may_write(
    mode: int, folder_mode: int, owner: int, complaint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    rules = folder / "tiers.rules"
    rules.write_text("arena tier 0\nsize >= 4K -> tier\n")
    if os.geteuid() == 0:
        os.chown(rules, owner, 0)
    rules.chmod(mode)
    folder.chmod(folder_mode)
    done = run(["true"], str(rules), "strict")
    if not complaint or os.geteuid() != 0:
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 1
    assert done.stderr.startswith(f"tierscope-alloc: {rules}: {complaint.format(folder)}root reads")
    assert done.stderr.count("\n") == 1


def test_root_follows_rules_of_the_user_who_called_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "tiers.rules"
    rules.write_text("arena tier 0\nsize >= 4K -> tier\n")
    if os.geteuid() == 0:
        os.chown(rules, 1000, 1000)
    rules.chmod(0o644)
    monkeypatch.setenv("SUDO_UID", "1000")
    assert run(["true"], str(rules), "strict").returncode == 0


def test_an_unknown_word_is_refused() -> None:
    done = run(["echo", "ran"], LARGE, "strict statistik")
    assert (done.returncode, done.stdout) == (1, "")
    assert "it takes strict, statistics, sites and check" in done.stderr


OWN_MALLOC = """
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static char pool[1 << 22];
static size_t used;
void* malloc(size_t size) {
  size_t* at = (size_t*)(pool + used);
  used += (size + 31) / 16 * 16;
  *at = size;
  return at + 2;
}
void* calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void* realloc(void* old, size_t size) {
  void* fresh = malloc(size);
  return old ? memcpy(fresh, old, ((size_t*)old)[-2] < size ? ((size_t*)old)[-2] : size) : fresh;
}
void free(void* block) {
  const size_t offset = (size_t)((char*)block - pool);
  if (block && offset > sizeof pool) __builtin_trap();
}
int main(void) { free(strdup("x")); free(malloc(9000)); puts("own"); return 0; }
"""


def test_a_program_with_a_malloc_of_its_own_runs_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(OWN_MALLOC)
    subprocess.run(
        ["cc", "-O1", "-fno-builtin", "-o", tmp_path / "own", tmp_path / "own.c"], check=True
    )
    done = run([tmp_path / "own"], "arena tier 0;size >= 1 -> tier", "")
    assert (done.returncode, done.stdout) == (0, "own\n")
    assert done.stderr.startswith("tierscope-alloc: the program has a malloc of its own, ")
    assert done.stderr.count("\n") == 1
    assert run([tmp_path / "own"], "arena tier 0;map >= 1M -> tier").returncode == 0


@pytest.mark.parametrize("rules", [LARGE, "arena tier 0;ratio plain:tier 1:1",
                                   "arena tier 0;site *:* -> tier;map >= 64K -> tier"])  # fmt: skip
def test_programs_print_the_same(rules: str) -> None:
    code = (
        "import json, threading\n"
        "made = [json.dumps([n] * (n % 700)) for n in range(3000)]\n"
        "work = lambda: [sorted(text) for text in made[:200]]\n"
        "run = [threading.Thread(target=work) for _ in range(4)]\n"
        "[t.start() for t in run]; [t.join() for t in run]; print(sum(map(len, made)))"
    )
    for command in (
        ["ls", "-l", "/usr/lib"],
        ["sort", "-R", "--random-source=/bin/ls", "--parallel=2", "-S", "2M", "/etc/services"],
        [sys.executable, "-c", code],
        ["sh", "-c", "for i in 1 2 3; do echo $i | grep -c $i; done; exec date -u -d @0"],
    ):
        plain = subprocess.run(command, capture_output=True, text=True, check=True)
        done = run(command, rules)
        assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, plain.stderr)


def test_children_report_where_rules_took_memory() -> None:
    line = "date > /dev/null; sort /etc/services > /dev/null; exec date -u"
    done = run(["sh", "-c", line], "arena tier 0;size >= 64K -> tier", "statistics")
    programs = re.findall(r"^tierscope-alloc: (\w+), process \d+$", done.stderr, re.MULTILINE)
    assert programs == ["sort", "date"]


def test_statistics_reach_the_first_stderr_and_never_a_file_of_the_program(tmp_path: Path) -> None:
    done = run(["sort", "/etc/services"], LARGE, "statistics")  # closes its stderr in the end
    lines = done.stderr.splitlines()
    assert lines[0].startswith("tierscope-alloc: sort, process ")
    assert re.fullmatch(
        r"tierscope-alloc: line 2, size -> tier: \d+ blocks, [\d.]+ KiB in all", lines[-1]
    )
    code = (
        "import os\nos.closerange(3, 4096)\n"
        f"for _ in range(1000): os.open({str(tmp_path / 'own')!r}, os.O_RDWR | os.O_CREAT)\n"
    )
    assert run([sys.executable, "-c", code], LARGE, "statistics").stderr == ""
    assert (tmp_path / "own").read_bytes() == b""
