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


@pytest.mark.parametrize(
    "digit", [4, *(pytest.param(other, marks=pytest.mark.slow) for other in range(10) if other != 4)]
)
def test_a_withheld_digit_is_the_first_mode(halves: Halves, digit: int) -> None:
    train, test, train_labels, test_labels = halves
    result = novelty(test, train[train_labels != digit])
    mode = result.modes[0]
    assert (test_labels[mode.top(25)] == digit).mean() >= 0.8
    members = test_labels[mode.members()]
    assert np.bincount(members, minlength=10).argmax() == digit
    # Its excess stands out from the second's.
    assert mode.eigenvalue > 1.3 * result.modes[1].eigenvalue
    assert mode.frequency > 1.2 * mode.reference_frequency
    assert result.status.ok
    assert 1.2 < (result.bandwidth or 0.0) < 2.5
    # Images of the withheld digit belong to it more than others.
    membership = mode.score(test)
    assert membership[test_labels == digit].mean() > 2 * membership[test_labels != digit].mean()


def test_nothing_withheld_scores_less(halves: Halves) -> None:
    train, test, train_labels, _ = halves
    bandwidth = 2.0
    same = novelty(test, train, bandwidth=bandwidth)
    withheld = novelty(test, train[train_labels != 0], bandwidth=bandwidth)
    assert same.modes[0].eigenvalue < 0.5 * withheld.modes[0].eigenvalue
    assert same.total < withheld.total


@pytest.mark.parametrize("eta", [5.0, 10.0])
def test_modes_of_withheld_digits_group_by_digit(halves: Halves, eta: float) -> None:
    train, test, train_labels, test_labels = halves
    known = train[~np.isin(train_labels, (3, 7))]
    result = novelty(test, known, eta=eta, bandwidth=1.2, n_permutations=10)
    groups = result.grouped_modes()
    assert result.n_significant > len(groups) == 2
    shown = [np.unique(test_labels[group.members()]).tolist() for group in groups]
    assert sorted(shown) == [[3], [7]]


def test_withheld_digits_are_confirmed(halves: Halves) -> None:
    train, test, train_labels, test_labels = halves
    known = train[~np.isin(train_labels, (3, 7))]
    tested = novelty(test, known, eta=2.0, bandwidth=1.2, held_out=0.5)
    assert tested.n_confirmed == 2
    assert sorted(np.unique(test_labels[mode.exemplars[:10]]).tolist() for mode in tested.tests) == [[3], [7]]
