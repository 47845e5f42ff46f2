"""Two readings of the same files: what is asked, and how the answer is typed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["command", "python"]

PYTHON_NAMES = {
    "--id": "ids", "--label": "labels", "--labels": "labels", "--classes": "classes", "--group": "groups",
    "--threshold": "threshold", "--tolerance": "tolerance",
}  # fmt: skip
"""What the functions call the options of the commands; the others are fields of `RoleOptions`, given as ids."""


class UnreadableTableError(ValueError):
    """Files that no reading fits. The message names what is wrong with each of them, and what would work."""


class AmbiguousReadingError(UnreadableTableError):
    """Files that two readings fit, which give different answers.

    Attributes
    ----------
    readings : tuple of PossibleReading
    """

    def __init__(self, question: str, readings: Sequence[PossibleReading]) -> None:
        self.readings = tuple(readings)
        choices = " ".join(f"{reading.remedy}: {reading.sentence}." for reading in readings)
        super().__init__(f"{question} {choices}")


@dataclass(frozen=True)
class PossibleReading:
    """One way to read the files.

    Attributes
    ----------
    sentence : str
        What the files then say.
    remedy : str
        What is typed for it.
    """

    sentence: str
    remedy: str


def typed_option(option: str, value: object, style: Style) -> str:
    """Return an option as it is typed: ``--id case``, or ``ids='case'`` for a function."""
    if style == "command":
        if value is True:
            return option
        text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
        return f"{option} {shlex.quote(text)}"
    shown = repr(list(value)) if isinstance(value, tuple | list) else repr(value)
    if option in PYTHON_NAMES:
        return f"{PYTHON_NAMES[option]}={shown}"
    return f"ids=RoleOptions({option.removeprefix('--')}={shown})"


class Complaints:
    """All that is wrong with all files, said at once."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def add(self, sentence: str) -> None:
        """Add one sentence, once."""
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def raise_any(self) -> None:
        """Raise an UnreadableTableError of all sentences, if there are any."""
        if self.sentences:
            raise UnreadableTableError(" ".join(self.sentences))
