"""Small tables and linear models that many tests of models ask about."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rows_with_holes import holes

Mixed = tuple[Pipeline, pd.DataFrame, np.ndarray]


def mixed_table(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of numbers and categories, with labels that depend on both."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "dose": rng.normal(2.0, 1.0, n),
            "region": pd.Categorical(rng.choice(["north", "south", "west"], n)),
            "smoker": rng.choice(["no", "yes"], n),
        }
    )
    score = (
        0.05 * (table["age"] - 50)
        + table["dose"]
        - 2
        + (table["region"] == "west")
        - (table["smoker"] == "no")
    )
    labels = np.where(score + rng.logistic(size=n) > 0, "ill", "well")
    return table, labels


@pytest.fixture(scope="session")
def mixed() -> Mixed:
    X, y = mixed_table()
    encode = make_column_transformer(
        (OneHotEncoder(), ["region", "smoker"]), (StandardScaler(), ["age", "dose"])
    )
    return make_pipeline(encode, LogisticRegression()).fit(X, y), X, y


@pytest.fixture(scope="session")
def mixed_rows() -> Callable[..., tuple[pd.DataFrame, np.ndarray]]:
    return mixed_table


@pytest.fixture(scope="session")
def wine() -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of five columns with missing cells, and its labels."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    return holes(X.iloc[:, :5]), y.to_numpy()
