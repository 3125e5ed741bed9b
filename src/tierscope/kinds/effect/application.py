"""Files of applications, and what fills their placeholders.

Ours are in the folder ``apps``; users have their own. docs/apps.md describes the keys.
"""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.model.application import Application, Steps
from tierscope.model.errors import UserError, did_you_mean, shown
from tierscope.plans.grammar import parse_size
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar

FOLDER = Path(__file__).with_name("apps")
JOBS = Path(__file__).with_name("jobs")
SUFFIX = ".yaml"
_PLACEHOLDER = re.compile(r"\{([a-z_]\w*)(?:\*(\d+))?(?:/(\d+))?\}")
LATER = ("scratch", "prepared")
"""Placeholders that are filled when a run begins."""
_YES_NO = {"true": True, "yes": True, "false": False, "no": False}
_LIKE = "like"
"""The key that names another application, whose keys this one has but for its own."""
_LINES = ("rules",)
"""Keys whose text has lines."""


def shipped() -> list[str]:
    """Return the names of the applications that come with tierscope."""
    return sorted(path.stem for path in FOLDER.glob(f"*{SUFFIX}"))


def application(name: str) -> Application:
    """Return an application of ours by name, or that of a user's file by its path.

    Raises UserError where there is none, or with file, line and key what is wrong in it.
    """
    if "/" in name or name.endswith(SUFFIX):
        return _read(Path(name))
    if name not in shipped():
        raise UserError(
            f"'{name}' is no application{did_you_mean(name, (*shipped(),))}; choose among "
            f"{', '.join(shipped())}, or give the path of a file, as in ./mine{SUFFIX}"
        )
    return _shipped(name)


@cache
def _shipped(name: str) -> Application:
    return _read(FOLDER / f"{name}{SUFFIX}")


def _read(path: Path) -> Application:
    text = read_text(path, "application", trusted=True)
    place = Place(shown(path))
    root = compose(text, place.path)
    if root is None:
        raise UserError(f"{place.path}:1: the file is empty; it needs the keys program and figures")
    keys = (*(name for name in Application.model_fields if name != "name"), _LIKE)
    nodes = mapping(place, root, "an application", keys)
    fields = {key: _value(place, node, key) for key, node in nodes.items()}
    if _LIKE in fields:
        fields = _base(place, nodes[_LIKE], str(fields.pop(_LIKE))) | fields
    try:
        found = Application.model_validate({**fields, "name": path.stem})
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        where = nodes.get(key, root)
        raise place.error(where, f"key '{key}': {first['msg'].lower()}") from None
    for key in ("client", "check", "load"):
        if getattr(found, key) and not found.program:
            raise place.error(nodes[key], f"key '{key}' needs the key program")
    if found.client and not found.figures:
        raise place.error(nodes["client"], "key 'client' needs figures, which its output has")
    _check_placeholders(found, place, nodes)
    return found


def _base(place: Place, node: Any, name: str) -> dict[str, Any]:
    """Return the fields of one of our applications that another one is like."""
    if name not in shipped():
        raise place.error(node, f"key '{_LIKE}': '{name}' is none of {', '.join(shipped())}")
    return application(name).model_dump(exclude_unset=True, exclude={"name"})


def _value(place: Place, node: Any, key: str) -> Any:
    """Return a node as plain data; scalars are text but where the key's own type is another."""
    from yaml import MappingNode, SequenceNode

    if isinstance(node, MappingNode):
        return {scalar(place, k, key): _value(place, v, k.value) for k, v in node.value}
    if isinstance(node, SequenceNode):
        return [_value(place, one, "") for one in node.value]
    if key in ("size", "minimum_size"):
        try:
            return parse_size(scalar(place, node, key))
        except UserError as error:
            raise place.error(node, f"key '{key}': {error}") from None
    if key in ("unprivileged", "gc_log"):
        word = scalar(place, node, key)
        if word not in _YES_NO:
            raise place.error(node, f"key '{key}' is true or false, not '{word}'")
        return _YES_NO[word]
    # A word of a command may be empty, as of redis-server's --save "".
    return str(node.value) if key in _LINES or not key else scalar(place, node, key)


