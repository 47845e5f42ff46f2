"""The least named change: planted groups, held-out rates, and no group where losses do not depend on the columns."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Computing
from shiftmetrics.stability import (
    FixedLoss,
    least_named_change,
    stability_criterion,
    worst_case_risk,
)
from shiftmetrics.stability.named_change import _needed_range, change_of_losses

QUIET = Computing(progress=False)


def planted(seed: int, n_samples: int = 4000) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return a table, where the errors of a group are many, and the errors."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_samples).astype(float),
            "duration": rng.exponential(300.0, n_samples),
            "ward": pd.Categorical(rng.choice(["A", "B", "C"], n_samples)),
            "noise": rng.normal(size=n_samples),
        }
    )
    table.loc[rng.random(n_samples) < 0.1, "duration"] = np.nan
    group = ((table["age"] > 60) & (table["ward"] == "B")).to_numpy()
    return table, group, rng.random(n_samples) < np.where(group, 0.6, 0.05)


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_group_is_named_with_its_rates(seed: int) -> None:
    table, group, wrong = planted(seed)
    result = stability_criterion(FixedLoss(wrong), 0.3, computing=QUIET)
    change = least_named_change(result, table)
    assert change.is_found
    assert {text.split()[0] for text in change.conditions} == {"age", "ward"}
    assert "ward = B" in change.conditions
    assert change.risk == pytest.approx(0.6, abs=0.15)
    assert change.rest_risk == pytest.approx(0.05, abs=0.03)
    assert change.fraction == pytest.approx(group.mean(), rel=0.2)
    # at the needed fraction the risk is at the threshold
    mixed = change.needed_fraction * change.risk + (1.0 - change.needed_fraction) * change.rest_risk
    assert mixed == pytest.approx(0.3)
    assert change.in_words().startswith("once samples with ")


def test_the_rates_are_those_of_samples_that_the_search_has_not_seen() -> None:
    # pure noise: the searched half would show a group that is much worse
    rng = np.random.default_rng(0)
    gaps = []
    for seed in range(30):
        frame = pd.DataFrame(rng.normal(size=(1000, 6)))
        losses = rng.exponential(size=1000)
        change = change_of_losses(losses, frame, 1.2 * losses.mean(), np.ones(1000), seed)
        gaps.append(change.risk - change.rest_risk)
    assert abs(np.mean(gaps)) < 3.0 * np.std(gaps) / np.sqrt(len(gaps)) + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["errors", "losses"])
def test_permuted_losses_name_a_group_at_most_at_the_level(kind: str) -> None:
    table, _, wrong = planted(0, 1000)
    rng = np.random.default_rng(1)
    losses = wrong.astype(float) if kind == "errors" else rng.exponential(size=1000) ** 2
    false = 0
    times = 150
    for seed in range(times):
        permuted = rng.permutation(losses)
        change = change_of_losses(permuted, table, 1.15 * losses.mean(), np.ones(1000), seed)
        false += change.p_value <= 0.05
    assert false <= 0.05 * times + 2.0 * np.sqrt(times * 0.05 * 0.95)


def test_no_group_is_said_to_be_none() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(1200, 4)))
    result = stability_criterion(FixedLoss(rng.random(1200) < 0.1), 0.5, computing=QUIET)
    change = least_named_change(result, table)
    assert not change.is_found
    assert "no group" in change.in_words()


def test_weights_count_and_missing_cells_are_a_condition() -> None:
    table, _, _ = planted(4)
    rng = np.random.default_rng(5)
    wrong = rng.random(4000) < np.where(table["duration"].isna(), 0.7, 0.05)
    weights = np.where(table["duration"].isna(), 3.0, 1.0)
    result = stability_criterion(FixedLoss(wrong), 0.45, sample_weight=weights, computing=QUIET)
    change = least_named_change(result, table, sample_weight=weights)
    assert change.conditions[0] == "duration missing"
    assert change.fraction == pytest.approx(0.3 / 1.2, rel=0.15)


def test_what_cannot_be_searched_is_refused() -> None:
    table, _, wrong = planted(0)
    result = stability_criterion(FixedLoss(wrong), 0.3, computing=QUIET)
    with pytest.raises(ValueError, match="without_rows"):
        least_named_change(result.without_rows(), table)
    with pytest.raises(ValueError, match="table must be the rows"):
        least_named_change(result)
    with pytest.raises(ValueError, match="table must be of 4000 rows"):
        least_named_change(result, table.iloc[:10])
    with pytest.raises(ValueError, match="threshold"):
        least_named_change(worst_case_risk(FixedLoss(wrong), 0.01, computing=QUIET), table)


def test_few_samples_name_no_group() -> None:
    table, _, wrong = planted(0, 999)
    change = change_of_losses(wrong.astype(float), table, 0.3, np.ones(999), 0)
    assert not change.is_found
    assert change.in_words().startswith("no group is named from fewer than 1,000 samples")


def test_the_range_holds_the_fraction_that_is_needed() -> None:
    """One known group, whose true fraction is (0.3 - 0.05) / (0.5 - 0.05)."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        inside = rng.random(1000) < 0.15
        wrong = (rng.random(1000) < np.where(inside, 0.5, 0.05)).astype(float)
        found = _needed_range(inside, wrong, np.ones(1000), 0.3, float(inside.mean()))
        assert found.confidence_level == 0.9
        held.append(found.low <= 0.25 / 0.45 <= found.high)
    assert 0.87 <= np.mean(held) <= 0.95


def test_a_group_that_may_lie_below_the_threshold_is_not_named() -> None:
    rng = np.random.default_rng(1)
    inside = np.arange(1000) < 60
    wrong = np.where(inside, rng.random(1000) < 0.5, rng.random(1000) < 0.05).astype(float)
    risk = wrong[inside].mean()
    near = _needed_range(inside, wrong, np.ones(1000), risk - 0.02, 0.06)
    assert near.high == np.inf
    assert near.low < 1.0
    far = _needed_range(inside, wrong, np.ones(1000), 0.1, 0.06)
    assert far.low < far.high < 0.6
