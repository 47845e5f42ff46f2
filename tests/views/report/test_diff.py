"""A comparison of two models on the page: figures counted again, changed rows in the order of labelling."""

import re

import pytest

from shiftmetrics import diff_models
from shiftmetrics.views.report import render_report
from shiftmetrics.views.report.diff import diff_answer, diff_facts
from two_predictions import CHANGED, GAINS, LABELS, NEW, OLD, prices


@pytest.fixture(scope="module")
def labelled():
    return diff_models(OLD, NEW, labels=LABELS, groups=LABELS % 2, allow=0.02)


def lines(page, caption):
    table = page.partition(caption)[2].partition("</table>")[0]
    return [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in table.split("<tr>")[2:]]


def test_key_figures_are_counts(labelled):
    figures = {figure.name: figure for figure in diff_answer(labelled).tiles}
    assert figures["Changed"].value == str(CHANGED.sum())
    assert figures["Fixed"].value == str((GAINS == 1).sum())
    assert figures["Broken"].value == str((GAINS == -1).sum())
    old = float(figures["Accuracy, old"].value.split()[0])
    assert old == pytest.approx(100 * (OLD.argmax(axis=1) == LABELS).mean(), abs=0.06)
    points = float(figures["Difference"].value.split()[0])
    assert points == pytest.approx(100 * GAINS.mean(), abs=0.06)


def test_the_interval_to_copy_is_in_points_as_the_tile(labelled):
    page = render_report(labelled)
    copied = page.partition("Interval, to copy, in points:")[2].partition("</p>")[0]
    low, high = map(float, re.search(r">(\S+)\sto\s(\S+)\s\(95\s%\)<", copied).groups())
    assert low == pytest.approx(100.0 * labelled.interval.low, rel=1e-3)
    assert high == pytest.approx(100.0 * labelled.interval.high, rel=1e-3)


def test_without_labels_the_difference_is_not_known():
    verdict = diff_answer(diff_models(OLD, NEW, rng=0))
    figures = {figure.name: figure for figure in verdict.tiles}
    assert figures["Difference"].value == "not known"
    assert figures["Difference"].meaning.startswith("for certain: ")
    assert "Fixed" not in figures
    assert len(verdict.steps) <= 3


def test_changed_rows_stand_in_the_order_of_labelling(labelled):
    page = render_report(labelled)
    rows = labelled.changes.rows
    found = lines(page, "Changed rows, in the order in which to label them")
    assert [line[0] for line in found] == [str(each) for each in rows.id[: len(found)]]
    assert {line[-1] for line in found} <= {"fixed", "broken", "neither"}
    parts = lines(page, "Classes and groups")
    assert [int(line[1]) for line in parts] == [part.n_samples for part in labelled.parts]
    assert [int(line[2]) for line in parts] == [part.n_changed for part in labelled.parts]


def test_outputs_of_a_regression_change_by_row_alone():
    truth, old, new = prices()
    result = diff_models(old, new, labels=truth)
    page = render_report(result)
    assert "Most frequent changes" not in page
    assert not any("agreement" in fact.name for fact in diff_facts(result))
    assert lines(page, "Changed rows")
