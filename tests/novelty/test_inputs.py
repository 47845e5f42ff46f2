"""Bad input to novelty is named, with what was expected; unusual input that means something is taken."""

import math

import numpy as np
import pandas as pd
import pytest

from calls import novelty
from optional import torch
from shiftmetrics.novelty.inputs import column_units

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.random.default_rng(1).normal(size=(9, 3))


def with_value(value: float) -> np.ndarray:
    spoilt = X.copy()
    spoilt[4, 2] = value
    return spoilt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"features": with_value(np.nan)},
            r"features must be finite everywhere, got nan at row 4, column 2",
        ),
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
        ({"eta": 0.5}, r"eta must be a number .* got 0.5"),
        ({"eta": np.nan}, r"eta must be a number"),
        ({"eta": np.inf}, r"eta must be"),
        ({"eta": 1e170}, r"eta must be a number .* 1e\+12, got 1e\+170"),
        ({"bandwidth": 0.0}, r"bandwidth must be a number greater than 0, got 0.0"),
        ({"bandwidth": -1}, r"bandwidth must be a number greater than 0"),
        ({"bandwidth": np.nan}, r"bandwidth must be a number greater than 0"),
        (
            {"bandwidth": "scott"},
            r"bandwidth must be a number greater than 0 or 'auto', got 'scott'",
        ),
        (
            {"bandwidth": 1.0, "kernel": "cosine"},
            r'bandwidth must be left out with kernel="cosine", got 1.0',
        ),
        (
            {"bandwidth": 2.0, "kernel": np.dot},
            r"bandwidth must be left out when kernel is a function",
        ),
        ({"kernel": "rbf"}, r"kernel must be one of 'gaussian', 'cosine', or a function"),
        ({"kernel": 3}, r"kernel must be one of"),
        (
            {"kernel": "cosine", "reference": np.zeros((4, 3))},
            r"reference must be free of rows of zeros.* row 0",
        ),
        ({"kernel": "precomputed"}, r"kernel must be one of"),
        ({"method": "svd"}, r"method must be one of 'auto', 'dense', 'landmarks'"),
        ({"rtol": -1.0}, r"rtol must be a number at least 0"),
        ({"rtol": 2.0}, r"rtol must be a number at least 0 and at most 1"),
        ({"memory_limit": 0}, r"memory_limit must be a number greater than 0"),
        ({"sample_weight": np.ones(9)}, r"sample_weight must be of length 12, got length 9"),
        (
            {"reference_weight": -np.ones(9)},
            r"reference_weight must be at least 0 everywhere, got -1 at row 0",
        ),
        (
            {"reference_weight": np.zeros(9)},
            r"reference_weight must be positive for at least one row",
        ),
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
        (
            {"reference": torch.asarray(Y)},
            "features and reference must come from the same array library",
        ),
        ({"eta": "2"}, "eta must be a real number"),
    ],
)
def test_a_bad_type_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        novelty(**{"features": X, "reference": Y, **arguments})


@pytest.mark.parametrize(
    ("error", "features", "got"),
    [
        (ValueError, np.zeros((9, 4, 4)), r"got shape \(9, 4, 4\)"),
        (ValueError, [np.zeros((9, 4, 4, 3))], r"got shape \(1, 9, 4, 4, 3\)"),
        (TypeError, ["red apples", "a pear"], "real numbers"),
        (TypeError, np.array([["red"], [None]], dtype=object), "got 'red'"),
        (TypeError, pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), "column 'b'"),
    ],
)
@pytest.mark.parametrize("argument", ["features", "reference"])
def test_images_and_texts_point_at_embed(
    error: type, features: object, got: str, argument: str
) -> None:
    from shiftmetrics.adapters import embeddings

    assert callable(embeddings.embed)
    where = rf"{argument}(?=.*{got}).* must .* features first, by {embeddings.__name__}\.embed\."
    with pytest.raises(error, match=where):
        novelty(**{"features": X, "reference": Y, argument: features})


@pytest.mark.parametrize("argument", ["features", "reference"])
def test_none_is_refused(argument: str) -> None:
    with pytest.raises(TypeError, match=rf"{argument} must be an array of shape .*, got None\."):
        novelty(**{"features": X, "reference": Y, argument: None})


def test_a_kernel_without_a_bandwidth_never_speaks_of_one() -> None:
    alike = 1.0 + 1e-6 * X, 1.0 + 1e-6 * Y
    for result in (
        novelty(*alike, kernel="cosine"),
        novelty(X, Y, kernel="cosine"),
        novelty(X, Y, kernel=lambda a, b: 1.0 * (a[:, :1] == b[:, 0])),
    ):
        assert result.warnings
        assert not any(
            "bandwidth" in text.lower() for text in (*result.warnings, str(result.status))
        )
    assert any("bandwidth" in text for text in novelty(X, Y, bandwidth=1e-3).warnings)


def test_columns_of_two_tables_match_by_name() -> None:
    first, second = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("abc"))
    expected = novelty(X, Y).value
    assert novelty(first, second[["c", "a", "b"]]).value == pytest.approx(expected, abs=1e-12)
    renamed = second.rename(columns={"b": "z"})
    with pytest.raises(
        ValueError, match="same columns, got only in features: 'b'; only in reference: 'z'"
    ):
        novelty(first, renamed)
    assert novelty(first, renamed.to_numpy()).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["dense", "landmarks"])
