"""Read the objects of an hwloc XML file, whoever wrote it: other machines' files are input."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tierscope.model.errors import UserError

MAX_BYTES = 16 << 20  # the largest machines, of thousands of CPUs, make files of about 5 MB
_MAX_DEPTH = 200  # hwloc nests about 30 deep
_HOW = "on its machine, `tierscope topo --save FILE` or `lstopo --of xml FILE` makes one"

# The first of these bits that hwloc 3 sets: what hwloc 2 calls such a device.
_OSDEV_BITS = ((1 << 5, "3"), (1 << 4, "2"), (1 << 6, "4"), (1 << 3, "5"), (1 << 2, "1"), (3, "0"))

Element = ElementTree.Element


class _TooDeepError(Exception):
    """An element lies deeper than any topology's."""


class _BoundedBuilder(ElementTree.TreeBuilder):
    """Stops at a depth that our recursion over the objects could not go down."""

    depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _TooDeepError
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag)


def load(path: str | Path) -> Element:
    """The file's <topology> element; raises UserError of one line for whatever else it holds."""
    return parse(_read(path), str(path))


def parse(data: bytes, path: str) -> Element:
    """The same of a file's content; ``path`` names it in errors."""
    head = data[:256].lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"\0" in data or not head.startswith(b"<"):
        raise UserError(f"{path}: not an hwloc XML file: its content is no XML text; {_HOW}")
    if b"<!ENTITY" in data:
        raise UserError(f"{path}: refused: it declares XML entities, which hwloc never writes")
    root = _parse(path, data)
    if root.tag != "topology":
        raise UserError(f"{path}: XML, but of <{root.tag}>, not hwloc's <topology>; {_HOW}")
    version = root.get("version")
    if version is None:
        raise UserError(
            f"{path}: an hwloc 1 file; tierscope reads hwloc 2 and 3: convert it with hwloc 2's "
            f"lstopo, `lstopo -i {path} --of xml NEW.xml`"
        )
    major = version.partition(".")[0]
    if major not in ("2", "3"):
        raise UserError(
            f"{path}: XML of hwloc {version}; tierscope reads hwloc 2 and 3: convert it with "
            f"that hwloc's lstopo, `lstopo -i {path} --of xml --export-xml-flags 2 NEW.xml`"
        )
    if major == "3":
        _as_hwloc_2(root)
    return root


def _as_hwloc_2(root: Element) -> None:
    """Put what hwloc 3 writes elsewhere, or otherwise, where hwloc 2 has it.

    hwloc 3 has the machine's <info> pairs beside the Machine object, and ``osdev_type`` is a set of
    bits (HWLOC_OBJ_OSDEV_*) where hwloc 2 has one number.
    """
    machine = root.find("object")
    if machine is not None:
        machine.extend(root.findall("info"))
    for element in root.iter("object"):
        mask = integer(element.get("osdev_type"))
        if mask is not None:
            bit_names = (name for bit, name in _OSDEV_BITS if mask & bit)
            element.set("osdev_type", next(bit_names, ""))


def _read(path: str | Path) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        limit = MAX_BYTES >> 20
        raise UserError(f"{path}: larger than {limit} MiB, which no machine's topology is; {_HOW}")
    if not data.strip():
        raise UserError(f"{path}: empty; {_HOW}")
    return data


def _parse(path: str | Path, data: bytes) -> Element:
    builder = _BoundedBuilder()
    parser = ElementTree.XMLParser(target=builder)  # noqa: S314 - see the import
    try:
        for offset in range(0, len(data), 1 << 16):
            parser.feed(data[offset : offset + (1 << 16)])
        root: Element = parser.close()
    except _TooDeepError:
        raise UserError(f"{path}: nested deeper than {_MAX_DEPTH}; no topology is") from None
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise UserError(f"{path}: broken or cut off XML ({error}); {_HOW}") from None
    return root


def objects(
    element: Element, above: tuple[Element, ...] = ()
) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """Every <object> below, parents first, each with the objects that it lies in."""
    for child in element.iterfind("object"):
        yield child, above
        yield from objects(child, (*above, child))


def infos(element: Element) -> dict[str, str]:
    """The object's <info> pairs, the first of each name."""
    found: dict[str, str] = {}
    for info in element.iterfind("info"):
        found.setdefault(info.get("name", ""), info.get("value", ""))
    return found


def integer(text: str | None) -> int | None:
    """A decimal or 0x number from 0 to below 2^63; None for anything else."""
    try:
        value = int(text, 0) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1 << 63 else None


def kibibytes(text: str | None) -> int | None:
    """Bytes of hwloc's sizes in <info> pairs: ``1024`` (KiB, hwloc 2) or ``1024KiB`` (hwloc 3)."""
    size = integer((text or "").removesuffix("KiB"))
    return size << 10 if size is not None else None


def bits(text: str | None) -> list[int]:
    """Members of hwloc's bitmap text, words of 32 bits, highest first: 0x00000303,,0x0.

    The endless set (0xf...f) gives no members beyond its written words.
    """
    value = 0
    for word in (text or "").split(","):
        if word and not re.fullmatch(r"0x[0-9a-fA-F]{1,8}|0xf\.\.\.f", word):
            return []
        value = value << 32 | (int(word, 16) if word and "..." not in word else 0)
    return [index for index in range(value.bit_length()) if value >> index & 1]
