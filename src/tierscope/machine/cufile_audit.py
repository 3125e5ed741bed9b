"""Look through a cufile.json key by key: types, ranges, names that are spelled wrong."""

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tierscope.machine.cufile_json import (
    ADDRESSES,
    LIBRARIES,
    NEW_SECTION,
    OLD_SECTION,
    OVERRIDES,
    TRIED,
    USUAL,
    VARIABLE,
    CufileJson,
    Key,
    KeyPath,
    current_name,
    keys,
    parse,
    read_text,
    sections,
)
from tierscope.machine.files import Files
from tierscope.machine.network import local_addresses
from tierscope.model.cufile import CufileAudit, CufileSetting, Verdict
from tierscope.model.errors import UserError
from tierscope.model.finding import Finding

_NEAR = 0.75
"""Likeness from which on a name counts as another one spelled wrong."""
_P = "properties."
_SLABS = f"{_P}gpu_bounce_buffer_slab_config."
_NVFS_SLAB_KB = 16384
"""Largest slab that nvidia-fs uses: NVIDIA's guide of 1.17 and later, 4.2.2."""
_DIRECT_1_15 = 1024
"""max_direct_io_size_kb of libcufile 1.15 where the file lacks it."""
_NO_EFFECT = "it has no effect"
_REFUSED = f"{TRIED} refuse the whole file: cuFile's driver does not open"
_NOTHING = CufileJson("", {}, {})


class Config:
    """A cufile.json, with the environment variables that take precedence."""

    def __init__(
        self,
        values: Mapping[str, Any],
        environment: Mapping[str, str],
        lines: Mapping[str, int] | None = None,
    ) -> None:
        """``values`` are the keys of the right type and range, by name; ``lines`` where all are."""
        self._values = values
        self.lines = lines or {}
        self._environment = environment

    def given(self, name: str) -> Any:
        """The value that the file has; None where it has none that is right."""
        return self._values.get(name)

    def effective(self, name: str) -> Any:
        """The value that counts: of the environment, the file, or the newest library itself."""
        for variable, key in OVERRIDES.items():
            if key == name and (text := self._environment.get(variable)):
                truth = {"true": True, "1": True, "false": False, "0": False}
                return truth.get(text.lower(), text)
        if (found := self._values.get(name)) is not None:
            return found
        known = keys()[name]
        return known.built_in[-1] if known.built_in else known.default

    def is_true(self, name: str) -> bool:
        """Whether a key, known or not, counts as true."""
        return name in keys() and self.effective(name) is True


def settings_of(
    parsed: CufileJson, environment: Mapping[str, str]
) -> tuple[list[CufileSetting], list[Finding], Config]:
    """Return every key of the file and every known key that it lacks, and what is wrong."""
    settings: list[CufileSetting] = []
    findings: list[Finding] = []
    values: dict[str, Any] = {}
    for path, value in _leaves((), parsed.values):
        name = ".".join(path)
        line = parsed.lines[path][-1]
        key = keys().get(current_name(name))
        wrong = _unknown(name, value, line) if key is None else _wrong(key, name, value, line)
        if key is not None and wrong is None:
            values[key.name] = value
        if wrong is not None:
            findings.append(wrong)
        elif key is not None and key.missing:
            findings.append(_missing(key, name, line))
        settings.append(_setting(name, line, value, key, wrong is not None, environment))
    findings += [*_repeated(parsed), *_old_section(parsed)]
    there = {current_name(setting.key) for setting in settings}
    settings += [
        _setting(name, None, None, key, False, environment)
        for name, key in keys().items()
        if name not in there
    ]
    lines = {current_name(one.key): one.line for one in settings if one.line is not None}
    return settings, findings, Config(values, environment, lines)


