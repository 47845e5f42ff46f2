"""Errors of the documents that no experiment and no other test shows."""

import math

import numpy as np
import pytest


def generalization_error(first: np.ndarray, second: np.ndarray, prior: np.ndarray) -> float:
    """Return the mean over rows of E_p'[-log(p'' / prior)], as section 2.3.2 of the thesis defines it."""
    terms = np.where(first > 0.0, first * -np.log(np.maximum(second, 1e-300) / prior), 0.0)
    return float(terms.sum(axis=1).mean())


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_the_generalization_error_is_negative_where_sure_predictions_agree(n_classes: int) -> None:
    sure = np.eye(n_classes)
    prior = np.full(n_classes, 1.0 / n_classes)
    assert generalization_error(sure, sure, prior) == pytest.approx(-math.log(n_classes))


def test_agreement_bounds_the_generalization_error_below() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(4), size=(2, 200))
    prior = np.full(4, 0.25)
    agreement = np.log((first * second / prior).sum(axis=1)).mean()
    assert generalization_error(first, second, prior) >= -agreement


def test_the_term_of_a_misled_row_needs_both_deltas() -> None:
    """Appendix B.1.2: log delta_ADV stands for log(delta_ADV + delta_ERR - 2 delta_ERR delta_ADV)."""
    delta_err, delta_adv = 0.02, 0.02
    before = np.array([1.0 - delta_err, delta_err])
    after = np.array([delta_adv, 1.0 - delta_adv])
    exact = math.log(before @ after)
    assert exact == pytest.approx(math.log(delta_adv + delta_err - 2 * delta_err * delta_adv))
    assert exact - math.log(delta_adv) > 0.6
