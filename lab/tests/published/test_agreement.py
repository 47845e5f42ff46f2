"""The papers' solver: printed numbers, the trap at zero, the same steps as torch takes."""

import numpy as np
import pytest
import torch

from shiftmetrics.agreement import posterior_agreement
from shiftmetrics_lab.published import posterior_agreement_adam

RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(60, 3))
SCORES = REFERENCE + 0.5 * RNG.normal(size=(60, 3))


@pytest.mark.slow
@pytest.mark.parametrize(("reduction", "beta"), [("sum", 12.331), ("mean", 12.339)])
def test_table_4_1(reduction: str, beta: float) -> None:
    """Perfect and constant classifier: beta = 12.33 is where 100 epochs end, not an optimum."""
    margins = np.where(np.arange(1000) % 2, 1.0, -1.0)
    options = {"beta0": 0.1, "epochs": 100, "batch_size": 16, "reduction": reduction, "rng": 0}
    found = posterior_agreement_adam(margins, margins, **options)
    assert found.beta == pytest.approx(beta, abs=5e-4)
    assert found.log_pa == pytest.approx(-0.0088, abs=5e-5)
    assert found.best.beta == np.inf
    assert len(found.trace_beta) == 100 * 63
    assert found.status.code == "finished"


def test_beta_zero_is_a_trap() -> None:
    reference = np.repeat([0.09, 1.0], [100, 1])
    found = posterior_agreement_adam(np.where(reference == 1.0, -1.0, reference), reference)
    assert found.beta == 0.0
    assert found.log_pa == pytest.approx(-70.008, abs=5e-4)
    assert found.best.beta == pytest.approx(30.66, abs=5e-3)
    assert found.status.code == "trapped"
    assert not found.status.ok


def test_a_peak_is_found_where_nothing_is_in_the_way() -> None:
    found = posterior_agreement_adam(SCORES, REFERENCE, epochs=1000)
    best = posterior_agreement(SCORES, REFERENCE)
    assert found.value == pytest.approx(best.value, abs=1e-5)
    assert found.value <= best.value + best.error_bound
    assert found.best.value == best.value


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_steps_are_those_of_torch(reduction: str) -> None:
    found = posterior_agreement_adam(
        SCORES, REFERENCE, epochs=40, step=0.05, beta0=0.3, reduction=reduction
    )
    a, b = torch.tensor(SCORES), torch.tensor(REFERENCE)
    beta = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([beta], lr=0.05)
    for before in found.trace_beta:
        assert beta.item() == pytest.approx(before, abs=1e-12)
        optimiser.zero_grad()
        rows = (
            torch.logsumexp(beta * (a + b), 1)
            - torch.logsumexp(beta * a, 1)
            - torch.logsumexp(beta * b, 1)
        )
        (-(rows.mean() if reduction == "mean" else rows.sum())).backward()
        optimiser.step()
        with torch.no_grad():
            beta.clamp_(min=0.0)
    assert beta.item() == pytest.approx(found.beta, abs=1e-12)


def test_the_trace_holds_the_value_of_each_step() -> None:
    found = posterior_agreement_adam(SCORES, REFERENCE, epochs=5)

    for beta, value in zip(found.trace_beta, found.trace_value, strict=True):
        assert posterior_agreement(SCORES, REFERENCE, beta=beta).value == pytest.approx(value)


def test_seeds_repeat_and_differ() -> None:
    options = {"epochs": 3, "batch_size": 7}
    first, again, other = (
        posterior_agreement_adam(SCORES, REFERENCE, rng=s, **options) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.trace_beta, again.trace_beta)
    assert not np.array_equal(first.trace_beta, other.trace_beta)
    assert len(first.trace_beta) == 3 * 9
    assert first.plot().get_lines()[0].get_ydata()[-1] == first.beta


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("step", 0.0),
        ("step", -1.0),
        ("beta0", -0.1),
        ("epochs", 0),
        ("epochs", 1.5),
        ("batch_size", 0),
        ("reduction", "max"),
    ],
)
def test_bad_options_are_named(option: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{option} must be"):
        posterior_agreement_adam(SCORES, REFERENCE, **{option: value})
