"""An audit on the page: modes and columns with the figures of the results."""

import re

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import audit_samples
from shiftmetrics.views.report import render_report
from shiftmetrics.views.report.audit import audit_answer


def table(seed, n=160):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "city": rng.choice(["A", "B"], n), "guess": x > 0, "paid": x > 0})


@pytest.fixture(scope="module")
def audited():
    current = table(1)
    current.loc[100:139, "city"] = "C"
    current.loc[:9, "paid"] = ~current.loc[:9, "paid"]
    return audit_samples(table(0), current, model="guess", label="paid")


def lines(page, caption):
    found = page.partition(caption)[2].partition("</table>")[0]
    return [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in found.split("<tr>")[2:]]


def test_key_figures_are_those_of_the_result(audited):
    figures = {figure.name: figure.value for figure in audit_answer(audited).tiles}
    assert figures["Modes"] == str(len(audited.changes.new))
    assert figures["Columns changed"] == str(audited.changes.n_changed)
    assert figures["New"].split()[0] == f"{100 * audited.new_fraction:.2g}"
    # Ten of 160 labels were turned round.
    assert figures["Accuracy"].split()[0] == f"{100 * 150 / 160:.2g}"


def test_modes_and_columns_have_their_lines(audited):
    page = render_report(audited)
    (mode,) = audited.changes.new
    (line,) = lines(page, "New modes")
    assert line[1] == mode.description
    assert int(line[2]) == mode.n_members
    assert line[5].split(", ")[0] == mode.names[0]
    columns = lines(page, "Columns by themselves")
    assert [cells[0] for cells in columns] == [change.column for change in audited.changes.columns]
    assert [float(cells[4]) for cells in columns] == pytest.approx(
        [change.effect for change in audited.changes.columns], abs=0.006
    )
