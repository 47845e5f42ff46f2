import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def handwriting():
    """Return scikit-learn's digits, from 0 to 1, and their labels."""
    bunch = load_digits()
    return bunch.images / 16.0, bunch.target.astype(np.int64)
