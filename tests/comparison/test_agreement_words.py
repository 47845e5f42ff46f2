"""What criteria are called: a vote is told as agreement with the others, and an estimate with what it rests on."""

import numpy as np
import pytest

from pools import as_models, pool
from shiftmetrics import Resampling, compare_agreement
from shiftmetrics.comparison.agreement_words import SCORE_NAMES, SHARED, WORDS
from shiftmetrics.comparison.criteria import SCORES
from shiftmetrics.comparison.selection_criteria import LABEL_FREE, SOURCE_ACCURACY, VOTE_AND_SOURCE

FEW = Resampling(rng=0, n_resamples=60)


def test_every_criterion_has_words_and_stands_in_the_docstring() -> None:
    others = (*LABEL_FREE, SOURCE_ACCURACY, VOTE_AND_SOURCE)
    assert set(SCORE_NAMES) == set(SCORES)
    assert set(WORDS) == set(others)
    for name in (*SCORES, *others):
        assert f'"{name}"' in compare_agreement.__doc__


@pytest.mark.parametrize("labelled", [False, True])
def test_a_vote_is_agreement_and_an_estimate_is_an_accuracy(labelled: bool) -> None:
    labels, before, after = pool()
    options = {}
    if labelled:
        options = {"labels": labels, "labelled_scores": as_models(before)}
    found = compare_agreement(as_models(after), resampling=FEW, **options)
    said = found.headline()
    assert (
        "is the first of 4 models by match with the vote and accuracy on the labelled rows: 0."
        in said
    ) == labelled
    assert ("agrees most with the others of 4 models" in said) != labelled
    assert found.basis.endswith(SHARED)
    assert found.basis.startswith("Without" if labelled else "Without labels of these samples")
    if labelled:
        assert found.basis.startswith(WORDS["vote_and_source_accuracy"][1])


def test_models_that_predict_what_labelled_rows_lack_are_named() -> None:
    labels, before, after = pool()
    known = labels < 3
    there = {name: part[known][:, [0, 1, 2, 3]] for name, part in as_models(before).items()}
    for part in there.values():
        part[:, 3] = -9.0
    found = compare_agreement(
        as_models(after),
        as_models(before),
        labels=labels[known],
        labelled_scores=there,
        resampling=FEW,
    )
    assert any("so that the estimate is a guess" in text for text in found.warnings)
    assert np.isfinite(found.value)
