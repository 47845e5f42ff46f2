"""The scale people can read: agreement as the fraction of predictions that a channel flips.

The channel keeps a class with probability 1 - eps. Otherwise it samples a class from the fractions s of the predicted
classes, which therefore stay as they are: P = (1 - eps) diag(s) + eps s s'. It flips the fraction e = eps (1 - sum
s^2) of the predictions, and its kappa is 1 - eps. If all predictions are equally confident, its agreement is, with x
= exp(beta) - 1 and class prior pi,

    max over x >= 0 of  sum_jk P_jk log(1 + (pi_j + pi_k) x + [j = k] pi_j x^2) - 2 sum_j s_j log(1 + pi_j x).

It falls in eps from the ceiling sum_k s_k log(1 / pi_k), so every agreement has an equivalent error. With a uniform
prior it depends on e alone: the capacity of the symmetric channel with K classes and error e.
"""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.convex_difference import Samples, Tail
from shiftmetrics._core.maximum import maximize_difference

ATOL = 1e-9
"""Certified gap of the agreement of a channel, in nats."""


FIRST_BETAS = np.geomspace(0.1, 30.0, 16)
"""Betas at which the error is first bounded from below."""


def channel_of(prior: FloatArray, class_fractions: FloatArray) -> SymmetricChannel:
    """Return the channel of a checked prior and of the fractions of the predicted classes, each with sum 1."""
    used = prior[prior > 0.0]
    # Uniform up to rounding: the agreement then has a closed form, and no beta is searched.
    if np.ptp(used) < 1e-12:
        return SymmetricChannel(len(used))
    return Channel(prior, class_fractions)


