"""The drawing of a search in rounds."""

import numpy as np
import pytest

from shiftmetrics.models import Search
from shiftmetrics.models.measures.stability import model_stability
from shiftmetrics.stability import HingeLoss, stability_criterion
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
