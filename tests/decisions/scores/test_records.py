"""The parts of a comparison of scores travel as JSON with it."""

import numpy as np

from shiftmetrics._core.record import decode, encode_value
from shiftmetrics.decisions.scores.records import ChangedQuestions, RerunNoise


def test_parts_are_read_back():
    noise = RerunNoise(method="again", p_value=0.5, changed_new=3, changed_again=4)
    kept = {}
    assert decode(encode_value(noise, kept.__setitem__), dict).equals(noise)


def test_arrays_are_not_writeable():
    ones = np.ones(1)
    names = np.array(["a"], dtype=object)
    part = ChangedQuestions(id=names, task=names, old=ones, new=ones, change=ones)
    assert not part.change.flags.writeable
