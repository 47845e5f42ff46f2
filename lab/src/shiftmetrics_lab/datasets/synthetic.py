"""Samples whose answers are known: mixtures for novelty, Gaussian classes for stability, scores for agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import (
    check_integer,
    check_number,
    check_rng,
    check_vector,
)
from shiftmetrics_lab.datasets.dataset import Dataset


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureSample:
    """Two samples of Gaussian mixtures on a ring of modes, for novelty.

    Attributes
    ----------
    features, reference : ndarray of shape (n_samples, 2) and (n_reference, 2)
        The sample under test and its reference.
    modes, reference_modes : ndarray of int
        The mode of each row.
    weights, reference_weights : ndarray of shape (n_modes,)
        Fraction of each mode in both distributions.
    """

    features: FloatArray
    reference: FloatArray
    modes: IntArray
    reference_modes: IntArray
    weights: FloatArray
    reference_weights: FloatArray

    def ideal_novelty(self, eta: float = 1.0) -> float:
        """Return the novelty in nats for modes that are points far apart.

        With the excess ``lambda_k = max(weight_k - eta reference_weight_k, 0)`` of mode k and their sum S, that is
        ``sum lambda_k log(S / lambda_k)``.
        """
        excess = np.maximum(self.weights - eta * self.reference_weights, 0.0)
        excess = excess[excess > 0]
        return float(np.sum(excess * np.log(excess.sum() / excess))) if excess.size else 0.0


def make_mixtures(
    weights: Sequence[float],
    reference_weights: Sequence[float],
    *,
    n_samples: int = 5000,
    n_reference: int | None = None,
    radius: float = 1.0,
    scale: float = 0.031,
    rng: Any = None,
) -> MixtureSample:
    """Draw a sample and a reference from two Gaussian mixtures over the same ring of modes.

    Parameters
    ----------
    weights, reference_weights : sequence of float, shape (n_modes,)
        Fraction of each mode; 0 where a mode is missing. They are scaled to sum to 1.
    n_samples, n_reference : int
        Rows of each sample. The second defaults to the first.
    radius : float, default 1.0
        Of the ring on which the modes lie.
    scale : float, default 0.031
        Standard deviation of a mode: the value of figure 1 of the novelty paper.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    MixtureSample
        With `ideal_novelty`.

    Raises
    ------
    ValueError
        If weights are negative or all zero, or differ in number.

    References
    ----------
    Zhang, Li, Farnia, "An Interpretable Evaluation of Entropy-based Novelty of Generative Models"
    (arXiv:2402.17287), figure 1.

    Examples
    --------
    >>> sample = make_mixtures([1, 1, 0, 0], [0, 0, 1, 1], n_samples=100, rng=0)
    >>> sample.features.shape, round(sample.ideal_novelty(), 4)
    ((100, 2), 0.6931)
    """
    shares = _shares(weights, "weights")
    reference_shares = _shares(reference_weights, "reference_weights")
    if shares.size != reference_shares.size:
        expected = f"of length {shares.size}, as weights"
        raise ArgumentValueError("reference_weights", expected, f"length {reference_shares.size}")
    check_integer(n_samples, "n_samples", low=1)
    n_reference = (
        n_samples if n_reference is None else check_integer(n_reference, "n_reference", low=1)
    )
    check_number(scale, "scale", low=0.0)
    generator = check_rng(rng)
    angles = 2.0 * np.pi * np.arange(shares.size) / shares.size
    centres = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    drawn = []
    for size, probabilities in ((n_samples, shares), (n_reference, reference_shares)):
        modes = generator.choice(shares.size, size=size, p=probabilities)
        drawn.append((centres[modes] + scale * generator.standard_normal((size, 2)), modes))
    (features, modes), (reference, reference_modes) = drawn
    return MixtureSample(
        features=features,
        reference=reference,
        modes=modes,
        reference_modes=reference_modes,
        weights=shares,
        reference_weights=reference_shares,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianClasses:
    """Two Gaussian classes with their best linear rule, for stability.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows; class 1 is centred at half the separation along the first feature, class 0 at minus that.
    y : ndarray of shape (n_samples,)
        Labels 0 and 1, equally likely.
    separation : float
        Distance of the centres in standard deviations.
    """

    X: FloatArray
    y: IntArray
    separation: float

    @property
    def signed_distances(self) -> FloatArray:
        """Distance of each row to the boundary of the best rule, negative where the rule errs."""
        return np.asarray(np.where(self.y == 1, self.X[:, 0], -self.X[:, 0]))

    @property
    def distances(self) -> FloatArray:
        """Unsquared distance of each row to an error of the best rule: 0 where it errs already."""
        return np.maximum(self.signed_distances, 0.0)

    @property
    def error(self) -> float:
        """Error rate of the best rule in the population."""
        return _normal_cdf(-self.separation / 2.0)

    def corruption_stability(self, threshold: float, theta1: float) -> float:
        """Return the population's 0/1 stability against corruption alone (``theta2 = inf``).

        The rows nearest to the boundary are put onto it until a fraction ``threshold`` errs. With the signed distance
        ``m ~ N(mu, 1)``, ``mu = separation / 2``, and its quantile ``q`` at ``threshold``, that costs
        ``theta1 E[m^2; 0 < m <= q]``.
        """
        from scipy.special import ndtri

        if threshold <= self.error:
            return 0.0
        mu = self.separation / 2.0
        low, high = -mu, float(ndtri(threshold))  # in units of z = m - mu, of standard normal law
        mass = _normal_cdf(high) - _normal_cdf(low)
        first = _normal_pdf(low) - _normal_pdf(high)
        second = mass + low * _normal_pdf(low) - high * _normal_pdf(high)
        return theta1 * (second + 2.0 * mu * first + mu**2 * mass)

    def reweighting_stability(self, threshold: float, theta2: float) -> float:
        """Return the population's 0/1 stability against reweighting alone (``theta1 = inf``, KL)."""
        p, r = self.error, threshold
        return (
            0.0
            if r <= p
            else theta2 * (r * math.log(r / p) + (1 - r) * math.log((1 - r) / (1 - p)))
        )


