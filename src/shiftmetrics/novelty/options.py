"""Options of novelty: how rows are relabelled, and how many landmarks there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.options import Resampling
from shiftmetrics._core.validation import check_integer, check_number, check_rng


@dataclass(frozen=True, kw_only=True)
class NoveltyResampling:
    """How what is new is set against chance: relabelled rows.

    Parameters
    ----------
    n_draws : int, default 199
        Random relabellings of the rows. Five times as many are drawn where a p-value is near the level.
    level : float, default 0.95
        A kind counts as new where fewer than 1 - level of the relabellings show as much; also the level of the bound
        of its share.
    paired : bool, default False
        Whether row i of both samples belong together, such as a text and its edited version. Relabelling then swaps
        rows within their pairs.
    groups : tuple of two arrays, of shape (n_samples,) and (n_reference,), optional
        Labels of rows that belong together, such as the visits of one patient: they are relabelled together. With
        ``paired`` the groups of row i of both samples must be the same.
    rng : int or Generator, optional
        Draws everything that is random: rows of the bandwidth's rule, landmarks, relabellings. Default: a fixed seed,
        so that equal data give equal results.

    Raises
    ------
    TypeError, ValueError
        If an option is of the wrong type or out of range.

    Examples
    --------
    >>> from shiftmetrics.novelty import NoveltyResampling
    >>> NoveltyResampling(n_draws=999, paired=True).level
    0.95
    """

    n_draws: int = 199
    level: float = 0.95
    paired: bool = False
    groups: Any = None
    rng: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_draws", check_integer(self.n_draws, "n_draws", low=19))
        level = check_number(self.level, "level", low=0.0, high=1.0, open_low=True, open_high=True)
        object.__setattr__(self, "level", level)
        check_rng(self.rng)

    def settings(self) -> dict[str, Any]:
        """Return the options, for the ``settings`` of a result."""
        return {**vars(self), "groups": self.groups is not None, "rng": 0 if self.rng is None else self.rng}


def novelty_resampling_of(value: NoveltyResampling | Resampling | float | None) -> NoveltyResampling:
    """Return the options of a call; a number is the level.

    Raises
    ------
    TypeError
        If ``value`` is something else.
    ValueError
        If the level is out of range.
    """
    if value is None:
        return NoveltyResampling()
    if isinstance(value, NoveltyResampling):
        return value
    if isinstance(value, Resampling):
        return NoveltyResampling(level=value.level, n_draws=value.n_draws, groups=value.groups, rng=value.rng)
    level = check_number(value, "resampling", low=0.0, high=1.0, open_low=True, open_high=True)
    return NoveltyResampling(level=level)


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