def test_bandwidths_of_any_size_are_taken(method: str) -> None:
    for bandwidth in (5e-324, 1e-200, 1e-5, 1e5, 1e200, 1.7e308):
        result = novelty(X, Y, bandwidth=bandwidth, method=method)
        assert 0.0 <= result.value <= math.log(12) + 1e-12
        assert math.isfinite(result.error_bound)
        assert result.value == pytest.approx(math.log(12) if bandwidth < 1 else 0.0, abs=1e-5)


@pytest.mark.parametrize("method", ["dense", "landmarks"])
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
    assert one.score.total > 0.1


DIVIDED = "Columns differ in units: each is divided by its spread."


def mixed_units(n_rows: int = 150) -> tuple:
    """Two samples, a fifth of the first new; and units for their columns."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(n_rows, 4)), rng.normal(size=(n_rows, 4))
    x[: n_rows // 5, 1:3] += 8.0
    return x, y, np.array([1.0, 0.01, 0.1, 5000.0])


@pytest.mark.slow
def test_columns_in_units_of_their_own_are_divided_by_their_spread() -> None:
    x, y, units = mixed_units()
    assert DIVIDED not in novelty(x, y).warnings
    assert novelty(x, y).settings["column_units"] is None
    result = novelty(x * units, y * units)
    assert DIVIDED in result.warnings
    spread = np.concatenate([x * units, y * units]).std(axis=0)
    np.testing.assert_allclose(result.settings["column_units"], spread)
    assert result.fraction == pytest.approx(0.2, abs=0.05)
    assert result.p_value <= 0.05
    by_hand = novelty(x * units / spread, y * units / spread)
    assert result.value == pytest.approx(by_hand.value, rel=1e-9)
    assert result.score.bandwidth == pytest.approx(by_hand.score.bandwidth, rel=1e-9)
    np.testing.assert_allclose(result.row_scores, by_hand.row_scores, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dense", "landmarks"])
def test_new_points_are_divided_like_the_samples(method: str) -> None:
    x, y, units = mixed_units()
    spread = np.concatenate([x * units, y * units]).std(axis=0)
    result, by_hand = (
        novelty(x * units, y * units, method=method),
        novelty(x * units / spread, y * units / spread, method=method),
    )
    points = 4.0 * np.random.default_rng(4).normal(size=(30, 4))
    raw, divided = points * units, points * units / spread
    np.testing.assert_allclose(result.score_rows(raw), by_hand.score_rows(divided), atol=1e-9)
    np.testing.assert_allclose(result.point_novelty(raw), by_hand.point_novelty(divided), atol=1e-9)
    np.testing.assert_allclose(result.new[0].score(raw), by_hand.new[0].score(divided), atol=1e-9)


@pytest.mark.slow
def test_batches_are_divided_too() -> None:
    x, y, units = mixed_units(8300)
    batches = [np.array_split(part * units, 3) for part in (x, y)]
    result = novelty(*batches, method="landmarks", n_landmarks=50, n_resamples=19)
    assert DIVIDED in result.warnings
    spread = np.concatenate([x * units, y * units]).std(axis=0)
    np.testing.assert_allclose(result.settings["column_units"], spread, rtol=1e-6)
    assert result.fraction == pytest.approx(0.2, abs=0.05)


def test_a_bandwidth_that_is_given_is_in_the_units_of_the_features() -> None:
    x, y, units = mixed_units()
    result = novelty(x * units, y * units, bandwidth=1.0)
    assert result.settings["column_units"] is None
    assert DIVIDED not in result.warnings
    assert any("Columns differ in units" in warning for warning in result.warnings)
    cosine = novelty(x * units, y * units, kernel="cosine")
    assert not any("Columns differ in units" in warning for warning in cosine.warnings)


@pytest.mark.slow
def test_two_columns_and_constant_ones() -> None:
    x, y, units = mixed_units()
    pair = novelty(x[:, 2:] * units[2:], y[:, 2:] * units[2:])
    assert DIVIDED in pair.warnings
    constant = [np.c_[part * units, np.full(len(part), 0.1)] for part in (x, y)]
    assert novelty(*constant).settings["column_units"][-1] == 1.0
    assert DIVIDED not in novelty(np.c_[x, np.zeros(150)], np.c_[y, np.zeros(150)]).warnings


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    novelty(X, Y)
    novelty(X, Y, method="landmarks")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "%" not in captured.err  # no bar below two seconds


def test_principal_components_keep_their_spreads() -> None:
    rng = np.random.default_rng(0)
    spreads = np.array([50.0, 4.0, 3.0, 2.0, 1.0, 0.9])
    x, y = spreads * rng.normal(size=(2, 80, 6))
    both = (np.full(80, 1 / 80),) * 2
    assert column_units((x, y), both) is None
    assert column_units((x[:, ::-1], y[:, ::-1]), both) is not None


def test_values_whose_squared_distances_overflow_are_refused() -> None:
    assert np.isfinite(novelty(features=1e149 * X, reference=Y).value)
    with pytest.raises(ValueError, match=r"reference must be of values up to 1e\+150"):
        novelty(features=X, reference=np.vstack([Y, np.full_like(Y[:1], -1e151)]))
