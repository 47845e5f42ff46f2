"""Pictures with features by pixels, principal components and a network, in the place of Inception, DINOv2 and CLIP.

- `cifar`: 4,000 of CIFAR-10; the network's features are the scores of a public ResNet-20.
- `digits`: MNIST, and ten generations of a network that draws digits and learns from its own drawings; the features
  are the 64 hidden units of a small network that learned from other digits.
"""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
from _experiment import data_folder
from _mnist import mnist
from PIL import Image
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier

from shiftmetrics.novelty import choose_bandwidth
from shiftmetrics.novelty.score.spectrum import spectral_entropy
from shiftmetrics_lab.novelty_studies import bandwidth_sweep

FEATURES = ("pixels", "PCA", "network")
GENERATIONS = (0, 1, 2, 4, 6, 9, 12, 14, 17, 19)


@dataclass(frozen=True)
class Pictures:
    """Pictures from 0 to 1, their classes (of drawn ones, what the network reads), and their features."""

    images: np.ndarray
    labels: np.ndarray
    features: dict[str, np.ndarray]

    def rows(self, classes: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw rows of some classes, as many of each."""
        return np.concatenate(
            [
                rng.choice(np.flatnonzero(self.labels == one), size, replace=False)
                for one, size in zip(classes, _equal(n, len(classes)), strict=True)
            ]
        )


def _equal(n: int, parts: int) -> list[int]:
    return [n // parts + (part < n % parts) for part in range(parts)]


@cache
def cifar() -> Pictures:
    """Return 4,000 pictures of airplanes (0), cars, birds, cats, deer, dogs, frogs, horses, ships and trucks (9)."""
    with np.load(data_folder("cifar10_jpeg") / "test_10000.npz") as arrays:
        jpeg, offsets, labels = (
            arrays["jpeg"],
            arrays["offsets"][:4001],
            arrays["labels"][:4000].astype(int),
        )
    with np.load(data_folder("cifar10_logit_zoo") / "logits.npz") as arrays:
        scores = arrays["logits"][list(arrays["model_names"]).index("resnet20")][:4000].astype(
            float
        )
    parts = [jpeg[start:end].tobytes() for start, end in itertools.pairwise(offsets)]
    images = np.stack([np.asarray(Image.open(io.BytesIO(part))) for part in parts]) / 255
    pixels = images.reshape(-1, 8, 4, 8, 4, 3).mean(axis=(2, 4)).reshape(len(images), -1)
    network = scores - scores.mean(axis=1, keepdims=True)
    return Pictures(
        images, labels, {"pixels": pixels, "PCA": _components(pixels, pixels), "network": network}
    )


@cache
def digits() -> tuple[Pictures, dict[int, Pictures]]:
    """Return 5,000 real digits, and 1,000 of each generation."""
    real, labels = mnist()
    with np.load(data_folder("mnist_wgan_generations") / "wgan_mnist.npz") as arrays:
        drawn = dict(zip(GENERATIONS, arrays["images"] / 255, strict=True))
    fit = _pooled(real[5000:])
    network = MLPClassifier((64,), random_state=0)
    for _ in range(12):
        network.partial_fit(fit, labels[5000:], classes=np.arange(10))

    def described(images: np.ndarray, known: np.ndarray | None = None) -> Pictures:
        pixels = _pooled(images)
        hidden = np.maximum(pixels @ network.coefs_[0] + network.intercepts_[0], 0)
        features = {"pixels": pixels, "PCA": _components(fit, pixels), "network": hidden}
        features["classes"] = network.predict_proba(pixels)  # what the inception score asks for
        return Pictures(images, network.predict(pixels) if known is None else known, features)

    return described(real[:5000], labels[:5000]), {
        name: described(part) for name, part in drawn.items()
    }


def _pooled(images: np.ndarray) -> np.ndarray:
    return images.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(images), -1)


def _components(fit: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    return PCA(20, random_state=0).fit(fit).transform(pixels)


def bandwidth(features: np.ndarray) -> float:
    """Return the bandwidth that the library chooses on 400 rows."""
    return choose_bandwidth(
        features[np.random.default_rng(0).permutation(len(features))[:400]]
    ).value


def scores(
    sample: np.ndarray, reference: np.ndarray, bandwidths: list[float], eta: float = 1.0
) -> np.ndarray:
    """Return the novelty score alone, in nats, at each bandwidth."""
    options = {"max_rows": len(sample), "n_permutations": 1, "progress": False}
    return bandwidth_sweep(sample, reference, bandwidths=bandwidths, eta=eta, **options).scores


def pairwise_scores(samples: list[np.ndarray], width: float) -> np.ndarray:
    """Return the novelty score of each sample against each other, in nats; nan on the diagonal.

    With K = L L' the joint kernel matrix of two samples and D = diag(1/n, -1/m), the scores of both directions are
    those of the positive and of the negative eigenvalues of L' D L: one eigenproblem serves a pair.
    """
    found = np.full((len(samples),) * 2, np.nan)
    for test, base in itertools.combinations(range(len(samples)), 2):
        rows = np.concatenate([samples[test], samples[base]])
        kernel = np.exp(-cdist(rows, rows, "sqeuclidean") / (2.0 * width**2))
        kernel[np.diag_indices_from(kernel)] += 1e-10  # far below what a score shows
        triangle = np.linalg.cholesky(kernel)
        n, m = len(samples[test]), len(samples[base])
        signs = np.repeat([1.0 / n, -1.0 / m], [n, m])
        eigenvalues = np.linalg.eigvalsh(triangle.T @ (signs[:, None] * triangle))
        found[test, base] = spectral_entropy(eigenvalues[eigenvalues > 1e-9])
        found[base, test] = spectral_entropy(-eigenvalues[eigenvalues < -1e-9])
    return found
