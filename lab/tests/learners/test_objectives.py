"""ERM, IRM and tilted risk against their formulas, written out."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from shiftmetrics_lab.learners import ERM, IRM, Batch
from shiftmetrics_lab.learners.objectives import (
    cross_entropy,
    irm_penalty,
    squared_error,
    tilted_mean,
)

RNG = np.random.default_rng(0)
SCORES = torch.as_tensor(RNG.standard_normal((20, 3)))
LABELS = torch.as_tensor(RNG.integers(0, 3, 20))
LOSSES = st.lists(st.floats(0, 50), min_size=1, max_size=8).map(
    lambda values: torch.tensor(values, dtype=torch.float64)
)


def cross_entropy_by_hand(scores, y):
    return [
        float(np.log(np.exp(row).sum()) - row[label]) for row, label in zip(scores, y, strict=True)
    ]


def test_cross_entropy_of_labels_and_of_distributions():
    expected = cross_entropy_by_hand(SCORES.numpy(), LABELS.numpy())
    np.testing.assert_allclose(cross_entropy(SCORES, LABELS), expected)
    one_hot = torch.eye(3, dtype=torch.float64)[LABELS]
    np.testing.assert_allclose(cross_entropy(SCORES, one_hot), expected)


def test_erm_is_the_mean_loss():
    value = ERM()(torch.nn.Identity(), Batch(SCORES, LABELS))
    assert float(value) == pytest.approx(
        np.mean(cross_entropy_by_hand(SCORES.numpy(), LABELS.numpy()))
    )
    regression = ERM(loss=squared_error)(torch.nn.Identity(), Batch(SCORES[:, :1], SCORES[:, 1]))
    assert float(regression) == pytest.approx(float(((SCORES[:, 0] - SCORES[:, 1]) ** 2).mean()))


def risk_at(scale):
    return np.mean(cross_entropy_by_hand(scale * SCORES.numpy(), LABELS.numpy()))


def test_irm_penalty_is_a_squared_slope():
    slope = (risk_at(1 + 1e-5) - risk_at(1 - 1e-5)) / 2e-5
    assert float(irm_penalty(SCORES, LABELS).detach()) == pytest.approx(slope**2, rel=1e-6)


def test_irm_penalty_vanishes_at_the_best_scale():
    best = minimize_scalar(risk_at, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10}).x
    assert float(irm_penalty(best * SCORES, LABELS).detach()) < 1e-12


@pytest.mark.parametrize("penalty", [0.0, 0.5, 30.0])
def test_irm_sums_risk_and_penalty_over_domains(penalty):
    domain = torch.as_tensor([0] * 5 + [4] * 15)
    parts = [slice(0, 5), slice(5, 20)]
    expected = np.mean(
        [
            float(
                (
                    cross_entropy(SCORES[p], LABELS[p]).mean()
                    + penalty * irm_penalty(SCORES[p], LABELS[p])
                ).detach()
            )
            for p in parts
        ]
    )
    value = IRM(penalty=penalty)(torch.nn.Identity(), Batch(SCORES, LABELS, domain))
    assert float(value) == pytest.approx(expected / max(1.0, penalty))


def test_irm_warms_up():
    batch = Batch(SCORES, LABELS, torch.zeros(20, dtype=torch.int64))
    warm, cold = (
        IRM(penalty=100.0, warmup=5)(torch.nn.Identity(), batch._replace(epoch=e)) for e in (5, 4)
    )
    assert float(cold) == float(IRM(penalty=1.0)(torch.nn.Identity(), batch))
    assert float(warm) == float(IRM(penalty=100.0)(torch.nn.Identity(), batch))


def test_irm_gradient_reaches_the_parameters():
    model = torch.nn.Linear(3, 2, dtype=torch.float64)
    batch = Batch(SCORES, LABELS % 2, torch.as_tensor([0, 1] * 10))
    IRM(penalty=5.0)(model, batch).backward()
    eps, analytic = 1e-6, float(model.weight.grad[0, 0])
    with torch.no_grad():
        model.weight[0, 0] += eps
        up = float(IRM(penalty=5.0)(model, batch))
        model.weight[0, 0] -= 2 * eps
        down = float(IRM(penalty=5.0)(model, batch))
    assert analytic == pytest.approx((up - down) / (2 * eps), rel=1e-5)


@given(LOSSES, st.floats(-5, 5))
def test_tilted_mean_lies_between_the_extremes(losses, tilt):
    value = float(tilted_mean(losses, tilt))
    low, high = float(losses.min()), float(losses.max())
    assert low - 1e-9 <= value <= high + 1e-9
    assert (
        value >= float(losses.mean()) - 1e-9 if tilt >= 0 else value <= float(losses.mean()) + 1e-9
    )


@given(LOSSES, st.floats(0.01, 5), st.floats(0, 100))
def test_tilted_mean_moves_with_its_losses(losses, tilt, constant):
    shifted = float(tilted_mean(losses + constant, tilt))
    assert shifted == pytest.approx(float(tilted_mean(losses, tilt)) + constant, abs=1e-8)


@given(LOSSES, st.floats(-5, 5), st.floats(0, 5))
def test_tilted_mean_grows_with_its_tilt(losses, tilt, more):
    assert float(tilted_mean(losses, tilt)) <= float(tilted_mean(losses, tilt + more)) + 1e-8


def test_tilted_mean_in_textbook_form_and_at_extremes():
    losses = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)
    assert float(tilted_mean(losses, 2.0)) == pytest.approx(
        np.log(np.mean(np.exp(2 * losses.numpy()))) / 2
    )
    assert float(tilted_mean(losses, 1e-9)) == pytest.approx(4 / 3, abs=1e-6)
    assert float(tilted_mean(1e5 * losses, 100.0)) == pytest.approx(3e5, rel=1e-6)
    assert float(tilted_mean(losses, -1e4)) == pytest.approx(0.0, abs=1e-3)


def test_the_two_conventions_are_inverse():
    model = torch.nn.Identity()
    batch = Batch(SCORES, LABELS)
    temperature = 0.4
    losses = cross_entropy(SCORES, LABELS).numpy()
    expected = temperature * np.log(np.mean(np.exp(losses / temperature)))
    assert float(ERM(temperature=temperature)(model, batch)) == pytest.approx(expected)
    assert float(ERM(tilt=1 / temperature)(model, batch)) == pytest.approx(expected)
    assert float(ERM(temperature=np.inf)(model, batch)) == pytest.approx(losses.mean())
    assert float(ERM(tilt=0.0)(model, batch)) == pytest.approx(losses.mean())


def test_tilting_domains():
    domain = torch.as_tensor([0] * 15 + [1] * 5)
    losses = cross_entropy(SCORES, LABELS)
    means = torch.stack([losses[:15].mean(), losses[15:].mean()])
    value = ERM(tilt=3.0, level="domains")(torch.nn.Identity(), Batch(SCORES, LABELS, domain))
    assert float(value) == pytest.approx(float(tilted_mean(means, 3.0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ERM(tilt=1.0, temperature=1.0), "At most one of tilt and temperature"),
        (lambda: ERM(temperature=0.0), "temperature must be a number greater than 0"),
        (lambda: ERM(tilt=np.nan), "tilt must be"),
        (lambda: ERM(tilt=1.0, level="groups"), "level must be one of 'rows', 'domains'"),
        (lambda: IRM(penalty=-1.0), "penalty must be a number at least 0"),
        (
            lambda: IRM(penalty=1.0)(torch.nn.Identity(), Batch(SCORES, LABELS)),
            "domain must be given for IRM",
        ),
        (
            lambda: ERM(tilt=1.0, level="domains")(torch.nn.Identity(), Batch(SCORES, LABELS)),
            "domain must be given for level",
        ),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()
