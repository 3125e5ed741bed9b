"""Properties: fields of a spec, declared once for all that names, reads or shows them.

A field is a property by a ``Property`` in its annotated type. Its flag and YAML key, its line of
``--help``, the values of a sweep, its part of ids, the heading of its column and its words in
captions come from the declaration; so do the JSON Schema and the tables that the engine's parser
enforces (``make schema``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

Grammar = Literal["words", "yes-no", "sizes", "times", "counts", "numbers", "text"]
"""How values are written (``plans.grammar``): words of a fixed set, yes or no, bytes such as 4k,
times such as 100ns, numbers of things such as 1..8, decimal numbers, any text."""
ZIPF_ALPHA = 0.99
"""Default skew of Zipf's distribution: YCSB's."""
_SPECS: dict[str, type[BaseModel]] = {}


class InBytes:
    """Marks the type of a field whose values are bytes, so that 4k stands for 4096."""


IN_BYTES = InBytes()


class InNanoseconds:
    """Marks the type of a field whose values are ns, so that 1us stands for 1000."""


IN_NANOSECONDS = InNanoseconds()


@dataclass(frozen=True)
class Property:
    """How a field is asked for, named and shown; what is empty follows from the field."""

    help: str = ""
    """A line for ``--help``; where empty, the words allowed."""
    flag: str = ""
    """After ``--``, and the key in YAML plans; the field's name with hyphens where empty."""
    default: str = ""
    """Value of a request without the option, in the option's grammar; the field's own default
    where empty."""
    default_help: str = ""
    """The same in words, where it depends on the machine or on other options."""
    label: str = ""
    """Heading of a column, title of an axis; the field's name with blanks where empty."""
    words: str = ""
    """A value in captions and legends: ``{} pages``, ``stride {}``; the label and the value where
    empty. Of yes or no: what each means, ``direct|through the page cache``."""
    id: str = ""
    """A value in ids: ``s{}``; the value alone, of words, else the flag and the value where
    empty. A value that is the field's default is left out."""
    id_always: bool = False
    """Ids have it even where it is the field's default."""
    identity: bool = True
    """Identities, which comparisons join on, have it even where it is the field's default."""
    single: bool = False
    """A request has one value of it and no list."""
    switch: bool = False
    """The option takes no value: given, it is yes."""
    metavar: str = ""
    """Kind of value: ``SIZES``; by its grammar where empty."""
    essential: bool = True
    """``--help`` lists it; otherwise only ``--help-all`` does."""

    def but(self, **changes: Any) -> "Property":
        """The same property with another help or default, of a kind where those differ."""
        if "default" in changes:
            changes.setdefault("default_help", "")
        return replace(self, **changes)


@dataclass(frozen=True)
class MadeBy:
    """Annotates a field that a selector makes, such as a placement."""

    flag: str
    """The selector's, without ``--``. With a hyphen at its end, it begins the flags of properties
    inside the field: ``load-`` those of a load."""


@dataclass(frozen=True)
class Declared:
    """A property with the name and the type of its field."""

    field: str
    about: Property
    grammar: Grammar
    choices: tuple[Any, ...] = ()
    """Allowed values, of grammar words."""
    low: float = 0.0
    """Least value of a number; of decimal numbers, what they have to be above where ``above``."""
    high: float | None = None
    above: bool = False
    own_default: Any = None
    """The field's default; None where it has none."""

    @property
    def flag(self) -> str:
        """After ``--``."""
        return self.about.flag or self.field.replace("_", "-")

    @property
    def label(self) -> str:
        """Its name in headings."""
        return self.about.label or self.field.replace("_", " ")


def declared(model: type[BaseModel]) -> Mapping[str, Declared]:
    """Return the properties of a class of specs or patterns, by field, in their order."""
    return _declared(model)


@cache
def flagged(model: type[BaseModel]) -> Mapping[str, Declared | MadeBy]:
    """Return what options set or make, of a class and of the models inside it, by field."""
    found: dict[str, Declared | MadeBy] = {}
    for name, field in model.model_fields.items():
        for inner in _models_in(field.annotation):
            found |= flagged(inner)
        for one in field.metadata:
            if isinstance(one, MadeBy):
                found[name] = one
    return {**found, **declared(model)}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


@cache
def _declared(model: type[BaseModel]) -> dict[str, Declared]:
    found: dict[str, Declared] = {}
    for name, field in model.model_fields.items():
        own = next((one for one in field.metadata if isinstance(one, Property)), None)
        if own is not None:
            found[name] = _of_field(name, own, field)
    return found


def _of_field(name: str, own: Property, field: FieldInfo) -> Declared:
    annotation, metadata = _plain(field.annotation, [*field.metadata])
    default = None if field.default is PydanticUndefined else field.default
    low = next((one for one in metadata if isinstance(one, Ge | Gt)), None)
    high = next((float(one.le) for one in metadata if isinstance(one, Le)), None)  # type: ignore[arg-type]
    bound = low.ge if isinstance(low, Ge) else low.gt if low else 0
    return Declared(
        field=name,
        about=own,
        grammar=_grammar(annotation, metadata),
        choices=get_args(annotation) if get_origin(annotation) is Literal else (),
        low=float(bound),  # type: ignore[arg-type]
        high=high,
        above=isinstance(low, Gt),
        own_default=default,
    )