class SymmetricChannel:
    """The channel at a uniform prior, where only the number of classes counts.

    Attributes
    ----------
    ceiling : float
        Agreement where no prediction flips, in nats.
    most_flips : float
        Fraction of the predictions that independent sampling flips.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.ceiling = math.log(n_classes)
        self.most_flips = 1.0 - 1.0 / n_classes

    def normalized(self, agreement: float) -> float:
        """Return an agreement over the ceiling; 0 where that is 0."""
        return agreement / self.ceiling if self.ceiling > 0.0 else 0.0

    def capacity(self, error: float) -> float:
        """Return the agreement at a fraction of flips: ``log K + (1 - e) log(1 - e) + e log(e / (K - 1))``."""
        if error == 0.0:
            return self.ceiling
        kept = (1.0 - error) * math.log1p(-error)
        return max(
            0.0, self.ceiling + kept + error * (math.log(error) - math.log(self.n_classes - 1))
        )

    def error(self, agreement: float) -> float:
        """Return the fraction of flips at an agreement; one out of reach counts as the nearer end."""
        if agreement >= self.ceiling:
            return 0.0
        if agreement <= max(0.0, self.capacity(self.most_flips)):
            return self.most_flips
        # The capacity falls, from above the agreement to below it.
        # Halved until no number lies between: the root finder of SciPy takes half a second to import.
        low = 0.0
        high = self.most_flips
        while low < (middle := 0.5 * (low + high)) < high:
            if self.capacity(middle) > agreement:
                low = middle
            else:
                high = middle
        return high


class Channel(SymmetricChannel):
    """The channel at an unequal prior; classes of equal prior are added up."""

    def __init__(self, prior: FloatArray, class_fractions: FloatArray) -> None:
        # Classes that are never predicted play no part; those of one prior are added up.
        used = class_fractions > 0.0
        # The formula knows a class by its prior and its fraction alone, and takes of the latter the sum and the sum
        # of squares.
        self.pi, place = np.unique(prior[used], return_inverse=True)
        self.fraction = np.bincount(place.ravel(), class_fractions[used])
        self.square = np.bincount(place.ravel(), class_fractions[used] ** 2)
        self.ceiling = max(0.0, -float(self.fraction @ np.log(self.pi)))
        self.most_flips = max(0.0, 1.0 - float(self.square.sum()))

    def capacity(self, error: float) -> float:
        """Return the agreement at a fraction of flips."""
        if error == 0.0 or self.most_flips == 0.0:
            return self.ceiling
        return self._best(min(1.0, error / self.most_flips))[1]

    def error(self, agreement: float) -> float:
        """Return the fraction of flips at an agreement."""
        if agreement >= self.ceiling - ATOL:
            return 0.0
        # At each beta the agreement is linear in eps, so each beta bounds eps from below: Newton's method on the
        # certified maximum climbs to it.
        eps = 0.0
        after = self._least_eps(FIRST_BETAS, agreement)
        while eps < after < 1.0:
            eps = after
            beta, best = self._best(eps)
            if best > agreement + ATOL:
                after = self._least_eps(np.asarray([beta]), agreement)
        return after * self.most_flips

    def _best(self, eps: float) -> tuple[float, float]:
        """Return the best beta and the certified agreement at a chance eps > 0 that the class is sampled again."""

        def evaluate(betas: FloatArray) -> Samples:
            kept, resampled, single = self._parts(betas)
            plus, slope = (1.0 - eps) * kept + eps * resampled
            return Samples(plus, slope, *single)

        # Towards infinite beta a class that is kept has log(1 / pi), and one sampled again costs without end.
        limit = 2.0 * float(self.fraction @ np.log(self.pi))
        found = maximize_difference(
            evaluate,
            evaluate(np.zeros(1)),
            Tail(-eps * self.most_flips, limit, -math.inf),
            atol=ATOL,
            max_evaluations=200,
        )
        return found.x, found.value

    def _least_eps(self, betas: FloatArray, agreement: float) -> float:
        """Return the least eps at which none of the betas gives more than an agreement."""
        # The agreement at a beta falls in eps where keeping a class is worth more than sampling it again.
        kept, resampled, single = (part[0] for part in self._parts(betas))
        falls = kept - resampled > 1e-14
        # At one beta the agreement is kept - eps (kept - resampled) - single, solved for eps. It stays positive:
        # without flips the agreement rises in beta without end, and no finite beta is best.
        eps = (kept - single - agreement)[falls] / (kept - resampled)[falls]
        return min(1.0, max(1e-15, float(eps.max(initial=0.0))))

    def _parts(self, betas: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the means of L(a + b) where a class is kept, and where it is sampled again, and of L(a) + L(b).

        Each with its slope, of shape (2, n_betas). Scores are 0 at the predicted class and -1 elsewhere.
        """
        pi = self.pi
        fraction = self.fraction
        y = np.exp(-betas)[:, None]

        # log sum_k pi_k exp(beta s_k) and its slope by beta, where classes of that prior mass have score 0 and all
        # others -rate; y is exp(-rate beta).
        def logarithm(prior: FloatArray, y: FloatArray, rate: float) -> FloatArray:
            rest = (1.0 - prior) * y
            return np.stack([np.log(prior + rest), -rate * rest / (prior + rest)])

        # Kept: a + b is 0 at the class and -2 elsewhere.
        same = logarithm(pi, y**2, 2.0)
        # Sampled again as another class: a + b is -1 at both and -2 elsewhere.
        first, second = np.triu_indices(len(pi), 1)
        apart = logarithm(pi[first] + pi[second], y, 1.0) @ (
            2.0 * fraction[first] * fraction[second]
        )
        # Other classes of the same prior.
        alike = logarithm(2.0 * pi, y, 1.0) @ (fraction**2 - self.square)
        # Where the class changes, the largest a + b is -1, not 0: a factor exp(-beta) for each such pair.
        changed = apart + alike + self.most_flips * np.stack([-betas, -np.ones(len(betas))])
        return same @ fraction, changed + same @ self.square, 2.0 * logarithm(pi, y, 1.0) @ fraction
