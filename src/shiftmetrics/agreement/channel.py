"""The scale people can read: agreement as the share of predictions that a channel flips.

The channel keeps a class with probability 1 - eps and else draws it anew from the shares s of the predictions, which
it so keeps: P = (1 - eps) diag(s) + eps s s'. It flips the share e = eps (1 - sum s^2) of the predictions, its kappa
is 1 - eps, and if all predictions are equally confident its agreement is, with x = exp(beta) - 1 and class prior pi,

    max over x >= 0 of  sum_jk P_jk log(1 + (pi_j + pi_k) x + [j = k] pi_j x^2) - 2 sum_j s_j log(1 + pi_j x).

It falls in eps from the ceiling sum_k s_k log(1 / pi_k), so every agreement has an equivalent error. With a uniform
prior it depends on e alone: the capacity of the symmetric channel with K classes and error e.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.branching import Samples, Tail
from shiftmetrics._core.maximum import maximize_difference
from shiftmetrics._core.validation import check_integer, check_number, check_vector, describe

ATOL = 1e-9
"""Certified gap of the agreement of a channel, in nats."""

FIRST_BETAS = np.geomspace(0.1, 30.0, 16)
"""Betas at which the error is first bounded from below."""


def channel_capacity(error: float, n_classes: int, *, prior: Any = None, shares: Any = None) -> float:
    """Agreement of a channel that flips a share of the predictions, all of which are equally confident.

    With a uniform prior ``log K + (1 - e) log(1 - e) + e log(e / (K - 1))``, the capacity of the symmetric channel.

    Parameters
    ----------
    error : float
        Share e of the predictions that change; in [0, 1 - 1 / n_classes], or with a prior in [0, 1 - sum shares^2].
    n_classes : int
        Number of classes K, at least 2.
    prior : array of shape (n_classes,), optional
        Class prior of the agreement. Default: uniform.
    shares : array of shape (n_classes,), optional
        How often each class is predicted, which the channel keeps. Default: the prior.

    Returns
    -------
    float
        Nats per sample, from the ceiling ``sum_k shares_k log(1 / prior_k)`` at error 0 (log K where the prior is
        uniform) down to the agreement of independent draws.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number of the stated range, or shares fall on a class of prior 0.

    Examples
    --------
    >>> round(channel_capacity(0.3, 2), 6)
    0.082283
    >>> round(channel_capacity(0.0, 2, prior=[0.95, 0.05]), 4)
    0.1985
    """
    channel = _channel(n_classes, prior, shares)
    error = check_number(error, "error", low=0.0, high=channel.most_flips)
    return channel.capacity(error)


def equivalent_error(agreement: float, n_classes: int, *, prior: Any = None, shares: Any = None) -> float:
    """Share of the predictions that a channel with this agreement flips: the inverse of `channel_capacity`.

    Parameters
    ----------
    agreement : float
        Nats per sample; values outside the range of `channel_capacity` count as the nearer end.
    n_classes : int
        Number of classes K, at least 2.
    prior, shares : array of shape (n_classes,), optional
        As in `channel_capacity`.

    Returns
    -------
    float
        0 at the ceiling (no prediction flips), ``1 - sum shares^2`` (1 - 1 / K where the prior is uniform) where
        the predictions agree no better than independent draws. Lower is better.

    Raises
    ------
    TypeError, ValueError
        As in `channel_capacity`.

    Examples
    --------
    >>> round(equivalent_error(0.082283, 2), 4)
    0.3
    >>> round(equivalent_error(0.15, 2, prior=[0.95, 0.05]), 4)
    0.0103
    """
    return _channel(n_classes, prior, shares).error(check_number(agreement, "agreement"))


def channel_of(prior: FloatArray, shares: FloatArray) -> SymmetricChannel:
    """Return the channel of a checked prior and of the shares of the predictions, each with sum 1."""
    used = prior[prior > 0.0]
    if np.ptp(used) < 1e-12:
        return SymmetricChannel(len(used))
    return Channel(prior, shares)


class SymmetricChannel:
    """The channel at a uniform prior: only the number of classes counts."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.ceiling = math.log(n_classes)
        self.most_flips = 1.0 - 1.0 / n_classes

    def normalized(self, agreement: float) -> float:
        """Return an agreement over the ceiling; 0 where that is 0."""
        return agreement / self.ceiling if self.ceiling > 0.0 else 0.0

    def capacity(self, error: float) -> float:
        """Return the agreement at a share of flips."""
        if error == 0.0:
            return self.ceiling
        kept = (1.0 - error) * math.log1p(-error)
        return max(0.0, self.ceiling + kept + error * (math.log(error) - math.log(self.n_classes - 1)))

    def error(self, agreement: float) -> float:
        """Return the share of flips at an agreement."""
        if agreement >= self.ceiling:
            return 0.0
        # The capacity falls: bisect to the last bit.
        low, high = 0.0, self.most_flips
        while agreement > 0.0:
            middle = (low + high) / 2.0
            if not low < middle < high:
                return middle
            low, high = (middle, high) if self.capacity(middle) > agreement else (low, middle)
        return high


