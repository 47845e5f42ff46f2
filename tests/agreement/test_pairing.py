"""Pairs for samples that have none: hidden permutations come back, assignments are optimal, bad labels are named."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from shiftmetrics import Computing, Resampling, Result
from shiftmetrics.agreement import pair_samples, posterior_agreement
from shiftmetrics.lab.published import canonical_coordinates

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


# --- a hidden permutation comes back -----------------------------------------------------------------------


@pytest.mark.parametrize("one_to_one", [False, True])
@pytest.mark.parametrize("within_label", [False, True])
def test_a_hidden_permutation_is_recovered_far_above_chance(networks, within_label, one_to_one):
    scores, reference, labels, reference_labels, hidden = networks
    pairing = pair_samples(
        scores,
        reference,
        labels=labels,
        reference_labels=reference_labels,
        within_label=within_label,
        one_to_one=one_to_one,
    )
    assert recovered(pairing, hidden) > 20 * (CLASSES if within_label else 1) / ROWS
    if within_label:
        np.testing.assert_array_equal(
            labels[pairing.rows], reference_labels[pairing.reference_rows]
        )
    if one_to_one:
        assert len(np.unique(pairing.reference_rows)) == ROWS


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


# --- by hand -----------------------------------------------------------------------------------------------


def test_neighbours_are_the_nearest_rows_and_the_report_counts():
    pairing = pair_samples([[0.0], [1.0], [9.0]], [[8.0], [0.2], [50.0]])
    np.testing.assert_array_equal(pairing.reference_rows, [1, 1, 0])
    np.testing.assert_allclose(pairing.distance, [0.2, 0.8, 1.0])
    np.testing.assert_array_equal(pairing.reused, [1])
    np.testing.assert_array_equal(pairing.reference_dropped, [2])
    assert len(pairing.dropped) == 0
    assert "1 reference rows are used more than once (at most 2 times)" in str(pairing)


@pytest.mark.parametrize("sizes", [(5, 7), (7, 5), (6, 6)])
def test_an_assignment_is_the_best_of_all(sizes):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(sizes[0], 2)), rng.normal(size=(sizes[1], 2))
    pairing = pair_samples(a, b, one_to_one=True)
    costs = cdist(a, b) ** 2 if sizes[0] <= sizes[1] else cdist(b, a) ** 2
    few, many = costs.shape
    best = min(
        sum(costs[row, column] for row, column in enumerate(order))
        for order in itertools.permutations(range(many), few)
    )
    assert (pairing.distance**2).sum() == pytest.approx(best)
    assert pairing.n_pairs == few
    assert len(pairing.dropped) == sizes[0] - few
    assert len(pairing.reference_dropped) == sizes[1] - few


@pytest.mark.parametrize("one_to_one", [False, True])
def test_partners_by_label(one_to_one):
    labels, reference_labels = list("aaabbbbb"), list("bbaaaa")
    options = {"labels": labels, "reference_labels": reference_labels, "one_to_one": one_to_one}
    features = np.zeros((8, 1)), np.zeros((6, 1))
    pairing = pair_samples(*features, method="label", rng=0, **options)
    taken, partners = (
        np.array(labels)[pairing.rows],
        np.array(reference_labels)[pairing.reference_rows],
    )
    np.testing.assert_array_equal(taken, partners)
    if one_to_one:
        assert pairing.n_pairs == 3 + 2
        assert len(np.unique(pairing.reference_rows)) == pairing.n_pairs
    else:
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


# --- agreement of unpaired samples -------------------------------------------------------------------------


def test_agreement_by_label_is_that_of_its_pairs(networks):
    scores, reference, labels, reference_labels, _ = networks
    known = {"labels": labels, "reference_labels": reference_labels[:200]}
    pairing = pair_samples(scores, reference[:200], method="label", rng=0, **known)
    result = posterior_agreement(scores, reference[:200], pairing=pairing)
    pairs = pairing.apply(scores, reference[:200])
    assert posterior_agreement(*pairs).value == result.value
    assert result.pairing.equals(pairing)
    assert "240 pairs by random partners of the same label" in result.summary()
    assert Result.from_json(result.to_json()).equals(result)


def test_nearest_pairs_agree_more_than_pairs_of_a_class(networks):
    scores, reference, labels, reference_labels, _ = networks
    known = {"labels": labels, "reference_labels": reference_labels}
    random = [
        posterior_agreement(
            scores,
            reference,
            pairing=pair_samples(scores, reference, method="label", rng=seed, **known),
        )
        for seed in range(20)
    ]
    nearest = posterior_agreement(scores, reference, pairing=pair_samples(scores, reference))
    assert max(result.value for result in random) < nearest.value
    assert any("Pair by features of an earlier layer" in warning for warning in nearest.warnings)
    elsewhere = posterior_agreement(
        scores, reference, pairing=pair_samples(scores[:, :2], reference[:, :2])
    )
    assert not any("earlier layer" in warning for warning in elsewhere.warnings)


def test_identical_samples_are_said_to_be(networks):
    scores, *_ = networks
    result = posterior_agreement(scores, scores[::-1], pairing=pair_samples(scores, scores[::-1]))
    assert result.pairing.identical
    assert any("All pairs are identical" in warning for warning in result.warnings)
    assert "all pairs are identical" in str(result.pairing)


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
    assert posterior_agreement(margins, margins[:15], pairing=pairing).value == pytest.approx(
        math.log(2)
    )


def test_weights_and_groups_are_those_of_the_sample(networks):
    scores, reference, *_ = networks
    pairing = pair_samples(scores, reference)
    weights = np.arange(1.0, len(scores) + 1.0)
    result = posterior_agreement(
        scores,
        reference,
        pairing=pairing,
        sample_weight=weights,
        resampling=Resampling(n_resamples=40, groups=np.arange(len(scores)) // 2, rng=0),
    )
    plain = posterior_agreement(
        *pairing.apply(scores, reference), sample_weight=weights[pairing.rows]
    )
    assert result.value == pytest.approx(plain.value)
    assert "groups" in result.interval.method


@pytest.mark.parametrize("pairing", [[], [1], 3.0])
def test_other_pairings_are_refused(networks, pairing):
    scores, reference, *_ = networks
    with pytest.raises(TypeError, match="pairing must be"):
        posterior_agreement(scores, reference, pairing=pairing)


# --- bad input ---------------------------------------------------------------------------------------------


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
        ({"method": "label"}, "labels must be given for method='label', got None"),
        (
            {"method": "label", "labels": [0, 1, 1]},
            "reference_labels must be given for method='label'",
        ),
        ({"within_label": True}, "labels must be given for method='neighbour' within labels"),
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
    with pytest.raises(MemoryError, match="one_to_one=True with 3 and 3 rows needs 216 B"):
        pair_samples(GOOD, GOOD, one_to_one=True, computing=Computing(memory_limit=100))
