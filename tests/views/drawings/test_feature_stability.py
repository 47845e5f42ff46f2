"""Drawings of feature stability: what the bars show."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier

from shiftmetrics.models import Perturbation, feature_stability
from shiftmetrics.views import plot


@pytest.fixture(scope="module")
def result():
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y)
    return feature_stability(model, X, y, 0.3, perturbation=Perturbation(by=np.arange(150) % 3))


def test_bars_are_the_importances_and_dots_the_worst_cases(result) -> None:
    ax = result.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        part.feature for part in result.features
    ]
    np.testing.assert_allclose(
        [bar.get_x() + bar.get_width() for bar in ax.patches],
        [part.permutation_importance for part in result.features],
    )
    (dots,) = (line for line in ax.lines if line.get_label() == "at worst")
    np.testing.assert_allclose(
        dots.get_xdata(), [part.worst_case_risk - part.base_risk for part in result.features]
    )
    heights = [bar.get_y() for bar in ax.patches]
    assert heights == sorted(heights)
    assert ax.yaxis_inverted()  # the most harmful on top
    assert len(plot(result, top=2).patches) == 2


def test_subgroups_have_intervals_to_compare(result) -> None:
    ax = plot(result, kind="subgroups")
    shown = [part for part in result.subgroups if part.feature == "all features"]
    assert len(ax.patches) == len(shown) == 3
    spans = [line.get_xdata().tolist() for line in ax.lines]
    assert spans == [[part.interval.low, part.interval.high] for part in shown]


def test_values_out_of_reach_are_told(result) -> None:
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    never = feature_stability(
        model, X, y, 0.9, perturbation=Perturbation(by=np.arange(150) % 2, immutable=[1, 2, 3])
    )
    shown = plot(never, kind="subgroups")
    assert sum("not reached" in text.get_text() for text in shown.texts) == 2
    whole = feature_stability(model, X, y, 0.9)
    with pytest.raises(ValueError, match=r"subgroups \(by\)"):
        plot(whole, kind="subgroups")
