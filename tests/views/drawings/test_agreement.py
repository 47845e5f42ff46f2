import numpy as np
import pytest

from shiftmetrics import Resampling
from shiftmetrics.agreement import (
    agreement_contributions,
    agreement_curves,
    agreement_matrix,
    posterior_agreement,
)
from shiftmetrics.views import plot

RNG = np.random.default_rng(0)
LABELS = RNG.integers(3, size=90)
CLEAN = RNG.normal(size=(90, 3)) + np.eye(3)[LABELS]
SHIFTED = {power: CLEAN + power * RNG.normal(size=(90, 3)) for power in (0.5, 1.0)}
CURVES = {
    name: agreement_curves(
        scores, CLEAN, ratios=[0.0, 0.5, 1.0], labels=LABELS, resampling=Resampling(rng=0)
    )
    for name, scores in {"a": SHIFTED, "b": {p: s[::-1] for p, s in SHIFTED.items()}}.items()
}
SPLIT = agreement_contributions(SHIFTED[0.5], CLEAN, LABELS)
MATRIX = agreement_matrix({"clean": CLEAN, "half": SHIFTED[0.5], "whole": SHIFTED[1.0]})


SCORES = RNG.normal(size=(80, 3))
AGREEMENT = posterior_agreement(SCORES + 0.5 * RNG.normal(size=(80, 3)), SCORES)


@pytest.mark.parametrize(
    "result", [CURVES["a"], SPLIT, MATRIX], ids=lambda result: result.headline()[:20]
)
def test_every_result_draws_itself(result):
    axes = result.plot()
    assert axes.get_title(loc="left")
    axes.figure.canvas.draw()


def test_the_histogram_of_agreement_counts_every_pair():
    axes = plot(AGREEMENT, kind="pairs")
    assert sum(patch.get_height() for patch in axes.patches) == 80
    assert axes.lines[0].get_xdata()[0] == AGREEMENT.value


def test_changed_predictions_are_counted_by_class_before_and_after():
    after = SCORES + 2.0 * np.random.default_rng(5).normal(size=SCORES.shape)
    result = posterior_agreement(after, SCORES)
    axes = plot(result, kind="classes", scores=after, reference_scores=SCORES)
    pairs = list(zip(SCORES.argmax(axis=1).tolist(), after.argmax(axis=1).tolist(), strict=True))
    classes = [int(label.get_text()) for label in axes.get_yticklabels()]
    left = [sum(a == k != b for a, b in pairs) for k in classes]
    joined = [sum(b == k != a for a, b in pairs) for k in classes]
    assert sum(left) > 0
    assert [patch.get_width() for patch in axes.patches] == [*left, *joined]


def test_the_curve_marks_the_maximum_below_its_bound():
    axes = plot(AGREEMENT, kind="beta")
    best = axes.lines[1]
    assert (best.get_xdata()[0], best.get_ydata()[0]) == (AGREEMENT.beta, AGREEMENT.value)
    assert axes.lines[0].get_ydata().max() <= AGREEMENT.value + AGREEMENT.error_bound


@pytest.mark.parametrize("other", [SCORES, -SCORES], ids=["all agree", "none agrees"])
def test_curves_at_both_ends_of_beta(other):
    result = posterior_agreement(other, SCORES)
    axes = plot(result, kind="beta")
    axes.figure.canvas.draw()
    values = np.asarray(axes.lines[0].get_ydata(), dtype=float)
    assert np.isfinite(values).all()
    assert (values <= result.value + result.error_bound).all()


def test_confidence_before_and_after():
    axes = AGREEMENT.plot(kind="confidence", scores=SCORES[:30], reference_scores=-SCORES[:30])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["reference", "shifted"]
    assert sum(patch.get_height() for patch in axes.patches if hasattr(patch, "get_height")) == 30
    assert axes.get_xlim() == (1 / 3, 1.0)
