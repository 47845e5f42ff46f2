"""The result of novelty: the score, its spectrum and modes, and what scores new points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Interval, Result, format_number
from shiftmetrics._core.status import Status
from shiftmetrics._core.validation import check_integer, check_number, describe
from shiftmetrics.novelty.confirm import ModeTest
from shiftmetrics.novelty.modes import Mode, group_modes
from shiftmetrics.novelty.null import Null
from shiftmetrics.novelty.routes import PointSource

_NOTHING = 1e-9
"""A sum of the eigenvalues below this is rounding: nothing is novel."""

_READ_BACK = (
    "The result must come from a computation, got one read from a file. Compute the novelty again to {what}."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyResult(Drawn, Result):
    """Novelty of a sample against a reference.

    Attributes
    ----------
    value : float
        Kernel entropic novelty in nats, from 0 to ``total * log(n_samples)``: higher is more novel.
    error_bound : float
        Certificate of the factor, and rounding: up to rounding, the exact value lies between ``value`` and
        ``value + error_bound``.
    reverse : float or None
        Novelty of the reference against the sample, at eta = 1. At another eta, swap the samples.
    reverse_error_bound : float or None
        Its error bound.
    total : float
        Sum S of the positive eigenvalues, from 0 to 1: the weight of all that is in excess of the reference.
    eigenvalues : ndarray
        Positive eigenvalues of C_X - eta C_Y, largest first: the excess weights of the modes.
    reverse_eigenvalues : ndarray or None
        Those of C_Y - C_X, at eta = 1.
    modes : tuple of Mode
        The first 10 modes, or all significant ones up to 20; those that are significant are rotated by varimax, so
        that each row belongs to few of them.
    lost_modes : tuple of Mode
        The modes that the reference has in excess, at eta = 1.
    eta : float
        Multiplier of the reference.
    kernel : str
        Name of the kernel.
    bandwidth : float or None
        Bandwidth of the Gaussian kernel.
    method : str
        The route that was taken; ``settings["reason"]`` says why.
    rank : int
        Size of the eigenproblem.
    n_samples, n_reference : int
        Rows of the sample and of the reference.
    mode_count, reference_mode_count : float
        Effective number of modes of each sample at this bandwidth, ``1 / |C|_F^2``.
    score_rows : tuple of int or None
        Rows of both samples that ``value``, ``reverse`` and ``total`` are of, where the route gives no score of all.
    n_frequencies : int or None
        Random frequencies that ``eigenvalues`` and ``modes`` come from.
    null, reverse_null : Null or None
        What relabelled rows score, for ``value`` and for ``reverse``; None with ``n_permutations=0``.
    total_interval, top_interval : Interval or None
        Of ``total`` and of the first eigenvalue, with a ``level``.
    resampled : ndarray of shape (n_draws,) or None
        The score in each subsample, moved and scaled to spread around ``value`` as samples of these sizes would;
        draws of results with one seed are of the same rows.
    tests : tuple of ModeTest or None
        The groups of modes, counted on ``held_out`` rows: whether each is more than eta times as frequent.
    tested_level : float or None
        Confidence level of all tests together.
    tested_rows : tuple of int or None
        Held-out rows of each sample.
    """

    measure: ClassVar[str] = "novelty.kernel_entropic_novelty"
    title: ClassVar[str] = "Kernel entropic novelty"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True
    ranked_as: ClassVar[tuple[str, str, str]] = ("samples", "most novel", "more novel")

    status: Status
    total: float
    eigenvalues: FloatArray
    modes: tuple[Mode, ...]
    lost_modes: tuple[Mode, ...] = ()
    eta: float
    kernel: str
    bandwidth: float | None
    method: str
    rank: int
    n_reference: int
    mode_count: float
    reference_mode_count: float
    reverse: float | None = None
    reverse_error_bound: float | None = None
    reverse_eigenvalues: FloatArray | None = None
    score_rows: tuple[int, int] | None = None
    n_frequencies: int | None = None
    null: Null | None = None
    reverse_null: Null | None = None
    total_interval: Interval | None = None
    top_interval: Interval | None = None
    resampled: FloatArray | None = None
    tests: tuple[ModeTest, ...] | None = None
    tested_level: float | None = None
    tested_rows: tuple[int, int] | None = None
    source: PointSource | None = field(default=None, repr=False)

    @property
    def excess(self) -> float | None:
        """Return how far the score lies above that of relabelled rows, in nats; None without a null.

        Where the null is of a part of the rows, so is the score that it is taken from.
        """
        return None if self.null is None else self.null.excess

    @property
    def p_value(self) -> float | None:
        """Return the share of labellings that score at least as much; None without a null.

        It tests whether both samples are of one distribution.
        """
        return None if self.null is None else self.null.p_value

    @property
    def n_significant(self) -> int | None:
        """Return how many eigenvalues lie above the largest of any relabelling; None without a null."""
        return None if self.null is None else self.null.significant(self.eigenvalues)

    @property
    def significant_total(self) -> float | None:
        """Return the sum of the significant eigenvalues: the share of the sample in modes that are no noise."""
        count = self.n_significant
        return None if count is None else float(self.eigenvalues[:count].sum())

    @property
    def effective_modes(self) -> float:
        """Return how many equal modes would score the same: exp(value / total), or 0 without novelty."""
        return math.exp(self.value / self.total) if self.total > _NOTHING else 0.0

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what scores must share to be compared, each with what to do where they do not."""
        n_test, n_reference = self.score_rows or (self.n_samples, self.n_reference)
        rows = f"{n_test} and {n_reference}"
        return {
            "numbers of rows": (
                rows,
                "Novelty grows with the rows. Draw as many of each sample, features[rng.choice(len(features), n, "
                "replace=False)], or leave that to compare_novelty.",
            ),
            "kernel": (self.kernel, "Choose one kernel for all."),
            "bandwidth": (self.bandwidth, "Choose one for all: bandwidth=choose_bandwidth(pooled).value."),
            "eta": (self.eta, "Choose one for all."),
        }

    def point_novelty(self, points: Any) -> FloatArray:
        """Return how novel each point is: its membership in all novel modes together, from 0 to 1.

        Its mean over the test sample minus eta times its mean over the reference is the sum of ``eigenvalues``: that
        is ``total``, unless the score is of a part of the rows.

        Parameters
        ----------
        points : array of shape (n_points, n_columns)
            Features like those of the samples; for a precomputed kernel, similarities to all rows of both.

        Returns
        -------
        ndarray of shape (n_points,)

        Raises
        ------
        ValueError
            If the columns do not match, or the result was read back from a file, which holds no kernel.

        Notes
        -----
        With many rows and no low rank, the first call repeats the decomposition, for all eigenvectors this time.
        """
        if self.source is None:
            raise ValueError(_READ_BACK.format(what="score points"))
        return self.source.point_novelty(points)

    @property
    def _relabelled_part(self) -> bool:
        """Whether the null is of a part of the rows, so that its score is not that of the result."""
        null = self.null
        return null is not None and null.n_test + null.n_reference < self.n_samples + self.n_reference

    @property
    def n_confirmed(self) -> int | None:
        """Return how many modes are more than eta times as frequent on held-out rows; None without a test."""
        return None if self.tests is None else sum(test.confirmed for test in self.tests)

    def grouped_modes(
        self, *, lost: bool = False, similarity: float = 0.5, n_groups: int | None = None
    ) -> tuple[Mode, ...]:
        """Put modes of one kind of rows together: at large eta one kind shows as several modes.

        Parameters
        ----------
        lost : bool, default False
            Whether to group ``lost_modes`` instead.
        similarity : float, default 0.5
            Modes go together while the mean similarity of their members is at least this, from 0 (nothing in common
            under the kernel) to 1 (the same).
        n_groups : int, optional
            Number of groups, instead of ``similarity``.

        Returns
        -------
        tuple of Mode
            Largest excess first: the significant modes in groups, or all that are described without a null.

        Raises
        ------
        ValueError
            If an argument is out of range, or the result was read back from a file, which holds no kernel.

        Examples
        --------
        Two kinds that the reference lacks, each of which is several modes at eta = 10:

        >>> import numpy as np
        >>> from shiftmetrics import kernel_entropic_novelty
        >>> rng = np.random.default_rng(0)
        >>> features, reference = rng.normal(size=(2, 300, 2))
        >>> features[:100] += [9.0, 0.0]
        >>> features[100:180] += [0.0, 9.0]
        >>> result = kernel_entropic_novelty(features, reference, eta=10, bandwidth=2.0)
        >>> groups = result.grouped_modes()
        >>> len(groups), result.n_significant > 4, [group.n_members for group in groups]
        (2, True, [100, 80])
        """
        similarity = check_number(similarity, "similarity", low=0.0, high=1.0)
        n_groups = None if n_groups is None else check_integer(n_groups, "n_groups", low=1)
        found = self.lost_modes if lost else self.modes
        modes = tuple(mode for mode in found if mode.significant is not False)
        if not modes:
            return ()
        if self.source is None:
            raise ValueError(_READ_BACK.format(what="group its modes"))
        return group_modes(modes, self.source.problem.gram, similarity=similarity, n_groups=n_groups)

    def tests_frame(self) -> Any:
        """Return a DataFrame with a row for each mode that was tested on held-out rows.

        Raises
        ------
        ValueError
            If no rows were held out.
        """
        import pandas as pd

        if self.tests is None:
            remedy = "Pass resampling=NoveltyResampling(held_out=0.5)."
            raise ValueError(describe("tests", "of held-out rows", "none", remedy))
        columns = (
            "member_share", "reference_member_share", "n_members", "n_reference_members", "ratio", "ratio_low",
            "p_value", "p_adjusted", "confirmed", "threshold", "frequency", "reference_frequency",
        )  # fmt: skip
        rows = [
            {"mode": test.index + 1, **{name: getattr(test, name) for name in columns}} for test in self.tests
        ]
        return pd.DataFrame(rows, columns=["mode", *columns])

    def headline(self) -> str:
        """Return one sentence with the value and what it means."""
        score = f"{format_number(self.value)} nats"
        if self.score_rows is not None:
            score += f" on {self.score_rows[0]} and {self.score_rows[1]} rows drawn at random"
        if self.n_frequencies is not None:
            score += f" (modes of all rows by {self.n_frequencies} random frequencies)"
        times = "" if self.eta == 1.0 else f" taken {self.eta:g} times"
        if not self.total > _NOTHING:
            return f"{self.title}: {score}: nothing in the test sample is in excess of the reference{times}."
        if self.null is None or self.n_significant is None:
            return (
                f"{self.title}: {score}: {_percent(self.total)} of the test sample is in excess of the "
                f"reference{times}, spread like {self.effective_modes:.3g} equal modes."
            )
        null = self.null
        rows = "rows swapped within pairs" if null.paired else "relabelled rows"
        part = f", which score {format_number(null.mean)} +- {format_number(null.spread)}"
        if self._relabelled_part:
            part = f", {format_number(null.observed)} against {format_number(null.mean)} +- "
            part += f"{format_number(null.spread)} on {null.n_test} and {null.n_reference} rows"
        text = (
            f"{self.title}: {format_number(null.excess)} nats in excess of {rows}{part} "
            f"(p = {null.p_value:.2g}); the score is {score}."
        )
        if not self.n_significant:
            return f"{text} No mode stands out from {rows}."
        modes = "mode stands" if self.n_significant == 1 else "modes stand"
        return (
            f"{text} {self.n_significant} {modes} out: {_percent(self.significant_total or 0.0)} of the test "
            f"sample is in excess of the reference{times} there."
        )

    def notes(self) -> list[str]:
        """Return the sentences after the headline: tests, the other direction, the first mode, what to compare."""
        sentences = self.test_notes()
        if self.reverse is not None:
            text = f"The reference against the test sample: {format_number(self.reverse)} nats"
            if self.reverse_null is not None:
                null = self.reverse_null
                text += (
                    f", {format_number(null.excess)} in excess of relabelled rows (p = {null.p_value:.2g})"
                )
            sentences.append(f"{text}.")
        if self.modes and (self.n_significant is None or self.n_significant):
            sentences.append(str(self.modes[0]))
        if self.lost_modes and self.lost_modes[0].significant:
            sentences.append(str(self.lost_modes[0]))
        if (self.n_significant or 0) > len(self.modes) > 0:
            sentences.append(
                f"{self.n_significant} modes are significant; the first {len(self.modes)} are described."
            )
        if self.null is not None and self._relabelled_part:
            sentences.append(
                f"Relabelled were {self.null.n_test} and {self.null.n_reference} rows drawn at random: fewer rows "
                "have larger eigenvalues by chance, so modes that stand out from them stand out from all rows too."
            )
        common = super().notes()
        common[0] = common[0].replace("Higher is better", "Higher is more novel")
        sentences.append(common[0])
        if self.null is None:
            sentences.append(
                "Two samples of one distribution score more than 0: set n_permutations to see how much."
            )
        elif self.eta > 1.0 and self.n_significant and self.tests is None:
            sentences.append(
                "Relabelled rows tell whether the samples differ, not whether a mode is more than "
                f"{self.eta:g} times as frequent: NoveltyResampling(held_out=0.5) tests that on held-out rows."
            )
        sentences.append("Compare scores of equal sizes and bandwidths only.")
        if self.interval is not None:
            common[1] += " It is for the expected score of samples of these sizes."
        return sentences + common[1:]

    def test_notes(self) -> list[str]:
        """Return how many modes hold on held-out rows, and a sentence for each of the first."""
        if self.tests is None or self.tested_rows is None or self.tested_level is None:
            return []
        rows = f"{self.tested_rows[0]:,} and {self.tested_rows[1]:,} held-out rows"
        if not self.tests:
            return [f"No mode stood out, so none was tested on the {rows}."]
        times = "" if self.eta == 1.0 else f"{self.eta:g} times "
        count = f"{self.n_confirmed} of {len(self.tests)} modes {'is' if self.n_confirmed == 1 else 'are'}"
        frequent = f"more than {times}as frequent" if times else "more frequent"
        than = f"{frequent} in the test sample {'as' if times else 'than'} in the reference"
        level = f"{100 * self.tested_level:g} %, for all of them together"
        return [f"{count} {than} ({rows}; {level}).", *(str(test) for test in self.tests[:5])]


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"
