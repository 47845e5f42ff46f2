"""Differences of models: their intervals, p-values and coverage."""

import numpy as np
import pytest

from pools import as_models, one_hot, pool
from shiftmetrics import Resampling, compare_agreement
from shiftmetrics.comparison import compare_results, compare_stability
from shiftmetrics.stability import (
    FixedLoss,
    HingeLoss,
    stability_criterion,
    worst_case_risk,
)
from shiftmetrics.stability.losses import Loss


def test_a_perfect_score_of_few_rows_is_not_certain():
    labels = np.arange(40) % 2
    perfect = {name: one_hot(labels) for name in ("a", "b")}
    found = compare_agreement(
        perfect, perfect, labels=labels, criterion="accuracy", resampling=Resampling(rng=0)
    )
    assert found.value == 1.0
    assert found.interval.low == pytest.approx(0.025 ** (1 / 40), abs=0.02)
    assert found.interval.high == 1.0
    pair = found.differences[0]
    assert pair.interval.low < -0.05 < 0.0 < 0.05 < pair.interval.high
    assert pair.simultaneous_interval.low < -0.05
    assert pair.p_value == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("n_resamples", [100, 1000])
def test_p_values_and_intervals_never_contradict_each_other(n_resamples):
    rng = np.random.default_rng(0)
    for seed in range(20):
        labels, before, after = pool(seed, n=120, wrong=(0.1, 0.15, 0.3), moved=(0.1, 0.2, 0.3))
        found = compare_agreement(
            as_models(after), as_models(before), labels=labels, criterion=rng.choice(["accuracy", "vote"]),
            resampling=Resampling(rng=seed, n_resamples=n_resamples),
        )  # fmt: skip
        for pair in found.differences:
            outside = pair.interval.low > 0.0 or pair.interval.high < 0.0
            assert (
                outside == (pair.p_value < 0.05)
                or min(abs(pair.interval.low), abs(pair.interval.high)) < 0.01
            )
            if pair.p_adjusted < 0.05:
                assert pair.simultaneous_interval.low > -0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "share", "criterion"),
    [
        (50, 0.1, "accuracy"),
        (200, 0.02, "accuracy"),
        (200, 0.2, "auto"),
        (1000, 0.05, "f1_macro"),
        (200, 0.3, "vote"),
    ],
)
def test_intervals_of_values_and_of_differences_cover(n, share, criterion):
    """The truth is that of a very large sample."""
    shares = {"wrong": (share, share, 1.5 * share), "moved": (share, 1.2 * share, share)}

    def compared(seed, n, resampling):
        labels, before, after = pool(seed, n=n, **shares)
        given = {} if criterion == "vote" else {"labels": labels}
        return compare_agreement(
            as_models(after), as_models(before), criterion=criterion, resampling=resampling, **given
        )

    truth = {
        model.name: model.value
        for model in compared(
            999, 200_000, Resampling(rng=0, n_resamples=3, confidence_level=0.4)
        ).models
    }
    hits, gaps = [], []
    for seed in range(60):
        found = compared(seed, n, Resampling(rng=seed, n_resamples=400))
        hits += [
            part.interval.low <= truth[part.name] <= part.interval.high for part in found.models
        ]
        gaps += [
            pair.interval.low <= truth[pair.first] - truth[pair.second] <= pair.interval.high
            for pair in found.differences
        ]
    assert np.mean(hits) >= 0.91
    assert np.mean(gaps) >= 0.91


INF = np.inf
NORMS = {"flat": 0.8, "middle": 1.2, "steep": 2.0}


