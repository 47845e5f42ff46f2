"""Samples of outputs and features that the tests of distances share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def outputs():
    rng = np.random.default_rng(0)
    reference = 2.0 * rng.normal(size=(60, 5))
    return reference + rng.normal(size=(60, 5)), reference


@pytest.fixture(scope="session")
def probabilities(outputs):
    from scipy.special import softmax

    return tuple(softmax(scores, axis=1) for scores in outputs)


@pytest.fixture(scope="session")
def features():
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(6, 6))
    return rng.normal(size=(300, 6)) @ mixing + 0.3, 1.2 * rng.normal(size=(250, 6)) @ mixing
