"""What posterior agreement accepts, and what it refuses."""

import math
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oracles
from shiftmetrics import Computing
from shiftmetrics.agreement import posterior_agreement

LOG2 = math.log(2)


# --- what comes in ---------------------------------------------------------------------------------------


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


def test_probabilities_are_told_from_scores_by_both_samples() -> None:
    scores, reference = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 20))
    for first, second in ((scores, reference), (scores[:, 0], reference[:, 0])):
        seen = posterior_agreement(first, second)
        assert seen.equals(posterior_agreement(first, second, kind="probabilities"))
        assert seen.settings["kind"] == "probabilities"
        assert seen.value != posterior_agreement(first, second, kind="scores").value
    with pytest.raises(ValueError, match="scores from .* beside probabilities in reference_scores"):
        posterior_agreement(np.log(scores), reference)
    assert posterior_agreement(np.log(scores), reference, kind="scores").status.ok
    votes = np.eye(3, dtype=int)
    assert posterior_agreement(votes, votes[::-1]).settings["kind"] == "scores"
    assert (
        posterior_agreement(100 * scores, 100 * reference, kind="scores").settings["kind"]
        == "scores"
    )
    with pytest.raises(ValueError, match="floor must be None for scores"):
        posterior_agreement(np.log(scores), np.log(reference), floor=1e-6)


def test_identical_samples_are_noticed() -> None:
    scores = np.round(oracles.noisy_pairs(7, 10, 3)[0], 1)
    (warning,) = posterior_agreement(scores, scores).warnings
    assert "identical in every row" in warning
    changed = scores.copy()
    changed[0, 0] += 0.001
    assert posterior_agreement(changed, scores).warnings == ()
    eighths = np.round(8 * scores) / 8  # a constant added to a row is exact here
    (warning,) = posterior_agreement(eighths + np.arange(10)[:, None], eighths).warnings
    assert "identical in every row" in warning


def test_memory_maps_are_read_block_by_block(tmp_path: Path) -> None:
    scores, reference = oracles.noisy_pairs(8, 500, 6)
    maps = []
    for name, values in (("scores", scores), ("reference", reference)):
        np.save(tmp_path / f"{name}.npy", values.astype(np.float32))
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    expected = posterior_agreement(scores.astype(np.float32), reference.astype(np.float32))
    result = posterior_agreement(*maps)
    assert result.equals(expected)


def test_memory_is_bounded_by_the_block_not_by_the_rows() -> None:
    peaks = []
    for n in (4_000, 24_000):
        scores, reference = (x.astype(np.float32) for x in oracles.noisy_pairs(13, n, 60))
        tracemalloc.start()
        with ThreadPoolExecutor(1) as executor:
            posterior_agreement(scores, reference, computing=Computing(executor=executor))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 24_000 * 60 * 8  # the centred rows of one sample


def test_inputs_stay_as_they_are() -> None:
    scores, reference = oracles.noisy_pairs(9, 30, 3)
    copies = scores.copy(), reference.copy()
    for array in (scores, reference):
        array.flags.writeable = False
    posterior_agreement(scores, reference, prior="predicted", sample_weight=np.arange(30.0))
    np.testing.assert_array_equal(scores, copies[0])
    np.testing.assert_array_equal(reference, copies[1])


def test_threads_change_nothing() -> None:
    scores, reference = oracles.noisy_pairs(10, 3000, 30)
    expected = posterior_agreement(scores, reference)
    with ThreadPoolExecutor(3) as executor:
        assert posterior_agreement(
            scores, reference, computing=Computing(executor=executor)
        ).equals(expected)


# --- bad input -------------------------------------------------------------------------------------------

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


# --- what people have at hand ----------------------------------------------------------------------------


def test_proportions_are_divided_by_their_sum() -> None:
    rng = np.random.default_rng(0)
    shifted, reference = rng.dirichlet(np.ones(3), 80), rng.dirichlet(np.ones(3), 80)
    expected = posterior_agreement(shifted, reference, kind="probabilities")
    percent = posterior_agreement(100.0 * shifted, 100.0 * reference, kind="proportions")
    assert percent.value == pytest.approx(expected.value, abs=1e-9)
    rounded = shifted.round(1), reference.round(1)
    with pytest.raises(ValueError, match='kind="proportions", which divides rows by their sum'):
        posterior_agreement(*rounded, kind="probabilities")
    assert posterior_agreement(*rounded, kind="proportions").status.ok
    with pytest.raises(ValueError, match="scores must be proportions"):
        posterior_agreement(-shifted, reference, kind="proportions")


@pytest.mark.parametrize("seed", range(5))
def test_rounded_probabilities_are_read_as_such_and_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reference = rng.dirichlet(np.ones(12), size=200)
    shifted = reference * np.exp(rng.normal(size=reference.shape))
    shifted = shifted / shifted.sum(axis=1, keepdims=True)
    result = posterior_agreement(shifted.round(2), reference.round(2))
    assert result.settings["kind"] == "proportions"
    assert "rounded probabilities" in result.warnings[0]
    as_scores = posterior_agreement(shifted.round(2), reference.round(2), kind="scores")
    assert abs(result.value - as_scores.value) > 0.01


def test_integer_percentages_are_not_logits() -> None:
    shifted, reference = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 50))
    for cut in (np.round, np.floor, lambda part: np.round(part).astype(int)):
        with pytest.raises(ValueError, match='as percentages do.*"proportions"'):
            posterior_agreement(cut(100 * shifted), cut(100 * reference))


