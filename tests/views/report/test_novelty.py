"""Novelty on the page: modes as cards, or none; rows that do not fit are refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pages import Page
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.novelty.result_parts import NoveltyChanges
from shiftmetrics.views.report import Context, Rows, render_report
from shiftmetrics.views.report.answer import answer_of


def test_nothing_new():
    points = np.random.default_rng(0).normal(size=(20, 2))
    result = kernel_entropic_novelty(points, points, bandwidth=1.0)
    assert result.headline() in Page(render_report(result)).text


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    test = np.concatenate([rng.normal(size=(30, 2)), rng.normal(9.0, 0.3, size=(20, 2))])
    return kernel_entropic_novelty(test, rng.normal(size=(40, 2)), bandwidth=1.0)


@pytest.fixture(scope="module")
def rows():
    table = pd.DataFrame(
        {"size": np.r_[np.zeros(30), np.ones(20)], "colour": ["red"] * 30 + ["blue"] * 20}
    )
    return {
        "table": table,
        "reference_table": pd.DataFrame({"size": np.zeros(40)}),
        "labels": ["old"] * 30 + ["new"] * 20,
    }


def page(result, **rows):
    return render_report({"new": result}, context=Context(rows={"new": Rows(**rows)}))


def test_modes_are_shown_and_none_where_nothing_is_new(result, rows):
    def cards(shown):
        return page(shown, **rows).count("<h4><span>Mode")

    assert cards(result) == len(result.new) == 1
    rng = np.random.default_rng(0)
    alike = kernel_entropic_novelty(*rng.normal(size=(2, 60, 2)), bandwidth=1.0)
    assert alike.new == ()
    assert "Nothing new shown at this size" in page(alike)
    assert page(alike).count("<h4><span>Mode") == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            {"texts": ["a"] * 10},
            r"rows\['new'\].texts must be of 50 rows, as the sample, got 10 rows",
        ),
        ({"reference_labels": ["a"] * 50}, "reference_labels must be of 40 rows"),
        (
            {"images": np.zeros((50, 3, 8, 8))},
            r"images must be of shape .* got \(50, 3, 8, 8\). Put channels last",
        ),
    ],
)
def test_rows_that_do_not_fit_are_named(result, rows, message):
    with pytest.raises(ValueError, match=message):
        page(result, **rows)


def differing(result, p_value=0.5, missing_p_value=0.5, modes=()):
    test = replace(result.test, p_value=p_value, missing_p_value=missing_p_value)
    changes = NoveltyChanges(modes=modes)
    return replace(result, new=(), missing=(), fraction=0.0, test=test, changes=changes)


def test_the_first_screen_says_what_the_headline_says(result):
    group = replace(result.new[0], fraction=0.1, reference_fraction=0.0)
    # a group that is not confirmed is no "nothing"
    found = differing(result, p_value=0.005, modes=(group,))
    assert found.headline().startswith("Something differs")
    answer = answer_of(found)
    assert answer.word == "CHANGED"
    assert (
        answer.sentence == "Something in the 50 samples differs, and no group is confirmed as new."
    )
    found = differing(result, missing_p_value=0.005)
    assert "Something is missing" in found.headline()
    answer = answer_of(found)
    assert (answer.word, answer.tone) == ("MISSING", "open")
    assert answer.sentence == "Something of the reference is missing, without one clear mode."
    found = differing(result)
    assert found.headline().startswith("Nothing new shown")
    assert answer_of(found).word == "NOTHING NEW"
