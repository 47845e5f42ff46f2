"""What results of decisions have in common: they lead with a verdict, and have no figures behind it."""

from __future__ import annotations

from typing import Protocol


class _HasVerdict(Protocol):
    @property
    def verdict(self) -> str: ...

    @property
    def sentence(self) -> str: ...


class LeadingVerdict:
    """The headline and the details of a result with a ``verdict`` and a ``sentence``."""

    def headline(self: _HasVerdict) -> str:
        """Return the verdict and its sentence."""
        return f"{self.verdict}  {self.sentence}"

    def details(self) -> list[str]:
        """Return nothing: what was found stands in the notes."""
        return []
