"""The rules of single steps: what comes out of each, column by column."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import KBinsDiscretizer, PowerTransformer, SplineTransformer

from shiftmetrics.models.reading.step_forms import REGISTER, ColumnForm, UnknownForm

X = np.random.default_rng(0).normal(size=(30, 2))
NUMBER = ColumnForm("affine", frozenset([0]))
OTHER = ColumnForm("affine", frozenset([1]))
PIECES = [ColumnForm("pieces", form.sources) for form in (NUMBER, OTHER)]
SUM = ColumnForm("affine", frozenset([0, 1]))


@pytest.mark.parametrize(
    ("step", "sources"),
    [
        (KBinsDiscretizer([3, 4], strategy="uniform"), [0, 0, 0, 1, 1, 1, 1]),
        (SplineTransformer(4, degree=1), [0, 0, 0, 0, 1, 1, 1, 1]),
        (SplineTransformer(4, degree=1, include_bias=False), [0, 0, 0, 1, 1, 1]),
    ],
)
def test_columns_that_come_out_know_where_they_are_from(step: object, sources: list[int]) -> None:
    forms = REGISTER[type(step).__name__](step.fit(X), PIECES)
    assert [min(form.sources) for form in forms] == sources


def test_flags_of_a_number_that_stands_for_missing_depend_on_it() -> None:
    rows = np.where(X > 1.0, 0.0, X)
    step = SimpleImputer(missing_values=0.0, add_indicator=True).fit(rows)
    forms = REGISTER["SimpleImputer"](step, PIECES)
    assert [min(form.sources) for form in forms] == [0, 1, 0, 1]
    with pytest.raises(UnknownForm, match=r"jumps at 0\.0"):
        REGISTER["SimpleImputer"](step, [NUMBER, OTHER])


def test_a_bent_sum_has_no_form() -> None:
    with pytest.raises(UnknownForm, match="several columns"):
        REGISTER["PowerTransformer"](PowerTransformer().fit(X), [SUM, OTHER])