class Channel(SymmetricChannel):
    """The channel at an unequal prior; classes of equal prior are added up."""

    def __init__(self, prior: FloatArray, shares: FloatArray) -> None:
        used = shares > 0.0
        self.pi, place = np.unique(prior[used], return_inverse=True)
        self.share = np.bincount(place.ravel(), shares[used])
        self.square = np.bincount(place.ravel(), shares[used] ** 2)
        self.ceiling = max(0.0, -float(self.share @ np.log(self.pi)))
        self.most_flips = max(0.0, 1.0 - float(self.square.sum()))

    def capacity(self, error: float) -> float:
        """Return the agreement at a share of flips."""
        if error == 0.0 or self.most_flips == 0.0:
            return self.ceiling
        return self._best(min(1.0, error / self.most_flips))[1]

    def error(self, agreement: float) -> float:
        """Return the share of flips at an agreement."""
        # At each beta the agreement is linear in eps, so each beta bounds eps from below: Newton's method on the
        # certified maximum climbs to it.
        if agreement >= self.ceiling - ATOL:
            return 0.0
        eps, after = 0.0, self._least_eps(FIRST_BETAS, agreement)
        while eps < after < 1.0:
            eps = after
            beta, best = self._best(eps)
            if best > agreement + ATOL:
                after = self._least_eps(np.asarray([beta]), agreement)
        return after * self.most_flips

    def _best(self, eps: float) -> tuple[float, float]:
        """Return the best beta and the certified agreement at a chance eps > 0 of a new draw."""

        def evaluate(betas: FloatArray) -> Samples:
            kept, drawn, single = self._parts(betas)
            plus, slope = (1.0 - eps) * kept + eps * drawn
            return Samples(plus, slope, *single)

        limit = 2.0 * float(self.share @ np.log(self.pi))
        found = maximize_difference(
            evaluate,
            evaluate(np.zeros(1)),
            Tail(-eps * self.most_flips, limit, -math.inf),
            atol=ATOL,
            max_evaluations=200,
            rates=(2.0, 1.0),
        )
        return found.x, found.value

    def _least_eps(self, betas: FloatArray, agreement: float) -> float:
        """Return the least eps at which none of the betas gives more than an agreement."""
        kept, drawn, single = (part[0] for part in self._parts(betas))
        falls = kept - drawn > 1e-14
        eps = (kept - single - agreement)[falls] / (kept - drawn)[falls]
        return min(1.0, max(1e-15, float(eps.max(initial=0.0))))

    def _parts(self, betas: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the means of L(a + b) where a class is kept, and where it is drawn anew, and of L(a) + L(b).

        Each with its slope, of shape (2, n_betas). Scores are 0 at the predicted class and -1 elsewhere.
        """
        pi, share = self.pi, self.share
        y = np.exp(-betas)[:, None]

        def logarithm(prior: FloatArray, y: FloatArray, rate: float) -> FloatArray:
            rest = (1.0 - prior) * y
            return np.stack([np.log(prior + rest), -rate * rest / (prior + rest)])

        same = logarithm(pi, y**2, 2.0)
        first, second = np.triu_indices(len(pi), 1)
        apart = logarithm(pi[first] + pi[second], y, 1.0) @ (2.0 * share[first] * share[second])
        alike = logarithm(2.0 * pi, y, 1.0) @ (share**2 - self.square)  # other classes of the same prior
        changed = apart + alike + self.most_flips * np.stack([-betas, -np.ones(len(betas))])
        return same @ share, changed + same @ self.square, 2.0 * logarithm(pi, y, 1.0) @ share


def _channel(n_classes: int, prior: Any, shares: Any) -> SymmetricChannel:
    n_classes = check_integer(n_classes, "n_classes", low=2)
    if prior is None:
        return SymmetricChannel(n_classes)
    parts = []
    for value, name in ((prior, "prior"), (prior if shares is None else shares, "shares")):
        vector = check_vector(value, name, length=n_classes, low=0.0)
        if not vector.sum() > 0.0:
            raise ValueError(describe(name, "positive for at least one class", "zeros"))
        parts.append(vector / vector.sum())
    if (parts[1][parts[0] == 0.0] > 0.0).any():
        raise ValueError(describe("shares", "0 where the prior is 0", repr(shares)))
    return channel_of(*parts)