def _plain(annotation: Any, metadata: list[Any]) -> tuple[Any, list[Any]]:
    """Return a type without None and annotations, and all that annotates it."""
    parts = [part for part in get_args(annotation) if part is not NoneType]
    if get_origin(annotation) is Annotated:
        return _plain(parts[0], [*metadata, *_flat(annotation.__metadata__)])
    if NoneType in get_args(annotation) and len(parts) == 1:
        return _plain(parts[0], metadata)
    return annotation, metadata


def _flat(metadata: tuple[Any, ...]) -> list[Any]:
    return [
        one
        for each in metadata
        for one in (each.metadata if isinstance(each, FieldInfo) else [each])
    ]


def _grammar(annotation: Any, metadata: list[Any]) -> Grammar:
    if get_origin(annotation) is Literal:
        return "words"
    if any(isinstance(one, InBytes) for one in metadata):
        return "sizes"
    if any(isinstance(one, InNanoseconds) for one in metadata):
        return "times"
    by_type: dict[Any, Grammar] = {bool: "yes-no", int: "counts", float: "numbers"}
    return by_type.get(annotation, "text")


THREADS = Property(
    "Number of threads, as in 1..8 or 1..all*2", default="all", words="{} threads", id="t{}"
)
SIZE = Property(
    "Bytes of the working set, as in 64k..1g",
    default_help="larger than the last-level cache",
    id="{}",
    words="{}",
)
PAGES = Property(
    "base (or 4k, 64k), thp, 2m, 512m, 1g",
    default_help="thp where the kernel offers it, else base",
    words="{} pages",
    id_always=True,
)
OPERATION = Property(flag="op", words="{}", id_always=True)
ORDER = Property(words="{} order")
ISA = Property(label="instructions", words="{}", essential=False)
ACCESS_SIZE = Property(
    "Bytes that one access touches contiguously, a multiple of 64",
    label="access",
    words="{} accesses",
    id="a{}",
    essential=False,
)
STRIDE = Property(
    "Bytes from one access to the next, a multiple of 64",
    words="stride {}",
    id="s{}",
    essential=False,
)
SKEW = Property(
    "Skew of order zipf, above 0, at most 10",
    default=f"{ZIPF_ALPHA}",
    id="z{}",
    label="skew",
    words="skew {}",
    essential=False,
)

SELECTED: Mapping[str, Property] = {
    "pages": PAGES,
    "threads": THREADS,
    "size": Property(words="files of {}", metavar="SIZE"),
    "checkpoint_size": Property(words="{} a checkpoint", metavar="SIZE"),
    "ranks": Property(words="{} ranks"),
    "workload": Property(words="{}"),
    "dataset": Property(words="{}"),
    "chain": Property(words="{}"),
    "part": Property(words="{}"),
    "way": Property(words="{}"),
    "issued": Property(words="{}"),
    "transfers": Property(words="{}"),
    "second": Property(label="m1", words="m1 on {}"),
    "writer": Property(words="written by CPU {}"),
    "memory": Property(words="{} memory"),
    "engine": Property(words="{}"),
    "blocks": Property(words="blocks of {}"),
    "policy": Property(words="{}"),
    "mechanism": Property(words="placed by {}"),
    "prefetchers": Property(words="prefetchers {}"),
    "backing": Property(words="{}"),
    "mix": Property(words="{} read:write"),
    "streams": Property(words="{} streams"),
    "chunk": Property(),
    "beside": Property(words="concurrent with {}"),
    "cpu_sets": Property(label="CPUs of threads", words="threads on any of CPUs {}"),
}
"""Recorded properties that are not fields of specs, by their names: how memory was placed,
how many threads there were and where they ran."""


def remember(kind: str, spec: type[BaseModel]) -> None:
    """Keep a kind's class of specs, so that ``properties_of`` knows its properties."""
    _SPECS[kind] = spec


@cache
def properties_of(kind: str) -> Mapping[str, Declared]:
    """Return the properties that run files record of a kind's measurements, by name.

    Those of its pattern come first, then its spec's own, then what selectors record. A kind whose
    spec is not imported has the last ones only.
    """
    spec = _SPECS.get(kind)
    found: dict[str, Declared] = {}
    if spec is not None:
        pattern = spec.model_fields["pattern"].annotation
        if isinstance(pattern, type) and issubclass(pattern, BaseModel):
            found |= declared(pattern)
        found |= declared(spec)
    selected = {
        name: Declared(name, about, "sizes" if about.metavar == "SIZE" else "text")
        for name, about in SELECTED.items()
    }
    return {**found, **{name: one for name, one in selected.items() if name not in found}}
