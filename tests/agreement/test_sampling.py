"""Intervals of posterior agreement: draws against exact solves, the bound at the boundary, coverage, bad input."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from shiftmetrics import Resampling, Result
from shiftmetrics._core.confidence import BootstrapWeights, ResamplingUnits, binomial_interval
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.agreement.channel import SymmetricChannel


def noisy(seed: int, n: int, k: int, noise: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    reference = 3.0 * rng.normal(size=(n, k)) + np.linspace(0.0, 2.0, k)
    return reference + noise * rng.normal(size=(n, k)), reference


def margins(*groups: tuple[int, float, float]) -> tuple[np.ndarray, np.ndarray]:
    counts = [count for count, _, _ in groups]
    return tuple(np.repeat([group[i] for group in groups], counts) for i in (1, 2))


def drawn_weights(n_units: int, n_resamples: int, seed: int) -> np.ndarray:
    draws = BootstrapWeights(n_units, n_resamples, seed)
    return np.concatenate([draws.weights(block) for block in range(len(draws.blocks))], axis=1)


CASES = {
    "smooth": (noisy(0, 300, 5), {}),
    "weighted": (noisy(1, 300, 5), {"sample_weight": np.random.default_rng(2).random(300)}),
    "given prior": (noisy(1, 200, 3), {"prior": [0.5, 0.3, 0.2]}),
    "a single pair decides": (margins((100, 0.09, 0.09), (1, -1.0, 1.0)), {}),
    "two maxima": (margins((100, 50.0, 50.0), (60, 1.0, 1.0), (1, -10.0, 10.0)), {}),
    "a far maximum": (margins((100, 50.0, 50.0), (400, 0.5, 0.5), (4, -5.0, 5.0)), {}),
    "chance": ((noisy(3, 200, 3)[0], noisy(4, 200, 3)[0]), {}),
    "no contradiction": ((noisy(3, 100, 3)[0], noisy(3, 100, 3)[0] + 1e-6), {}),
    "tiny scores": (tuple(1e-200 * part for part in noisy(5, 100, 3)), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_are_solved_as_the_sample_is(case):
    (scores, reference), options = CASES[case]
    result = posterior_agreement(
        scores,
        reference,
        resampling=Resampling(confidence_level=0.9, n_resamples=30, rng=7),
        **options,
    )
    weights = drawn_weights(len(scores), 30, 7)[:12] * options.get("sample_weight", 1.0)
    for draw, own in zip(result.resampled[:12], weights, strict=True):
        exact = posterior_agreement(scores, reference, **{**options, "sample_weight": own})
        assert draw == pytest.approx(exact.value, abs=3e-5)


def test_groups_are_drawn_together():
    scores, reference = noisy(0, 300, 4)
    groups = np.random.default_rng(1).integers(0, 40, 300)
    result = posterior_agreement(
        scores,
        reference,
        resampling=Resampling(confidence_level=0.9, n_resamples=20, rng=3, groups=groups),
    )
    _, codes = np.unique(groups, return_inverse=True)
    weights = drawn_weights(codes.max() + 1, 20, 3)[:, codes]
    exact = [posterior_agreement(scores, reference, sample_weight=own).value for own in weights]
    assert result.resampled == pytest.approx(np.array(exact), abs=3e-5)
    assert "40 groups" in result.interval.method


def test_the_predicted_prior_is_uncertain_too():
    scores, reference = noisy(0, 2000, 4)
    known = {"resampling": Resampling(confidence_level=0.9, n_resamples=40, rng=3)}
    result = posterior_agreement(scores, reference, prior="predicted", **known)
    fixed = posterior_agreement(scores, reference, prior=result.prior, **known)
    weights = drawn_weights(2000, 40, 3)
    exact = np.array(
        [
            posterior_agreement(scores, reference, prior="predicted", sample_weight=own).value
            for own in weights
        ]
    )
    assert np.std(exact - result.resampled) < 0.1 * np.std(exact)
    assert np.std(exact - result.resampled) < 0.3 * np.std(exact - fixed.resampled)


def test_copies_that_form_groups_tell_nothing_new():
    scores, reference = noisy(0, 200, 4)
    once = posterior_agreement(
        scores, reference, resampling=Resampling(confidence_level=0.9, rng=0)
    )
    copies = [np.repeat(part, 5, axis=0) for part in (scores, reference)]
    grouped = posterior_agreement(
        *copies,
        resampling=Resampling(confidence_level=0.9, rng=0, groups=np.repeat(np.arange(200), 5)),
    )
    naive = posterior_agreement(*copies, resampling=Resampling(confidence_level=0.9, rng=0))
    assert grouped.interval.low == pytest.approx(once.interval.low, abs=1e-9)
    assert grouped.interval.high == pytest.approx(once.interval.high, abs=1e-9)
    width = naive.interval.high - naive.interval.low
    assert width < 0.6 * (once.interval.high - once.interval.low)


def test_the_interval_narrows_and_widens_as_it_should():
    widths = []
    for n, confidence_level in ((200, 0.9), (200, 0.99), (3200, 0.9)):
        interval = posterior_agreement(
            *noisy(0, n, 4), resampling=Resampling(confidence_level=confidence_level, rng=0)
        ).interval
        widths.append(interval.high - interval.low)
    assert widths[1] > 1.3 * widths[0]
    assert widths[2] == pytest.approx(widths[0] / 4, rel=0.25)


def test_a_common_factor_changes_nothing():
    scores, reference = noisy(0, 200, 4)
    first = posterior_agreement(
        scores, reference, resampling=Resampling(confidence_level=0.9, rng=0)
    ).interval
    second = posterior_agreement(
        1e3 * scores, 1e3 * reference, resampling=Resampling(confidence_level=0.9, rng=0)
    ).interval
    assert (second.low, second.high) == pytest.approx((first.low, first.high), abs=2e-5)


def test_float32_torch_gives_the_same_draws():
    torch = pytest.importorskip("torch")
    scores, reference = (part.astype(np.float32) for part in noisy(0, 200, 4))
    options = {
        "resampling": Resampling(confidence_level=0.9, n_resamples=50, rng=0),
        "prior": "predicted",
    }
    first = posterior_agreement(scores, reference, **options)
    second = posterior_agreement(torch.tensor(scores), torch.tensor(reference), **options)
    assert second.resampled == pytest.approx(first.resampled, abs=1e-9)


# --- at the boundary -------------------------------------------------------------------------------------


def one_hot(n: int, k: int) -> np.ndarray:
    return np.eye(k)[np.arange(n) % k]


def test_what_fifty_agreeing_pairs_tell():
    """At 5.8 %, the most that 0 of 50 allow, contradictions of 20 margins could use up all agreement."""
    scores = one_hot(50, 10)
    result = posterior_agreement(
        scores, 2.0 * scores, resampling=Resampling(confidence_level=0.95, rng=0)
    )
    assert result.interval.low == 0.0
    assert result.interval.high == pytest.approx(result.value, abs=1e-12)
    assert result.value == pytest.approx(math.log(10))
    assert "20 times" in result.interval.method


def test_the_unseen_contradiction_is_the_one_that_is_described():
    """Of 2000 pairs none disagrees: a share 1 - 0.05^(1/2000) of contradictions at 20 margins gives the lower end."""
    n, confidence_level = 2000, 0.95
    reference = one_hot(n, 2)
    result = posterior_agreement(
        reference,
        reference,
        resampling=Resampling(confidence_level=confidence_level, n_resamples=4000, rng=0),
    )
    share = 1.0 - (1.0 - confidence_level) ** (1.0 / n)
    known = posterior_agreement(
        [[1.0, 0.0], [0.0, 20.0]], [[1.0, 0.0], [20.0, 0.0]], sample_weight=[1.0 - share, share]
    )
    assert result.interval.low == pytest.approx(known.value, abs=0.01)
    assert 0.4 < result.interval.low < result.value


def test_groups_count_once_at_the_boundary():
    scores = one_hot(2000, 10)
    once = posterior_agreement(scores, scores, resampling=Resampling(confidence_level=0.95, rng=0))
    grouped = posterior_agreement(
        *[np.tile(scores, (4, 1))] * 2,
        resampling=Resampling(confidence_level=0.95, rng=0, groups=np.tile(np.arange(2000), 4)),
    )
    assert grouped.interval.low == pytest.approx(once.interval.low, rel=0.02)


def test_a_share_has_the_interval_of_jeffreys():
    """At equal margins the agreement is a function of the share of contradictions alone."""
    scores, reference = margins((1, -1.0, 1.0), (99, 1.0, 1.0))
    interval = posterior_agreement(
        scores, reference, resampling=Resampling(confidence_level=0.9, n_resamples=20_000, rng=0)
    ).interval
    least, most = beta.ppf(0.05, 1.0, 99.5), beta.ppf(0.95, 1.5, 99.0)
    assert interval.low == pytest.approx(SymmetricChannel(2).capacity(most), abs=0.003)
    assert interval.high == pytest.approx(SymmetricChannel(2).capacity(least), abs=0.003)


def test_what_changes_is_bounded_where_the_agreement_is_not():
    """None of 50 changes: at most 1 - 0.05^(1/50) of others; of 12 groups of rows, each counts once."""
    scores = one_hot(50, 10)
    result = posterior_agreement(
        scores, 2.0 * scores, resampling=Resampling(confidence_level=0.95, rng=0)
    )
    assert result.changes.disagreement_interval.high == pytest.approx(1.0 - 0.05 ** (1.0 / 50))
    assert "0 % to 5.8 % of the predictions change (95 %)" in result.summary()
    shifted, reference = margins((6, -1.0, 1.0), (54, 1.0, 1.0))
    groups = Resampling(confidence_level=0.9, rng=0, groups=np.arange(60) // 5)
    found = posterior_agreement(shifted, reference, resampling=groups).changes.disagreement_interval
    assert (found.low, found.high) == pytest.approx(binomial_interval(0.1, 12, 0.9))


def test_one_class_alone_has_no_interval():
    scores = np.tile([0.0, 1.0, 2.0], (50, 1))
    assert posterior_agreement(scores, scores, prior="predicted", resampling=0.95).interval is None


# --- coverage --------------------------------------------------------------------------------------------


def truth_of(sample, prior) -> float:
    return posterior_agreement(*sample(np.random.default_rng(999), 400_000), prior=prior).value


def channel_sample(rng, n):
    reference = np.eye(4)[rng.integers(4, size=n)]
    moved = np.eye(4)[(reference.argmax(axis=1) + rng.integers(1, 4, size=n)) % 4]
    return np.where(rng.random((n, 1)) < 0.15, moved, reference), reference


def gaussian_sample(rng, n):
    reference = 2.0 * rng.normal(size=(n, 3)) + [0.0, 0.5, 1.5]
    return reference + 1.5 * rng.normal(size=(n, 3)), reference


def clustered_sample(rng, n):
    clusters = np.repeat(rng.normal(size=(n // 4, 3)), 4, axis=0)
    reference = 2.0 * clusters + 0.5 * rng.normal(size=(n, 3))
    shared = np.repeat(rng.normal(size=(n // 4, 3)), 4, axis=0)
    return reference + 1.5 * shared + 0.3 * rng.normal(size=(n, 3)), reference


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "n", "prior", "grouped"),
    [
        pytest.param(channel_sample, 150, None, False, id="channel"),
        pytest.param(gaussian_sample, 200, None, False, id="gaussian"),
        pytest.param(gaussian_sample, 400, "predicted", False, id="predicted prior"),
        pytest.param(clustered_sample, 600, None, True, id="clusters"),
    ],
)
def test_coverage(sample, n, prior, grouped):
    truth = (
        SymmetricChannel(4).capacity(0.15) if sample is channel_sample else truth_of(sample, prior)
    )
    hits = 0
    for seed in range(200):
        scores, reference = sample(np.random.default_rng(seed), n)
        groups = np.arange(n) // 4 if grouped else None
        interval = posterior_agreement(
            scores,
            reference,
            prior=prior,
            resampling=Resampling(confidence_level=0.9, n_resamples=600, groups=groups, rng=seed),
        ).interval
        hits += interval.low <= truth <= interval.high
    assert 0.86 <= hits / 200 <= 0.97


@pytest.mark.slow
def test_ignoring_clusters_covers_too_little():
    truth = truth_of(clustered_sample, None)
    hits = 0
    for seed in range(200):
        interval = posterior_agreement(
            *clustered_sample(np.random.default_rng(seed), 600),
            resampling=Resampling(confidence_level=0.9, n_resamples=400, rng=seed),
        ).interval
        hits += interval.low <= truth <= interval.high
    assert hits / 200 < 0.75


def rare_contradictions(k: int, factor: float, size: int):
    """Sample clusters of pairs of margin 1, of which one in a hundred contradicts at ``factor`` times the margin."""

    def sample(rng, n):
        contradicts = np.repeat(rng.random(n // size) < 0.01, size)
        predicted = rng.integers(k, size=len(contradicts))
        changed = np.where(contradicts, (predicted + 1) % k, predicted)
        margin = np.where(contradicts, factor, 1.0)[:, None]
        return margin * np.eye(k)[changed], margin * np.eye(k)[predicted]

    return sample


RARE = [
    *((2, 1.0, n, 1) for n in (50, 300, 1000)),
    *((2, 20.0, n, 1) for n in (50, 100, 300, 1000)),
    *((10, factor, 300, 1) for factor in (1.0, 20.0)),
    *((k, 20.0, 500, 5) for k in (2, 10)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "factor", "n", "size"), RARE)
def test_coverage_where_contradictions_are_rare(k, factor, n, size):
    sample = rare_contradictions(k, factor, size)
    weights = [0.99, 0.01]
    one = np.eye(k)[:2]
    truth = posterior_agreement(
        [one[0], factor * one[1]], [one[0], factor * one[0]], sample_weight=weights
    ).value
    hits, changes, trials = 0, 0, 200
    for seed in range(trials):
        resampling = Resampling(
            confidence_level=0.95,
            n_resamples=400,
            rng=seed,
            groups=None if size == 1 else np.arange(n) // size,
        )
        result = posterior_agreement(*sample(np.random.default_rng(seed), n), resampling=resampling)
        hits += result.interval.low <= truth <= result.interval.high
        changes += (
            result.changes.disagreement_interval.low
            <= 0.01
            <= result.changes.disagreement_interval.high
        )
    assert hits / trials >= 0.93
    assert changes / trials >= 0.93


# --- input and output ------------------------------------------------------------------------------------


def test_a_seed_repeats_and_is_recorded():
    scores, reference = noisy(0, 50, 3)
    first = posterior_agreement(
        scores, reference, resampling=Resampling(confidence_level=0.9, n_resamples=20)
    )
    again = posterior_agreement(
        scores,
        reference,
        resampling=Resampling(
            confidence_level=0.9, n_resamples=20, rng=first.settings["resampling"]["rng"]
        ),
    )
    assert again.equals(first)
    assert Result.from_json(first.to_json()).equals(first)
    assert not np.array_equal(
        posterior_agreement(
            scores, reference, resampling=Resampling(confidence_level=0.9, n_resamples=20, rng=1)
        ).resampled,
        first.resampled,
    )


def test_without_a_level_nothing_is_drawn():
    result = posterior_agreement(*noisy(0, 50, 3))
    assert result.interval is None
    assert result.resampled is None


def test_groups_align_with_a_table():
    scores, reference = noisy(0, 60, 3)
    names = [f"row {i}" for i in range(60)]
    frames = [pd.DataFrame(part, index=names, columns=list("abc")) for part in (scores, reference)]
    groups = pd.Series(np.arange(60) // 3, index=names)
    options = {"confidence_level": 0.9, "n_resamples": 20, "rng": 0}
    expected = posterior_agreement(
        scores, reference, resampling=Resampling(groups=groups.to_numpy(), **options)
    )
    shuffled = posterior_agreement(
        *frames, resampling=Resampling(groups=groups.sample(frac=1, random_state=0), **options)
    )
    assert shuffled.resampled == pytest.approx(expected.resampled, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"confidence_level": 1.0},
            ValueError,
            "confidence_level must be a number greater than 0 and less than 1",
        ),
        ({"confidence_level": 95}, ValueError, "got 95"),
        ({"confidence_level": "high"}, TypeError, "confidence_level must be a real number"),
        ({"n_resamples": 1}, ValueError, "n_resamples must be an integer between 2"),
        (
            {"confidence_level": 0.95, "n_resamples": 30},
            ValueError,
            "n_resamples must be at least 39 for a level of 0.95, got 30",
        ),
        ({"n_resamples": 1e3}, TypeError, "n_resamples must be an integer"),
        ({"groups": [1, 2]}, ValueError, "groups must be of length 40, got length 2"),
        ({"groups": np.zeros(40)}, ValueError, "groups must be of at least two different labels"),
        ({"groups": [None] * 40}, ValueError, "groups must be free of missing labels"),
        ({"rng": "x"}, TypeError, "rng must be a seed"),
    ],
)
def test_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        posterior_agreement(
            *noisy(0, 40, 3), resampling=Resampling(**{"confidence_level": 0.9, **options})
        )


def test_units_without_groups_are_the_rows():
    assert ResamplingUnits.of(None, 5) == ResamplingUnits(5, 5)


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(60), 5)])
def test_rows_that_are_not_in_memory_have_the_same_interval(groups: np.ndarray | None) -> None:
    da = pytest.importorskip("dask.array", reason="needs dask: pip install 'shiftmetrics[dask]'")
    rng = np.random.default_rng(0)
    reference = 3.0 * rng.normal(size=(300, 4))
    scores = reference + 2.0 * rng.normal(size=reference.shape)
    drawn = Resampling(rng=0, n_resamples=50, groups=groups)
    exact = posterior_agreement(scores, reference, resampling=drawn)
    empty = da.zeros((0, 4), chunks=(1, 4))
    parts = [
        da.concatenate([empty, da.from_array(side, chunks=(110, 4))])
        for side in (scores, reference)
    ]
    batches = [
        (scores[first : first + 70], reference[first : first + 70]) for first in range(0, 300, 70)
    ]
    for found in (
        posterior_agreement(*parts, resampling=drawn),
        posterior_agreement(batches, resampling=drawn),
    ):
        assert found.interval.low == pytest.approx(exact.interval.low, rel=1e-12)
        assert found.interval.high == pytest.approx(exact.interval.high, rel=1e-12)
        assert found.changes.disagreement_interval.equals(exact.changes.disagreement_interval)
        np.testing.assert_allclose(found.resampled, exact.resampled, rtol=1e-12)


def flipped(rng, n, shares, chance):
    """Equally confident predictions; the class of each is drawn again with this chance."""
    n_classes = len(shares)
    reference = rng.choice(n_classes, size=n, p=shares)
    again = rng.random(n) < chance
    shifted = np.where(again, rng.choice(n_classes, size=n, p=shares), reference)
    return 3.0 * np.eye(n_classes)[shifted], 3.0 * np.eye(n_classes)[reference]


@pytest.mark.slow
@pytest.mark.parametrize(("shares", "chance"), [([0.9, 0.1], 0.1), ([0.6, 0.3, 0.1], 0.1)])
def test_intervals_of_the_equivalent_error_cover_at_the_predicted_prior(shares, chance) -> None:
    shares = np.array(shares)
    truth = chance * (1.0 - np.sum(shares**2))
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        result = posterior_agreement(
            *flipped(rng, 300, shares, chance),
            kind="scores",
            prior="predicted",
            resampling=Resampling(confidence_level=0.9, n_resamples=300, rng=0),
        )
        ends = result.equivalent_error_interval
        assert ends.low <= result.equivalent_error <= ends.high
        covered += ends.low <= truth <= ends.high
    assert 170 <= covered <= 190


def test_what_other_fractions_of_predictions_cost_is_no_flip() -> None:
    """At the predicted prior the ceiling of the agreement varies from sample to sample; flips do not depend on it."""
    result = posterior_agreement(
        *flipped(np.random.default_rng(0), 600, np.array([0.9, 0.1]), 0.1),
        kind="scores",
        prior="predicted",
        resampling=Resampling(rng=0),
    )
    own = result.equivalent_error_interval
    by_ends = [result._channel.error(end) for end in (result.interval.high, result.interval.low)]
    assert by_ends[0] < own.low < result.equivalent_error < own.high < by_ends[1]


def test_one_pair_is_no_more_certain_than_two() -> None:
    widths = []
    for n in (1, 2):
        scores = np.array([[2.0, 0.0, 0.0], [1.0, 1.5, 0.0]])[-n:]
        reference = np.array([[2.0, 0.5, 0.0], [1.5, 1.0, 0.0]])[-n:]
        result = posterior_agreement(scores, reference, resampling=Resampling(rng=0))
        widths.append(result.interval.high - result.interval.low)
    assert widths[0] >= widths[1] > 0.0
