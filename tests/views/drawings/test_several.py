"""What a drawing of a comparison shows: a bar and the ranks of each model, the best on top."""

import numpy as np
import pytest

from shiftmetrics import Resampling
from shiftmetrics.agreement import (
    agreement_curves,
    agreement_matrix,
)
from shiftmetrics.comparison import compare_agreement
from shiftmetrics.views import plot
from shiftmetrics.views.drawings.style import REFERENCE, TEST

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
MATRIX = agreement_matrix({"clean": CLEAN, "half": SHIFTED[0.5], "whole": SHIFTED[1.0]})


def test_models_stand_in_their_order_with_their_ranks():
    rng = np.random.default_rng(0)
    clean, noise = 2.0 * rng.normal(size=(2, 200, 3))
    constant = np.tile([9.0, 0.0, 0.0], (200, 1)) + 0.01 * noise
    comparison = compare_agreement(
        {"constant": constant, "upset": clean + noise, "calm": clean + 0.1 * noise},
        {"constant": constant, "upset": clean, "calm": clean},
        criterion="agreement_over_ceiling",
        resampling=Resampling(rng=0),
    )
    ax = plot(comparison)
    assert ax.get_xlabel() == "agreement over its ceiling"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["calm", "upset", "constant"]
    assert [text.get_text() for text in ax.texts] == ["rank 1", "rank 2", "rank 3"]
    bars, dots = ax.lines[::2], ax.lines[1::2]
    assert [dot.get_xdata()[0] for dot in dots] == [model.value for model in comparison.models]
    assert list(bars[1].get_xdata()) == [
        comparison.models[1].interval.low,
        comparison.models[1].interval.high,
    ]
    assert [bar.get_color() for bar in bars] == [TEST, REFERENCE, REFERENCE]
    assert dots[2].get_markerfacecolor() == "white"
    assert comparison.plot().get_title(loc="left") == "Models with 95 % intervals"


def test_curves_are_the_numbers():
    axes = None
    for name, curves in CURVES.items():
        axes = plot(curves, axes, label=name)
    for line, curves in zip(axes.get_lines(), CURVES.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [0.5, 1.0])
        np.testing.assert_array_equal(line.get_ydata(), curves.normalized[:, -1])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert len({line.get_color() for line in axes.get_lines()}) == 2
    axes = plot(CURVES["a"], x="ratio", y="afr_t")
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), CURVES["a"].afr_t.value[-1])
    assert "level 1" in axes.get_title(loc="left")
    with pytest.raises(ValueError, match="y must be"):
        plot(CURVES["a"], y="beta")


def test_what_a_curve_lacks_is_said():
    without = agreement_curves(SHIFTED, CLEAN, ratios=[1.0])
    with pytest.raises(
        ValueError, match=r"y must be a quantity of the result, got 'afr_t', which needs labels"
    ):
        plot(without, y="afr_t")


def test_a_matrix_keeps_its_numbers_whatever_the_order():
    axes = plot(MATRIX)
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert sorted(names) == sorted(MATRIX.names)
    shown = np.ma.filled(axes.get_images()[0].get_array(), np.nan)
    for i, first in enumerate(names):
        for j, second in enumerate(names):
            if i != j:
                assert shown[i, j] == MATRIX.to_frame().loc[first, second]
