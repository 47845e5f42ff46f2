"""What a drawing of a comparison shows: a bar and the ranks of each model, the best on top."""

import numpy as np

from shiftmetrics import Resampling
from shiftmetrics.comparison import compare_agreement
from shiftmetrics.views import plot
from shiftmetrics.views.drawings.style import REFERENCE, TEST


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
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "rank"]
    bars, dots = ax.lines[::2], ax.lines[1::2]
    assert [dot.get_xdata()[0] for dot in dots] == [model.value for model in comparison.models]
    assert list(bars[1].get_xdata()) == [
        comparison.models[1].interval.low,
        comparison.models[1].interval.high,
    ]
    assert [bar.get_color() for bar in bars] == [TEST, REFERENCE, REFERENCE]
    assert dots[2].get_markerfacecolor() == "white"
    assert comparison.plot().get_title(loc="left") == "Models with 95 % intervals"
