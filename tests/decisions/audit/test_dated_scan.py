"""The scan of late parts: valid under the null, recomputed by loops, and what it lists."""

import numpy as np
import pytest
from scipy.stats import binom

from shiftmetrics.decisions.audit.dated_scan import (
    LIKELY,
    _scan_of,
    gate_of,
    largest_p_value,
    least_new,
    likely_rows,
    row_scores,
    scanned,
)


def rows_of(seed, n=60, m=60, n_new=0):
    """Return rows of two samples, the first ones new, and labels of its halves by random times."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2))
    reference = rng.normal(size=(m, 2))
    time = rng.permutation(n) / n
    late = np.argsort(-time)[:n_new]
    features[late] = rng.normal(4.0, 0.3, size=(n_new, 2))
    in_current = np.arange(n + m) < n
    parts = []
    for fraction in (0.5, 0.25):
        part = np.zeros(n + m, dtype=bool)
        part[:n] = time >= 1.0 - fraction
        parts.append(part)
    return features, reference, in_current, parts


def scan_of(seed, **sizes):
    features, reference, in_current, parts = rows_of(seed, **sizes)
    rng = np.random.default_rng(seed)
    gate = gate_of(features, reference, rng)
    return gate, parts, scanned((gate, gate), in_current, parts, alpha=0.001, rng=rng)


@pytest.mark.slow
def test_p_values_are_valid_where_rows_have_one_source():
    """Of 80 nulls at most as many are below each level as chance allows, once in a thousand times."""
    found = [scan_of(seed, n=40, m=40)[2] for seed in range(80)]
    for level in (0.05, 0.1, 0.25, 0.5):
        most = binom.ppf(0.999, len(found), level)
        assert sum(scan.p_value <= level for scan in found) <= most
        # Each side of the sample as a whole has paid for the parts, too: its p-value is no smaller.
        assert all(min(scan.undated) >= scan.p_value for scan in found)
    # They are no constant either: some of so many are in the lower half.
    assert sum(scan.p_value <= 0.5 for scan in found) >= binom.ppf(0.001, len(found), 0.5)


def test_a_group_that_arrives_late_is_shown_in_the_part_where_it_is_densest():
    gate, parts, scan = scan_of(1, n=100, m=100, n_new=12)
    assert scan.best == 1
    assert scan.p_value <= 0.005
    scores = row_scores(gate, parts[1])
    likely = likely_rows(scores, parts[1])
    features = rows_of(1, n=100, m=100, n_new=12)[0]
    is_new = features.min(axis=1) > 2.5
    assert is_new[likely].mean() >= 0.8
    assert is_new[likely].sum() >= 10
    low = least_new(gate, parts[1], 0.95, np.random.default_rng(0))
    assert 0.1 < low <= 12 / 25
    assert largest_p_value(gate, parts, np.random.default_rng(0)) <= 0.01


def test_the_largest_of_all_statistics_is_set_against_its_largest_under_permutations():
    rng = np.random.default_rng(2)
    whole = rng.gamma(2.0, size=(2, 30))
    late = rng.gamma(2.0, size=(3, 30)) * np.array([[1.0], [5.0], [0.2]])
    late[1, 0] = 40.0
    scan = _scan_of(whole, late)
    larger = [max(pair) for pair in whole.T.tolist()]
    standardised = [(whole - np.mean(larger)) / np.std(larger)]
    standardised += [[(row - np.mean(row)) / np.std(row)] for row in late]
    null = [
        max(float(part[side][j]) for part in standardised for side in range(len(part)))
        for j in range(30)
    ]
    assert scan.p_value == pytest.approx(np.mean([value >= null[0] for value in null]))
    assert scan.best == 1
    for side in range(2):
        score = standardised[0][side][0]
        assert scan.undated[side] == pytest.approx(np.mean([value >= score for value in null]))


def test_every_rank_is_as_likely_where_no_permutation_stands_out():
    """Each permutation in turn as the true one: 1 of 40 has p = 1/40, 2 have at most 2/40, and so on."""
    rng = np.random.default_rng(4)
    whole = rng.gamma(2.0, size=(2, 40))
    late = rng.gamma(0.5, size=(3, 40))
    turned = [_scan_of(np.roll(whole, k, axis=1), np.roll(late, k, axis=1)) for k in range(40)]
    p_values = np.sort([scan.p_value for scan in turned])
    np.testing.assert_allclose(p_values, np.arange(1, 41) / 40)


def test_listed_rows_are_those_of_an_isotonic_chance_above_the_limit():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(3)
    labels = rng.random(300) < 0.2
    scores = np.round(rng.normal(size=300) + 1.5 * labels, 1)
    weights = np.where(labels, 1 / labels.sum(), 1 / (~labels).sum())
    chance = IsotonicRegression().fit(scores, labels, sample_weight=weights).predict(scores)
    likely = likely_rows(scores, labels)
    assert set(likely) == set(np.flatnonzero(labels & (chance >= LIKELY)))
    assert len(likely)
    assert (np.diff(scores[likely]) <= 0.0).all()
