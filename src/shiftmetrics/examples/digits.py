"""The material of the demonstration: scikit-learn's digits, a classifier of them, and shifted copies.

1,797 real handwritten digits of 8 by 8 pixels come with scikit-learn. Pixels are scaled to 0..1 here, and images are
arrays of shape (n_samples, 8, 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Digits:
    """Handwritten digits, cut in two halves with equal fractions of each digit."""

    train_images: FloatArray
    train_labels: IntArray
    test_images: FloatArray
    test_labels: IntArray


def split_digits(seed: int, n_images: int | None = None) -> Digits:
    """Cut the first ``n_images`` of the bundled digits (default: all) in two halves, drawn by ``seed``."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data = load_digits()
    images = data.images[:n_images] / data.images.max()
    labels = data.target[:n_images]
    parts = train_test_split(images, labels, test_size=0.5, stratify=labels, random_state=seed)
    return Digits(
        train_images=parts[0], test_images=parts[1], train_labels=parts[2], test_labels=parts[3]
    )


def pixels(images: FloatArray) -> FloatArray:
    """Lay each image out as one row of features."""
    return images.reshape(len(images), -1)


def fit_classifier(images: FloatArray, labels: IntArray) -> Any:
    """Fit a multinomial logistic regression on the pixels."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(pixels(images), labels)


def rotated(images: FloatArray, degrees: float) -> FloatArray:
    """Turn each image about its centre, with linear interpolation and empty corners."""
    from scipy import ndimage

    turned = ndimage.rotate(images, degrees, axes=(2, 1), reshape=False, order=1, mode="constant")
    return np.asarray(np.clip(turned, 0.0, 1.0), dtype=np.float64)


def noisy(images: FloatArray, scale: float, seed: int) -> FloatArray:
    """Add Gaussian noise of standard deviation ``scale`` to each pixel; pixels stay in 0..1."""
    noise = np.random.default_rng(seed).normal(0.0, scale, images.shape)
    return np.asarray(np.clip(images + noise, 0.0, 1.0))


def distances_to_error(model: Any, images: FloatArray, labels: IntArray) -> FloatArray:
    """Return how far each image is from one that a linear ``model`` gets wrong, in the pixels' Euclidean norm.

    Class k overtakes the true class y on the half-space (w_k - w_y).x + b_k - b_y >= 0, so the nearest error is the
    nearest of these half-spaces: exact, 0 for an image that is wrong already. Pixels may leave 0..1 on the way, so a
    bounded perturbation is at least as long.
    """
    scores = model.decision_function(pixels(images))
    true = np.searchsorted(model.classes_, labels)
    gaps = np.take_along_axis(scores, true[:, None], axis=1) - scores
    weights = model.coef_
    norms = np.linalg.norm(weights[true][:, None, :] - weights[None, :, :], axis=2)
    # The true class itself is no error: it is infinitely far away.
    gaps[np.arange(len(true)), true] = np.inf
    norms[np.arange(len(true)), true] = 1.0
    return np.asarray((np.maximum(gaps, 0.0) / norms).min(axis=1))
