"""Options of novelty: how rows are resampled, and the sizes of the feature maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.options import Resampling
from shiftmetrics._core.validation import check_integer, check_number, check_rng, describe


@dataclass(frozen=True, kw_only=True)
class NoveltyResampling:
    """How novelty is set against chance: relabelled rows, subsamples and held-out rows.

    Parameters
    ----------
    n_permutations : int, default 20
        Random relabellings of the rows, for the p-value and the significant modes; 0 for none.
    max_rows : int, default 500
        Rows of each sample to relabel where all would take too long; with a low rank all are relabelled.
    paired : bool, default False
        Whether row i of both samples belong together, such as a text and its edited version. Relabelling then swaps
        rows within their pairs, and subsamples draw pairs.
    level : float, optional
        Confidence level of intervals by subsampling, for the expected score of samples of these sizes, their
        ``total`` and their largest eigenvalue. Default: no intervals.
    n_draws : int, default 200
        Subsamples for the intervals.
    held_out : float, optional
        Share of the rows of each sample on which modes are tested. The modes are found on the other rows.
    rng : int or Generator, optional
        Draws everything that is random: rows of the bandwidth's rule, landmarks, frequencies, relabellings,
        subsamples. Default: a fixed seed, so that equal data give equal results.

    Raises
    ------
    TypeError, ValueError
        If an option is of the wrong type or out of range.

    Examples
    --------
    >>> from shiftmetrics.novelty import NoveltyResampling
    >>> NoveltyResampling(n_permutations=100, paired=True).max_rows
    500
    """

    n_permutations: int = 20
    max_rows: int = 500
    paired: bool = False
    level: float | None = None
    n_draws: int = 200
    held_out: float | None = None
    rng: Any = None

    def __post_init__(self) -> None:
        for name, low in (("n_permutations", 0), ("max_rows", 2), ("n_draws", 2)):
            object.__setattr__(self, name, check_integer(getattr(self, name), name, low=low))
        for name in ("level", "held_out"):
            value = getattr(self, name)
            if value is not None:
                value = check_number(value, name, low=0.0, high=1.0, open_low=True, open_high=True)
                object.__setattr__(self, name, value)
        check_rng(self.rng)

    def settings(self) -> dict[str, Any]:
        """Return the options, for the ``settings`` of a result."""
        return {**vars(self), "rng": 0 if self.rng is None else self.rng}


def novelty_resampling_of(value: NoveltyResampling | Resampling | float | None) -> NoveltyResampling:
    """Return the options of a call; a number is the level of intervals.

    Raises
    ------
    TypeError
        If ``value`` is something else.
    ValueError
        If the level is out of range, or groups are given.
    """
    if value is None:
        return NoveltyResampling()
    if isinstance(value, NoveltyResampling):
        return value
    if isinstance(value, Resampling):
        if value.groups is not None:
            remedy = "Novelty compares two samples: pass NoveltyResampling(paired=True) for pairs of rows."
            raise ValueError(describe("resampling", "without groups", "groups", remedy))
        return NoveltyResampling(level=value.level, n_draws=value.n_draws, rng=value.rng)
    level = check_number(value, "resampling", low=0.0, high=1.0, open_low=True, open_high=True)
    return NoveltyResampling(level=level)


@dataclass(frozen=True)
class FourierMap:
    """Random Fourier features of the Gaussian kernel, as a ``method`` of `kernel_entropic_novelty`.

    Parameters
    ----------
    n_frequencies : int, default 1000
        Random frequencies; each gives two coordinates of a row.
    score_rows : int, default 1000
        Rows of each sample that the score is computed on: many small eigenvalues matter for it, which frequencies
        do not give.

    Examples
    --------
    >>> FourierMap(200).n_frequencies
    200
    """

    n_frequencies: int = 1000
    score_rows: int = 1000

    def __post_init__(self) -> None:
        check_integer(self.n_frequencies, "n_frequencies", low=1)
        check_integer(self.score_rows, "score_rows", low=2)


@dataclass(frozen=True)
class LandmarkMap:
    """Similarities to a few rows (Nystrom), as a ``method`` of `kernel_entropic_novelty`.

    Parameters
    ----------
    n_landmarks : int, default 1024
        Most landmarks. Fewer are taken where they leave out less than the tolerance.

    Examples
    --------
    >>> LandmarkMap(200).n_landmarks
    200
    """

    n_landmarks: int = 1024

    def __post_init__(self) -> None:
        check_integer(self.n_landmarks, "n_landmarks", low=1)
