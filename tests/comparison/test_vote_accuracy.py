"""The accuracy that the vote of the others estimates: by hand, and covered on real networks that took no labels."""

from pathlib import Path

import numpy as np
import pytest

from shiftmetrics import Resampling, compare_agreement
from shiftmetrics.comparison.classes import Classes, LabelledPredictions
from shiftmetrics.comparison.criteria import weighted_vote
from shiftmetrics.comparison.vote_accuracy import vote_accuracy

FEW = Resampling(rng=0, n_resamples=60)


def one_hot(predicted: np.ndarray, n_classes: int = 4) -> np.ndarray:
    return 3.0 * np.eye(n_classes)[predicted]


def pool(n: int, rates: tuple[float, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return classes, and predictions of models that err at these rates, each by itself."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n)
    predictions = []
    for rate in rates:
        other = (labels + rng.integers(1, 4, size=n)) % 4
        predictions.append(np.where(rng.random(n) < rate, other, labels))
    return labels, np.stack(predictions)


def models(predictions: np.ndarray) -> dict[str, np.ndarray]:
    return {f"model {m}": one_hot(row) for m, row in enumerate(predictions)}


def estimates(
    predictions: np.ndarray, at_home: np.ndarray | None = None, labels: np.ndarray | None = None
) -> np.ndarray:
    """Return the estimates by themselves, of all rows with equal weights."""
    n_models, n = predictions.shape
    labelled = None
    if at_home is not None:
        labelled = LabelledPredictions(predictions=at_home, states=at_home, pair_states=predictions)
    classes = Classes(
        n_classes=4,
        columns=[np.arange(4)] * n_models,
        shifted=predictions,
        before=predictions,
        varies=(True,) * n_models,
        weights=np.ones(n),
        labelled=labelled,
        labels=labels,
    )
    return vote_accuracy(classes)(np.ones(n), np.ones(0 if labels is None else len(labels)))


def matches_with_others(predictions: np.ndarray) -> list[float]:
    """Return how often each model agrees with the vote of the others, by a loop over samples."""
    n = predictions.shape[1]
    _, trust = weighted_vote(predictions, 4, np.ones(n))
    found = []
    for model, own in enumerate(predictions):
        hits = 0
        for row in range(n):
            tally = np.zeros(4)
            for other in range(len(predictions)):
                if other != model:
                    tally[predictions[other, row]] += trust[other]
            hits += int(tally.argmax() == own[row])
        found.append(hits / n)
    return found


def test_it_is_how_often_a_model_agrees_with_the_vote_of_the_others() -> None:
    labels, predictions = pool(400, (0.01, 0.02, 0.03, 0.4))
    expected = matches_with_others(predictions)
    assert estimates(predictions) == pytest.approx(expected)
    found = compare_agreement(models(predictions), resampling=FEW)
    n_shown = 0
    for model in found.models:
        shown = model.secondary_metrics
        assert "estimated_accuracy" not in shown
        if "estimated_accuracy_low" not in shown:
            continue
        n_shown += 1
        m = int(model.name[-1])
        low, high = shown["estimated_accuracy_low"], shown["estimated_accuracy_high"]
        assert low < float(np.mean(predictions[m] == labels)) < high
        # Mistakes that the models share can only lower it: the interval is longer below.
        assert expected[m] - low > high - expected[m]
        assert high - low <= 0.5 * (1.0 - 1.0 / 4.0)
    # The models that agree little with the others would have a range too wide to say anything.
    assert 0 < n_shown < 4
    assert "shared mistakes" in found.summary()


def test_labelled_rows_say_what_agreement_with_the_vote_means() -> None:
    labels, predictions = pool(600, (0.1, 0.2, 0.3))
    known, rest = slice(0, 300), slice(300, 600)
    found = compare_agreement(
        models(predictions[:, rest]), labels=labels[known], labelled_scores=models(predictions[:, known]),
        resampling=FEW,
    )  # fmt: skip
    there, here = (matches_with_others(predictions[:, part]) for part in (known, rest))
    estimated = estimates(predictions[:, rest], predictions[:, known], labels[known])
    for model in found.models:
        m = int(model.name[-1])
        right = np.mean(predictions[m, known] == labels[known])
        assert estimated[m] == pytest.approx(min(1.0, here[m] * right / there[m]))
        assert model.secondary_metrics["source_accuracy"] == pytest.approx(right)


def test_labels_of_the_rows_and_two_models_leave_it_out() -> None:
    labels, predictions = pool(200, (0.1, 0.2, 0.3))
    after = models(predictions)
    labelled = compare_agreement(after, labels=labels, resampling=FEW)
    assert "estimated_accuracy_low" not in labelled.best.secondary_metrics
    two = {name: after[name] for name in ("model 0", "model 1")}
    other = {name: one_hot(predictions[2]) for name in two}
    pair = compare_agreement(two, other, resampling=FEW)
    assert "estimated_accuracy_low" not in pair.best.secondary_metrics
    with pytest.raises(ValueError, match="compare three models"):
        compare_agreement(two, resampling=FEW)


def covered(result: object, accuracies: dict[str, float]) -> list[bool]:
    hits = []
    for model in result.models:
        shown = model.secondary_metrics
        if "estimated_accuracy_low" not in shown:
            continue
        low, high = shown["estimated_accuracy_low"], shown["estimated_accuracy_high"]
        hits.append(low <= accuracies[model.name] <= high)
    return hits


@pytest.mark.realdata
@pytest.mark.parametrize("with_labels", [False, True])
def test_intervals_cover_networks_under_noise(data_folder: Path, with_labels: bool) -> None:
    """Five networks at four levels of noise, in pools of three to five; labels of other pictures at the first."""
    with np.load(data_folder / "imagenet16h_noise" / "imagenet16h.npz") as data:
        scores, labels = data["log_probs"].astype(float), data["labels"].astype(int)
    rng = np.random.default_rng(0)
    hits = []
    for level in range(len(scores)):
        for n_models in (3, 4, 5):
            rows = rng.permutation(len(labels))
            known, rest = rows[:300], rows[300:700]
            names = rng.choice(scores.shape[1], n_models, replace=False)
            given = {}
            if with_labels:
                home = {str(m): scores[0, m, known] for m in names}
                given = {"labels": labels[known], "labelled_scores": home}
            after = {str(m): scores[level, m, rest] for m in names}
            result = compare_agreement(after, resampling=FEW, **given)
            true = {
                name: np.mean(part.argmax(axis=1) == labels[rest]) for name, part in after.items()
            }
            hits += covered(result, true)
    assert np.mean(hits) >= 0.93


@pytest.mark.realdata
def test_intervals_cover_networks_on_cifar(data_folder: Path) -> None:
    with np.load(data_folder / "cifar10_logit_zoo" / "logits.npz") as data:
        scores, labels = data["logits"], data["labels"].astype(int)
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(12):
        rows = rng.choice(len(labels), 500, replace=False)
        names = rng.choice(len(scores), 4, replace=False)
        after = {str(m): scores[m, rows].astype(float) for m in names}
        true = {name: np.mean(part.argmax(axis=1) == labels[rows]) for name, part in after.items()}
        hits += covered(compare_agreement(after, resampling=FEW), true)
    assert np.mean(hits) >= 0.93
