"""Posterior agreement of published network outputs: certified, ordered by the strength of the noise."""

from pathlib import Path

import numpy as np
import pytest

import oracles
from shiftmetrics import Resampling
from shiftmetrics.agreement import (
    agreement_contributions,
    agreement_curves,
    agreement_matrix,
    posterior_agreement,
)

pytestmark = pytest.mark.realdata


def test_agreement_falls_with_noise(data_folder: Path) -> None:
    with np.load(
        data_folder / "imagenet16h_noise" / "imagenet16h.npz", allow_pickle=False
    ) as stored:
        log_probs = stored["log_probs"]
    for prior in (None, "predicted"):
        for model in range(5):
            results = [
                posterior_agreement(
                    log_probs[confidence_level, model], log_probs[0, model], prior=prior
                )
                for confidence_level in (1, 2, 3)
            ]
            values = [result.value for result in results]
            assert values[0] > values[1] > values[2] > 0.0
            for result in results:
                assert result.status.ok
                assert result.error_bound <= 1.001e-6
                assert result.search.n_evaluations < 40
                assert result.warnings == ()
                assert 0.0 < result.equivalent_error < 1 - 1 / 16


def test_networks_on_one_sample(data_folder: Path) -> None:
    with np.load(data_folder / "cifar10_logit_zoo" / "logits.npz", allow_pickle=False) as stored:
        logits = stored["logits"][:3]
    for i, j in ((0, 1), (1, 2), (2, 0)):
        result = posterior_agreement(logits[i], logits[j])
        assert result.status.ok
        assert result.error_bound <= 1.001e-6
        changed = np.mean(logits[i].argmax(axis=1) != logits[j].argmax(axis=1))
        assert result.changes.disagreement == pytest.approx(changed, abs=1e-4)
        for factor in (0.5, 0.9, 1.1, 2.0):
            near = oracles.agreement(logits[i], logits[j], factor * result.beta)
            assert near <= result.value + result.error_bound


@pytest.mark.slow
def test_curves_of_networks_and_people(data_folder: Path) -> None:
    """Agreement falls with the noise and with its ratio; every point is what a single call gives."""
    with np.load(
        data_folder / "imagenet16h_noise" / "imagenet16h.npz", allow_pickle=False
    ) as stored:
        log_probs, counts, labels = (
            stored[name] for name in ("log_probs", "human_counts", "labels")
        )
    shown = (counts.sum(axis=2) > 0).all(axis=0)
    outputs = {str(m): log_probs[:, m, shown] for m in range(5)}
    outputs["people"] = np.log((counts + 0.5) / (counts + 0.5).sum(axis=2, keepdims=True))[:, shown]
    last = []
    right = []
    for scores in outputs.values():
        curves = agreement_curves(
            {95: scores[1], 110: scores[2], 125: scores[3]},
            scores[0],
            labels=labels[shown],
            resampling=Resampling(rng=0),
        )
        assert curves.status.ok
        assert (np.diff(curves.agreement.value, axis=0)[:, 1:] < 0).all()
        assert (np.diff(curves.agreement.value, axis=1) < 0).all()
        assert curves.search.errors.max() <= 1.01e-5
        last.append(curves.agreement.value[-1, -1])
        right.append(curves.afr_t.value[-1, -1])
        alone = posterior_agreement(scores[3], scores[0])
        assert last[-1] == pytest.approx(alone.value, abs=2e-5)
    # The networks' published accuracies, and people who answer better than all but one network at the end.
    assert right[:5] == pytest.approx([0.606, 0.740, 0.622, 0.616, 0.781], abs=1e-3)
    assert np.argmin(last) == 5


def test_contributions_of_a_network(data_folder: Path) -> None:
    with np.load(
        data_folder / "imagenet16h_noise" / "imagenet16h.npz", allow_pickle=False
    ) as stored:
        log_probs, labels = stored["log_probs"], stored["labels"]
    split = agreement_contributions(log_probs[3, 0], log_probs[0, 0], labels)
    assert sum(group.log_pa for group in split.contributions.groups.values()) == pytest.approx(
        split.log_pa
    )
    assert (
        max(split.contributions.groups, key=lambda name: -split.contributions.groups[name].log_pa)
        == "misled"
    )


@pytest.mark.slow
def test_matrix_of_networks(data_folder: Path) -> None:
    """Networks of one family agree most; one that was trained to 78 % stands apart."""
    with np.load(data_folder / "cifar10_logit_zoo" / "logits.npz", allow_pickle=False) as stored:
        networks = dict(zip(map(str, stored["model_names"]), stored["logits"], strict=True))
    matrix = agreement_matrix(networks)
    assert matrix.status.ok
    assert matrix.means.argmin() == matrix.names.index("resnet18_78acc")
    assert matrix.means.min() < 0.8 < np.sort(matrix.means)[1]
    closest = np.unravel_index((matrix.agreement - 9 * np.eye(21)).argmax(), (21, 21))
    assert all(matrix.names[k].startswith("repvgg") for k in closest)