def as_json(value: Any) -> str:
    """Return a value as JSON in which every character can be printed."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def _leaves(above: KeyPath, values: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    """Yield keys with their values: what is known as one key is one, though it be an object."""
    for name, value in values.items():
        path = (*above, name)
        one = current_name(".".join(path)) in keys()
        if isinstance(value, dict) and value and not one:
            yield from _leaves(path, value)
        elif value != {} or one or not _is_section(path):
            yield path, value


def _is_section(path: KeyPath) -> bool:
    return current_name(".".join(path) + ".x").removesuffix(".x") in sections()


def _setting(
    name: str,
    line: int | None,
    value: Any,
    key: Key | None,
    wrong: bool,
    environment: Mapping[str, str],
) -> CufileSetting:
    if key is None:
        return CufileSetting(key=name, line=line, value=value, verdict="unknown")
    verdict: Verdict = "wrong" if wrong else "default" if value == key.default else "changed"
    given = ""
    for variable, one in OVERRIDES.items():
        if one == key.name and environment.get(variable):
            given = f"{variable}={environment[variable]}"
    return CufileSetting(
        key=name,
        line=line,
        value=value,
        verdict="absent" if line is None else verdict,
        default=key.default,
        default_from=key.default_from,
        built_in=dict(zip(LIBRARIES, key.built_in, strict=False)),
        note=key.note,
        meaning=key.meaning,
        since=key.since,
        advice=key.advice,
        advised_by=key.advised_by,
        overridden_by=given,
    )


def subject(name: str, line: int | None) -> str:
    """Return how a finding names a key."""
    shown = as_json(name)[1:-1]
    return f"{shown}, line {line}" if line else shown


def _unknown(name: str, value: Any, line: int) -> Finding:
    if _is_section(tuple(name.split("."))):
        return Finding(
            severity="problem",
            subject=subject(name, line),
            found=f"{as_json(value)}, where a section is needed",
            meaning=f"{TRIED} end the whole process with an error of their JSON parser",
            remedy=f'write "{name.rpartition(".")[2]}": {{ ... }}',
        )
    near = _nearest(name)
    if near:
        return Finding(
            severity="problem",
            subject=subject(name, line),
            found="no key of cuFile",
            meaning="cuFile passes over it, and its value has no effect",
            remedy=f"write {near}, if that is meant",
        )
    return Finding(
        severity="note",
        subject=subject(name, line),
        found="not a key of libcufile 1.15 or 1.20",
        meaning="it has an effect only if another release knows it",
        remedy="compare with the cufile.json that your release installs",
    )


def _missing(key: Key, name: str, line: int) -> Finding:
    return Finding(
        severity="note",
        subject=subject(name, line),
        found=f"not a key of {key.missing}",
        meaning="it has no effect there, though NVIDIA's guide lists it",
        remedy=key.advice,
    )


def _nearest(name: str) -> str:
    """Return the known key that is most likely meant: the same in another section, or alike."""
    last = name.rpartition(".")[2].lower()
    same = [known for known in keys() if known.rpartition(".")[2] == last]
    names = same or [
        known
        for known in keys()
        if difflib.SequenceMatcher(None, last, known.rpartition(".")[2]).ratio() >= _NEAR
    ]
    found = difflib.get_close_matches(current_name(name).lower(), names, n=1, cutoff=0.0)
    return found[0] if found else ""


def _wrong(key: Key, name: str, value: Any, line: int) -> Finding | None:
    needed = key.wrong_type(value)
    said = f"{as_json(value)}: {needed}" if needed else key.wrong_value(value)
    if not said:
        return None
    if value is None:
        meaning = "cuFile reads it as if the key were not there"
    elif needed and isinstance(value, float):
        meaning = f"{TRIED} cut it to a whole number"
    elif key.lenient or (not needed and key.kind == "addresses"):
        meaning = f"{TRIED} take it without a word, and do something else"
    else:
        meaning = f"{TRIED} refuse the whole file: cuFile's driver does not open"
    return Finding(
        severity="note" if value is None else "problem",
        subject=subject(name, line),
        found=said,
        meaning=meaning,
        remedy=_retyped(key, value) if needed else _allowed(key),
    )


def _retyped(key: Key, value: Any) -> str:
    """Return what to write, where a number or a truth value stands in quotes."""
    if not isinstance(value, str):
        return ""
    try:
        inner = json.loads(value.strip().lower())
    except ValueError:
        return ""
    fits = not key.wrong_type(inner) and not key.wrong_value(inner)
    return f"write {json.dumps(inner)} without quotes" if fits else ""


def _allowed(key: Key) -> str:
    parts = [f"at least {key.least}"] if key.least is not None else []
    parts += [f"at most {key.most}"] if key.most is not None else []
    parts += [f"a multiple of {key.multiple}"] if key.multiple else []
    if key.kind in ("integer", "integers") and parts:
        return f"give {', '.join(parts)}"
    return f"give {' or '.join(key.choices)}" if key.choices and key.kind == "text" else ""


def _repeated(parsed: CufileJson) -> Iterator[Finding]:
    for path, lines in parsed.lines.items():
        if len(lines) > 1 and "" not in path:
            *before, last = lines
            yield Finding(
                severity="problem",
                subject=subject(".".join(path), last),
                found=f"given before, in line {', '.join(map(str, before))}",
                meaning="cuFile takes the last one; what only an earlier one has is lost",
                remedy="keep one",
            )


def _old_section(parsed: CufileJson) -> Iterator[Finding]:
    if OLD_SECTION in parsed.values:
        both = NEW_SECTION in parsed.values
        yield Finding(
            severity="problem",
            subject=subject(OLD_SECTION, parsed.lines[(OLD_SECTION,)][-1]),
            found=f"the older name of {NEW_SECTION}" + (", which is there, too" if both else ""),
            meaning=f"{TRIED} pass over it: nothing in it is denied",
            remedy=f"move its entries to {NEW_SECTION}" if both else f"rename it to {NEW_SECTION}",
        )


def conflicts(config: Config, files: Files) -> list[Finding]:
    """Everything that does not go together."""
    checks: tuple[Callable[[Config], Iterator[Finding]], ...] = (
        _modes, _bounce_buffers, _slabs, _posix_pool, _polling, _thread_pool, _routing,
    )  # fmt: skip
    found = [finding for check in checks for finding in check(config)]
    found += [*_addresses(config, files), *_places(config, files), *_costs(config)]
    return [
        one.model_copy(update={"subject": subject(one.subject, config.lines.get(one.subject))})
        for one in found
    ]


def _problem(subject: str, found: str, meaning: str, remedy: str) -> Finding:
    return Finding(severity="problem", subject=subject, found=found, meaning=meaning, remedy=remedy)


def _note(subject: str, found: str, meaning: str, remedy: str = "") -> Finding:
    return Finding(severity="note", subject=subject, found=found, meaning=meaning, remedy=remedy)


def _modes(config: Config) -> Iterator[Finding]:
    force, allow = f"{_P}force_compat_mode", f"{_P}allow_compat_mode"
    if config.effective(force) is True:
        yield _note(
            force,
            "true",
            "all data goes through host memory, though a direct way be open",
            "set it to false to measure or use direct ways",
        )
        if config.effective(allow) is False:
            yield _problem(
                force,
                "true, and allow_compat_mode is false",
                "compatibility mode is demanded and forbidden at once",
                "set allow_compat_mode to true, or force_compat_mode to false",
            )
        if asked := p2p_keys(config):
            yield _note(force, f"true, and {asked[0]} is true", f"{asked[0]}: {_NO_EFFECT}")
    elif config.given(allow) is None and config.effective(allow) is True:
        yield _note(
            allow,
            "not set",
            f"{TRIED} then allow it, though guide r1.12 says false: where no direct way is open, "
            "data goes slowly, and nobody is told",
            "set it to false to get an error instead, or to true to say that it is meant",
        )
    whole = f"{_P}use_pci_p2pdma"
    parts = [name for name in p2p_keys(config) if name != whole]
    if parts and config.given(whole) is False:
        yield _note(
            whole,
            f"false, and {parts[0]} is true",
            "which of them counts is not documented",
            f"set both alike, and see the way that data took: tierscope io --from gpu:0 "
            f"--cufile {whole}=true,false",
        )


def p2p_keys(config: Config) -> list[str]:
    """Keys that ask for PCI P2PDMA, of all storage or of some."""
    return [
        name
        for name in keys()
        if name.endswith(".use_pci_p2pdma") and config.effective(name) is True
    ]


def _bounce_buffers(config: Config) -> Iterator[Finding]:
    cache, one = f"{_P}max_device_cache_size_kb", f"{_P}per_buffer_cache_size_kb"
    pinned, batch = f"{_P}max_device_pinned_mem_size_kb", f"{_P}io_batchsize"
    whole, each = config.effective(cache), config.effective(one)
    legacy = [name for name in (cache, one) if config.given(name) is not None]
    if whole > config.effective(pinned):
        yield _problem(
            cache,
            f"{whole} KiB, more than max_device_pinned_mem_size_kb ({config.effective(pinned)})",
            "the limit on pinned memory includes bounce buffers, so not all of them fit",
            "raise max_device_pinned_mem_size_kb, or lower max_device_cache_size_kb",
        )
    most = config.given(f"{_P}max_direct_io_size_kb")
    if config.given(one) is not None and each > (most or _DIRECT_1_15):
        yield Finding(
            severity="note" if most is None else "problem",
            subject=one,
            found=f"{each} KiB, more than max_direct_io_size_kb ({most or 'not set'})",
            meaning="libcufile 1.15 refuses the whole file: cuFile's driver does not open",
            remedy=f"set max_direct_io_size_kb to {each} or more",
        )
    if each > whole:
        yield _problem(
            one,
            f"{each} KiB, more than max_device_cache_size_kb ({whole})",
            "not one bounce buffer fits",
            "raise max_device_cache_size_kb, or lower per_buffer_cache_size_kb",
        )
    elif legacy and whole // each < config.effective(batch):
        yield _note(
            one,
            f"{whole // each} bounce buffers (max_device_cache_size_kb / per_buffer_cache_size_kb) "
            f"for batches of {config.effective(batch)} operations",
            "batches of more operations wait for buffers, are refused, or go through host memory, "
            "by release",
            f"raise max_device_cache_size_kb to {config.effective(batch) * each}, or lower "
            "io_batchsize",
        )


def _slabs(config: Config) -> Iterator[Finding]:
    sizes, counts = config.given(f"{_SLABS}slab_size_kb"), config.given(f"{_SLABS}slab_count")
    name = _SLABS.removesuffix(".")
    if sizes is None and counts is None:
        return
    yield from _pair(name, sizes, counts, "cuFile uses the older keys in place of the slabs")
    if sizes and list(sizes) != sorted(set(sizes)):
        yield _problem(
            name,
            f"slab sizes {as_json(list(sizes))} are not in ascending order",
            "cuFile uses the older keys in place of the slabs",
            "sort them, with their counts",
        )
    if sizes and min(sizes) > _NVFS_SLAB_KB:
        yield _problem(
            f"{_SLABS}slab_size_kb",
            f"no slab of {_NVFS_SLAB_KB} KiB or less",
            "nvidia-fs has no bounce buffer that it can use",
            "add a slab of 1024 KiB",
        )
    legacy = [
        key
        for key in ("max_direct_io_size_kb", "max_device_cache_size_kb", "per_buffer_cache_size_kb")
        if config.given(f"{_P}{key}") is not None
    ]
    if legacy:
        yield _problem(
            f"{_P}{legacy[0]}",
            "set together with gpu_bounce_buffer_slab_config",
            "slabs say the sizes of bounce buffers; the older keys are ignored beside them",
            f"remove {', '.join(legacy)}, or gpu_bounce_buffer_slab_config",
        )


def _posix_pool(config: Config) -> Iterator[Finding]:
    sizes, counts = f"{_P}posix_pool_slab_size_kb", f"{_P}posix_pool_slab_count"
    given = [name for name in (sizes, counts) if config.given(name) is not None]
    if given:
        meaning = _REFUSED
        if len(given) == 1:
            other = counts if given == [sizes] else sizes
            meaning = f"{other} is not set, and how cuFile pairs the lists is not documented"
        yield from _pair(given[0], config.effective(sizes), config.effective(counts), meaning)


def _pair(
    name: str, sizes: Sequence[int] | None, counts: Sequence[int] | None, meaning: str
) -> Iterator[Finding]:
    """Sizes and counts of slabs go by pairs."""
    if sizes is None or counts is None or len(sizes) != len(counts):
        many = [0 if values is None else len(values) for values in (sizes, counts)]
        yield _problem(
            name,
            f"{many[0]} slab sizes and {many[1]} slab counts",
            meaning,
            "give each slab a size and a count",
        )


def _polling(config: Config) -> Iterator[Finding]:
    use, size, most = (
        f"{_P}use_poll_mode",
        f"{_P}poll_mode_max_size_kb",
        f"{_P}max_direct_io_size_kb",
    )
    polled = config.given(size)
    if polled is None:
        return
    if polled != keys()[size].default and config.effective(use) is not True:
        yield _note(size, f"{polled} KiB, and use_poll_mode is not true", _NO_EFFECT)
    elif polled > config.effective(most):
        yield _note(
            size,
            f"{polled} KiB, more than max_direct_io_size_kb ({config.effective(most)})",
            "every request is polled for: a CPU is busy as long as data moves",
            "4 KiB is the default; measure larger ones",
        )


def _thread_pool(config: Config) -> Iterator[Finding]:
    off = config.given("execution.parallel_io") is False
    none = [
        name
        for name in ("execution.max_io_threads", "execution.max_request_parallelism")
        if config.given(name) == 0
    ]
    if off or none:
        yield _note(
            "execution.parallel_io" if off else none[0],
            "false" if off else "0",
            "requests are not split, and calls on streams and batches lose their thread pool",
            "set parallel_io to true, and the numbers of threads and parts above 0",
        )
    if off and (config.given("execution.max_io_threads") or 0) > 0:
        yield _note(
            "execution.max_io_threads",
            f"{config.given('execution.max_io_threads')}, and parallel_io is false",
            _NO_EFFECT,
        )


def _routing(config: Config) -> Iterator[Finding]:
    route, order = f"{_P}rdma_dynamic_routing", f"{_P}rdma_dynamic_routing_order"
    if config.effective(route) is not True:
        if config.given(order) is not None and config.given(order) != keys()[order].default:
            yield _note(order, "set, and rdma_dynamic_routing is not true", _NO_EFFECT)
        return
    addressed = [
        name
        for name, key in keys().items()
        if key.kind in ("addresses", "mounts") and config.given(name)
    ]
    if not addressed:
        yield _problem(
            route,
            "true, and no addresses are given",
            "routing does not know which NICs a mount uses",
            "name this machine's addresses in rdma_dev_addr_list or in a mount_table",
        )


def _addresses(config: Config, files: Files) -> Iterator[Finding]:
    local = local_addresses(files)
    for name, addresses in _given_addresses(config) if local else []:
        absent = [address for address in addresses if address not in local]
        if absent:
            yield _problem(
                name,
                f"{', '.join(absent)}: no interface of this machine has "
                f"{'it' if len(absent) == 1 else 'them'}",
                "the list names this machine's own addresses, not the server's",
                f"this machine has {', '.join(sorted(local))}",
            )


def _given_addresses(config: Config) -> Iterator[tuple[str, list[str]]]:
    """Yield each key that has addresses, and those."""
    for name, key in keys().items():
        given = config.given(name)
        if given and key.kind == "addresses":
            yield name, given
        elif given and key.kind == "mounts":
            yield name, [address for mount in given.values() for address in mount[ADDRESSES]]


def _places(config: Config, files: Files) -> Iterator[Finding]:
    folder = config.effective("logging.dir")
    if folder and config.given("logging.dir") == folder and not files.exists(folder):
        yield _problem(
            "logging.dir",
            f"{as_json(folder)} does not exist",
            _REFUSED,
            "make the folder, for all users that use cuFile",
        )
    for what in ("routing", "config"):
        use, file = f"miscellaneous.enable_static_{what}", f"miscellaneous.static_{what}_filepath"
        path = config.effective(file)
        if config.effective(use) is True and not (path and files.exists(path)):
            yield _problem(
                use,
                f"true, and {as_json(path) if path else file} does not exist",
                "cuFile has nothing to read it from",
                "make the file, or set the key to false",
            )


def _costs(config: Config) -> Iterator[Finding]:
    """Findings about settings that slow cuFile down."""
    level = config.effective("logging.level")
    if level in ("DEBUG", "TRACE"):
        yield _note(
            "logging.level",
            level,
            "every operation is logged, which slows small ones",
            "set ERROR before measuring",
        )
    if config.given("profile.cufile_stats"):
        yield _note(
            "profile.cufile_stats",
            str(config.given("profile.cufile_stats")),
            "cuFile counts every operation; gds_stats needs it",
            "tierscope sets 3 for itself, whatever stands here",
        )


def find_cufile(
    files: Files, environment: Mapping[str, str], named: str | None = None
) -> tuple[str, str]:
    """Return the file that cuFile reads, empty where there is none, and how it was found.

    The first of: ``named`` (an option), the environment variable, /etc/cufile.json.
    """
    if named:
        return named, "named by --cufile-json"
    if environment.get(VARIABLE):
        return environment[VARIABLE], f"named by {VARIABLE}"
    usual = f"{files.root}{USUAL}"
    return (usual, "the usual place") if files.exists(USUAL) else ("", "")


def read_cufile(name: str, named_by: str = "") -> CufileJson:
    """Return a file, parsed; without a name an empty one. Raises UserError."""
    if not name:
        return _NOTHING
    try:
        text = read_text(name)
    except UserError as error:
        raise UserError(f"{error} ({named_by})" if named_by else str(error)) from None
    return parse(text, name)


def audit(
    parsed: CufileJson, named_by: str, files: Files, environment: Mapping[str, str]
) -> tuple[CufileAudit, Config]:
    """Look through a file: each key by itself, all together, and beside the machine."""
    settings, findings, config = settings_of(parsed, environment)
    findings += conflicts(config, files)
    if not parsed.name:
        findings.insert(0, _none())
    found = CufileAudit(file=parsed.name, named_by=named_by, settings=settings, findings=findings)
    return found, config


def _none() -> Finding:
    return Finding(
        severity="note",
        subject="cufile.json",
        found=f"neither {VARIABLE} nor {USUAL} is there",
        meaning="cuFile uses what is built in; each release has its own values",
        remedy="copy the one of your release, e.g. /usr/local/cuda/gds/cufile.json, to /etc",
    )