def _check_placeholders(found: Application, place: Place, nodes: Mapping[str, Any]) -> None:
    known = tuple(sorted({*LATER, "size", "cpus", *_PROVIDED, *found.parameters}))
    for key in ("program", "client", *Steps.model_fields):
        used = (name for word in _words_of(getattr(found, key))
                for name, _, _ in _PLACEHOLDER.findall(word))  # fmt: skip
        if wrong := next((name for name in used if name not in known), None):
            raise place.error(
                nodes[key],
                f"key '{key}': {{{wrong}}} is no placeholder{did_you_mean(wrong, known)}; there "
                f"are {', '.join(known)}",
            )


def _words_of(commands: Any) -> Iterator[str]:
    for one in commands:
        yield from [one] if isinstance(one, str) else one


def spark_jars() -> Path | None:
    """Return the folder of Spark's jars: of SPARK_HOME, of this Python, or of PATH; None: no Spark.

    pip's pyspark has them in its package, beside which it installs spark-submit.
    """
    homes = [Path(os.environ["SPARK_HOME"])] if os.environ.get("SPARK_HOME") else []
    own = importlib.util.find_spec("pyspark")
    homes += [Path(folder) for folder in (own and own.submodule_search_locations) or []]
    if found := shutil.which("spark-submit"):
        prefix = Path(found).resolve().parent.parent
        homes += [prefix, *prefix.glob("lib/python*/site-packages/pyspark")]
    folders = (home.absolute() / "jars" for home in homes)
    return next((folder for folder in folders if [*folder.glob("spark-core_*.jar")]), None)


def _engine() -> str:
    from tierscope.engine.process import find_engine

    return str(find_engine())


_PROVIDED: Mapping[str, Callable[[], str]] = {
    "python": lambda: sys.executable,
    "engine": _engine,
    "jobs": lambda: str(JOBS),
    "spark_jars": lambda: str(spark_jars() or ""),
}
"""Placeholders whose values tierscope knows."""


def filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with its placeholders' values: ``{size*3/8}`` is a whole number.

    Those that ``values`` lack stay. Raises UserError where a value to calculate with is no number.
    """

    def value(found: re.Match[str]) -> str:
        name, times, parts = found.groups()
        text = values.get(name)
        if text is None and name in _PROVIDED:
            text = _PROVIDED[name]()
        if text is None:
            return found[0]
        if not times and not parts:
            return text
        if not text.isdecimal():
            raise UserError(f"{name} is '{text}'; {found[0]} takes a whole number")
        return str(int(text) * int(times or 1) // int(parts or 1))

    return _PLACEHOLDER.sub(value, word)


def missing(app: Application) -> list[str]:
    """Return what an application needs and this machine lacks: programs, and packages of Python.

    Of a package of Debian it knows only its programs.
    """
    commands = [app.program, app.client]
    for step in Steps.model_fields:
        commands += getattr(app, step)
    programs = dict.fromkeys(words[0] for words in commands if words and "{" not in words[0])
    path = search_path(app.path, os.environ)
    found = [name for name in programs if shutil.which(name, path=path) is None]
    return found + missing_python_packages(app.python_packages)


def search_path(patterns: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return PATH with an application's own folders in front, the newest version's first."""
    own = [str(folder) for pattern in patterns
           for folder in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)]  # fmt: skip
    return os.pathsep.join([*own, environment.get("PATH", os.defpath)])


def missing_python_packages(names: Sequence[str]) -> list[str]:
    """Return those that are not installed for this Python, or in another version."""
    return [name for name in names if not _is_installed(name)]


def _is_installed(package: str) -> bool:
    name, _, wanted = package.partition("==")
    if name == "pyspark":  # Spark may have come otherwise
        return spark_jars() is not None
    try:
        return version(name) == wanted if wanted else bool(version(name))
    except PackageNotFoundError:
        return False