def test_sigmoids_of_separate_labels_are_noticed() -> None:
    reference = np.random.default_rng(0).uniform(size=(100, 5))
    shifted = 0.8 * reference + 0.2 * np.random.default_rng(1).uniform(size=(100, 5))
    (warning,) = posterior_agreement(shifted, reference).warnings
    assert "sigmoids" in warning
    assert posterior_agreement(shifted, reference, kind="scores").warnings == ()


def test_unrelated_rows_are_said_to_agree_by_chance() -> None:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(500, 4))
    (warning,) = posterior_agreement(rng.permutation(reference), reference).warnings
    assert "unrelated rows" in warning
    # A heavy shift of the same rows leaves more than chance, and few rows cannot tell.
    assert posterior_agreement(reference + 4 * rng.normal(size=(500, 4)), reference).warnings == ()
    assert posterior_agreement(rng.permutation(reference[:20]), reference[:20]).warnings == ()
    # Of ten classes a kappa of 0.4 in 40 rows is no chance: its standard error is 0.05, not 1 / sqrt(40).
    ten = np.eye(10)[np.arange(40) % 10]
    half = np.where(np.arange(40)[:, None] % 20 < 9, ten, np.roll(ten, 1, axis=0))
    result = posterior_agreement(half, ten)
    assert 0.3 < result.changes.kappa < 3.0 / math.sqrt(40)
    assert result.warnings == ()


def test_related_rows_are_rarely_called_unrelated() -> None:
    """Of rows of which a third keeps its prediction for sure, fewer than 1 in 50 samples of 100 are."""
    said = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        reference, other = rng.normal(size=(2, 100, 3))
        other[:50] = reference[:50]
        said += len(posterior_agreement(other, reference).warnings)
    assert said <= 4


def test_logits_beside_probabilities_are_refused() -> None:
    logits = np.random.default_rng(0).normal(size=(60, 3))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    with pytest.raises(ValueError, match="of one kind, got reference_scores from"):
        posterior_agreement(probabilities, logits)
    margins = 3.0 * np.random.default_rng(0).normal(size=60)
    with pytest.raises(ValueError, match="beside probabilities in scores"):
        posterior_agreement(1.0 / (1.0 + np.exp(-margins)), margins)


def test_logarithms_of_zero_have_their_own_remedy() -> None:
    with np.errstate(divide="ignore"):
        logs = np.log([[0.7, 0.3, 0.0], [0.2, 0.5, 0.3]])
    with pytest.raises(ValueError, match=r"got -inf at row 0, column 2.*np.exp\(scores\)"):
        posterior_agreement(logs, logs)


def test_outputs_of_a_regression_are_refused() -> None:
    prices = np.random.default_rng(0).lognormal(12.0, 0.5, size=200)
    for old, new in ((prices, 1.02 * prices), (prices.round(), (1.02 * prices).round())):
        with pytest.raises((TypeError, ValueError), match="shiftmetrics diff"):
            posterior_agreement(new, old)
    with pytest.raises((TypeError, ValueError), match="shiftmetrics diff"):
        posterior_agreement(new[:, None], old[:, None])
    # A model that always gives one answer has such margins: it has to be said.
    assert posterior_agreement(new, old, kind="scores").changes.disagreement == 0.0


def test_margins_are_not_taken_for_a_regression() -> None:
    """Margins cross 0 in one of the samples at least; few classes may be any integers."""
    rng = np.random.default_rng(0)
    assert posterior_agreement(np.abs(rng.normal(size=50)), rng.normal(size=50)).status.ok


def test_a_class_of_prior_zero_may_hold_anything() -> None:
    rng = np.random.default_rng(0)
    shifted, reference = rng.normal(size=(2, 60, 3))
    more = [np.column_stack([part, np.full(60, -np.inf)]) for part in (shifted, reference)]
    expected = posterior_agreement(shifted, reference)
    assert posterior_agreement(*more, prior=[1, 1, 1, 0]).value == pytest.approx(
        expected.value, abs=1e-9
    )
    with pytest.raises(ValueError, match="finite everywhere, got -inf"):
        posterior_agreement(*more)


def test_rows_that_differ_in_a_class_of_prior_zero_are_not_called_identical() -> None:
    rng = np.random.default_rng(0)
    shifted, reference = rng.normal(size=(2, 60, 3))
    assert not any(
        "identical" in text
        for text in posterior_agreement(shifted, reference, prior=[1, 0, 0]).warnings
    )
    assert "identical" in posterior_agreement(shifted, shifted, prior=[1, 1, 0]).warnings[0]


def test_floats_that_are_labels_are_refused() -> None:
    with pytest.raises(TypeError, match="integers from 0 to 2, which look like class labels"):
        posterior_agreement(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]))
    assert posterior_agreement(np.array([1.0, 50.0, -1.0]), np.array([1.0, 50.0, 1.0])).status.ok


def test_a_coarse_tolerance_cannot_report_chance() -> None:
    with pytest.raises(ValueError, match="atol must be at most 0.01 nats, got 10"):
        posterior_agreement(np.eye(3), np.eye(3), computing=Computing(atol=10.0))


def test_a_uniform_prior_has_a_name_and_a_result_is_a_number() -> None:
    shifted, reference = np.random.default_rng(0).normal(size=(2, 60, 3))
    named, default = (
        posterior_agreement(shifted, reference, prior=prior) for prior in ("uniform", None)
    )
    assert named.equals(default)
    assert float(named) == named.value
