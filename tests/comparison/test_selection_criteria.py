"""Which criterion models are chosen by, and what it is: recomputed by slow counts."""

import numpy as np
import pytest
from sklearn import metrics

import oracles
from pools import as_models, one_hot, pool
from shiftmetrics import Resampling, Result, compare_agreement

FEW = Resampling(rng=0, n_resamples=60)


def test_labels_of_the_pairs_are_used_as_they_are():
    labels, before, after = pool()
    found = compare_agreement(as_models(after), as_models(before), labels=labels, resampling=FEW)
    assert found.headline().startswith(
        "model 0 is the best of 4 models by mean of accuracy and macro F1 after the"
    )
    for model in found.models:
        row = after[int(model.name[-1])]
        accuracy, f1 = np.mean(row == labels), metrics.f1_score(labels, row, average="macro")
        assert model.value == pytest.approx((accuracy + f1) / 2)
        assert model.secondary_metrics["accuracy"] == pytest.approx(accuracy)
        assert (
            model.secondary_metrics["accuracy_low"]
            < accuracy
            < model.secondary_metrics["accuracy_high"]
        )
    assert Result.from_json(found.to_json()).equals(found)


def test_labels_of_other_rows_are_chained():
    labels, before, after = pool(n=400)
    known, rest = slice(0, 150), slice(150, 400)
    found = compare_agreement(
        as_models(after[:, rest]), as_models(before[:, rest]), labels=labels[known],
        labelled_scores=as_models(before[:, known]), criterion="accuracy", resampling=FEW,
    )  # fmt: skip
    assert found.compared == "Accuracy after the shift, estimated"
    assert "Estimated from 150 labelled rows" in found.summary()
    for model in found.models:
        m = int(model.name[-1])
        sides = labels[known], before[m][known], before[m][rest], after[m][rest]
        assert model.value == pytest.approx(np.trace(oracles.chained_confusion(*sides, 4)))
        assert model.value == model.secondary_metrics["accuracy"]
    classes = {f"model {m}": row[known] for m, row in enumerate(before)}
    with pytest.raises(TypeError, match="Labels have no scores"):
        compare_agreement(
            as_models(after[:, rest]), as_models(before[:, rest]), labels=labels[known],
            labelled_scores=classes, resampling=FEW,
        )  # fmt: skip


def test_without_labels_three_models_vote():
    _, before, after = pool()
    found = compare_agreement(as_models(after), as_models(before), resampling=FEW)
    assert found.headline().startswith(
        "model 0 agrees most with the others of 4 models, by match with the models' weighted vote: 0."
    )
    votes, _ = oracles.weighted_vote(before)
    for model in found.models:
        m = int(model.name[-1])
        expected = np.mean(votes == after[m]) + metrics.f1_score(votes, after[m], average="macro")
        assert model.value == pytest.approx(expected / 2)
        assert model.secondary_metrics["unchanged"] == pytest.approx(np.mean(before[m] == after[m]))
        assert model.secondary_metrics["kappa"] == pytest.approx(
            metrics.cohen_kappa_score(before[m], after[m])
        )
        assert "accuracy" not in model.secondary_metrics


def test_two_models_are_compared_by_agreement_over_its_ceiling():
    _, before, after = pool()
    found = compare_agreement(as_models(after[1:3]), as_models(before[1:3]), resampling=FEW)
    assert found.headline().startswith(
        "model 0 is the steadiest of 2 models by agreement over its ceiling: 0."
    )
    assert "not whether they are right" in found.summary()
    for model in found.models:
        assert model.value == pytest.approx(
            model.secondary_metrics["agreement"] / model.secondary_metrics["ceiling"]
        )
        assert model.interval.low < model.value < model.interval.high


def test_the_papers_criterion_is_one_argument_away():
    _, before, after = pool()
    found = compare_agreement(
        as_models(after), as_models(before), criterion="agreement", resampling=FEW
    )
    assert found.compared_unit == "nats"
    assert all(model.value == model.secondary_metrics["agreement"] for model in found.models)


def test_models_of_other_numbers_of_classes_are_not_ranked_in_nats():
    _, before, after = pool()
    wide = [
        {**as_models(part[:1]), "wide": np.pad(one_hot(part[1], 4), ((0, 0), (0, 3)))}
        for part in (after, before)
    ]
    with pytest.raises(
        ValueError, match="share the number of classes, got 4 for 'model 0', 7 for 'wide'"
    ):
        compare_agreement(*wide, criterion="agreement")
    assert compare_agreement(*wide, resampling=FEW).compared == "Agreement over its ceiling"