def make_gaussian_classes(
    n_samples: int = 2000, *, n_features: int = 2, separation: float = 2.0, rng: Any = None
) -> GaussianClasses:
    """Draw two Gaussian classes of unit covariance, whose best rule and stability are known.

    Parameters
    ----------
    n_samples : int, default 2000
        Rows of both classes together.
    n_features : int, default 2
        Columns; only the first tells the classes apart.
    separation : float, default 2.0
        Distance of the centres.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    GaussianClasses
        With the population's error and stability.

    Examples
    --------
    >>> sample = make_gaussian_classes(1000, separation=2.0, rng=0)
    >>> round(sample.error, 4), round(sample.corruption_stability(0.3, theta1=0.4), 4)
    (0.1587, 0.0046)
    """
    check_integer(n_samples, "n_samples", low=2)
    check_integer(n_features, "n_features", low=1)
    check_number(separation, "separation", low=0.0)
    generator = check_rng(rng)
    y = generator.integers(0, 2, n_samples)
    X = generator.standard_normal((n_samples, n_features))
    X[:, 0] += (y - 0.5) * separation
    return GaussianClasses(X=X, y=y, separation=float(separation))


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginScores:
    """Paired scores of one margin with a set fraction of contradictions, for agreement.

    Attributes
    ----------
    scores, reference_scores : ndarray of shape (n_samples, n_classes)
        The predicted class scores ``margin``, the others 0.
    margin : float
        The set margin.
    contradiction : float
        Fraction of the pairs that predict different classes.
    """

    scores: FloatArray
    reference_scores: FloatArray
    margin: float
    contradiction: float

    @property
    def posterior_agreement(self) -> float:
        """Capacity of the symmetric channel with that error, in nats: what the measure must find."""
        k, e = self.scores.shape[1], self.contradiction
        if 1.0 - e <= 1.0 / k:
            return 0.0
        lost = e * math.log(e / (k - 1)) if e > 0 else 0.0
        return math.log(k) + (1.0 - e) * math.log1p(-e) + lost


