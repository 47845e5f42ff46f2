"""States of metrics: float64 sums, wherever the device holds them."""

import pytest
import torch

from shiftmetrics.adapters.torchmetrics import AttackFailureRate, PosteriorAgreement

K = 5


def batches(
    seed: int = 0, sizes: tuple[int, ...] = (40, 7, 60)
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    reference = 3.0 * torch.randn(sum(sizes), K, generator=generator)
    scores = reference + 3.0 * torch.randn(sum(sizes), K, generator=generator)
    return list(zip(scores.split(sizes), reference.split(sizes), strict=True))


def fed(
    metric: PosteriorAgreement, parts: list[tuple[torch.Tensor, torch.Tensor]]
) -> PosteriorAgreement:
    for scores, reference in parts:
        metric.update(scores, reference)
    return metric


@pytest.fixture(params=[False, True], ids=["grid", "exact"])
def exact(request: pytest.FixtureRequest) -> bool:
    return request.param


def test_precision_of_the_model_does_not_round_the_sums(exact: bool) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self.metric = fed(PosteriorAgreement(K, exact=exact, prior="uniform"), batches())

    model = Model()
    before = model.metric.compute().item()
    for convert in (
        lambda m: m.half(),
        lambda m: m.to(torch.bfloat16),
        lambda m: m.metric.set_dtype(torch.half),
    ):
        convert(model)
        model.metric._computed = None
        assert model.metric.compute().item() == before
    assert model.layer.weight.dtype == torch.bfloat16


def test_sums_stay_on_the_cpu_where_the_device_has_no_float64() -> None:
    metric = fed(PosteriorAgreement(K, exact=False, prior="uniform"), batches())
    before = metric.compute().item()

    def refuse(self: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        if self.dtype == torch.float64:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        return original(self, *args, **kwargs)

    original = torch.Tensor.to
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "to", refuse)
        metric._apply(lambda tensor: tensor)
    metric._computed = None
    assert metric.sums.dtype == torch.float64
    assert metric.compute().item() == before


def test_nothing_seen_is_said(exact: bool) -> None:
    for metric in (PosteriorAgreement(K, exact=exact, prior="uniform"), AttackFailureRate()):
        metric.update(torch.zeros(0, K), torch.zeros(0, K))  # an empty batch is fine
        with pytest.raises(ValueError, match="at least one row before compute"):
            metric.compute()
