"""A model of the table that is watched, and one stream of random numbers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from batches import table


@pytest.fixture(scope="session")
def model():
    rng = np.random.default_rng(9)
    train = table(rng, 500)
    return LogisticRegression().fit(train[["x", "y"]], train["label"])


@pytest.fixture
def rng():
    return np.random.default_rng(0)
