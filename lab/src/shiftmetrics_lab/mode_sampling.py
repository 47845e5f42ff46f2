"""More of a mode: new latent vectors from a Gaussian that is fitted to the mode's members."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import (
    check_integer,
    check_matrix,
    check_number,
    check_rng,
)
from shiftmetrics.novelty.modes.mode import Mode, Sample


def sample_mode(
    mode: Mode,
    latents: Any,
    n_samples: int,
    *,
    of: Sample = "test",
    shrinkage: float | Literal["auto"] = "auto",
    rng: Any = None,
) -> FloatArray:
    """Draw latent vectors like those of a mode's members, for a generator to turn into more of the same mode.

    Parameters
    ----------
    mode : Mode
        From `kernel_entropic_novelty`.
    latents : array of shape (n_rows, n_dimensions)
        What a generator made each row of the sample from, in the order of its rows.
    n_samples : int
        How many vectors to draw.
    of : {"test", "reference"}, default "test"
        The sample that ``latents`` belong to.
    shrinkage : float or "auto", default "auto"
        Weight, from 0 to 1, of the covariance of equal variances in all directions, against that of the members.
        "auto" is 0 where there are more members than dimensions, else the weight of Ledoit and Wolf: fewer members
        than dimensions lie in a plane, and without it so would all that is drawn.
    rng : int or Generator, optional
        Draws the vectors.

    Returns
    -------
    ndarray of shape (n_samples, n_dimensions)
        Draws from the Gaussian with the members' mean and the shrunk covariance.

    Raises
    ------
    ValueError
        If ``latents`` have not one row for each row of the sample, fewer than two rows are members, an option is out
        of range, or the mode was read back from a file.
    TypeError
        If ``latents`` are not numbers, or ``mode`` is no mode.

    Notes
    -----
    Section 6 and figure 7 of Zhang, Li and Farnia (arXiv:2402.17287). The shrinkage is that of
    `sklearn.covariance.ledoit_wolf_shrinkage`.

    Examples
    --------
    >>> from shiftmetrics import kernel_entropic_novelty
    >>> from shiftmetrics_lab.mode_sampling import sample_mode
    >>> latents = np.repeat([[0.0, 0.0], [5.0, 5.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(40, 2))
    >>> features = 3.0 * latents  # what a generator would make of them
    >>> result = kernel_entropic_novelty(features, features[:20], bandwidth=3.0)
    >>> sample_mode(result.new[0], latents, 200, rng=0).mean(axis=0).round()
    array([5., 5.])
    """
    if not isinstance(mode, Mode):
        raise ArgumentTypeError("mode", "a Mode, such as result.new[0]", type(mode).__name__)
    n_samples = check_integer(n_samples, "n_samples", low=1)
    if not isinstance(shrinkage, str):
        shrinkage = check_number(shrinkage, "shrinkage", low=0.0, high=1.0)
    elif shrinkage != "auto":
        raise ArgumentValueError("shrinkage", "a number from 0 to 1 or 'auto'", value=shrinkage)
    generator = check_rng(rng)
    members = mode.members(of=of)
    array = check_matrix(latents, "latents")
    membership = mode.membership if of == "test" else mode.reference_membership
    if membership is not None and len(membership) != array.shape[0]:
        expected = f"of {len(membership)} rows, as the {of} sample"
        raise ArgumentValueError("latents", expected, f"{array.shape[0]} rows")
    if len(members) < 2:
        raise ArgumentValueError(
            "mode", f"of at least two members in the {of} sample", len(members)
        )
    rows = to_float64(array)[members]
    mean = rows.mean(axis=0)
    centered = rows - mean
    variance = float(np.mean(centered * centered))
    if shrinkage == "auto":
        from sklearn.covariance import ledoit_wolf_shrinkage

        shrinkage = float(ledoit_wolf_shrinkage(centered)) if len(rows) <= rows.shape[1] else 0.0
    # With g and h standard normal, X'g / sqrt(n) has covariance X'X / n, and sqrt(v) h has v I: no matrix of
    # n_dimensions squared is ever formed, and one without full rank is no exception.
    along = generator.normal(size=(n_samples, len(rows))) @ centered
    drawn = mean + np.sqrt((1.0 - shrinkage) / len(rows)) * along
    if shrinkage > 0.0:
        drawn += np.sqrt(shrinkage * variance) * generator.normal(size=drawn.shape)
    return np.asarray(drawn, dtype=np.float64)
