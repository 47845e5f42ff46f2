"""Typical rows and texts of a mode."""

import re

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.views.report import Context, Rows, render_report
from shiftmetrics.views.report.parts import LONGEST_TEXT, excerpt
from shiftmetrics.views.report.typical import TypicalSide, typical_columns, typical_rows

TABLE = pd.DataFrame(
    {
        "age": [20.0, 21.0, 22.0, 80.0],
        "height": [170.0, 171.0, 169.0, 170.0],
        "kind": ["cat", "cat", "dog", "eel"],
        "same": [1, 1, 1, 1],
        "empty": [np.nan] * 4,
    }
)


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


def test_columns_are_ordered_by_their_difference_in_standard_deviations():
    assert typical_columns(np.array([3]), TABLE) == {
        "kind": "kind eel 100 % (25 %)",
        "age": "age 80 (35.8)",
        "height": "height 170 (170)",
    }


def test_rows_without_columns_to_show():
    assert typical_columns(np.array([0]), TABLE[["same", "empty"]]) == {}


def test_a_table_of_typical_rows(result, rows):
    mode = result.new[0]
    test, reference = (TypicalSide(mode, Rows(**rows), reference=side) for side in (False, True))
    grid = typical_rows(test, reference, ["size", "colour"], 4)
    assert grid.headings == {"Row": False, "Label": False, "size": True, "colour": False}
    cells = [list(line.values()) for line in grid.lines]
    assert [line[1:] for line in cells[:4]] == [["new", "1", "blue"]] * 4
    assert [line[0] for line in cells[:4]] == [str(i) for i in mode.exemplars[:4]]
    # the reference has no labels, and no colours
    assert cells[4] == [f"{mode.reference_exemplars[0]} (reference)", "0", "–"]
    assert len(cells) == 6


def test_tables_reach_the_page(result, rows):
    text = page(result, **rows)
    assert "Most typical rows, then the nearest to them in the reference" in text
    assert re.search(r"colour blue \d+\s% \(40\s%\)", text)


def test_texts_reach_the_page_escaped_and_cut(result):
    texts = [f"<i>old</i> {i} " + "word " * 100 for i in range(30)] + [
        f"<b>new</b> {i}" for i in range(20)
    ]
    shown = page(result, texts=texts, reference_texts=[f"known {i}" for i in range(40)])
    mode = result.new[0]
    assert f"<b>{mode.exemplars[0]}</b> &lt;b&gt;new&lt;/b&gt; {mode.exemplars[0] - 30}" in shown
    assert f"known {mode.reference_exemplars[0]}" in shown
    assert "<i>old" not in shown
    assert "word " * 60 not in shown


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("short\n and  sweet", "short and sweet"),
        ("x" * 1000, "x" * LONGEST_TEXT + " …"),
        ("word " * 100, ("word " * 48).strip() + " …"),
    ],
)
def test_an_excerpt_is_one_line_cut_between_words(text, wanted):
    assert excerpt(text) == wanted


@pytest.mark.slow
def test_what_is_missing_shows_itself_in_the_reference(result, rows):
    rng = np.random.default_rng(0)
    known = np.concatenate([rng.normal(size=(30, 2)), rng.normal(9.0, 0.3, size=(20, 2))])
    swapped = kernel_entropic_novelty(rng.normal(size=(40, 2)), known, bandwidth=1.0)
    other_way = {
        "table": rows["reference_table"],
        "reference_table": rows["table"],
        "labels": ["here"] * 40,
        "reference_labels": rows["labels"],
    }
    text = page(swapped, **other_way)
    card = text[text.index("Missing 1") :]
    assert re.search(
        r"Labels of its members: new \((9\d|100)\s%\).* members in the reference, 0 in the test",
        card,
    )
    assert re.search(r"colour blue \d+\s% \(40\s%\)", card)
    assert "then the nearest to them in the test sample" in card
    assert f"<td>{swapped.missing[0].reference_exemplars[0]}</td>" in card
    assert f"<td>{swapped.missing[0].exemplars[0]} (test sample)</td>" in card
    assert "Missing 1" not in page(result, **rows)


def test_what_is_missing_is_shown_where_it_stands_out():
    near, far = np.zeros((30, 2)), np.full((30, 2), 9.0)
    far += 0.1 * np.random.default_rng(0).normal(size=far.shape)
    lost = kernel_entropic_novelty(near, np.concatenate([near, far]), bandwidth=1.0)
    assert "Missing 1" in page(lost)


def test_no_row_is_typical_that_is_no_member(result, rows):
    (mode,) = result.new
    side = TypicalSide(mode, Rows(**rows))
    assert mode.n_members == 20
    assert set(side.typical(50)) <= set(range(30, 50))
    assert len(side.typical(50)) == min(20, len(mode.exemplars))
    assert len(side.typical(3)) == 3
