"""Real handwriting: a digit that the reference lacks is the first novel mode, at the default bandwidth."""

import numpy as np
import pytest

from calls import novelty

Halves = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def halves() -> Halves:
    """Pixels and labels of two halves with equal shares of each digit."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, labels = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        pixels / 16.0, labels, test_size=0.5, stratify=labels, random_state=0
    )
    return train, test, train_labels, test_labels


@pytest.mark.slow
@pytest.mark.parametrize("digit", [0, 4, 8])
def test_a_withheld_digit_is_the_first_mode(halves: Halves, digit: int) -> None:
    train, test, train_labels, test_labels = halves
    result = novelty(test, train[train_labels != digit])
    mode = result.new[0]
    assert (test_labels[mode.top(25)] == digit).mean() >= 0.8
    members = test_labels[mode.members()]
    assert np.bincount(members, minlength=10).argmax() == digit
    assert result.p_value <= 0.05
    assert mode.fraction > 3 * mode.reference_fraction
    assert result.fraction == pytest.approx((test_labels == digit).mean(), abs=0.04)
    assert result.status.ok
    assert 1.2 < (result.score.bandwidth or 0.0) < 2.5
    # Images of the withheld digit belong to it more than others.
    membership = mode.score(test)
    assert (membership[test_labels == digit] >= 2 / 3).mean() > 3 * (
        membership[test_labels != digit] >= 2 / 3
    ).mean()


@pytest.mark.slow
def test_nothing_is_new_where_nothing_is_withheld(halves: Halves) -> None:
    train, test, train_labels, _ = halves
    same = novelty(test, train, n_resamples=99)
    assert same.new == same.missing == ()
    assert (
        same.score.total
        < novelty(test, train[train_labels != 0], bandwidth=same.score.bandwidth).score.total
    )


@pytest.mark.slow
@pytest.mark.parametrize("eta", [1.0, 2.0])
def test_two_withheld_digits_are_two_kinds(halves: Halves, eta: float) -> None:
    train, test, train_labels, test_labels = halves
    known = train[~np.isin(train_labels, (3, 7))]
    found = novelty(test, known, eta=eta, n_resamples=99)
    shown = {int(np.bincount(test_labels[mode.top(10)]).argmax()) for mode in found.new}
    assert (
        shown == {3, 7} if eta == 1.0 else {7} <= shown <= {3, 7}
    )  # at eta = 2 half of the rows find
    assert found.fraction <= np.isin(test_labels, (3, 7)).mean() + 0.05


@pytest.mark.slow
def test_new_rows_rank_first(halves: Halves) -> None:
    from sklearn.metrics import average_precision_score

    train, test, train_labels, test_labels = halves
    found = novelty(test, train[train_labels != 4])
    assert average_precision_score(test_labels == 4, found.row_scores) > 0.8
    again = found.score_rows(test)
    assert average_precision_score(test_labels == 4, again) > 0.8
