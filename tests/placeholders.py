"""Runs whose messages are replaced by placeholders: what is decided of them must not change."""

import re
import string
from collections.abc import Iterable
from typing import Any

from tierscope.model.run import Figure, Measurement, Run

_BOX = re.compile(r"[─━═╶╴╌]+")


class Placeholders:
    """Replaces each message by a word of its own, the same one wherever it stands."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}

    def of(self, text: str) -> str:
        """Return the placeholder of a message; none of an empty one."""
        if not text:
            return text
        return self._words.setdefault(text, f"<{self._letters(len(self._words))}>")

    def run(self, run: Run) -> Run:
        """Return a run with placeholders for the messages of all its measurements."""
        return run.model_copy(
            update={"measurements": [self.measurement(entry) for entry in run.measurements]}
        )

    def measurement(self, entry: Measurement) -> Measurement:
        """Return a measurement with placeholders for its messages."""
        changes: dict[str, Any] = {
            "reason": self.of(entry.reason),
            "remedy": self.of(entry.remedy),
        }
        changes["figures"] = [self._figure(figure) for figure in entry.figures]
        if entry.evidence is not None:
            notes = entry.evidence.notes
            changes["evidence"] = entry.evidence.model_copy(
                update={
                    "verified": self.of(entry.evidence.verified or "") or None,
                    "notes": None if notes is None else [self.of(note) for note in notes],
                }
            )
        return entry.model_copy(update=changes)

    def _figure(self, figure: Figure) -> Figure:
        if figure.limit is None:
            return figure
        said = {name: getattr(figure.limit, name) for name in ("link", "formula", "source")}
        said = {name: self.of(text) for name, text in said.items()}
        return figure.model_copy(update={"limit": figure.limit.model_copy(update=said)})

    def in_text(self, text: str) -> str:
        """Return output with its messages replaced, and without what their lengths change."""
        for message in sorted(self._words, key=len, reverse=True):
            text = text.replace(message, self._words[message])
        return without_layout(text.splitlines())

    @staticmethod
    def _letters(number: int) -> str:
        first, second = divmod(number, 26)
        return "message-" + string.ascii_lowercase[first] + string.ascii_lowercase[second]


def without_layout(lines: Iterable[str]) -> str:
    """Return lines without the widths of columns and rules."""
    return "\n".join(" ".join(_BOX.sub("─", line).split()) for line in lines)
