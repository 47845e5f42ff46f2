"""What a generator leaves out: modes of its training data that it hardly ever draws."""

from __future__ import annotations

from typing import Any

from shiftmetrics.novelty.entropic import kernel_entropic_novelty
from shiftmetrics.novelty.result import NoveltyResult

ETA = 10.0


def missing_modes(data: Any, generated: Any, *, eta: float = ETA, **options: Any) -> NoveltyResult:
    """Find the modes of ``data`` that are more than ``eta`` times as frequent there as in ``generated``.

    Parameters
    ----------
    data : array or DataFrame of shape (n_samples, n_columns)
        What should be there: the training data of a generator.
    generated : array or DataFrame of shape (n_generated, n_columns)
        What the generator drew.
    eta : float, default 10.0
        How many times as frequent in the data counts as missing; at least 1.
    **options
        As for `kernel_entropic_novelty`.

    Returns
    -------
    NoveltyResult
        Novelty of the data against what was generated; ``modes`` are the missing ones.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for `kernel_entropic_novelty`.

    See Also
    --------
    kernel_entropic_novelty : At eta = 1 its ``lost_modes`` are whatever the sample has less of.
    group_modes : The modes of one kind together.
    confirm_modes : Whether modes are more than eta times as frequent, on held-out rows.

    Notes
    -----
    A kind of rows that is missing altogether may show as several modes: its centre, and directions around it.
    `group_modes` puts them together.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> data, generated = rng.normal(size=(90, 2)), rng.normal(size=(90, 2))
    >>> data[:30] += 8.0
    >>> result = missing_modes(data, generated, bandwidth=2.0)
    >>> bool((result.modes[0].top(20) < 30).all())
    True
    """
    return kernel_entropic_novelty(data, generated, eta=eta, **options)
