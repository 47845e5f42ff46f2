"""What is known of modes on held-out rows: the result of `confirm_modes`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result
from shiftmetrics.novelty.result import NoveltyResult


@dataclass(frozen=True, eq=False, kw_only=True)
class ModeTest(Record):
    """One mode, counted on held-out rows.

    Attributes
    ----------
    index : int
        Rank of the mode, or of the group of modes, where it was found, from 0.
    parts : tuple of int
        Which of the modes that were found it is, or which the group holds.
    threshold : float
        Membership from which a row counts as a member: a quarter of that of the most typical rows it was found on.
    n_members, n_reference_members : int
        Members among the held-out rows of each sample.
    member_share, reference_member_share : float
        Share of the held-out rows of each sample that are members.
    frequency, reference_frequency : float
        Mean membership of the held-out rows of each sample.
    ratio : float
        How many times as frequent members are, infinite where the reference has none.
    ratio_low : float
        Lower bound of the ratio; those of all modes hold together at the confidence level.
    p_value, p_adjusted : float
        Of a share of members of at most eta times that of the reference; adjusted for the number of modes
        (Bonferroni).
    confirmed : bool
        Whether it is more than eta times as frequent, at the confidence level of all modes together.
    exemplars, reference_exemplars : ndarray of int
        The held-out rows with the largest membership, as positions in each whole sample, largest first.
    """

    index: int
    parts: tuple[int, ...]
    threshold: float
    n_members: int
    n_reference_members: int
    member_share: float
    reference_member_share: float
    frequency: float
    reference_frequency: float
    ratio: float
    ratio_low: float
    p_value: float
    p_adjusted: float
    confirmed: bool
    exemplars: IntArray
    reference_exemplars: IntArray

    def __str__(self) -> str:
        ratio = "only in the test sample" if math.isinf(self.ratio) else f"{self.ratio:.3g} times"
        return (
            f"Mode {self.index + 1}: {100 * self.member_share:.1f} % of the held-out test rows against "
            f"{100 * self.reference_member_share:.1f} % of those of the reference ({ratio}, at least "
            f"{self.ratio_low:.3g} times, p = {self.p_adjusted:.2g})."
        )


class ConfirmedModesStatus(Status):
    """How the test of modes ended."""

    tested = ("tested", True, "The modes that were found were counted on other rows.")
    nothing_found = (
        "nothing_found",
        True,
        "No mode stood out where modes were looked for, so there was nothing to test.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ConfirmedModes(Drawn, Result):
    """Modes found on one part of the rows, and tested on the other.

    Attributes
    ----------
    value : float
        How many modes are confirmed: more than eta times as frequent in the test sample as in the reference.
    modes : tuple of ModeTest
        All modes that were found, in their order there.
    eta : float
        Multiplier of the reference.
    confidence_level : float
        Of all statements together.
    kernel : str
        Name of the kernel.
    bandwidth : float or None
        Bandwidth of the Gaussian kernel, chosen where modes were looked for.
    n_reference : int
        Rows of the reference.
    n_held_out, n_reference_held_out : int
        Rows of each sample that the modes were counted on.
    """

    measure: ClassVar[str] = "novelty.confirmed_modes"
    title: ClassVar[str] = "Modes on held-out rows"
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True

    status: ConfirmedModesStatus
    modes: tuple[ModeTest, ...]
    eta: float
    confidence_level: float
    kernel: str
    bandwidth: float | None
    n_reference: int
    n_held_out: int
    n_reference_held_out: int
    found: NoveltyResult | None = field(default=None, repr=False)
    """Novelty where the modes were found; not written to files."""

    @property
    def confirmed(self) -> tuple[ModeTest, ...]:
        """Return the modes that are confirmed."""
        return tuple(mode for mode in self.modes if mode.confirmed)

    def headline(self) -> str:
        """Return one sentence: how many modes hold."""
        times = "" if self.eta == 1.0 else f"{self.eta:g} times "
        what = f"more than {times}as frequent in the test sample as in the reference" if times else (
            "more frequent in the test sample than in the reference"
        )  # fmt: skip
        rows = f"{self.n_held_out:,} and {self.n_reference_held_out:,} held-out rows"
        if not self.modes:
            return f"{self.title}: no mode stood out, so none was tested on the {rows}."
        count = f"{int(self.value)} of {len(self.modes)} modes"
        verb = "is" if self.value == 1 else "are"
        level = f"{100 * self.confidence_level:g} %, for all of them together"
        return f"{self.title}: {count} {verb} {what} ({rows}; {level})."

    def notes(self) -> list[str]:
        """Return a sentence for each of the first modes, and those of every result."""
        sentences = [str(mode) for mode in self.modes[:5]]
        return sentences + [
            text for text in super().notes() if not text.startswith(("Higher is", "Lower is"))
        ]

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each mode."""
        import pandas as pd

        columns = (
            "member_share", "reference_member_share", "n_members", "n_reference_members", "ratio", "ratio_low",
            "p_value", "p_adjusted", "confirmed", "threshold", "frequency", "reference_frequency",
        )  # fmt: skip
        rows = [
            {"mode": mode.index + 1, **{name: getattr(mode, name) for name in columns}} for mode in self.modes
        ]
        return pd.DataFrame(rows, columns=["mode", *columns])
