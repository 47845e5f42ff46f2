"""Posterior agreement and attack failure rate as torchmetrics: their conventions, merging, bad input."""

import copy
import itertools
import json
import math
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torchmetrics import MetricCollection, MetricTracker
from torchmetrics.wrappers import BootStrapper

import shiftmetrics
from shiftmetrics import Computing
from shiftmetrics.adapters.torchmetrics import AttackFailureRate, PosteriorAgreement

K = 5


def batches(
    seed: int = 0, sizes: tuple[int, ...] = (40, 7, 60)
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    reference = 3.0 * torch.randn(sum(sizes), K, generator=generator)
    scores = reference + 3.0 * torch.randn(sum(sizes), K, generator=generator)
    return list(zip(scores.split(sizes), reference.split(sizes), strict=True))


def joined(parts: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    scores, reference = zip(*parts, strict=True)
    return torch.cat(scores), torch.cat(reference)


def fed(
    metric: PosteriorAgreement, parts: list[tuple[torch.Tensor, torch.Tensor]]
) -> PosteriorAgreement:
    for scores, reference in parts:
        metric.update(scores, reference)
    return metric


@pytest.fixture(params=[False, True], ids=["grid", "exact"])
def exact(request: pytest.FixtureRequest) -> bool:
    return request.param


def test_value_is_that_of_all_pairs(exact: bool) -> None:
    parts = batches()
    metric = fed(PosteriorAgreement(K, exact=exact, prior="uniform"), parts)
    expected = shiftmetrics.posterior_agreement(*joined(parts), computing=Computing(atol=1e-10))
    value = metric.compute()
    assert value.dtype == torch.float64
    assert value.item() == pytest.approx(expected.value, abs=1e-7)
    result = metric.result()
    assert result.beta == pytest.approx(expected.beta, rel=1e-3)
    assert result.n_samples == 107
    assert result.effective_classes == pytest.approx(expected.effective_classes)
    assert PosteriorAgreement(K, exact=exact, prior="uniform")(
        *joined(parts)
    ).item() == pytest.approx(value.item(), abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_scores_of_any_precision_are_summed_in_float64(dtype: torch.dtype) -> None:
    parts = [(a.to(dtype), b.to(dtype)) for a, b in batches()]
    expected = shiftmetrics.posterior_agreement(*(part.double() for part in joined(parts))).value
    metric = fed(PosteriorAgreement(K, exact=False, prior="uniform"), parts)
    assert metric.sums.dtype == torch.float64
    assert metric.compute().item() == pytest.approx(expected, abs=1e-6)


def test_margins_probabilities_and_priors(exact: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    reference = torch.randn(50, generator=generator)
    margins = reference + torch.randn(50, generator=generator)
    expected = shiftmetrics.posterior_agreement(margins, reference).value
    metric = fed(PosteriorAgreement(2, exact=exact, prior="uniform"), [(margins, reference)])
    assert metric.compute().item() == pytest.approx(expected, abs=1e-6)
    metric = PosteriorAgreement(2, exact=exact, kind="probabilities", prior="uniform")
    metric.update(torch.sigmoid(margins), torch.sigmoid(reference))
    assert metric.compute().item() == pytest.approx(expected, abs=1e-5)
    prior = [0.9, 0.1]
    metric = fed(PosteriorAgreement(2, exact=exact, prior=prior), [(margins, reference)])
    expected = shiftmetrics.posterior_agreement(margins, reference, prior=prior).value
    assert metric.compute().item() == pytest.approx(expected, abs=1e-6)


def test_the_default_prior_makes_collapse_worthless() -> None:
    metric = PosteriorAgreement()
    constant = torch.tensor([[3.0, 0.0, 0.0]]).repeat(20, 1)
    metric.update(constant, constant)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert metric.compute() == 0.0
    assert PosteriorAgreement(prior="uniform")(constant, constant).item() == pytest.approx(
        math.log(3)
    )


@pytest.mark.parametrize("prior", [None, "uniform", "predicted", [0.5, 0.3, 0.2]])
def test_the_exact_metric_takes_every_prior_without_num_classes_and_keeps_copies(
    prior: str | list[float] | None,
) -> None:
    shifted, reference = torch.randn(
        2, 60, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    metric = PosteriorAgreement(exact=True, prior=prior)
    first = shifted[:30].clone()
    metric.update(first, reference[:30])
    first.zero_()
    metric.update(shifted[30:], reference[30:])
    expected = shiftmetrics.posterior_agreement(shifted, reference, prior=prior)
    assert metric.compute().item() == pytest.approx(expected.value, abs=1e-9)


def test_forward_gives_the_batch_and_keeps_the_total(exact: bool) -> None:
    parts = batches()
    metric = PosteriorAgreement(K, exact=exact, prior="uniform")
    for scores, reference in parts:
        alone = PosteriorAgreement(K, exact=exact, prior="uniform")(scores, reference).item()
        assert metric(scores, reference).item() == pytest.approx(alone, abs=1e-12)
    assert metric.compute().item() == pytest.approx(
        PosteriorAgreement(prior="uniform")(*joined(parts)).item(), abs=1e-6
    )
    metric.reset()
    assert fed(metric, parts[:1]).compute().item() == pytest.approx(
        PosteriorAgreement(prior="uniform")(*parts[0]).item(), abs=1e-6
    )


def test_scores_with_a_gradient_leave_no_graph(exact: bool) -> None:
    scores, reference = batches()[0]
    metric = fed(
        PosteriorAgreement(K, exact=exact, prior="uniform"), [(scores.requires_grad_(), reference)]
    )
    metric(scores, reference)
    assert not metric.compute().requires_grad
    pickle.dumps(metric)


def test_memory_stays_constant() -> None:
    metric = PosteriorAgreement(K, exact=False, prior="uniform")
    sizes = []
    for _ in range(3):
        fed(metric, batches())
        sizes.append(len(pickle.dumps(metric)))
    assert len(set(sizes)) == 1
    assert metric.sums.numel() < 300


def test_merge_state_is_the_union(exact: bool) -> None:
    parts = batches()
    whole = fed(PosteriorAgreement(K, exact=exact, prior="uniform"), parts).compute().item()
    first, second = (
        fed(PosteriorAgreement(K, exact=exact, prior="uniform"), part)
        for part in (parts[:1], parts[1:])
    )
    first.compute()
    first.merge_state(second)
    assert first.compute().item() == pytest.approx(whole, abs=1e-12)
    third = fed(PosteriorAgreement(K, exact=exact, prior="uniform"), parts[:1])
    third.merge_state(second)
    assert third.compute().item() == pytest.approx(whole, abs=1e-12)
    third.merge_state(PosteriorAgreement(K, exact=exact, prior="uniform"))  # one that saw nothing
    assert third.compute().item() == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize(
    "other",
    [
        {"beta_range": (1e-3, 2.0**17)},
        {"beta_range": (2.0**-17, 10.0)},
        {"prior": [0.1, 0.2, 0.2, 0.2, 0.3]},
        {"num_classes": K + 1},
        {"kind": "probabilities"},
        {"floor": 0.01, "kind": "probabilities"},
        {"exact": True},
    ],
)
def test_other_settings_are_refused(other: dict) -> None:
    metric = PosteriorAgreement(K, exact=False, prior="uniform")
    stranger = PosteriorAgreement(**{"num_classes": K, "exact": False, "prior": "uniform", **other})
    with pytest.raises(ValueError, match="incoming_state must be of"):
        metric.merge_state(stranger)
    with pytest.raises(TypeError, match="incoming_state must be a PosteriorAgreement"):
        metric.merge_state(stranger.metric_state)


def test_clone_copy_and_pickle(exact: bool) -> None:
    metric = fed(
        PosteriorAgreement(
            K, exact=exact, beta_range=None if exact else (1e-3, 1e3), prior="uniform"
        ),
        batches(),
    )
    for twin in (metric.clone(), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert twin.compute() == metric.compute()
        twin.reset()
        fed(twin, batches(1))
        assert twin.compute() != metric.compute()
        twin.merge_state(metric)


def test_checkpoints_hold_the_state(exact: bool) -> None:
    metric = PosteriorAgreement(K, exact=exact, prior="uniform")
    metric.persistent(True)
    fed(metric, batches())
    again = PosteriorAgreement(K, exact=exact, prior="uniform")
    again.persistent(True)
    again.load_state_dict(metric.state_dict())
    again.update(*batches(1)[0])
    metric.update(*batches(1)[0])
    assert again.compute().item() == pytest.approx(metric.compute().item(), abs=1e-12)


def test_collection_tracker_and_bootstrap() -> None:
    labels = torch.randint(0, K, (107,), generator=torch.Generator().manual_seed(1))
    scores, reference = joined(batches())
    collection = MetricCollection(
        {
            "pa": PosteriorAgreement(K, exact=False, prior="uniform"),
            "pa_prior": PosteriorAgreement(K, exact=False, prior=[0.6, 0.1, 0.1, 0.1, 0.1]),
            "afr_p": AttackFailureRate(against="predictions"),
            "afr_t": AttackFailureRate(against="labels"),
        }
    )
    alone = {name: metric.clone() for name, metric in collection.items()}
    for part in (slice(0, 50), slice(50, 107)):
        collection.update(scores[part], reference[part], labels=labels[part])
        for name, metric in alone.items():
            options = {"labels": labels[part]} if name.startswith("afr") else {}
            metric.update(scores[part], reference[part], **options)
    values = collection.compute()
    assert {name: metric.compute().item() for name, metric in alone.items()} == {
        name: value.item() for name, value in values.items()
    }
    assert values["pa"] != values["pa_prior"]
    assert len(collection.compute_groups) == 3

    tracker = MetricTracker(PosteriorAgreement(K, exact=False, prior="uniform"))
    for noise in (3.0, 0.5, 2.0):
        tracker.increment()
        tracker.update(reference + noise * torch.randn(reference.shape), reference)
    best, step = tracker.best_metric(return_step=True)
    assert step == 1
    assert best == tracker.compute_all().max()

    bootstrap = BootStrapper(PosteriorAgreement(K, exact=False, prior="uniform"), num_bootstraps=20)
    bootstrap.update(scores, reference)
    drawn = bootstrap.compute()
    assert drawn["std"] > 0
    assert abs(drawn["mean"] - values["pa"]) < 4 * drawn["std"]


def test_plot_draws_values() -> None:
    metric = PosteriorAgreement(K, exact=False, prior="uniform")
    values = [metric(*part) for part in batches()]
    _, ax = metric.plot(values)
    assert len(ax.get_lines()[0].get_ydata()) == 3
    figure, ax = metric.plot()
    assert "PosteriorAgreement" in ax.get_title() + ax.get_ylabel() + str(
        ax.get_legend_handles_labels()
    )
    figure, ax = AttackFailureRate().plot([torch.tensor(0.3), torch.tensor(0.4)])
    figure.clear()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_classes": 1}, "num_classes must be an integer at least 2"),
        ({"num_classes": 3, "exact": False, "prior": "predicted"}, "Pass exact=True"),
        ({"num_classes": 3, "prior": [0.5, 0.5]}, "prior must be of length 3"),
        ({"num_classes": 3, "kind": "logits"}, "kind must be one of"),
        ({"num_classes": 3, "exact": False, "beta_range": 64}, "beta_range must be two numbers"),
        ({"beta_range": (0.1, 10.0)}, "beta_range must be None where exact=True"),
        ({"exact": False, "prior": "uniform"}, "num_classes must be given where exact=False"),
        ({"num_classes": 3, "floor": 2.0}, "floor must be"),
        ({"num_classes": 3, "unknown": 1}, "Unexpected keyword"),
    ],
)
def test_bad_settings(options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        PosteriorAgreement(**options)


@pytest.mark.parametrize(
    ("scores", "reference", "message"),
    [
        (
            torch.ones(2, K + 1),
            torch.ones(2, K + 1),
            f"scores must be of {K} classes in every batch, got {K + 1}",
        ),
        (torch.ones(2, K), torch.ones(3, K), "same shape"),
        (torch.full((2, K), math.inf), torch.ones(2, K), "scores must be finite"),
        (torch.ones(2), torch.ones(2), f"scores must be of {K} classes"),
        (torch.ones(2, dtype=torch.long), torch.ones(2, dtype=torch.long), "classes|margins"),
        (torch.zeros(0, K), torch.ones(3, K), "scores|shape"),
    ],
)
def test_bad_batches(
    scores: torch.Tensor, reference: torch.Tensor, message: str, exact: bool
) -> None:
    metric = PosteriorAgreement(K, exact=exact, prior="uniform")
    with pytest.raises((TypeError, ValueError), match=message):
        metric.update(scores, reference)


def test_oddities_are_warned_of() -> None:
    metric = PosteriorAgreement(K, exact=False, prior="uniform")
    with pytest.warns(UserWarning, match='If they are, pass kind="probabilities"'):
        metric.update(*(torch.softmax(part, dim=1) for part in batches()[0]))
    metric = fed(
        PosteriorAgreement(K, exact=False, beta_range=(1e-6, 1e-4), prior="uniform"), batches()
    )
    with pytest.warns(UserWarning, match="Choose a beta_range with a larger high"):
        metric.compute()


@pytest.mark.realdata
def test_real_networks_in_batches(data_folder: Path) -> None:
    with np.load(data_folder / "cifar10_logit_zoo" / "logits.npz") as file:
        logits = file["logits"][[0, 7, 14, 20]]
    collection = MetricCollection(
        {"pa": PosteriorAgreement(10, prior="uniform"), "afr_p": AttackFailureRate()}
    )
    for first, second in itertools.pairwise(logits):
        exact = shiftmetrics.posterior_agreement(first, second, computing=Computing(atol=1e-9))
        for rows in np.array_split(np.arange(10_000), 21):
            collection.update(torch.from_numpy(first[rows]), torch.from_numpy(second[rows]))
        values = collection.compute()
        assert abs(values["pa"].item() - exact.value) < 7e-7
        assert values["afr_p"].item() == np.mean(first.argmax(axis=1) == second.argmax(axis=1))
        collection.reset()


def test_the_repr_names_the_prior_and_the_function_agrees_with_it() -> None:
    """One pair of samples has two values under two priors: which one a metric takes stands in its repr."""
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(60, 3)) + np.array([2.0, 0.0, 0.0])
    scores = reference + rng.normal(size=(60, 3))
    for prior in ("predicted", "uniform"):
        metric = PosteriorAgreement(prior=prior)
        assert f"prior={prior!r}" in repr(metric)
        metric.update(torch.from_numpy(scores), torch.from_numpy(reference))
        expected = shiftmetrics.posterior_agreement(scores, reference, prior=prior).value
        assert metric.compute().item() == pytest.approx(expected)
    assert repr(PosteriorAgreement()) == repr(PosteriorAgreement(prior="predicted"))
    assert "prior=given" in repr(PosteriorAgreement(prior=np.array([0.5, 0.3, 0.2])))


@pytest.mark.parametrize("prior", ["uniform", "predicted"])
def test_function_command_and_metric_say_one_number_of_a_pair_under_one_prior(
    prior: str, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from shiftmetrics.cli.app import app

    rng = np.random.default_rng(1)
    reference = rng.normal(size=(80, 3)) + np.array([1.5, 0.0, 0.0])
    scores = reference + rng.normal(size=(80, 3))
    expected = shiftmetrics.posterior_agreement(scores, reference, prior=prior).value
    np.savez(tmp_path / "pair.npz", after=scores, before=reference)
    given = [f"{tmp_path / 'pair.npz'}:{name}" for name in ("after", "before")]
    options = ["--prior", prior, "--json", str(tmp_path / "out.json"), "--quiet"]
    assert CliRunner().invoke(app, ["agreement", *given, *options]).exit_code == 0
    assert json.loads((tmp_path / "out.json").read_text())["value"] == expected
    parts = [torch.from_numpy(part) for part in (scores, reference)]
    metric = PosteriorAgreement(prior=prior)
    for start in (0, 32):
        metric.update(*(part[start : start + 48 if start else 32] for part in parts))
    assert metric.compute().item() == expected


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["uniform", "predicted"])
def test_lightning_logs_the_number_of_the_function(prior: str) -> None:
    """What a module logs is what `ModelCheckpoint` and `EarlyStopping` see."""
    lightning = pytest.importorskip("lightning")
    from torch.utils.data import DataLoader, TensorDataset

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.agreement = PosteriorAgreement(prior=prior)

        def validation_step(self, batch: list[torch.Tensor], batch_idx: int) -> None:
            self.agreement.update(*batch)
            self.log("agreement", self.agreement, on_step=False, on_epoch=True)

    parts = batches()
    pairs = joined(parts)
    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False
    )
    loader = DataLoader(TensorDataset(*pairs), batch_size=32)
    (logged,) = trainer.validate(Module(), loader, verbose=False)
    expected = shiftmetrics.posterior_agreement(*pairs, prior=prior).value
    assert logged["agreement"] == pytest.approx(expected, abs=1e-6)
