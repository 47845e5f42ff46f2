"""Posterior agreement as a loss: gradients, the bracket of beta, collapse, and a training loop that uses it."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import oracles
import shiftmetrics
from shiftmetrics import Computing
from shiftmetrics.adapters.torch import AgreementLoss, agreement_loss
from shiftmetrics.adapters.torchmetrics import PosteriorAgreement


def pairs(
    seed: int = 0, n: int = 12, k: int = 3, noise: float = 1.5
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    reference = 2.0 * torch.randn(n, k, generator=generator, dtype=torch.float64)
    return reference + noise * torch.randn(
        n, k, generator=generator, dtype=torch.float64
    ), reference


# --- value and gradient ----------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, "uniform", "predicted", [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("seed", range(3))
def test_loss_is_minus_the_certified_agreement(seed: int, prior: object) -> None:
    scores, reference = pairs(seed)
    exact = shiftmetrics.posterior_agreement(
        scores, reference, prior=prior, computing=Computing(atol=1e-10)
    )
    kept = AgreementLoss(prior=prior, beta_range=(0.01, 100.0))
    assert -kept(scores, reference).item() == pytest.approx(exact.value, abs=1e-10)
    assert kept.beta == pytest.approx(exact.beta, rel=1e-6)
    loss = agreement_loss(scores, reference, prior=prior, beta_range=(0.01, 100.0))
    assert loss.dtype == torch.float64
    assert -loss.item() == pytest.approx(exact.value, abs=1e-10)


@pytest.mark.parametrize("prior", [None, "predicted"])
@pytest.mark.parametrize("beta_range", [(0.01, 100.0), (0.01, 0.2), (3.0, 5.0)])
def test_gradient_passes_gradcheck(prior: object, beta_range: tuple[float, float]) -> None:
    # Finite differences solve for beta anew at each step: they see the whole derivative, not that at fixed beta.
    scores, reference = pairs(1, n=7)
    inputs = (scores.requires_grad_(), reference.requires_grad_())

    def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return agreement_loss(a, b, prior=prior, beta_range=beta_range)

    assert torch.autograd.gradcheck(loss, inputs, eps=1e-6, atol=1e-6, rtol=1e-4)


def test_beta_is_kept_from_step_to_step() -> None:
    """A loop whose scores drift: each step is solved as well as from scratch, whole derivative included."""
    loss = AgreementLoss(beta_range=(0.01, 100.0))
    for step in range(70):  # past two new looks at the bracket
        scores, reference = pairs(step, n=40, noise=1.0 + 0.02 * step)
        inputs = (scores.requires_grad_(), reference)
        value = loss(*inputs)
        whole = AgreementLoss(beta_range=(0.01, 100.0))
        assert value.item() == pytest.approx(whole(scores.detach(), reference).item(), abs=1e-10)
        assert loss.beta == pytest.approx(whole.beta, rel=1e-6)
    (found,) = torch.autograd.grad(value, scores)
    for row, column in ((0, 0), (5, 2), (39, 1)):
        ends = []
        for sign in (1.0, -1.0):
            moved = scores.detach().clone()
            moved[row, column] += sign * 1e-5
            ends.append(agreement_loss(moved, reference, beta_range=(0.01, 100.0)).item())
        assert found[row, column].item() == pytest.approx(
            (ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-9
        )


@pytest.mark.parametrize("prior", [None, "predicted"])
def test_float32_in_blocks_of_rows_and_unused_classes(prior: object) -> None:
    """256 rows of 1000 classes are several blocks; the gradient of classes without a prior is 0."""
    generator = torch.Generator().manual_seed(0)
    reference = 3.0 * torch.randn(256, 1000, generator=generator)
    scores = (reference + 2.0 * torch.randn(256, 1000, generator=generator)).requires_grad_()
    loss = agreement_loss(scores, reference, prior=prior)
    loss.backward()
    exact = scores.detach().double().requires_grad_()
    value = agreement_loss(exact, reference.double(), prior=prior)
    value.backward()
    assert loss.item() == pytest.approx(value.item(), rel=1e-5)
    assert float((scores.grad - exact.grad).norm() / exact.grad.norm()) < 0.01
    if prior is not None:
        predicted = torch.cat([scores.argmax(dim=1), reference.argmax(dim=1)]).unique()
        unused = np.setdiff1d(np.arange(1000), predicted.numpy())
        assert len(unused) > 0
        assert not scores.grad[:, unused].any()


def test_gradient_of_margins_and_at_a_given_beta() -> None:
    scores, reference = (part[:, 0].clone().requires_grad_() for part in pairs(2))
    assert torch.autograd.gradcheck(agreement_loss, (scores, reference), atol=1e-6)
    assert torch.autograd.gradcheck(
        lambda a, b: agreement_loss(a, b, beta=0.7), (scores, reference)
    )
    two = torch.stack([torch.zeros_like(scores), scores], dim=1).detach()
    other = torch.stack([torch.zeros_like(reference), reference], dim=1).detach()
    assert agreement_loss(scores, reference, beta=0.7).item() == pytest.approx(
        agreement_loss(two, other, beta=0.7).item()
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0, 1e4])
def test_large_and_small_scores_give_finite_gradients(scale: float) -> None:
    scores, reference = (scale * part for part in pairs(3))
    a, b = scores.float().requires_grad_(), reference.float().requires_grad_()
    loss = agreement_loss(a, b)
    loss.backward()
    assert loss.dtype == torch.float32
    assert torch.isfinite(loss)
    assert torch.isfinite(a.grad).all()
    assert torch.isfinite(b.grad).all()


# --- the bracket -----------------------------------------------------------------------------------------


def test_beta_stays_in_the_bracket() -> None:
    def beta_of(*both: torch.Tensor, **options: object) -> float | None:
        loss = AgreementLoss(**options)
        loss(*both)
        return loss.beta

    scores, reference = pairs(0)
    exact = shiftmetrics.posterior_agreement(scores, reference, prior="predicted").beta
    above, below = (
        beta_of(scores, reference, beta_range=(f * exact, 9 * f * exact)) for f in (2, 0.02)
    )
    assert (above, below) == (2 * exact, pytest.approx(0.18 * exact))
    assert beta_of(2.0 * reference, reference) == 10.0  # no contradiction: it would be infinite
    assert beta_of(-reference, reference) == 0.1  # no agreement: it would be 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_largest_of_several_maxima_is_found(seed: int) -> None:
    scores, reference = (torch.as_tensor(part) for part in oracles.hard_pairs(seed))
    low, high = 1e-2, 1e2
    found = AgreementLoss(prior=None, beta_range=(low, high))
    value = -found(scores, reference).item()
    grid = np.geomspace(low, high, 400)
    best = max(
        shiftmetrics.posterior_agreement(scores, reference, beta=beta).value for beta in grid
    )
    assert value >= best - 1e-9
    assert low <= found.beta <= high


# --- collapse and training -------------------------------------------------------------------------------


def test_collapse_does_not_pay() -> None:
    constant = torch.tensor([[4.0, 0.0, 0.0]]).repeat(10, 1).requires_grad_()
    collapsed = agreement_loss(constant, constant)
    collapsed.backward()
    assert collapsed == 0.0
    assert torch.equal(constant.grad, torch.zeros_like(constant))
    assert agreement_loss(*pairs()).item() < 0.0
    uniform = agreement_loss(constant, constant, prior=None, beta_range=(0.1, 1e3))
    assert uniform.item() == pytest.approx(
        -math.log(3), abs=1e-4
    )  # the trap that the default avoids


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images / 16.0, dtype=torch.float32), torch.tensor(labels)


def train(weight: float, *, epochs: int = 15) -> tuple[float, float]:
    """A plain loop: cross-entropy plus the loss; return agreement under fresh noise, and accuracy under it."""
    images, labels = digits()
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(images), generator=generator)
    fit, held_out = order[:600], order[600:]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        for part in fit[torch.randperm(len(fit), generator=generator)].split(100):
            clean = images[part]
            scores = model(clean)
            noisy = model(clean + 0.4 * torch.randn(clean.shape, generator=generator))
            loss = nn.functional.cross_entropy(scores, labels[part])
            if weight:
                loss = loss + weight * agreement_loss(noisy, scores)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    metric, right = PosteriorAgreement(10, exact=True, prior="predicted"), 0
    with torch.no_grad():
        for part in held_out.split(256):
            noisy = model(images[part] + 0.4 * torch.randn(images[part].shape, generator=generator))
            metric.update(noisy, model(images[part]))
            right += int((noisy.argmax(dim=1) == labels[part]).sum())
    return metric.compute().item(), right / len(held_out)


@pytest.mark.slow
def test_it_raises_agreement_under_noise_in_a_plain_loop() -> None:
    plain, regularised = train(0.0), train(0.5)
    assert regularised[0] > plain[0] + 0.05
    assert regularised[1] > plain[1]


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 0.0}, "beta must be"),
        ({"beta": math.inf}, "beta must be"),
        ({"beta_range": (1.0, 0.1)}, r"beta_range\[1\] must be a number greater than 1"),
        ({"beta_range": (0.0, 1.0)}, r"beta_range\[0\] must be"),
        ({"beta_range": 3.0}, "beta_range must be two numbers"),
        ({"prior": "labels"}, "prior must be"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        agreement_loss(*pairs(), **options)


def test_scores_that_are_not_finite_stop_the_training() -> None:
    scores, reference = pairs()
    scores[2, 1] = math.nan
    with pytest.raises(
        ValueError, match="scores must be finite everywhere, got nan at row 2, column 1"
    ):
        agreement_loss(scores, reference)
