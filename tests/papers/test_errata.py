"""Errors of the documents that no experiment and no other test shows."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import kendalltau


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


# Table 4.5 of the thesis: a row for each ratio (0.2, 0.4, 0.6), in the order of its four models.
PRINTED = {
    "PGD": {
        "PA": [
            (-172.5, -97.7, -94.2, -81.9),
            (-175.5, -102.9, -104.6, -84.6),
            (-177.6, -109.2, -110.3, -89.4),
        ],
        "AFR_P": [
            (0.995, 0.996, 0.996, 0.997),
            (0.992, 0.992, 0.990, 0.996),
            (0.989, 0.987, 0.988, 0.991),
        ],
        "AFR_T": [
            (0.785, 0.838, 0.836, 0.917),
            (0.786, 0.834, 0.830, 0.915),
            (0.783, 0.830, 0.829, 0.912),
        ],
    },
    "FMN": {
        "PA": [
            (-169.4, -111.2, -128.5, -291.6),
            (-385.4, -553.1, -592.9, -726.8),
            (-838.9, -944.8, -1020.0, -1204.0),
        ],
        "AFR_P": [
            (1.0, 0.991, 0.988, 0.952),
            (0.944, 0.901, 0.907, 0.861),
            (0.867, 0.810, 0.836, 0.764),
        ],
        "AFR_T": [
            (0.791, 0.834, 0.828, 0.873),
            (0.737, 0.743, 0.747, 0.781),
            (0.660, 0.653, 0.675, 0.684),
        ],
    },
}


def stability_of_ranking(rows: list[tuple[float, ...]]) -> float:
    """Return the mean Kendall tau of the rankings at two ratios."""
    pairs = itertools.combinations(rows, 2)
    return float(np.mean([kendalltau(one, other).statistic for one, other in pairs]))


def test_agreement_does_not_rank_most_consistently_in_the_printed_table() -> None:
    pgd, fmn = (
        {name: stability_of_ranking(rows) for name, rows in PRINTED[attack].items()}
        for attack in ("PGD", "FMN")
    )
    assert pgd == pytest.approx({"PA": 0.78, "AFR_P": 0.38, "AFR_T": 1.0}, abs=0.005)
    assert fmn == pytest.approx({"PA": 0.56, "AFR_P": 0.78, "AFR_T": 0.56}, abs=0.005)
