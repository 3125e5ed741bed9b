"""Where figures come from that tierscope did not measure."""

from typing import Annotated, Literal

from pydantic import Field

from tierscope.model.base import Model


class ImportedFile(Model):
    """A file whose content a run holds."""

    name: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Imported(Model):
    """What was imported."""

    format: Literal["cxlbench", "mess", "mlc"]
    program: str
    """What measured, with its version, as far as the files tell."""
    files: list[ImportedFile]

    @property
    def said(self) -> str:
        """Where the figures come from, in a sentence."""
        names = [file.name.rpartition("/")[2] for file in self.files]
        more = f" and {len(names) - 1} more files" if len(names) > 1 else ""
        return (
            f"Imported: {self.program} measured these figures, not tierscope; from {names[0]}{more}"
        )
