"""How a computation ended: one type for every measure."""

from __future__ import annotations

from dataclasses import dataclass

from shiftmetrics._core.record import Record


@dataclass(frozen=True)
class Status(Record):
    """How a computation ended.

    Attributes
    ----------
    code : str
        One word for programs, such as "converged".
    cause : str
        Why it ended so, in a sentence.
    remedy : str
        What to do about it; empty where there is nothing to do.
    ok : bool
        Whether the value is an answer.
    """

    code: str
    cause: str
    remedy: str = ""
    ok: bool = True

    @property
    def text(self) -> str:
        """The cause, and the remedy where there is one."""
        return f"{self.cause} {self.remedy}".rstrip()

    def to_plain(self) -> str:
        """Return the code: tables and rules compare it."""
        return self.code

    def __str__(self) -> str:
        return self.code
