from dataclasses import dataclass

import numpy as np
import pytest

from shiftmetrics._core.result import Result, Status
from shiftmetrics.views.report import facts_of, render_report
from shiftmetrics.views.report.parts import number, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "50 %"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.0001, "0.010 %"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_percent(value, text):
    assert percent(value) == text


def test_units():
    assert number(1.5, "nats") == "1.5 nats"
    assert number(None, "nats") == "–"
    assert number(float("inf"), "") == "inf"


def test_every_measure_leads_with_itself_and_explains_its_direction(results):
    for result in results.values():
        first = facts_of(result)[0]
        assert first.name == result.title.lower()
        assert first.meaning.startswith("higher is ")
        assert all(fact.value for fact in facts_of(result))


def test_results_without_a_section_print_their_value():
    @dataclass(frozen=True, eq=False, kw_only=True)
    class Stretch(Result):
        title = "Some distance"
        mean_gap: float
        n_axes: int
        label: str
        flag: bool

    result = Stretch(
        value=1.5, error_bound=0.0, status=Status("converged", "Done."), n_samples=3, mean_gap=0.25, n_axes=2,
        label="x", flag=True,
    )  # fmt: skip
    facts = {fact.name: fact.value for fact in facts_of(result)}
    assert facts == {"some distance": "1.5"}
    assert result.headline() in render_report(result)


def test_an_interval_in_the_sentence_of_a_decision_is_not_printed_again():
    from shiftmetrics.decisions import diff_scores

    scores = np.array([1.0] * 20 + [0.0] * 20)
    result = diff_scores(scores, scores[::-1].copy())
    assert "0.0" in result.headline()
    assert not any(fact.is_answer for fact in facts_of(result))
