"""Answers that are codes of the classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells

N = 40
NAMES = np.array(["ale", "lager", "stout"])
TRUTH = np.random.default_rng(3).integers(0, 3, N)
OTHERS = np.where(np.arange(N) % 5, TRUTH, (TRUTH + 1) % 3)


def _read(codes, *, label=True, **options):
    files = []
    for name, own in zip(("OLD", "NEW"), codes, strict=True):
        frame = pd.DataFrame({"id": [f"b{row}" for row in range(N)], "pred": own})
        if label:
            frame["label"] = NAMES[TRUTH]
        files.append(cells(frame, name, f"{name.lower()}.csv"))
    return read_predictions(files, options=RoleOptions(**options))


def test_codes_from_1_ask_and_what_is_offered_works():
    """R, MATLAB and SPSS count the classes from 1: the option names as many classes as there are."""
    codes = (TRUTH + 1, OTHERS + 1)
    with pytest.raises(AmbiguousReadingError, match="--classes ale,lager,stout: the columns stand"):
        _read(codes)
    for label in (True, False):
        found = _read(codes, label=label, classes=("ale", "lager", "stout"))
        assert found.files[0].answers().tolist() == NAMES[TRUTH].tolist()
        assert found.files[1].answers().tolist() == NAMES[OTHERS].tolist()


def test_a_file_that_never_answers_the_first_class_counts_as_the_other_does():
    codes = (np.maximum(TRUTH, 1), OTHERS)
    assert OTHERS.min() == 0
    found = _read(codes, classes=("ale", "lager", "stout"))
    assert found.files[0].answers().tolist() == NAMES[codes[0]].tolist()


def test_codes_from_0_are_what_they_were():
    found = _read((TRUTH, OTHERS))
    assert found.files[1].answers().tolist() == NAMES[OTHERS].tolist()
    by_four = _read((TRUTH + 1, OTHERS + 1), classes=("none", "ale", "lager", "stout"))
    assert by_four.files[1].answers().tolist() == NAMES[OTHERS].tolist()
    with pytest.raises(UnreadableTableError, match="places of 3 classes, got 4"):
        _read((TRUTH + 2, OTHERS + 2), label=False, classes=("ale", "lager", "stout"))
