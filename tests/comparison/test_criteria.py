"""Criteria of choosing a model: their formulas, which one is taken, and whether intervals and p-values hold."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

import oracles
from shiftmetrics import Resampling, Result, compare_agreement
from shiftmetrics.comparison import criteria

FEW = Resampling(rng=0, n_resamples=60)


def one_hot(predicted, n_classes=2):
    return 3.0 * np.eye(n_classes)[predicted]


def spoiled(rng, classes, share, n_classes):
    """Draw a share of the classes anew."""
    return np.where(
        rng.random(len(classes)) < share, rng.integers(n_classes, size=len(classes)), classes
    )


def pool(seed=0, n=300, n_classes=4, wrong=(0.1, 0.2, 0.4, 0.6), moved=(0.1, 0.1, 0.2, 0.5)):
    """Models that err, and that a shift moves, more and more: labels, predictions before and after."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    before = np.stack([spoiled(rng, labels, share, n_classes) for share in wrong])
    after = np.stack(
        [spoiled(rng, row, share, n_classes) for row, share in zip(before, moved, strict=True)]
    )
    return labels, before, after


def as_models(rows, n_classes=4):
    return {f"model {m}": one_hot(row, n_classes) for m, row in enumerate(rows)}


# --- formulas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_a_confusion_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, predicted, weights = rng.integers(3, size=50), rng.integers(4, size=50), rng.random(50)
    found = criteria.confusion(labels, predicted, 5, weights)
    options = {"sample_weight": weights}
    assert criteria.accuracy(found) == pytest.approx(
        metrics.accuracy_score(labels, predicted, **options)
    )
    assert criteria.f1_macro(found) == pytest.approx(
        metrics.f1_score(labels, predicted, average="macro", **options)
    )
    assert criteria.kappa(found) == pytest.approx(
        metrics.cohen_kappa_score(labels, predicted, **options)
    )
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        expected = metrics.balanced_accuracy_score(labels, predicted, **options)
    assert criteria.balanced_accuracy(found) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_vote_is_that_of_a_slow_count(seed):
    _, before, _ = pool(seed, n=60)
    garbage = np.random.default_rng(seed).integers(4, size=(2, 60))
    constant = np.zeros((1, 60), dtype=int)
    predictions = np.concatenate([before, garbage, constant])
    votes, trust = criteria.weighted_vote(predictions, 4, np.ones(60))
    slow_votes, slow_trust = oracles.weighted_vote(predictions)
    assert trust == pytest.approx(slow_trust)
    assert (votes == slow_votes).mean() > 0.98  # rounding decides between two sides of one weight
    assert trust[-1] == 0.0


def test_a_constant_model_does_not_decide_between_two_others():
    _, before, _ = pool(n_classes=2)
    votes, trust = criteria.weighted_vote(
        np.stack([np.zeros(300, dtype=int), before[0], before[1]]), 2, np.ones(300)
    )
    assert trust[0] == 0.0
    assert min(trust[1:]) > 0.2
    assert np.mean(votes == before[0]) > 0.8


