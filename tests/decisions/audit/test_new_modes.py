"""What an audit says first: the column that explains a change, one line for one mode, copies before any p-value."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.new_modes import contrasts_of
from shiftmetrics.tables.encoder import TableEncoder
from shiftmetrics.tables.encoder.roles import Column


def test_levels_that_only_one_side_has_count_together():
    rng = np.random.default_rng(4)
    codes = [f"C{number}" for number in range(40)]
    other = pd.DataFrame(
        {"code": rng.choice(codes, 400), "flag": [None] * 400, "size": rng.normal(size=400)}
    )
    own = other.copy()
    own["code"] = [f"X{number}" for number in range(400)]
    own["flag"] = 1.0
    columns = TableEncoder.fit(other, own).columns
    every = np.arange(400)
    texts = [contrast.text for contrast in contrasts_of(columns, own, other, every, every)]
    assert texts == ["code with levels of their own, such as X0", "flag not missing"]
    # As many as any sample has by chance say nothing.
    names = [f"name {number}" for number in rng.permutation(800)]
    other["code"], own["code"] = names[:400], names[400:]
    found = contrasts_of(TableEncoder.fit(other, own).columns, own, other, every, every)
    assert [contrast.column for contrast in found] == ["flag"]


def test_a_mode_of_texts_is_told_by_the_word_that_it_has():
    table = pd.DataFrame({"note": ["the box came late"] * 6 + ["the box came"] * 6 + [None] * 2})
    rows = np.arange(14)
    (contrast,) = contrasts_of(
        [Column("note", "text")], table, table, members=rows[:6], nearest=rows[6:]
    )
    assert "'late'" in contrast.text
    assert contrast.effect == pytest.approx(1.0)
    assert "100 %" in contrast.inside
    assert contrast.outside == format_percent(6 / 14)
    empty = pd.DataFrame({"note": [None] * 4})
    column = [Column("note", "text")]
    assert contrasts_of(column, empty, table, members=rows[:4], nearest=rows) == ()


def test_what_a_part_of_the_members_has_is_said_with_its_fraction():
    rng = np.random.default_rng(0)
    n = 200
    other = pd.DataFrame({"pay": rng.normal(size=n), "app": "web", "note": "all is well"})
    own = pd.DataFrame(
        {
            "pay": np.where(np.arange(n) < 80, np.nan, rng.normal(size=n)),
            "app": np.where(np.arange(n) < 120, "phone", "web"),
            "note": np.where(np.arange(n) < 190, "a refund", "all is well"),
        }
    )
    columns = [Column("pay", "number"), Column("app", "category"), Column("note", "text")]
    found = contrasts_of(columns, own, other, np.arange(n), np.arange(n))
    assert {each.column: each.text for each in found} == {
        "pay": "pay missing in 40 % of them",
        "app": "app = phone in 60 % of them",
        "note": "note with the word 'refund'",  # in 95 %
    }
