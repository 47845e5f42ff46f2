"""What results of decisions have in common: they lead with a verdict, and have no figures behind it."""

from __future__ import annotations

from typing import Protocol

from shiftmetrics._core.drawing import one_line


class _HasVerdict(Protocol):
    @property
    def above(self) -> tuple[str, ...]: ...

    @property
    def verdict(self) -> str: ...

    @property
    def sentence(self) -> str: ...

    def lead(self) -> list[str]: ...


class LeadingVerdict:
    """The headline and the details of a result with a ``verdict`` and a ``sentence``.

    Warnings that put the question itself in doubt stand ``above`` the verdict.
    """

    above: tuple[str, ...] = ()

    def headline(self: _HasVerdict) -> str:
        """Return the verdict and its sentence, below the warnings that come before it."""
        return "\n".join(map(one_line, self.lead()))

    def lead(self: _HasVerdict) -> list[str]:
        """Return the warnings, then the verdict and its sentence."""
        warnings = [f"Warning: {warning}" for warning in self.above]
        return [*warnings, f"{self.verdict}  {self.sentence}"]

    def details(self) -> list[str]:
        """Return nothing: what was found stands in the notes."""
        return []