def models(n: int, seed: int = 0, noise: float = 0.2) -> dict[str, Loss]:
    """Margins of the same rows under three models, which differ a little row by row and in their slopes."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(1.5, 1.0, n)
    return {
        name: HingeLoss(shared + noise * rng.normal(size=n), norm) for name, norm in NORMS.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("prices", [(0.4, 0.4), (0.3, INF), (INF, 0.4)])
@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_the_error_of_a_difference_is_that_of_the_paired_bootstrap(
    prices: tuple[float, float], divergence: str
) -> None:
    n, rng = 600, np.random.default_rng(1)
    losses = models(n, noise=0.4)
    options = {"theta1": prices[0], "theta2": prices[1], "divergence": divergence}
    comparison = compare_stability(
        {name: losses[name] for name in ("flat", "steep")}, 1.0, **options
    )
    gaps = []
    for _ in range(200):
        rows = rng.integers(0, n, n)
        flat, steep = (
            stability_criterion(losses[name].take(rows), 1.0, **options).value
            for name in ("flat", "steep")
        )
        gaps.append(flat - steep)
    # 200 resamples know a standard deviation to 5 %.
    assert comparison.differences[0].standard_error == pytest.approx(np.std(gaps), rel=0.2)


def test_intervals_together_are_wider_than_alone() -> None:
    comparison = compare_stability(models(800), 1.0, divergence="chi2", resampling=0.9)
    for pair in comparison.differences:
        together = pair.simultaneous_interval
        assert (
            together.low < pair.interval.low < pair.difference < pair.interval.high < together.high
        )
        assert pair.p_value <= pair.p_adjusted <= min(1.0, 3 * pair.p_value)
    frame = comparison.differences_frame()
    assert list(frame["simultaneous_low"]) == [
        p.simultaneous_interval.low for p in comparison.differences
    ]
    two = compare_stability(
        {name: models(800)[name] for name in ("flat", "steep")},
        1.0,
        divergence="chi2",
        resampling=0.9,
    )
    pair = two.differences[0]
    assert pair.p_adjusted == pair.p_value
    assert pair.simultaneous_interval.high == pytest.approx(pair.interval.high, rel=0.02)


def test_differences_reach_as_far_as_the_intervals_of_the_values() -> None:
    losses = models(150)
    alone = stability_criterion(losses["flat"], 0.3)
    constant = FixedLoss(np.full(150, 1.0))  # at risk already, and known without error
    comparison = compare_results({"flat": alone, "constant": stability_criterion(constant, 0.3)})
    interval, expected = comparison.differences[0].interval, alone.interval
    assert interval.high - alone.value != pytest.approx(alone.value - interval.low, rel=0.1)
    assert alone.value - interval.low == pytest.approx(alone.value - expected.low, rel=0.03)
    assert interval.high - alone.value == pytest.approx(expected.high - alone.value, rel=0.03)


# --- bad input -------------------------------------------------------------------------------------------

LOSS = FixedLoss([0.0, 0.2, 1.0])


def test_results_must_answer_one_question() -> None:
    first = stability_criterion(LOSS, 0.5)
    for other, message in (
        (
            stability_criterion(LOSS, 0.6),
            "results must share the threshold, got 0.5 for 'a', 0.6 for 'b'",
        ),
        (
            stability_criterion(LOSS, 0.5, theta2=1.0),
            "results must share the theta2, got 0.4 for 'a', 1.0",
        ),
        (
            stability_criterion(LOSS, 0.5, divergence="chi2"),
            "results must share the divergence, got kl for 'a', chi2",
        ),
        (
            stability_criterion(LOSS, 0.5, resampling=Resampling(groups=[1, 1, 2])),
            "results must share the groups, got False for 'a', True",
        ),
        (
            stability_criterion(LOSS, 0.5, sample_weight=[1, 1, 2]),
            "share the sample_weight, got None for 'a', given",
        ),
        (stability_criterion(LOSS, 0.5).without_rows(), "Use the result as it was computed"),
        (worst_case_risk(LOSS, 0.1), "share the measure, got stability for 'a', worst_case_risk"),
    ):
        with pytest.raises(ValueError, match=message):
            compare_results({"a": first, "b": other})
    with pytest.raises(ValueError, match="share the number of groups, got 2 for 'a', 3 for"):
        compare_results(
            {
                "a": stability_criterion(LOSS, 0.5, resampling=Resampling(groups=[1, 1, 2])),
                "b": stability_criterion(LOSS, 0.5, resampling=Resampling(groups=[1, 3, 2])),
            }
        )
