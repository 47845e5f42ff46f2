"""The kind of the columns: scores, probabilities, and what is neither."""

import numpy as np
import pytest

from shiftmetrics.agreement import posterior_agreement


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


def test_floats_that_are_labels_are_refused() -> None:
    with pytest.raises(TypeError, match="integers from 0 to 2, which look like class labels"):
        posterior_agreement(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]))
    assert posterior_agreement(np.array([1.0, 50.0, -1.0]), np.array([1.0, 50.0, 1.0])).status.ok


def test_whole_numbers_beside_fractions_are_no_class():
    pd = pytest.importorskip("pandas")
    scores = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 2)), columns=["cat", "dog"])
    with pytest.raises(ValueError, match=r"'image', beside fractions.*set_index\('image'\)"):
        posterior_agreement(scores.assign(image=range(6)), scores.assign(image=range(6)))
    named = scores.assign(image=range(6)).set_index("image")
    assert posterior_agreement(named, named).n_samples == 6
    # a class that is never predicted is a column of zeros
    assert posterior_agreement(scores.assign(eel=0), scores.assign(eel=0)).n_samples == 6


def test_integers_that_floats_do_not_tell_apart_are_refused() -> None:
    place = np.arange(30)
    scores = 2**53 + np.stack([place, place + 1], axis=1)
    with pytest.raises(ValueError, match="scores must be numbers that floats tell apart"):
        posterior_agreement(scores, scores)
    few = scores - 2**53
    assert posterior_agreement(few, few[:, ::-1]).n_samples == 30
