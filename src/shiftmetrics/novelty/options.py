"""Options of novelty: how it is set against chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.options import Resampling
from shiftmetrics._core.validation import check_integer, check_number, check_rng


@dataclass(frozen=True, kw_only=True)
class NoveltyResampling(Resampling):
    """How what is new is set against chance: permutations of the labels of the samples.

    Parameters
    ----------
    n_resamples : int, default 199
        Random permutations. Five times as many are made where a p-value is near the level.
    confidence_level : float, default 0.95
        A mode counts as new where fewer than 1 - confidence_level of the permutations show as much; also the
        level of the bound of its fraction.
    paired : bool, default False
        Whether sample i of both belong together, such as a text and its edited version. Labels are then swapped
        within the pairs.
    groups : tuple of two arrays, of shape (n_samples,) and (n_reference,), optional
        Labels of samples that belong together, such as the visits of one patient: they are permuted together. With
        ``paired`` the groups of sample i of both must be the same.
    rng : int or Generator, optional
        Draws everything that is random: samples of the bandwidth's rule, landmarks, permutations. Default: a fixed
        seed, so that equal data give equal results.

    Raises
    ------
    TypeError, ValueError
        If an option is of the wrong type or out of range.

    Examples
    --------
    >>> from shiftmetrics.novelty import NoveltyResampling
    >>> NoveltyResampling(n_resamples=999, paired=True).confidence_level
    0.95
    """

    n_resamples: int = 199
    paired: bool = False

    def __post_init__(self) -> None:
        check_integer(self.n_resamples, "n_resamples", low=19)
        super().__post_init__()
        check_rng(self.rng)

    def settings(self) -> dict[str, Any]:
        """Return the options, for the ``settings`` of a result."""
        return {
            **super().settings(),
            "paired": self.paired,
            "rng": 0 if self.rng is None else self.rng,
        }


def novelty_resampling_of(
    value: NoveltyResampling | Resampling | float | None,
) -> NoveltyResampling:
    """Return the options of a call; a number is the confidence level.

    Raises
    ------
    TypeError
        If ``value`` is something else.
    ValueError
        If the confidence level is out of range.
    """
    # Options of another measure keep their level, their groups and their seed.
    if value is None:
        return NoveltyResampling()
    if isinstance(value, NoveltyResampling):
        return value
    if isinstance(value, Resampling):
        return NoveltyResampling(**vars(value))
    confidence_level = check_number(
        value, "resampling", low=0.0, high=1.0, open_low=True, open_high=True
    )
    return NoveltyResampling(confidence_level=confidence_level)