@pytest.mark.slow
def test_intervals_of_the_estimated_accuracy_cover():
    labels, before, after = pool(999, n=400_000)
    truth = np.mean(after == labels, axis=1)
    hits = []
    for seed in range(60):
        labels, before, after = pool(seed, n=450)
        known, rest = slice(0, 150), slice(150, 450)
        found = compare_agreement(
            as_models(after[:, rest]), as_models(before[:, rest]), labels=labels[known],
            labelled_scores=as_models(before[:, known]), resampling=Resampling(rng=seed, n_resamples=400),
        )  # fmt: skip
        for model in found.models:
            figures = model.secondary_metrics
            hits.append(
                figures["accuracy_low"] <= truth[int(model.name[-1])] <= figures["accuracy_high"]
            )
    assert np.mean(hits) >= 0.91


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"criterion": "accuracy"},
            "labels must be given for the criterion 'accuracy', got None. Without labels",
        ),
        (
            {"criterion": "vote", "models": 2},
            "criterion must be another one than 'vote' for fewer than three models",
        ),
        ({"criterion": "votes", "labels": np.zeros(300, int)}, "votes"),
        ({"labels": np.zeros(299, int)}, "labels must be of length 300, got length 299"),
        ({"labels": np.full(300, 9)}, "labels must be classes of the scores"),
        ({"labelled_scores": {"a": 1}}, "labels must be given"),
        (
            {"labels": np.zeros(300, int), "labelled_scores": {"a": 1}},
            "labelled_scores must be a mapping with the",
        ),
        (
            {
                "labels": np.zeros(5, int),
                "labelled_scores": as_models(np.zeros((4, 5), int)),
                "criterion": "roc_auc",
            },
            "criterion must be one of",
        ),
    ],
)
def test_bad_input(change, message):
    _, before, after = pool()
    kept = slice(0, change.pop("models", 4))
    with pytest.raises(ValueError, match=message):
        compare_agreement(as_models(after[kept]), as_models(before[kept]), resampling=FEW, **change)


def test_models_vote_on_the_shifted_scores_alone():
    labels, _, after = pool()
    for references in (None, as_models(after)):
        found = compare_agreement(as_models(after), references, resampling=FEW)
        assert found.settings["criterion"] == "vote"
        assert found.best.name == "model 0"
        assert "agreement" not in found.best.secondary_metrics
        assert "scores before the shift" in found.basis
    labelled = compare_agreement(as_models(after), labels=labels, resampling=FEW)
    assert labelled.compared == "Mean of accuracy and macro F1 after the shift"
    expected = metrics.accuracy_score(labels, after[0])
    assert labelled.best.secondary_metrics["accuracy"] == pytest.approx(expected)


def test_same_rows_in_both_samples_give_no_estimate_of_the_accuracy():
    """Unpaired new samples: nothing changes between two copies, which is no sign that nothing changed."""
    labels, before, after = pool()
    options = {"labels": labels, "labelled_scores": as_models(before), "resampling": FEW}
    found = compare_agreement(as_models(after), as_models(after), **options)
    assert found.settings["criterion"] == "vote_and_source_accuracy"
    source = metrics.accuracy_score(labels, before[0])
    assert found.best.secondary_metrics["source_accuracy"] == pytest.approx(source)
    # The order of the sum of z-scores of both, on the scale of a fraction.
    vote = {model.name: model.secondary_metrics["vote"] for model in found.models}
    right = {model.name: model.secondary_metrics["source_accuracy"] for model in found.models}
    spreads = [np.std(list(part.values())) for part in (vote, right)]
    for model in found.models:
        both = vote[model.name] / spreads[0] + right[model.name] / spreads[1]
        assert model.value == pytest.approx(both / (1.0 / spreads[0] + 1.0 / spreads[1]))
    with pytest.raises(ValueError, match="the same rows before the shift"):
        compare_agreement(as_models(after), as_models(after), criterion="accuracy", **options)
    two = {name: as_models(after)[name] for name in ("model 0", "model 3")}
    options["labelled_scores"] = {name: as_models(before)[name] for name in two}
    found = compare_agreement(two, **options)
    assert found.settings["criterion"] == "source_accuracy"
    assert found.value == pytest.approx(source)
    with pytest.raises(ValueError, match="reference_scores must be"):
        compare_agreement(two)
