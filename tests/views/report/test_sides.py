"""The rows of one sample: names, labels, pictures and texts, of the test sample or of the reference."""

import numpy as np

from shiftmetrics.views import Rows
from shiftmetrics.views.report.sides import Side

ROWS = Rows(
    names=["a", "b"],
    labels=["cat", "dog"],
    images=np.arange(18.0).reshape(2, 3, 3),
    reference_texts=["one", "two words"],
)


def test_the_test_sample_has_its_own_fields():
    side = Side(ROWS)
    assert side.name(1) == "b"
    line = side.line(1)
    assert list(line) == ["Row", "Picture", "Label"]
    assert line["Label"] == "dog"
    assert 'alt="row b, label dog"' in line["Picture"]
    assert len(side.pictures([0, 1])) == 2
    assert side.excerpts([0]) == []


def test_the_reference_has_those_with_a_prefix():
    side = Side(ROWS, reference=True)
    assert side.name(1) == "1"
    assert side.line(0) == {"Row": "0"}
    assert side.pictures([0]) == []
    assert side.excerpts([1, 0]) == [("1", "two words"), ("0", "one")]


def test_pictures_of_a_sample_share_one_range():
    low, high = Side(ROWS).value_range
    assert low <= 0.0
    assert high >= 17.0
