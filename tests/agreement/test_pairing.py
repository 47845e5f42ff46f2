"""Pairs for samples that have none: hidden permutations come back, assignments are optimal, bad labels are named."""

import math

import numpy as np
import pytest

from shiftmetrics.agreement import pair_samples, posterior_agreement

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


@pytest.mark.parametrize("within_label", [False, True])
def test_a_hidden_permutation_is_recovered_far_above_chance(networks, within_label):
    scores, reference, labels, reference_labels, hidden = networks
    pairing = pair_samples(
        scores,
        reference,
        labels=labels,
        reference_labels=reference_labels,
        within_label=within_label,
    )
    assert recovered(pairing, hidden) > 20 * (CLASSES if within_label else 1) / ROWS
    if within_label:
        np.testing.assert_array_equal(
            labels[pairing.rows], reference_labels[pairing.reference_rows]
        )


def test_neighbours_are_the_nearest_rows_and_the_report_counts():
    pairing = pair_samples([[0.0], [1.0], [9.0]], [[8.0], [0.2], [50.0]])
    np.testing.assert_array_equal(pairing.reference_rows, [1, 1, 0])
    np.testing.assert_allclose(pairing.distance, [0.2, 0.8, 1.0])
    np.testing.assert_array_equal(pairing.reused, [1])
    np.testing.assert_array_equal(pairing.reference_dropped, [2])
    assert len(pairing.dropped) == 0
    assert "1 reference rows are used more than once (at most 2 times)" in str(pairing)


def test_partners_by_label():
    labels, reference_labels = list("aaabbbbb"), list("bbaaaa")
    options = {"labels": labels, "reference_labels": reference_labels}
    features = np.zeros((8, 1)), np.zeros((6, 1))
    pairing = pair_samples(*features, method="label", rng=0, **options)
    taken, partners = (
        np.array(labels)[pairing.rows],
        np.array(reference_labels)[pairing.reference_rows],
    )
    np.testing.assert_array_equal(taken, partners)
    assert pairing.n_pairs == 8
    uses = np.bincount(pairing.reference_rows, minlength=6)
    assert sorted(uses[:2]) == [2, 3]  # none again before all were used
    assert max(uses[2:]) == 1
    again = pair_samples(*features, method="label", rng=0, **options)
    assert again.equals(pairing)
    others = [pair_samples(*features, method="label", rng=seed, **options) for seed in range(1, 6)]
    assert not all(np.array_equal(other.reference_rows, pairing.reference_rows) for other in others)


def test_rows_of_a_class_that_the_other_sample_lacks_are_left_out_and_told():
    labels, reference_labels = [0, 0, 7, 1], [1, 0, 9]
    features = np.arange(4.0)[:, None], np.arange(3.0)[:, None]
    for method in ("label", "neighbour"):
        options = {
            "labels": labels,
            "reference_labels": reference_labels,
            "within_label": True,
            "rng": 0,
        }
        pairing = pair_samples(*features, method=method, **options)
        np.testing.assert_array_equal(pairing.dropped, [2])
        assert 2 in pairing.reference_dropped
        assert "1 of 4 rows and 1 of 3 reference rows are left out" in str(pairing)


def test_everything_that_has_rows_can_be_paired(networks):
    pd, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    scores, reference, *_ = networks
    pairing = pair_samples(torch.tensor(scores), torch.tensor(reference))
    assert pairing.equals(pair_samples(scores, reference))
    expected = reference[pairing.reference_rows]
    for kind in (np.asarray, torch.tensor, pd.DataFrame, lambda rows: rows.tolist()):
        np.testing.assert_array_equal(
            np.asarray(pairing.apply(kind(scores), kind(reference))[1]), expected
        )
    tables = [pd.DataFrame(part, columns=list("abcdef")) for part in (scores, reference)]
    assert pair_samples(tables[0], tables[1].iloc[:, ::-1]).equals(pairing)
    with pytest.raises(
        ValueError, match="sample must be of 240 rows, as the sample that was paired, got 3"
    ):
        pairing.apply(scores[:3], reference)


def agreement_of(pairing, scores, reference):
    return posterior_agreement(*pairing.apply(scores, reference))


def test_nearest_pairs_agree_more_than_pairs_of_a_class(networks):
    scores, reference, labels, reference_labels, _ = networks
    known = {"labels": labels, "reference_labels": reference_labels}
    random = []
    for seed in range(20):
        pairing = pair_samples(scores, reference, method="label", rng=seed, **known)
        random.append(agreement_of(pairing, scores, reference).value)
    nearest = agreement_of(pair_samples(scores, reference), scores, reference)
    assert max(random) < nearest.value


def test_identical_samples_are_said_to_be(networks):
    scores, *_ = networks
    result = agreement_of(pair_samples(scores, scores[::-1]), scores, scores[::-1])
    assert any("identical in every row" in warning for warning in result.warnings)


def test_binary_margins_can_be_paired():
    margins = np.linspace(-2.0, 2.0, 20)
    pairing = pair_samples(
        margins,
        margins[:15],
        method="label",
        labels=margins > 0,
        reference_labels=margins[:15] > 0,
        rng=0,
    )
    assert agreement_of(pairing, margins, margins[:15]).value == pytest.approx(math.log(2))


@pytest.mark.parametrize("pairing", [[], [1], 3.0])
def test_other_pairings_are_refused(networks, pairing):
    scores, reference, *_ = networks
    with pytest.raises((TypeError, ValueError), match="pairing must be"):
        posterior_agreement(scores, reference, pairing=pairing)


def test_unequal_lengths_name_the_remedy(networks):
    scores, reference, *_ = networks
    with pytest.raises(
        ValueError, match="pair the samples first, with shiftmetrics.agreement.pair_samples"
    ):
        posterior_agreement(scores, reference[:-1])


GOOD = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "label"}, 'labels must be given for method="label", got None'),
        (
            {"method": "label", "labels": [0, 1, 1]},
            'reference_labels must be given for method="label"',
        ),
        ({"within_label": True}, 'labels must be given for method="neighbour" within labels'),
        (
            {"method": "label", "labels": [0, 1], "reference_labels": [0, 1, 1]},
            "labels must be of length 3, got",
        ),
        (
            {"method": "label", "labels": [0, 0, None], "reference_labels": [0, 0, 0]},
            "free of missing labels",
        ),
        (
            {"method": "label", "labels": [0, 0, 1], "reference_labels": [2, 2, 2]},
            "of the same classes",
        ),
        (
            {"method": "label", "labels": [0, 0, 0], "reference_labels": [1, 1, 1]},
            "no class in common",
        ),
        ({"method": "nearest"}, "method must be one of"),
    ],
)
def test_bad_pairings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        pair_samples(GOOD, GOOD, **options)


def test_bad_features_are_named():
    with pytest.raises(ValueError, match="columns as features, 2, got 1. Compute both"):
        pair_samples(GOOD, GOOD[:, :1])
    with pytest.raises(ValueError, match="features must be finite"):
        pair_samples(GOOD * np.nan, GOOD)
    with pytest.raises(TypeError, match="labels of one type"):
        pair_samples(GOOD, GOOD, method="label", labels=list("abc"), reference_labels=[0, 1, 2])
