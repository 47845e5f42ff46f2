"""Agreement on the page: curves over levels, and both boundaries."""

import numpy as np

from pages import Page
from shiftmetrics.agreement import agreement_curves, posterior_agreement
from shiftmetrics.views.report import Context, Rows, facts_of, render_report
from shiftmetrics.views.report.parts import percent


def test_boundaries_of_agreement():
    scores = np.eye(3)[[0, 1, 2, 0]]
    for result in (posterior_agreement(scores, scores), posterior_agreement(scores, -scores)):
        rows = Rows(scores=scores, reference_scores=scores)
        text = Page(render_report(result, context=Context(rows={"Posterior agreement": rows}))).text
        assert result.headline() in text


def test_curves_over_levels_of_a_shift_have_their_chart():
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(90, 3)) + 2 * np.eye(3)[rng.integers(3, size=90)]
    shifted = {power: clean + power * rng.normal(size=(90, 3)) for power in (0.5, 1.0, 2.0)}
    curves = agreement_curves(shifted, clean, ratios=[1.0])
    page = render_report(curves)
    assert page.count("<figure>") == 2
    for level in ("0.5", "1", "2"):
        assert f">{level}</td>" in page
    assert str(percent(curves.normalized[2, 0])).replace(" ", "\N{NO-BREAK SPACE}") in page
    assert facts_of(curves)[-1].value == percent(curves.normalized[2, 0])
    over_ratios = render_report(agreement_curves(shifted[0.5], clean, ratios=[0.0, 0.5, 1.0]))
    assert ">Shifted</th>" in over_ratios