def make_margin_scores(
    n_samples: int = 1000,
    *,
    n_classes: int = 2,
    margin: float = 1.0,
    contradiction: float = 0.1,
    rng: Any = None,
) -> MarginScores:
    """Make paired scores of one margin, of which a set share contradict each other.

    Parameters
    ----------
    n_samples : int, default 1000
        Pairs.
    n_classes : int, default 2
        Classes.
    margin : float, default 1.0
        Score of the predicted class; the others score 0.
    contradiction : float, default 0.1
        Fraction of the pairs that predict different classes, rounded to whole pairs.
    rng : int, Generator or None
        Seed: which pairs, and which classes.

    Returns
    -------
    MarginScores
        With the posterior agreement that these scores have.

    Examples
    --------
    >>> sample = make_margin_scores(1000, contradiction=0.3, rng=0)
    >>> round(1000 * (sample.posterior_agreement - float(np.log(2))), 6)
    -610.864302
    """
    check_integer(n_samples, "n_samples", low=1)
    check_integer(n_classes, "n_classes", low=2)
    check_number(margin, "margin", low=0.0, open_low=True)
    check_number(contradiction, "contradiction", low=0.0, high=1.0)
    generator = check_rng(rng)
    predicted = generator.integers(0, n_classes, n_samples)
    n_contradicting = round(contradiction * n_samples)
    jump = np.zeros(n_samples, dtype=np.int64)
    jump[generator.permutation(n_samples)[:n_contradicting]] = generator.integers(
        1, n_classes, n_contradicting
    )
    one_hot = np.eye(n_classes) * margin
    return MarginScores(
        scores=one_hot[(predicted + jump) % n_classes],
        reference_scores=one_hot[predicted],
        margin=float(margin),
        contradiction=n_contradicting / n_samples,
    )


def make_spurious_feature(
    n_samples: int = 1000,
    *,
    flips: Sequence[float] = (0.1, 0.2),
    label_noise: float = 0.25,
    noise: float = 0.3,
    rng: Any = None,
) -> Dataset:
    """Draw domains that share a causal feature and differ in a spurious one, as coloured MNIST does.

    The causal feature gives the label up to ``label_noise`` in every domain; the spurious feature gives it up to
    the domain's flip rate, so it is the better guide in domains with small flips and misleads where the flip rate is
    large. A rule on the causal feature alone is right in a share ``1 - label_noise`` of all domains.

    Parameters
    ----------
    n_samples : int, default 1000
        Rows of each domain.
    flips : sequence of float, default (0.1, 0.2)
        How often the spurious feature contradicts the label, in each domain. Try 0.9 for a test domain.
    label_noise : float, default 0.25
        How often the causal feature contradicts the label.
    noise : float, default 0.3
        Standard deviation of Gaussian noise on both features, whose means are -1 and 1.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    Dataset
        ``X`` of shape (n_domains * n_samples, 2): the causal feature, then the spurious one.

    References
    ----------
    Arjovsky et al., "Invariant Risk Minimization" (arXiv:1907.02893), section 5.2.

    Examples
    --------
    >>> data = make_spurious_feature(500, flips=(0.1, 0.9), rng=0)
    >>> [round(float(np.mean((data.where(domain=d).X[:, 1] > 0) == data.where(domain=d).y)), 1) for d in (0, 1)]
    [0.9, 0.1]
    """
    check_integer(n_samples, "n_samples", low=1)
    rates = check_vector(list(flips), "flips", low=0.0)
    if (rates > 1.0).any():
        raise ArgumentValueError("flips", "at most 1 everywhere", value=flips)
    check_number(label_noise, "label_noise", low=0.0, high=1.0)
    check_number(noise, "noise", low=0.0)
    generator = check_rng(rng)
    domain = np.repeat(np.arange(rates.size), n_samples)
    y = generator.integers(0, 2, domain.size)
    causal = y ^ (generator.random(domain.size) < label_noise)
    spurious = y ^ (generator.random(domain.size) < rates[domain])
    means = 2.0 * np.column_stack([causal, spurious]) - 1.0
    return Dataset(
        name="spurious feature",
        X=means + noise * generator.standard_normal(means.shape),
        y=y,
        domain=domain,
        class_names=("0", "1"),
        domain_names=tuple(f"flip {rate:g}" for rate in rates),
        source="drawn",
    )


def _shares(weights: Sequence[float], argument: str) -> FloatArray:
    shares = check_vector(list(weights), argument, low=0.0)
    if shares.sum() == 0.0:
        raise ArgumentValueError(argument, "positive for at least one mode", "zeros only")
    return np.asarray(shares / shares.sum())


def _normal_pdf(z: float) -> float:
    return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
