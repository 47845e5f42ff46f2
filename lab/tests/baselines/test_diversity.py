"""Effective numbers of modes: closed forms, matrix definitions, torchmetrics."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import softmax

from shiftmetrics import Computing, Result
from shiftmetrics_lab.baselines import inception_score, vendi_score

rke_score = partial(vendi_score, order=2.0)


@pytest.fixture(scope="module")
def sample():
    return np.random.default_rng(0).normal(size=(80, 4))


def gaussian_gram(sample, width):
    return np.exp(-cdist(sample, sample, "sqeuclidean") / (2.0 * width**2))


def test_rke_is_its_definition(sample):
    result = rke_score(sample, bandwidth=1.5)
    assert result.value == pytest.approx(1.0 / np.mean(gaussian_gram(sample, 1.5) ** 2), rel=1e-12)
    assert result.parts["entropy"] == pytest.approx(math.log(result.value))


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, math.inf])
def test_vendi_is_its_definition(sample, order):
    eigenvalues = np.linalg.eigvalsh(gaussian_gram(sample, 1.5) / 80)
    eigenvalues = eigenvalues[eigenvalues > 0]
    expected = {
        0.5: np.sum(eigenvalues**0.5) ** 2,
        1.0: math.exp(-np.sum(eigenvalues * np.log(eigenvalues))),
        2.0: 1.0 / np.sum(eigenvalues**2),
        math.inf: 1.0 / eigenvalues.max(),
    }[order]
    result = vendi_score(sample, order=order, bandwidth=1.5)
    assert result.value == pytest.approx(expected, rel=1e-6)
    assert result.error_bound < 0.01


@pytest.mark.parametrize("n_columns", [4, 100])
def test_the_cosine_kernel_by_columns_or_by_rows(n_columns):
    sample = np.random.default_rng(0).normal(size=(60, n_columns)) + 1.0
    unit = sample / np.linalg.norm(sample, axis=1, keepdims=True)
    eigenvalues = np.linalg.eigvalsh(unit @ unit.T / 60).clip(1e-300)
    expected = math.exp(-np.sum(eigenvalues * np.log(eigenvalues)))
    assert vendi_score(sample, kernel="cosine").value == pytest.approx(expected, rel=1e-9)
    assert rke_score(sample, kernel="cosine").value == pytest.approx(
        1.0 / np.sum(eigenvalues**2), rel=1e-9
    )


@pytest.mark.parametrize("score", [rke_score, vendi_score])
def test_far_and_tight_modes_are_counted(score):
    shares = [40, 30, 20, 10]
    sample = np.repeat(100.0 * np.eye(4), shares, axis=0)
    p = np.array(shares) / 100
    expected = 1.0 / np.sum(p**2) if score is rke_score else math.exp(-np.sum(p * np.log(p)))
    assert score(sample, bandwidth=1.0).value == pytest.approx(expected, rel=1e-12)
    assert score(np.ones((5, 2)), bandwidth=1.0).value == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::UserWarning:torchmetrics")
def test_the_inception_score_is_that_of_torchmetrics():
    module = pytest.importorskip("torchmetrics.image.inception")
    torch = pytest.importorskip("torch")
    scores = 2.0 * np.random.default_rng(0).normal(size=(90, 6))
    metric = module.InceptionScore(feature=torch.nn.Identity(), splits=3, compute_with_cache=False)
    metric.features.append(torch.tensor(scores))
    mean, _ = metric.compute()
    # Its splits are a random deal of the rows; so take one split, which is not.
    metric.splits = 1
    assert inception_score(scores).value == pytest.approx(float(metric.compute()[0]), rel=1e-9)
    dealt = inception_score(scores, n_splits=3, rng=0)
    assert dealt.value == pytest.approx(float(mean), rel=0.05)
    assert dealt.value < inception_score(scores).value  # small parts score lower
    assert dealt.parts["spread"] > 0


def test_the_limits_of_the_inception_score():
    assert inception_score(np.ones((9, 3))).value == pytest.approx(1.0)
    assert inception_score(1e4 * np.eye(5)).value == pytest.approx(5.0)
    p = softmax(np.random.default_rng(0).normal(size=(40, 4)), axis=1)
    expected = math.exp(np.mean(np.sum(p * np.log(p / p.mean(axis=0)), axis=1)))
    assert inception_score(p, kind="probabilities").value == pytest.approx(expected, rel=1e-12)
    assert inception_score(np.log(p)).value == pytest.approx(expected, rel=1e-12)


def test_they_read_and_travel(sample):
    for result in (rke_score(sample), vendi_score(sample), inception_score(sample)):
        assert Result.from_json(result.to_json()).equals(result)
        assert "effective modes. Among 80 rows" in result.headline()


def test_bad_input_is_named(sample):
    with pytest.raises(ValueError, match="bandwidth must be left out with kernel='cosine'"):
        vendi_score(sample, kernel="cosine", bandwidth=1.0)
    with pytest.raises(ValueError, match="order must be"):
        vendi_score(sample, order=0.0)
    with pytest.raises(MemoryError, match="order=2, which needs no matrix"):
        vendi_score(sample, computing=Computing(memory_limit=1000))
    with pytest.raises(ValueError, match="features must be an array of at least 2 row"):
        rke_score(sample[:1])
    with pytest.raises(ValueError, match="features must be free of rows of zeros"):
        vendi_score(np.eye(5, 3), kernel="cosine")
    with pytest.raises(ValueError, match="n_splits must be at most the number of rows, 80"):
        inception_score(sample, n_splits=81)
    with pytest.raises(ValueError, match="scores must be probabilities"):
        inception_score(sample, kind="probabilities")
