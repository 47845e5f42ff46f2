"""Curves: every point is what a separate call gives; ordering, priors, intervals, tables, bad input."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from optional import torch
from shiftmetrics import Computing, Resampling
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics.agreement import agreement_curves, posterior_agreement

RNG = np.random.default_rng(7)
LABELS = RNG.integers(4, size=300)
REFERENCE = RNG.normal(size=(300, 4)) + 2 * np.eye(4)[LABELS]
NOISE = RNG.normal(size=(300, 4))
SHIFTED = {power: REFERENCE + power * NOISE for power in (0.5, 1.5)}
SIZES = np.linalg.norm(NOISE, axis=1)
RATIOS = (0.0, 0.25, 0.5, 1.0)
RATIOS_21 = np.linspace(0, 1, 21)


def mixed(scores: np.ndarray, reference: np.ndarray, sizes: np.ndarray, ratio: float) -> np.ndarray:
    rows = np.argsort(sizes)[: round(ratio * len(sizes))]
    result = reference.copy()
    result[rows] = scores[rows]
    return result


@pytest.mark.parametrize("prior", [None, [0.1, 0.2, 0.3, 0.4]])
def test_every_point_is_what_a_separate_call_gives(prior: list[float] | None) -> None:
    curves = agreement_curves(
        SHIFTED,
        REFERENCE,
        ratios=RATIOS,
        labels=LABELS,
        perturbation_sizes=SIZES,
        prior=prior,
        computing=Computing(atol=1e-8),
    )
    assert curves.powers == (0.5, 1.5)
    for p, shifted in enumerate(SHIFTED.values()):
        for j, ratio in enumerate(RATIOS):
            sample = mixed(shifted, REFERENCE, SIZES, ratio)
            alone = posterior_agreement(
                sample, REFERENCE, prior=prior, computing=Computing(atol=1e-8)
            )
            at = (p, j)
            assert curves.agreement.value[at] == pytest.approx(alone.value, abs=2e-8)
            assert curves.equivalent_error[at] == pytest.approx(alone.equivalent_error, abs=1e-6)
            if alone.status.code == "converged":
                assert curves.search.beta[at] == pytest.approx(alone.beta, rel=1e-3)
            else:
                assert curves.search.beta[at] == alone.beta
            for name, target in (("afr_p", REFERENCE.argmax(axis=1)), ("afr_t", LABELS)):
                kept = np.count_nonzero(sample.argmax(axis=1) == target)
                ends = binomtest(kept, len(LABELS)).proportion_ci(0.95, method="exact")
                assert getattr(curves, name).value[at] == pytest.approx(kept / len(LABELS))
                assert getattr(curves, name).low[at] == pytest.approx(ends.low)
                assert getattr(curves, name).high[at] == pytest.approx(ends.high)
    assert curves.status.code == "solved"
    assert curves.value == curves.normalized.min()


def test_ties_are_seeded_and_ratios_are_nested() -> None:
    """One row in ten contradicts: which of them a ratio holds is seen in AFR_P."""
    contradicts = np.zeros(200, dtype=bool)
    contradicts[::10] = True
    scores = np.where(contradicts, -1.0, 1.0)
    curves = [
        agreement_curves(
            scores,
            np.ones(200),
            ratios=np.linspace(0, 1, 21),
            perturbation_sizes=np.ones(200),
            resampling=Resampling(rng=seed),
        )
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(curves[0].afr_p.value, curves[1].afr_p.value)
    assert not np.array_equal(curves[0].afr_p.value, curves[2].afr_p.value)
    assert (np.diff(curves[0].afr_p.value.ravel()) <= 0).all()
    assert curves[0].afr_p.value[0, -1] == 0.9


def test_groups_count_once_and_match_by_label() -> None:
    groups = np.repeat(np.arange(40), 5)
    scores = np.where(groups % 5 == 0, -1.0, 1.0)
    options: dict[str, Any] = {"ratios": [1.0], "labels": np.ones(200, dtype=int)}
    alone = agreement_curves(scores, np.ones(200), resampling=Resampling(rng=0), **options)
    grouped = agreement_curves(
        scores, np.ones(200), resampling=Resampling(rng=0, groups=groups), **options
    )
    for name in ("afr_p", "afr_t"):
        rate = getattr(grouped, name)
        assert rate.value[0, 0] == 0.8
        ends = binomial_interval(0.8, 40, 0.95)
        assert (rate.low[0, 0], rate.high[0, 0]) == pytest.approx(ends)
        assert rate.low[0, 0] < getattr(alone, name).low[0, 0]
    # Groups of a table are in the order of its rows, whatever order they are given in.
    index = [f"row {row}" for row in range(200)]
    tables = [
        pd.DataFrame({"a": -0.5 * side, "b": 0.5 * side}, index=index)
        for side in (scores, np.ones(200))
    ]
    by_label = pd.Series(groups, index=index).iloc[::-1]
    matched = agreement_curves(*tables, resampling=Resampling(rng=0, groups=by_label), ratios=[1.0])
    assert matched.agreement.low[0, 0] == pytest.approx(grouped.agreement.low[0, 0])


def test_failed_attacks_come_last() -> None:
    sizes = np.where(np.arange(100) < 60, 1.0, np.inf)
    scores = np.where(np.arange(100) < 60, -1.0, 1.0)
    curves = agreement_curves(
        scores,
        np.ones(100),
        ratios=[0.6, 1.0],
        perturbation_sizes=sizes,
        resampling=Resampling(rng=0),
    )
    assert curves.afr_p.value.ravel().tolist() == [0.4, 0.4]


def test_sizes_by_power() -> None:
    options = {"ratios": [0.3], "resampling": Resampling(rng=0)}
    one = agreement_curves(SHIFTED, REFERENCE, perturbation_sizes=SIZES, **options)
    by_power = {0.5: SIZES, 1.5: SIZES}
    same = agreement_curves(SHIFTED, REFERENCE, perturbation_sizes=by_power, **options)
    np.testing.assert_array_equal(same.agreement.value, one.agreement.value)
    with pytest.raises(
        ValueError, match=r"perturbation_sizes must be given for power 1.5, got 0.5"
    ):
        agreement_curves(SHIFTED, REFERENCE, perturbation_sizes={0.5: SIZES}, **options)


def test_without_shift_all_agree_and_nothing_is_uncertain() -> None:
    curves = agreement_curves(SHIFTED[1.5], REFERENCE, ratios=[0.0], resampling=Resampling(rng=0))
    assert curves.agreement.value[0, 0] == pytest.approx(math.log(4))
    assert curves.agreement.low[0, 0] == curves.agreement.high[0, 0] == curves.agreement.value[0, 0]
    assert curves.search.beta[0, 0] == np.inf
    assert curves.search.n_evaluations == 0


def test_intervals_agree_with_the_bootstrap_and_hold_at_the_ends() -> None:
    curves = agreement_curves(SHIFTED[1.5], REFERENCE, ratios=[1.0], resampling=Resampling(rng=0))
    boot = posterior_agreement(
        SHIFTED[1.5], REFERENCE, resampling=Resampling(confidence_level=0.95, rng=0)
    ).interval
    width = boot.high - boot.low
    assert curves.agreement.low[0, 0] == pytest.approx(boot.low, abs=0.2 * width)
    assert curves.agreement.high[0, 0] == pytest.approx(boot.high, abs=0.2 * width)
    none = agreement_curves(
        np.repeat([-1.0, 1.0], [60, 40]), np.ones(100), ratios=[1.0], resampling=Resampling(rng=0)
    )
    assert none.agreement.value.item() == none.agreement.low.item() == 0.0
    assert none.agreement.high.item() < 0.02


@pytest.mark.slow
def test_coverage_of_the_intervals() -> None:
    """K = 2, margins 1, a share 0.2 of contradictions: PA is known."""
    truth = math.log(2) + 0.8 * math.log(0.8) + 0.2 * math.log(0.2)
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        scores = np.where(rng.random(200) < 0.2, -1.0, 1.0)
        curves = agreement_curves(
            scores, np.ones(200), ratios=[1.0], resampling=Resampling(confidence_level=0.9, rng=0)
        )
        covered += curves.agreement.low.item() <= truth <= curves.agreement.high.item()
    assert 174 <= covered <= 194


def test_the_predicted_prior_is_one_for_a_model() -> None:
    constant = np.zeros((100, 3))
    constant[:, 1] = 1.0
    curves = agreement_curves(2 * constant, constant, ratios=[0.5, 1.0], prior="predicted")
    assert curves.agreement.value.ravel().tolist() == [0.0, 0.0]
    curves = agreement_curves(SHIFTED, REFERENCE, ratios=[1.0], prior="predicted")
    shares = [posterior_agreement(s, REFERENCE, prior="predicted").prior for s in SHIFTED.values()]
    for p, shifted in enumerate(SHIFTED.values()):
        alone = posterior_agreement(shifted, REFERENCE, prior=np.mean(shares, axis=0))
        assert curves.agreement.value[p, 0] == pytest.approx(alone.value, abs=2e-5)


def test_kinds_of_input_agree() -> None:
    expected = agreement_curves(SHIFTED, REFERENCE, ratios=[0.4, 1.0], resampling=Resampling(rng=3))
    index = [f"row {k}" for k in range(300)]
    tables = {
        p: pd.DataFrame(s, index=index).sample(frac=1.0, random_state=0) for p, s in SHIFTED.items()
    }
    tensors = {p: torch.tensor(s) for p, s in SHIFTED.items()}
    for scores, reference in (
        (tables, pd.DataFrame(REFERENCE, index=index)),
        (tensors, torch.tensor(REFERENCE)),
        ({p: s.tolist() for p, s in SHIFTED.items()}, REFERENCE.tolist()),
    ):
        found = agreement_curves(scores, reference, ratios=[0.4, 1.0], resampling=Resampling(rng=3))
        np.testing.assert_allclose(found.agreement.value, expected.agreement.value, atol=1e-9)
    probabilities = {p: np.exp(s) / np.exp(s).sum(1, keepdims=True) for p, s in SHIFTED.items()}
    reference = np.exp(REFERENCE) / np.exp(REFERENCE).sum(1, keepdims=True)
    found = agreement_curves(
        probabilities,
        reference,
        ratios=[0.4, 1.0],
        kind="probabilities",
        resampling=Resampling(rng=3),
    )
    np.testing.assert_allclose(found.agreement.value, expected.agreement.value, atol=3e-5)


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e3, 1e200])
def test_scale_changes_beta_alone(scale: float) -> None:
    expected = agreement_curves(
        SHIFTED[0.5], REFERENCE, ratios=[0.5, 1.0], resampling=Resampling(rng=0)
    )
    found = agreement_curves(
        scale * SHIFTED[0.5], scale * REFERENCE, ratios=[0.5, 1.0], resampling=Resampling(rng=0)
    )
    np.testing.assert_allclose(found.agreement.value, expected.agreement.value, atol=2e-5)
    np.testing.assert_allclose(found.search.beta * scale, expected.search.beta, rtol=0.05)


def test_a_missed_tolerance_is_said() -> None:
    curves = agreement_curves(
        SHIFTED[1.5], REFERENCE, ratios=[1.0], computing=Computing(atol=1e-12, max_iter=3)
    )
    assert curves.status.code == "max_iter"
    assert not curves.status.ok
    assert curves.search.errors.item() > 1e-12


@pytest.mark.parametrize(
    ("scores", "reference", "options", "message"),
    [
        (SHIFTED, REFERENCE[:-1], {}, "must have the same shape"),
        (SHIFTED, REFERENCE, {"ratios": [1.2]}, "ratios must be a number at least 0 and at most 1"),
        (SHIFTED, REFERENCE, {"ratios": [-0.1]}, "ratios must be at least 0"),
        (SHIFTED, REFERENCE, {"ratios": []}, "ratios must be an array of at least 1 value"),
        (SHIFTED, REFERENCE, {"ratios": [1e-6]}, "ratios must be 0 or enough to shift one of 300 rows"),
        (SHIFTED, REFERENCE, {"perturbation_sizes": np.ones(4)}, "perturbation_sizes must be of length 300"),
        (SHIFTED, REFERENCE, {"perturbation_sizes": -np.ones(300)}, "perturbation_sizes must be at least 0"),
        (SHIFTED, REFERENCE, {"labels": np.full(300, 9)}, "labels must be classes of the scores"),
        (SHIFTED, REFERENCE, {"resampling": 1.0}, "resampling must be a number"),
        ({}, REFERENCE, {}, "got none"),
    ],
)  # fmt: skip
def test_bad_input_is_named(scores: object, reference: object, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agreement_curves(scores, reference, **options)
