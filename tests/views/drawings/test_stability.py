"""The drawing of a search in rounds."""

import numpy as np
import pytest

from shiftmetrics.models import Search
from shiftmetrics.models.measures.stability import model_stability
from shiftmetrics.stability import (
    FixedLoss,
    HingeLoss,
    ZeroOneLoss,
    stability_criterion,
    stability_curve,
    trade_off,
)
from shiftmetrics.views import plot


@pytest.fixture(scope="module")
def results() -> dict:
    """Return results with a trace, from queries alone."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = (X[:, 0] + 0.5 * rng.standard_normal(80) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    return {
        f"theta1 = {price}": model_stability(
            model,
            X,
            y,
            0.9,
            loss="log_loss",
            theta1=price,
            theta2=price,
            computing=Search(method="blackbox"),
        )
        for price in (0.2, 0.4)
    }


RNG = np.random.default_rng(0)
PERTURBED = stability_criterion(ZeroOneLoss(RNG.random(50)), 0.3)
WEIGHTS = stability_criterion(FixedLoss(RNG.random(50)), 0.7)


def test_risks_end_at_the_threshold(results: dict) -> None:
    for result in results.values():
        trace = result.search.trace
        n_rounds = len(trace.values)
        assert (
            n_rounds
            == len(trace.duals)
            == len(trace.risks)
            == len(trace.gaps)
            == len(trace.queries)
            > 2
        )
        assert abs(trace.risks[-1] - 0.9) < 1e-9
        assert abs(trace.risks[-1] - 0.9) <= abs(trace.risks[0] - 0.9)
        # what the dual of each round promised at most is what later rounds found at least
        assert all(
            value - later <= gap + 1e-12
            for value, gap, later in zip(trace.values, trace.gaps, trace.values[1:], strict=False)
        )
        assert trace.values[-1] == result.value


def test_the_drawing_holds_the_risks(results: dict) -> None:
    one = next(iter(results.values()))
    ax = plot(one, kind="search")
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), one.search.trace.risks)
    assert ax.get_ylabel() == "risk of the worst case"


def test_what_has_no_trace_is_refused() -> None:
    from sklearn.linear_model import LogisticRegression

    X = np.random.default_rng(0).standard_normal((60, 2))
    y = (X[:, 0] > 0).astype(int)
    exact = model_stability(LogisticRegression().fit(X, y), X, y, 0.3)
    with pytest.raises(ValueError, match="without a trace"):
        plot(exact, kind="search")
    result = stability_criterion(HingeLoss(np.linspace(-0.5, 2.4, 30), 1.5), 1.0)
    with pytest.raises(ValueError, match="without a trace"):
        plot(result, kind="search")


def test_weights_rise_from_nothing_to_all():
    curve = plot(WEIGHTS, kind="weights").lines[1]
    held = curve.get_ydata()
    assert (held[0], held[-1]) == (0.0, pytest.approx(1.0))
    assert (np.diff(held) >= 0).all()
    assert (held >= curve.get_xdata() - 1e-12).all()


def test_distances_count_the_rows_that_change():
    axes = plot(PERTURBED, kind="distances")
    assert sum(patch.get_height() for patch in axes.patches) == (PERTURBED.plan.distances > 0).sum()


def test_the_drawing_of_stability_follows_what_changes():
    assert plot(WEIGHTS).get_ylabel() == "fraction of the weight"
    cheap_changes = stability_criterion(ZeroOneLoss(0.01 * RNG.random(50)), 0.3)
    assert plot(cheap_changes).get_ylabel() == "samples that change"


def test_curves_over_thresholds_and_prices_draw_themselves():
    margins = np.linspace(-0.5, 2.4, 90)
    curve = stability_curve(HingeLoss(margins, 1.5))
    surface = trade_off(HingeLoss(margins, 1.5), 1.0, cheapness=np.linspace(0, 1, 21))
    for result in (curve, surface):
        axes = result.plot()
        assert axes.get_title(loc="left")
        assert axes.get_xlabel()
        axes.figure.canvas.draw()
        assert plot(result, axes) is axes
    axes = plot(curve)
    line = axes.lines[0].get_xydata()
    np.testing.assert_allclose(line[:, 1], curve.points.stability)
    assert axes.get_ylim()[1] > np.nanmax(curve.points.interval_high)
    assert plot(surface).get_ylabel() == "added risk"


def test_infinite_points_are_left_out():
    loss = FixedLoss([0.0, 0.5, 1.0])
    cheapness = [0.0, 0.5, 1.0]
    curve = stability_curve(loss, [0.6, 2.0])
    assert np.isinf(curve.points.stability).any()
    for axes in (
        plot(curve),
        plot(trade_off(loss, 2.0, cheapness=cheapness)),
        plot(trade_off(loss, 0.7, cheapness=cheapness)),
    ):
        axes.figure.canvas.draw()
        for line in axes.lines:
            assert not np.isinf(line.get_ydata()).any()
        assert np.isfinite(axes.get_ylim()).all()


def test_errors_rise_with_the_size_of_the_change_up_to_the_threshold():
    rng = np.random.default_rng(1)
    distances = np.maximum(rng.normal(0.6, 0.5, 60), 0.0)
    result = stability_criterion(ZeroOneLoss(distances), 0.4)
    axes = plot(result, kind="errors")
    sizes, risks = axes.lines[0].get_data()
    plan = result.plan
    for size, risk in zip(sizes, risks, strict=True):
        # counted: samples that are wrong now, and those that a change of this size reaches
        counted = sum(
            weight
            for weight, distance, moved in zip(plan.weights, distances, plan.distances, strict=True)
            if distance == 0.0 or 0.0 < moved <= size
        )
        assert risk == pytest.approx(counted / sum(plan.weights), abs=1e-6)
    assert axes.lines[1].get_data() == ([0.0], [result.base_risk])
    assert axes.lines[2].get_ydata()[0] == plan.risk
    # what has no errors to count is drawn by its weights
    with pytest.raises(ValueError, match="rows"):
        plot(result.without_rows(), kind="errors")


@pytest.mark.parametrize("wrong", [0, 1, 20])
def test_the_rate_of_now_is_written_within_the_axes(wrong):
    distances = np.concatenate([np.zeros(wrong), np.linspace(0.1, 2.0, 100 - wrong)])
    axes = plot(stability_criterion(ZeroOneLoss(distances), 0.4), kind="errors")
    axes.figure.set_size_inches(4.2, 1.7)
    axes.figure.canvas.draw()
    frame = axes.get_window_extent()
    (now,) = [text for text in axes.texts if text.get_text().startswith("now")]
    assert now.get_window_extent().y0 >= frame.y0
    high = axes.get_ylim()[1]
    assert all(0.0 <= tick <= high for tick in axes.get_yticks())
