"""A comparison of scores on the page and on the card: figures counted again, the worst questions first."""

import re

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import diff_scores
from shiftmetrics.views.report import render_report
from shiftmetrics.views.report.scores import answer_of_scores

N = 300
OLD = np.tile([0.0, 0.5, 1.0], 100)
NEW = np.where(np.arange(N) % 7 == 0, 0.0, OLD)


def table(scores, **columns):
    return pd.DataFrame({"id": [f"q<{n}>" for n in range(N)], "score": scores, **columns})


@pytest.fixture(scope="module")
def result():
    kind = np.where(np.arange(N) < 150, "short", "long")
    return diff_scores(table(OLD, kind=kind), table(NEW, kind=kind), groups="kind", allow=0.02)


def lines(page, caption):
    found = page.partition(caption)[2].partition("</table>")[0]
    return [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in found.split("<tr>")[2:]]


def test_key_figures_are_counts(result):
    figures = {figure.name: figure for figure in answer_of_scores(result).tiles}
    assert float(figures["Old"].value.split()[0]) == pytest.approx(100 * OLD.mean(), abs=0.06)
    assert float(figures["New"].value.split()[0]) == pytest.approx(100 * NEW.mean(), abs=0.06)
    points = float(figures["Difference"].value.split()[0])
    assert points == pytest.approx(100 * (NEW - OLD).mean(), abs=0.06)
    assert figures["Changed"].value == str((NEW < OLD).sum())
    assert figures["Better, worse"].value == f"0, {(NEW < OLD).sum()}"
    assert "Failed samples" not in figures


def test_failed_samples_are_a_figure():
    old = table(OLD).assign(score=np.where(np.arange(N) < 5, np.nan, OLD))
    figures = {part.name: part for part in answer_of_scores(diff_scores(old, table(NEW))).tiles}
    assert (figures["Failed samples"].value, figures["Failed samples"].meaning) == (
        "5",
        "5 old, 0 new",
    )


def test_right_and_wrong_is_fixed_and_broken():
    result = diff_scores(table(np.round(OLD)), table(np.round(NEW)))
    names = [figure.name for figure in answer_of_scores(result).tiles]
    assert names[-1] == "Fixed, broken"
    # all changes have one size
    assert "Questions on the left of zero fell" not in render_report(result)


def test_the_page_has_groups_and_the_worst_questions_first(result):
    page = render_report(result)
    groups = lines(page, "Tasks and groups")
    assert sorted(line[1] for line in groups) == ["long", "short"]
    assert [int(line[2]) for line in groups] == [150, 150]
    worst = lines(page, "Questions whose score changed")
    assert [line[0].replace("&lt;", "<").replace("&gt;", ">") for line in worst] == [
        str(name) for name in result.questions.id[: len(worst)]
    ]
    assert "q<" not in page
    assert "Questions on the left of zero fell" in page


def test_the_card_has_the_verdict_and_a_drawing(result):
    card = result._repr_html_()
    assert result.verdict in card
    assert "<svg" in card