def camps(seed=0, n=600):
    """Four models that know the labels, in part, and three alarm models that agree on calling a third of all rows."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.15).astype(int)
    alarm = (rng.random(n) < 0.35).astype(int)
    good = [np.where(rng.random(n) < 0.12, 1 - labels, labels) for _ in range(4)]
    loud = [np.where(rng.random(n) < 0.03, 1 - alarm, alarm) for _ in range(3)]
    return labels, np.array(good + loud)


def test_a_camp_of_alarm_models_does_not_capture_the_vote():
    labels, before = camps()
    vote, trust = criteria.weighted_vote(before, 2, np.ones(600))
    captured, loud = criteria.weighted_vote(before, 2, np.ones(600), from_kappas=True)
    assert np.mean(vote == labels) > 0.9 > np.mean(captured == labels)
    assert trust[:4].min() > trust[4:].max()
    assert loud[4:].min() > loud[:4].max()


def test_two_camps_are_named_and_never_separated():
    _, before = camps()
    models = {f"model {m}": one_hot(row) for m, row in enumerate(before)}
    found = compare_agreement(models, models_of(before), criterion="vote", resampling=FEW)
    assert found.status.code == "tied"
    assert found.best.name in {f"model {m}" for m in range(4)}
    assert "Two camps" in found.warnings[0]
    assert all(f"model {m}" in found.warnings[0] for m in range(7))
    assert any(model.rank_low == 1 for model in found.models if model.name > "model 3")
    assert "cannot be told from it" in found.headline()


def models_of(rows):
    """References that differ from the scores, so that the pairs are no copies."""
    return {f"model {m}": 2.0 * one_hot(row) for m, row in enumerate(rows)}


def test_a_pool_without_any_agreement_has_a_vote():
    predictions = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]])
    votes, trust = criteria.weighted_vote(predictions, 2, np.ones(4))
    assert not trust.any()
    assert votes.tolist() == [0, 0, 0, 0]  # even: the first class


@pytest.mark.parametrize("seed", range(4))
def test_the_chained_confusion_is_that_of_a_slow_count(seed):
    labels, before, after = pool(seed, n=40)
    known, rest = slice(0, 15), slice(15, 40)
    ones = np.ones(15), np.ones(25)
    labelled = criteria.confusion(labels[known], before[2][known], 4, ones[0])
    moved = criteria.confusion(before[2][rest], after[2][rest], 4, ones[1])
    expected = oracles.chained_confusion(
        labels[known], before[2][known], before[2][rest], after[2][rest], 4
    )
    assert criteria.chained_confusion(labelled, moved) == pytest.approx(expected)


def test_thirds_of_confidence_split_what_a_prediction_means():
    """Unsure predictions are often wrong, and are the ones that move: then thirds estimate better."""
    rng = np.random.default_rng(0)
    n = 4000
    confidence = rng.random(n)
    labels = rng.integers(2, size=n)
    right = rng.random(n) < 0.5 + 0.5 * confidence
    before = np.where(right, labels, 1 - labels)
    after = np.where((confidence < 0.3) & (rng.random(n) < 0.8), 1 - before, before)
    margins = (2.0 * before - 1.0) * (0.2 + confidence)
    scores = np.stack([np.zeros(n), margins], axis=1)
    moved = np.stack([np.zeros(n), (2.0 * after - 1.0) * (0.2 + confidence)], axis=1)
    half = n // 2
    found = compare_agreement(
        {"a": moved[half:], "b": moved[half:] + 1e-9},
        {"a": scores[half:], "b": scores[half:]},
        labels=labels[:half],
        labelled_scores={"a": scores[:half], "b": scores[:half]},
        criterion="accuracy",
        resampling=FEW,
    )
    truth = np.mean(after[half:] == labels[half:])
    plain = criteria.chained_confusion(
        criteria.confusion(labels[:half], before[:half], 2, np.ones(half)),
        criteria.confusion(before[half:], after[half:], 2, np.ones(half)),
    )
    assert abs(found.best.value - truth) < 0.02 < abs(criteria.accuracy(plain) - truth)
    assert found.best.interval.low < truth < found.best.interval.high
    assert "transfer error" in found.best.interval.method


# --- which criterion is taken ------------------------------------------------------------------------------


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scorer", "n_classes"), [("roc_auc", 2), ("neg_log_loss", 3), ("f1", 2), ("roc_auc_ovr", 3)]
)
def test_any_scorer_of_scikit_learn_is_taken_by_its_name(scorer, n_classes):
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=200)
    X = rng.normal(size=(200, 3)) + labels[:, None]
    moved = X + rng.normal(size=X.shape)
    fitted = {f"C = {C}": LogisticRegression(C=C).fit(X, labels) for C in (1e-3, 1.0)}
    for method, kind in (("decision_function", "scores"), ("predict_proba", "probabilities")):
        before, after = (
            {name: getattr(m, method)(part) for name, m in fitted.items()} for part in (X, moved)
        )
        found = compare_agreement(
            after, before, labels=labels, criterion=scorer, kind=kind, resampling=FEW
        )
        for model in found.models:
            expected = metrics.get_scorer(scorer)(fitted[model.name], moved, labels)
            assert model.value == pytest.approx(expected)
        assert found.compared == f"{scorer} after the shift"


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


def test_labelled_rows_of_another_population_are_noticed():
    labels, before, after = pool(n=400)
    few = np.flatnonzero(labels < 2)[:100]  # as if rows were sorted by class
    few = few[(before[0][few] < 2)]
    found = compare_agreement(
        as_models(after), as_models(before), labels=labels[few], labelled_scores=as_models(before[:, few]),
        resampling=FEW,
    )  # fmt: skip
    assert any(
        text.startswith("model 0: ") and "for no labelled row" in text for text in found.warnings
    )
    assert not any("labelled row" in text for text in compare_agreement(
        as_models(after), as_models(before), labels=labels[:100], labelled_scores=as_models(before[:, :100]),
        resampling=FEW,
    ).warnings)  # fmt: skip


def test_without_labels_three_models_vote():
    _, before, after = pool()
    found = compare_agreement(as_models(after), as_models(before), resampling=FEW)
    assert found.headline().startswith(
        "model 0 is the best of 4 models by match with the models' weighted vote: 0."
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


def test_a_rare_class_does_not_turn_the_order():
    """4.5 % positives. Two models find them, one flags a tenth of all rows, one hardly finds any."""
    rng = np.random.default_rng(0)
    labels = (rng.random(4000) < 0.045).astype(int)

    def model(missed, false_alarms):
        wrong = np.where(labels == 1, rng.random(4000) < missed, rng.random(4000) < false_alarms)
        return np.where(wrong, 1 - labels, labels)

    before = {"good": model(0.05, 0.002), "fair": model(0.3, 0.01), "alarmist": model(0.05, 0.1)}
    before["constant"] = np.zeros(4000, dtype=int)
    after = {name: np.where(rng.random(4000) < 0.005, 1 - row, row) for name, row in before.items()}
    after["constant"] = before["constant"]
    assert metrics.accuracy_score(labels, after["good"]) > 0.985
    assert (
        metrics.f1_score(labels, after["alarmist"])
        < 0.5
        < 0.85
        < metrics.f1_score(labels, after["good"])
    )
    shifted, reference = (
        {name: one_hot(row) for name, row in part.items()} for part in (after, before)
    )
    known = slice(0, 1000)
    chained = {
        "labels": labels[known], "labelled_scores": {name: one_hot(row[known]) for name, row in before.items()},
    }  # fmt: skip
    for given in ({}, {"labels": labels}, chained):
        found = compare_agreement(shifted, reference, resampling=FEW, **given)
        ranks = {model.name: model.rank for model in found.models}
        assert max(ranks["good"], ranks["fair"]) < ranks["alarmist"]
        assert (
            ranks["good"] == 1 or not given
        )  # to the vote two good models are each other's measure
        assert [model.name for model in found.models if model.collapsed] == ["constant"]


def test_classes_are_those_of_named_columns():
    labels, before, after = pool()
    names = np.array(["ant", "bee", "cow", "dog"])
    shifted, reference = as_models(after), as_models(before)
    order = [2, 0, 3, 1]
    tables = [
        {name: pd.DataFrame(part, columns=names)[names[order]] for name, part in side.items()}
        for side in (shifted, reference)
    ]
    tables[0]["model 1"] = tables[0]["model 1"][names]  # another order
    plain = compare_agreement(shifted, reference, labels=labels, resampling=FEW)
    named = compare_agreement(*tables, labels=names[labels], resampling=FEW)
    assert [model.value for model in named.models] == pytest.approx(
        [model.value for model in plain.models]
    )
    with pytest.raises(ValueError, match="labels must be classes of the scores"):
        compare_agreement(*tables, labels=labels, resampling=FEW)


@pytest.mark.slow
def test_margins_groups_and_weights():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=120)
    before = {
        name: 2.0 * labels - 1.0 + size * rng.normal(size=120)
        for name, size in zip("abc", (1, 2, 3), strict=True)
    }
    after = {name: part + rng.normal(size=120) for name, part in before.items()}
    weights = rng.integers(1, 4, size=120).astype(float)
    groups = np.arange(120) // 4
    for criterion in ("auto", "vote", "roc_auc"):
        found = compare_agreement(
            after, before, labels=labels, criterion=criterion, sample_weight=weights,
            resampling=Resampling(rng=0, n_resamples=60, groups=groups),
        )  # fmt: skip
        rows = np.repeat(np.arange(120), weights.astype(int))
        repeated = [{name: part[rows] for name, part in side.items()} for side in (after, before)]
        expected = compare_agreement(
            *repeated, labels=labels[rows], criterion=criterion, resampling=FEW
        )
        assert [m.value for m in found.models] == pytest.approx([m.value for m in expected.models])
    other = {name: part[:30] for name, part in before.items()}  # margins of labelled rows
    chained = compare_agreement(
        after, before, labels=labels[:30], labelled_scores=other, resampling=FEW
    )
    assert 0.5 < chained.best.secondary_metrics["accuracy"] < 1.0


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


# --- intervals, differences, ranks -------------------------------------------------------------------------


def test_a_perfect_score_of_few_rows_is_not_certain():
    labels = np.arange(40) % 2
    perfect = {name: one_hot(labels) for name in ("a", "b")}
    found = compare_agreement(
        perfect, perfect, labels=labels, criterion="accuracy", resampling=Resampling(rng=0)
    )
    assert found.value == 1.0
    assert found.interval.low == pytest.approx(0.025 ** (1 / 40), abs=0.02)
    assert found.interval.high == 1.0
    pair = found.differences[0]
    assert pair.interval.low < -0.05 < 0.0 < 0.05 < pair.interval.high
    assert pair.simultaneous_interval.low < -0.05
    assert pair.p_value == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("n_resamples", [100, 1000])
def test_p_values_and_intervals_never_contradict_each_other(n_resamples):
    rng = np.random.default_rng(0)
    for seed in range(20):
        labels, before, after = pool(seed, n=120, wrong=(0.1, 0.15, 0.3), moved=(0.1, 0.2, 0.3))
        found = compare_agreement(
            as_models(after), as_models(before), labels=labels, criterion=rng.choice(["accuracy", "vote"]),
            resampling=Resampling(rng=seed, n_resamples=n_resamples),
        )  # fmt: skip
        for pair in found.differences:
            outside = pair.interval.low > 0.0 or pair.interval.high < 0.0
            assert (
                outside == (pair.p_value < 0.05)
                or min(abs(pair.interval.low), abs(pair.interval.high)) < 0.01
            )
            if pair.p_adjusted < 0.05:
                assert pair.simultaneous_interval.low > -0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "share", "criterion"),
    [
        (50, 0.1, "accuracy"),
        (200, 0.02, "accuracy"),
        (200, 0.2, "auto"),
        (1000, 0.05, "f1_macro"),
        (200, 0.3, "vote"),
    ],
)
def test_intervals_of_values_and_of_differences_cover(n, share, criterion):
    """The truth is that of a very large sample."""
    shares = {"wrong": (share, share, 1.5 * share), "moved": (share, 1.2 * share, share)}

    def compared(seed, n, resampling):
        labels, before, after = pool(seed, n=n, **shares)
        given = {} if criterion == "vote" else {"labels": labels}
        return compare_agreement(
            as_models(after), as_models(before), criterion=criterion, resampling=resampling, **given
        )

    truth = {
        model.name: model.value
        for model in compared(
            999, 200_000, Resampling(rng=0, n_resamples=3, confidence_level=0.4)
        ).models
    }
    hits, gaps = [], []
    for seed in range(100):
        found = compared(seed, n, Resampling(rng=seed, n_resamples=400))
        hits += [
            part.interval.low <= truth[part.name] <= part.interval.high for part in found.models
        ]
        gaps += [
            pair.interval.low <= truth[pair.first] - truth[pair.second] <= pair.interval.high
            for pair in found.differences
        ]
    assert np.mean(hits) >= 0.91
    assert np.mean(gaps) >= 0.91


@pytest.mark.slow
def test_intervals_of_the_estimated_accuracy_cover():
    labels, before, after = pool(999, n=400_000)
    truth = np.mean(after == labels, axis=1)
    hits = []
    for seed in range(100):
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


# --- bad input ---------------------------------------------------------------------------------------------


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


def test_scores_that_are_no_probabilities_are_turned_into_some():
    _, before, after = pool(n=50)
    labels = np.arange(50) % 4
    found = compare_agreement(
        as_models(after), as_models(before), labels=labels, criterion="neg_log_loss", resampling=FEW
    )
    row = after[int(found.best.name[-1])]
    assert found.value == pytest.approx(-metrics.log_loss(labels, softmax(one_hot(row, 4), axis=1)))


@pytest.mark.filterwarnings("ignore:Only one class")
def test_a_scorer_that_the_labels_do_not_define_is_refused():
    scores = {name: np.linspace(-1.0, 1.0, 30) for name in "ab"}
    with pytest.raises(ValueError, match="criterion must be defined by the rows and their labels"):
        compare_agreement(
            scores, scores, labels=np.zeros(30, int), criterion="roc_auc", resampling=FEW
        )


# --- without scores of the same rows before the shift --------------------------------------------------------


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
    assert found.settings["criterion"] == "vote"
    source = metrics.accuracy_score(labels, before[0])
    assert found.best.secondary_metrics["source_accuracy"] == pytest.approx(source)
    with pytest.raises(ValueError, match="the same rows before the shift"):
        compare_agreement(as_models(after), as_models(after), criterion="accuracy", **options)
    two = {name: as_models(after)[name] for name in ("model 0", "model 3")}
    options["labelled_scores"] = {name: as_models(before)[name] for name in two}
    found = compare_agreement(two, **options)
    assert found.settings["criterion"] == "source_accuracy"
    assert found.value == pytest.approx(source)
    with pytest.raises(ValueError, match="reference_scores must be"):
        compare_agreement(two)


# --- collapse ------------------------------------------------------------------------------------------------


def test_rare_events_are_not_collapsed():
    """Calibrated probabilities of rare events are all below 1/2; the noisy copy only seems to use both classes."""
    rng = np.random.default_rng(0)
    risk = 0.3 * rng.random((500, 1)) ** 3
    noisy = np.clip(risk + 0.25 * rng.normal(size=risk.shape), 0.001, 0.999)
    flat = np.full_like(risk, 0.04)
    labels = (rng.random(500) < risk[:, 0]).astype(int)
    scores = {
        name: np.hstack([1 - p, p])
        for name, p in {"good": risk, "noisy": noisy, "flat": flat}.items()
    }
    before = {
        name: np.hstack([1 - p, p])
        for name, p in {"good": risk**1.1, "noisy": noisy, "flat": flat}.items()
    }
    for known in (None, labels):
        found = compare_agreement(scores, before, labels=known, resampling=FEW)
        collapsed = {model.name: model.collapsed for model in found.models}
        assert collapsed == {"good": False, "noisy": False, "flat": True}
        assert any("rare events" in text and text.startswith("good") for text in found.warnings)
    ranked = compare_agreement(scores, before, labels=labels, criterion="roc_auc", resampling=FEW)
    assert ranked.best.name == "good"


def test_the_area_under_the_curve_of_resamples_is_that_of_scikit_learn():
    from shiftmetrics.comparison.scorers import KnownScores, weighted_area_under_curve

    rng = np.random.default_rng(0)
    scores = rng.normal(size=(80, 2)).round(1)
    labels = rng.integers(2, size=80)
    area = weighted_area_under_curve(KnownScores(scores, np.array([0, 1])), labels)
    for _ in range(5):
        weights = rng.exponential(size=80)
        margins = scores[:, 1] - scores[:, 0]
        expected = metrics.roc_auc_score(labels, margins, sample_weight=weights)
        assert area(weights) == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mean_log_probability_is_that_of_scikit_learn(n_classes) -> None:
    from shiftmetrics.comparison.scorers import KnownScores, mean_log_probability

    rng = np.random.default_rng(2)
    labels = rng.integers(n_classes, size=70)
    scores = 30.0 * rng.normal(size=(70, n_classes))  # some posteriors are below rounding
    order = np.arange(n_classes)[::-1]
    model = KnownScores(scores, order)
    score = mean_log_probability(model, labels)
    for _ in range(5):
        weights = rng.exponential(size=70)
        expected = metrics.log_loss(
            labels, model.predict_proba(np.arange(70)), sample_weight=weights
        )
        assert score(weights) == pytest.approx(-expected, rel=1e-12)
