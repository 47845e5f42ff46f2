"""Prepared pairs: what is read as scores, in which order, and what is refused."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oracles
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.agreement.statistic import evaluator


def test_a_margin_is_the_pair_zero_and_margin() -> None:
    rng = np.random.default_rng(0)
    margin, reference = rng.normal(size=(2, 100)) + np.array([[1.0], [1.0]])
    first = posterior_agreement(margin, reference)
    second = posterior_agreement(
        np.stack([np.zeros(100), margin], axis=1), np.stack([np.zeros(100), reference], axis=1)
    )
    assert first.value == second.value
    assert first.n_classes == 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.uint8, np.bool_])
def test_dtypes_count_as_the_numbers_they_hold(dtype: type) -> None:
    rng = np.random.default_rng(0)
    scores, reference = ((rng.normal(size=(40, 3)) * 5).astype(np.int8) % 5 for _ in range(2))
    scores, reference = scores.astype(dtype), reference.astype(dtype)
    result = posterior_agreement(scores, reference)
    exact = posterior_agreement(scores.astype(np.float64), reference.astype(np.float64))
    assert result.value == exact.value
    assert result.beta == exact.beta


def test_lists_and_tables() -> None:
    scores, reference = oracles.noisy_pairs(5, 6, 3)
    expected = posterior_agreement(scores, reference).value
    assert posterior_agreement(scores.tolist(), reference.tolist()).value == expected
    columns, index = ["cat", "dog", "owl"], list("uvwxyz")
    table = pd.DataFrame(scores, columns=columns, index=index)
    shuffled = pd.DataFrame(reference, columns=columns, index=index).iloc[
        [3, 1, 5, 0, 2, 4], [2, 0, 1]
    ]
    weights = pd.Series(np.arange(1.0, 7.0), index=index)
    assert posterior_agreement(table, shuffled).value == pytest.approx(expected, abs=1e-14)
    assert posterior_agreement(
        table,
        shuffled,
        sample_weight=weights.iloc[::-1],
        prior=pd.Series([1, 2, 3], index=["owl", "dog", "cat"]),
    ).value == pytest.approx(
        posterior_agreement(
            scores, reference, sample_weight=np.arange(1, 7), prior=[3, 2, 1]
        ).value,
        abs=1e-14,
    )
    by_position = posterior_agreement(table, shuffled, pairing="position").value
    assert by_position == posterior_agreement(scores, shuffled.to_numpy()).value


def test_probabilities_are_logarithms_of_scores() -> None:
    scores, reference = oracles.noisy_pairs(6, 80, 4)
    probabilities = [np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for x in (scores, reference)]
    expected = posterior_agreement(scores, reference)
    result = posterior_agreement(*probabilities, kind="probabilities")
    assert result.value == pytest.approx(expected.value, abs=1e-12)
    assert result.settings["floor"] is None  # no zeros, nothing to replace
    assert result.warnings == ()


def test_zeros_among_probabilities_get_a_recorded_floor() -> None:
    scores = np.array([[0.9, 0.1, 0.0], [0.5, 0.3, 0.2], [0.0, 0.96, 0.04]])
    reference = np.array([[1.0, 0.0, 0.0], [0.2, 0.4, 0.4], [0.1, 0.8, 0.1]])
    result = posterior_agreement(scores, reference, kind="probabilities")
    assert result.settings["floor"] == pytest.approx(0.02)
    floored = [np.log(np.maximum(x, 0.02)) for x in (scores, reference)]
    assert result.value == pytest.approx(posterior_agreement(*floored).value, abs=1e-14)
    given_floor = posterior_agreement(scores, reference, kind="probabilities", floor=1e-6)
    assert given_floor.settings["floor"] == 1e-6
    one_dimensional = posterior_agreement([0.9, 0.2, 1.0], [0.8, 0.4, 0.7], kind="probabilities")
    assert one_dimensional.settings["floor"] == pytest.approx(0.1 / 2 * 1, abs=0.06)


def test_probabilities_of_the_second_class() -> None:
    p, q = np.random.default_rng(0).uniform(0.05, 0.95, size=(2, 50))
    first = posterior_agreement(p, q, kind="probabilities")
    second = posterior_agreement(
        np.stack([1 - p, p], axis=1), np.stack([1 - q, q], axis=1), kind="probabilities"
    )
    assert first.value == pytest.approx(second.value, abs=1e-14)


def test_memory_maps_are_read_block_by_block(tmp_path: Path) -> None:
    scores, reference = oracles.noisy_pairs(8, 500, 6)
    maps = []
    for name, values in (("scores", scores), ("reference", reference)):
        np.save(tmp_path / f"{name}.npy", values.astype(np.float32))
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    expected = posterior_agreement(scores.astype(np.float32), reference.astype(np.float32))
    result = posterior_agreement(*maps)
    assert result.equals(expected)


def test_inputs_stay_as_they_are() -> None:
    scores, reference = oracles.noisy_pairs(9, 30, 3)
    copies = scores.copy(), reference.copy()
    for array in (scores, reference):
        array.flags.writeable = False
    posterior_agreement(scores, reference, prior="predicted", sample_weight=np.arange(30.0))
    np.testing.assert_array_equal(scores, copies[0])
    np.testing.assert_array_equal(reference, copies[1])


GOOD = [[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]


@pytest.mark.parametrize(
    ("scores", "reference", "options", "message"),
    [
        ([[1.0, np.nan, 0.0], [0.0, 1.0, 3.0]], GOOD, {}, "scores must be finite everywhere, got nan at row 0"),
        (GOOD, [[1.0, 2.0, 0.0], [0.0, np.inf, 3.0]], {}, "reference_scores must be finite"),
        (np.empty((0, 3)), np.empty((0, 3)), {}, "scores must be"),
        (np.empty(0), np.empty(0), {}, "scores must be"),
        ([[1.0], [2.0]], [[1.0], [2.0]], {}, "at least two classes.*one-dimensional"),
        (GOOD, [[1.0, 2.0], [0.0, 1.0]], {}, r"same shape, got \(2, 3\) and \(2, 2\)"),
        (GOOD, GOOD[:1], {}, "same shape"),
        ([1.0, 2.0], GOOD, {}, "same shape"),
        (np.ones((2, 2, 2)), np.ones((2, 2, 2)), {}, "scores must be"),
        ([[30.0, 70.0], [99.0, 1.0]], [[50.0, 50.0], [0.0, 100.0]], {}, 'sum 100, as percentages.*"proportions"'),
        (GOOD, GOOD, {"kind": "logits"}, "kind must be one of 'auto', 'scores', 'probabilities'"),
        (GOOD, GOOD, {"kind": "probabilities"}, 'scores must be probabilities.*row 0.*kind="scores"'),
        (GOOD, GOOD, {"prior": "flat"}, "prior must be one of 'uniform', 'predicted'"),
        (GOOD, GOOD, {"prior": [0.5, 0.5]}, "prior must be of length 3"),
        (GOOD, GOOD, {"prior": [0.5, -0.5, 1.0]}, "prior must be at least 0"),
        (GOOD, GOOD, {"prior": [0.0, 0.0, 0.0]}, "prior must be positive for at least one class"),
        (GOOD, GOOD, {"sample_weight": [1.0]}, "sample_weight must be of length 2"),
        (GOOD, GOOD, {"sample_weight": [0.0, 0.0]}, "sample_weight must be positive"),
        (GOOD, GOOD, {"sample_weight": [1.0, -1.0]}, "sample_weight must be at least 0"),
        (GOOD, GOOD, {"floor": 0.1}, "floor must be None for scores"),
        (GOOD, GOOD, {"kind": "probabilities", "floor": 0.0}, "floor must be a number greater than 0"),
        (GOOD, GOOD, {"pairing": "rows"}, "pairing must be one of"),
    ],
)  # fmt: skip
def test_bad_values(
    scores: object, reference: object, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        posterior_agreement(scores, reference, **options)


@pytest.mark.parametrize(
    ("scores", "reference", "message"),
    [
        (["a", "b"], ["a", "b"], "scores must hold real numbers"),
        ([[1.0, 2.0], [1.0]], GOOD, "scores must be an array of numbers"),
        ([0, 1, 1], [0, 1, 0], "scores must be of shape.*Labels have no scores"),
        ([True, False], [True, True], "Labels have no scores"),
        (np.ones((2, 2), dtype=complex), GOOD, "scores must hold real numbers"),
    ],
)
def test_bad_types(scores: object, reference: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        posterior_agreement(scores, reference)


def test_tables_that_do_not_match() -> None:
    table = pd.DataFrame(GOOD, columns=list("abc"))
    with pytest.raises(ValueError, match="same columns"):
        posterior_agreement(table, table.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="same rows"):
        posterior_agreement(table, table.set_axis([5, 6], axis=0))
    with pytest.raises(ValueError, match="scores and prior must have the same classes"):
        posterior_agreement(table, table, prior=pd.Series([1, 2, 3], index=list("abz")))


BETAS = [0.0, 1e-9, 0.01, 0.3, 1.0, 7.0, 500.0]


def sample(seed: int = 0, n: int = 50, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Scores on a grid of eighths, exact in every format, with ties, identical rows and a contradiction."""
    rng = np.random.default_rng(seed)
    reference = np.round(rng.normal(size=(n, k)) * 24) / 8
    shifted = reference + np.round(rng.normal(size=(n, k)) * 8) / 8
    shifted[:3] = reference[:3]
    shifted[3], reference[3] = 0.0, [1.0] + [0.0] * (k - 1)
    shifted[4] = -100 * reference[4]
    return shifted, reference


def assert_close(first: object, second: object, rtol: float = 1e-12) -> None:
    assert type(first) is type(second)
    for name in first.field_names():
        a, b = getattr(first, name), getattr(second, name)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=name)


def test_prepared_pairs_travel() -> None:
    pairs = prepare_pairs(*sample(12), sample_weight=np.arange(50.0))
    copy = pickle.loads(pickle.dumps(pairs))
    assert_close(evaluator(copy)(BETAS), evaluator(pairs)(BETAS))
