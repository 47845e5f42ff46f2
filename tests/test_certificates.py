"""Certificates hold on small hard cases, against high precision; `certificates.py` searches among many more."""

import pytest

pytest.importorskip("mpmath")

import mpmath
import numpy as np

from certificates import DIGITS, SEARCHES, Case, least_cost, unmoved_place, wrong, zero_one_place
from route_certificates import ROUTES, route_cases
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion

N_CASES = {"agreement": 1000, "stability": 1200, "novelty": 400}


@pytest.mark.slow
@pytest.mark.parametrize("measure", SEARCHES)
def test_no_certificate_is_wrong(measure: str) -> None:
    n_cases, found = wrong(SEARCHES[measure](N_CASES[measure], seed=1))
    assert n_cases > 0.8 * N_CASES[measure]
    assert not found, "\n".join(
        f"{case.excess:.3g} times its bound: {case.words}" for case in found[:5]
    )


def test_the_rounding_of_the_dual_counts() -> None:
    """The exact least cost lay 5e-7 of the bound below it."""
    distances = np.array([0.003834953568530193, 0.0026988884818598016, 0.011489996662744984,
                          0.00031139731216355926, 0.0016714376963948261])  # fmt: skip
    prices = {"theta1": 0.00011020799624644225, "theta2": 0.4, "divergence": "kl"}
    threshold = 1.9074937843189455e-10
    result = stability_criterion(ZeroOneLoss(distances), threshold, **prices, resampling=None)
    with mpmath.workdps(DIGITS):
        places = [zero_one_place(float(distance)) for distance in distances]
        exact = least_cost(
            places, np.ones(5), threshold, **prices, guess=result.slopes.threshold, upper=np.inf
        )
    assert Case(result.value, result.error_bound, exact, "").excess <= 1.0


@pytest.mark.parametrize(("rounding", "attainable"), [(-300, True), (300, False)])
def test_thresholds_close_to_the_highest_loss_are_told_apart(
    rounding: int, attainable: bool
) -> None:
    """Above it the price rises to 1e45, where weights cancel: sixty digits alone had found a finite cost of 3e28."""
    losses = np.array([308.75120019, 308.75120021, 308.75120021308])
    threshold = float(losses.max() + rounding * np.spacing(losses.max()))
    prices = {"theta1": 0.4, "theta2": 1.57e-6, "divergence": "chi2"}
    result = stability_criterion(FixedLoss(losses), threshold, **prices, resampling=None)
    with mpmath.workdps(DIGITS):
        places = [unmoved_place(loss) for loss in losses]
        exact = least_cost(places, np.ones(3), threshold, **prices, guess=1.0, upper=np.inf)
    assert mpmath.isinf(exact) != attainable
    assert (result.status.code == "unattainable") != attainable
    assert Case(result.value, result.error_bound, exact, "").excess <= 1.0


@pytest.mark.parametrize("route", ROUTES)
def test_routes_agree_with_enumeration(route: str) -> None:
    n_cases, found = wrong(route_cases(route, 4, seed=2))
    assert n_cases >= 3
    assert not found, found


def test_a_wrong_route_would_be_found() -> None:
    cases = [case._replace(value=0.99 * case.value) for case in route_cases("tree", 4, seed=2)]
    assert all(case.excess > 1.0 for case in cases if case.exact > 0)
