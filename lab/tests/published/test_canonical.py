"""Canonical coordinates: rows of different feature spaces find each other; bad anchors are named."""

import numpy as np
import pytest

from shiftmetrics.agreement import pair_samples
from shiftmetrics_lab.published import canonical_coordinates

CLASSES = 6
ROWS = 240


@pytest.fixture(scope="module")
def networks():
    """Return scores of two networks on the same rows, those of the second in a hidden order."""
    rng = np.random.default_rng(0)
    labels = rng.integers(CLASSES, size=ROWS)
    shared = 3.0 * np.eye(CLASSES)[labels] + rng.normal(size=(ROWS, CLASSES))
    scores, reference = shared + 0.4 * rng.normal(size=(2, ROWS, CLASSES))
    hidden = rng.permutation(ROWS)
    return scores, reference[hidden], labels, labels[hidden], hidden


def recovered(pairing, hidden):
    return np.mean(hidden[pairing.reference_rows] == pairing.rows)


@pytest.mark.parametrize("anchors", ["class means", "seeds"])
def test_correlation_sees_through_another_basis_where_neighbours_fail(networks, anchors):
    scores, reference, labels, reference_labels, hidden = networks
    rng = np.random.default_rng(1)
    elsewhere = (
        reference @ rng.normal(size=(CLASSES, 9)) + 5.0
    )  # other units, axes and number of columns
    options = (
        {"labels": labels, "reference_labels": reference_labels}
        if anchors == "class means"
        else {"seeds": np.c_[hidden[:40], np.arange(40)]}
    )
    space, same = (
        canonical_coordinates(scores, side, **options) for side in (elsewhere, reference)
    )
    pairing, plain = pair_samples(*space[:2]), pair_samples(*same[:2])
    assert recovered(pairing, hidden) > 20 / ROWS
    assert recovered(pairing, hidden) == pytest.approx(recovered(plain, hidden), abs=0.05)
    assert recovered(pair_samples(scores, elsewhere[:, :CLASSES]), hidden) < 5 / ROWS
    assert ((space.correlations > 0) & (space.correlations <= 1)).all()
    assert len(space.correlations) <= (CLASSES - 1 if anchors == "class means" else CLASSES)


GOOD = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "labels must be given"),
        ({"labels": [0] * 3, "reference_labels": [0] * 3}, "at least two classes"),
        ({"seeds": [[0, 0]]}, "seeds must be at least 2 pairs"),
        ({"seeds": [[0, 0], [3, 1]]}, "seeds must be positions from 0 to 2 in features"),
        ({"seeds": [[0, 0], [1, 1]], "ridge": -1.0}, "ridge must be a number at least 0"),
    ],
)
def test_bad_anchors_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        canonical_coordinates(GOOD, GOOD, **options)


def test_nothing_correlated_is_named():
    with pytest.raises(ValueError, match="must be correlated over the classes or seeds"):
        canonical_coordinates(np.ones((3, 2)), GOOD, labels=[0, 1, 1], reference_labels=[0, 1, 1])


@pytest.mark.realdata
def test_two_real_networks_are_paired_far_above_chance(data_folder):
    zoo = np.load(data_folder / "cifar10_logit_zoo" / "logits.npz")
    names = list(zoo["model_names"])
    n_rows = 1500
    hidden = np.random.default_rng(0).permutation(n_rows)
    scores = zoo["logits"][names.index("resnet32"), :n_rows]
    reference = zoo["logits"][names.index("resnet44"), hidden]
    labels = zoo["labels"][:n_rows]
    space = canonical_coordinates(scores, reference, labels=labels, reference_labels=labels[hidden])
    for sides in ((scores, reference), (space.features, space.reference)):
        # 15 % of the rows, where chance finds 0.07 %
        assert recovered(pair_samples(*sides), hidden) > 100 / n_rows
