"""Files of procfs and sysfs below a folder of a test."""

from pathlib import Path

from tierscope.machine.files import Files


class Tree:
    """A tree of the kernel's files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = Files(root)

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def folder(self, path: str) -> None:
        (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
