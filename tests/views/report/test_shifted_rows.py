"""Rows that change in the worst case: listed from the nearest, cell by cell."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics.models import model_stability
from shiftmetrics.views import Context, Rows
from shiftmetrics.views.report import render_report
from shiftmetrics.views.report.shifted_rows import changed_cells


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(60, 15, 90), "pulse": rng.normal(80, 10, 90)})
    return X, (X["age"] + rng.normal(0, 10, 90) > 60).to_numpy().astype(int)


@pytest.fixture(scope="module")
def result(people):
    return model_stability(LogisticRegression().fit(*people), *people, 0.6, theta1=1.0, theta2=0.25)


def test_changes_are_printed_with_as_many_digits_as_tell_them_apart():
    start = pd.Series({"age": 63.0, "pulse": 80.0, "ward": "A", "sick": True, "same": 1})
    end = pd.Series({"age": 66.5, "pulse": 80.00012, "ward": "B", "sick": True, "same": 1})
    assert changed_cells(start, end) == "age 63 → 66.5, pulse 80 → 80.0001, ward A → B"
    many = pd.Series(np.arange(6.0))
    assert changed_cells(many, many + 1.0).endswith(" and 2 more")


def test_rows_that_move_are_listed_from_the_nearest(people, result):
    page = render_report(result, context=Context(rows={"Stability": Rows(labels=people[1])}))
    table = page.partition("The rows that break first.")[2].partition("</table>")[0]
    heads = re.findall(r"<th[^>]*>([^<]+)</th>", table)
    assert heads == ["Row", "Label", "Distance", "Weight", "What changes"]
    lines = [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in table.split("<tr>")[2:]]
    assert len(lines) == 12
    moves = [float(line[2]) for line in lines]
    assert moves == sorted(moves)
    name, text = int(lines[-1][0]), lines[-1][-1]
    before, after = text.split("age ")[1].split(",")[0].split(" → ")
    assert float(before) == pytest.approx(people[0]["age"][name], rel=0.01)
    assert float(after) == pytest.approx(result.changed_rows()["age"][name], rel=0.01)
    assert before != after
    moved = page.partition("What changes, by column")[2].partition("</table>")[0]
    assert re.findall(r"<td>(age|pulse)</td>", moved) == ["age", "pulse"]
