"""Stability of a logistic regression on the patients of the paper's COVID-19 experiment."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oracles
from shiftmetrics.stability import (
    FixedLoss,
    LogisticLoss,
    ZeroOneLoss,
    stability_criterion,
    worst_case_risk,
)

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def margins(data_folder: Path) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Margins of the held-out patients, the norm of the weights, the weights, and the patients' ages."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    table = pd.read_csv(data_folder / "covid_sivep" / "covid_sivep.csv.gz")
    features = table.drop(
        columns=["is_dead", "Days_hospital_to_outcome"]
    )  # the latter leaks the outcome
    dead = table["is_dead"].to_numpy()
    train, test = train_test_split(
        np.arange(len(table)), test_size=0.5, random_state=0, stratify=dead
    )
    scaler = StandardScaler().fit(features.iloc[test])  # a move by one standard deviation costs 1
    model = LogisticRegression(max_iter=1000).fit(
        scaler.transform(features.iloc[train]), dead[train]
    )
    signs = np.where(dead[test] == 1, 1.0, -1.0)
    scores = model.decision_function(scaler.transform(features.iloc[test]))
    return (
        signs * scores,
        float(np.linalg.norm(model.coef_)),
        model.coef_[0],
        features["Age"].to_numpy()[test],
    )


def test_error_rates(margins) -> None:
    margin, norm, _, _ = margins
    distances = np.maximum(margin, 0.0) / norm
    loss = ZeroOneLoss(distances)
    error = float((margin <= 0).mean())
    assert 0.2 < error < 0.4
    for threshold in (error + 0.05, 0.6, 0.95):
        by_moves = stability_criterion(loss, threshold, theta2=np.inf)
        assert by_moves.value == pytest.approx(
            oracles.zero_one_corruption(distances, threshold, 0.4), rel=1e-9
        )
        for divergence in ("kl", "chi2"):
            by_weights = stability_criterion(loss, threshold, theta1=np.inf, divergence=divergence)
            expected = oracles.zero_one_stability(error, threshold, 0.4, divergence)
            assert by_weights.value == pytest.approx(expected, rel=1e-9)
            both = stability_criterion(loss, threshold, divergence=divergence)
            assert 0.0 < both.value < min(by_moves.value, by_weights.value)
            assert both.interval.low < both.value < both.interval.high
            budget = worst_case_risk(loss, both.value, divergence=divergence)
            assert budget.value == pytest.approx(threshold, rel=1e-8)


def test_the_age_of_a_patient_is_a_sensitive_feature(margins) -> None:
    margin, norm, weights, _ = margins
    alone = [
        stability_criterion(
            ZeroOneLoss(np.maximum(margin, 0.0) / abs(weight)), 0.6, theta2=np.inf
        ).value
        for weight in weights
    ]
    # With one feature free to move, stability falls as its weight grows.
    assert np.array_equal(np.argsort(alone), np.argsort(-np.abs(weights)))
    assert stability_criterion(
        ZeroOneLoss(np.maximum(margin, 0.0) / norm), 0.6, theta2=np.inf
    ).value < min(alone)


def test_log_losses_and_who_gains_weight(margins) -> None:
    margin, norm, _, ages = margins
    moving = stability_criterion(LogisticLoss(margin, norm), 1.0)
    staying = stability_criterion(FixedLoss(np.logaddexp(0, -margin)), 1.0)
    assert moving.value < staying.value
    assert staying.value == pytest.approx(
        stability_criterion(LogisticLoss(margin, norm), 1.0, theta1=np.inf).value
    )
    assert moving.error_bound < 1e-10
    # The patients that the model gets wrong gain weight.
    wrong = margin < 0
    assert np.mean(staying.plan.weights[wrong]) > 1.5 * np.mean(staying.plan.weights[~wrong])
    groups = (
        pd.Series(np.asarray(moving.plan.weights)).groupby(pd.cut(ages, [0, 40, 65, 120])).mean()
    )
    assert groups.notna().all()
