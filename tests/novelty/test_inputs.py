"""Bad input to novelty is named, with what was expected; unusual input that means something is taken."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from calls import novelty

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.random.default_rng(1).normal(size=(9, 3))


def with_value(value: float) -> np.ndarray:
    spoilt = X.copy()
    spoilt[4, 2] = value
    return spoilt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": with_value(np.nan)}, r"features must be finite everywhere, got nan at row 4, column 2"),
        (
            {"reference": with_value(np.inf)},
            r"reference must be finite everywhere, got inf at row 4, column 2",
        ),
        ({"features": X[:1]}, r"features must be an array of at least 2 row\(s\), got 1"),
        ({"reference": Y[:0]}, r"reference must be an array of at least 2 row\(s\), got 0"),
        ({"features": X[:, :0], "reference": Y[:, :0]}, r"at least 1 column"),
        (
            {"features": X[:, 0]},
            r"features must be an array of shape \(n_samples, n_columns\), got shape \(12,\)",
        ),
        ({"reference": Y[:, :2]}, r"reference must be of as many columns as features, 3, got 2"),
        ({"eta": 0.5}, r"eta must be a number at least 1, got 0.5"),
        ({"eta": np.nan}, r"eta must be a number at least 1"),
        ({"eta": np.inf}, r"eta must be"),
        ({"eta": 1e170}, r"eta must be at most 1e\+12, got 1e\+170"),
        ({"bandwidth": 0.0}, r"bandwidth must be a number greater than 0, got 0.0"),
        ({"bandwidth": -1}, r"bandwidth must be a number greater than 0"),
        ({"bandwidth": np.nan}, r"bandwidth must be a number greater than 0"),
        ({"bandwidth": "scott"}, r"bandwidth must be one of 'auto', 'median', got 'scott'"),
        ({"bandwidth": 1.0, "kernel": "cosine"}, r"bandwidth must be left out with kernel='cosine', got 1.0"),
        ({"bandwidth": "median", "kernel": np.dot}, r"bandwidth must be left out when kernel is a function"),
        ({"kernel": "rbf"}, r"kernel must be one of 'gaussian', 'cosine', 'precomputed', or a function"),
        ({"kernel": 3}, r"kernel must be one of"),
        (
            {"kernel": "cosine", "reference": np.zeros((4, 3))},
            r"reference must be free of rows of zeros.* row 0",
        ),
        ({"kernel": "precomputed"}, r"features must be of 21 columns with kernel='precomputed'"),
        ({"method": "svd"}, r"method must be one of 'auto', 'dense', 'cholesky'"),
        ({"rtol": -1.0}, r"rtol must be a number at least 0"),
        ({"rtol": 2.0}, r"rtol must be a number at least 0 and at most 1"),
        ({"method": "landmarks", "n_landmarks": 0}, r"n_landmarks must be an integer at least 1"),
        ({"memory_limit": 0}, r"memory_limit must be a number greater than 0"),
        ({"sample_weight": np.ones(9)}, r"sample_weight must be of length 12, got length 9"),
        (
            {"reference_weight": -np.ones(9)},
            r"reference_weight must be at least 0 everywhere, got -1 at row 0",
        ),
        ({"reference_weight": np.zeros(9)}, r"reference_weight must be positive for at least one row"),
        ({"rng": -1}, r"rng must be a seed"),
    ],
)
def test_a_bad_value_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        novelty(**{"features": X, "reference": Y, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": [["a", "b"], ["c", "d"]]}, "features must hold real numbers"),
        (
            {"features": [[1.0, 2.0], [3.0]]},
            "features must be an array of numbers, got rows of different lengths",
        ),
        ({"reference": torch.asarray(Y)}, "features and reference must come from the same array library"),
        ({"eta": "2"}, "eta must be a real number"),
        ({"method": "landmarks", "n_landmarks": 2.5}, "n_landmarks must be an integer"),
    ],
)
def test_a_bad_type_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        novelty(**{"features": X, "reference": Y, **arguments})


def test_columns_of_two_tables_match_by_name() -> None:
    first, second = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("abc"))
    expected = novelty(X, Y).value
    assert novelty(first, second[["c", "a", "b"]]).value == pytest.approx(expected, abs=1e-12)
    renamed = second.rename(columns={"b": "z"})
    with pytest.raises(ValueError, match="same columns, got only in features: 'b'; only in reference: 'z'"):
        novelty(first, renamed)
    assert novelty(first, renamed.to_numpy()).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["dense", "cholesky"])
def test_bandwidths_of_any_size_are_taken(method: str) -> None:
    for bandwidth in (5e-324, 1e-200, 1e-5, 1e5, 1e200, 1.7e308):
        result = novelty(X, Y, bandwidth=bandwidth, method=method)
        assert 0.0 <= result.value <= math.log(12) + 1e-12
        assert math.isfinite(result.error_bound)
        assert result.value == pytest.approx(math.log(12) if bandwidth < 1 else 0.0, abs=1e-5)


@pytest.mark.parametrize("method", ["dense", "cholesky"])
def test_one_column_and_very_unequal_sizes(method: str) -> None:
    rng = np.random.default_rng(0)
    result = novelty(rng.normal(size=(2, 1)), rng.normal(size=(900, 1)), method=method, eta=10)
    assert 0.0 <= result.value <= math.log(2)
    result = novelty(rng.normal(size=(900, 1)), rng.normal(size=(2, 1)), method=method, eta=10)
    assert 0.0 <= result.value <= math.log(900)


def test_booleans_and_one_weighted_row_are_taken() -> None:
    bits = np.array([[True, False], [False, True], [True, True]])
    assert novelty(bits, ~bits, bandwidth=1.0).value >= 0.0
    one = novelty(X, Y, sample_weight=np.eye(12)[3], bandwidth=1.0)
    assert one.value == pytest.approx(0.0, abs=1e-9)  # one row is one mode
    assert one.total > 0.1


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    novelty(X, Y)
    novelty(X, Y, method="cholesky")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "%" not in captured.err  # no bar below two seconds
