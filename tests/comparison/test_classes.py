"""Predicted classes of all models in one numbering, and labels of other rows by thirds of confidence."""

import numpy as np
import pandas as pd
import pytest

from pools import as_models, pool
from shiftmetrics import Resampling, compare_agreement
from shiftmetrics.comparison import criteria

FEW = Resampling(rng=0, n_resamples=60)


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
