"""Tokens by id and by bytes."""

import math

import pytest

from shiftmetrics.tables.token_logs import (
    TokenPlace,
    TokenSequence,
    frame_of_sequences,
    named_token,
)

PLACE = TokenPlace(
    names=(1, b"a"),
    before=b"",
    candidates=(((1, b"a"), math.log(0.5)), ((2, b"b"), math.log(0.2)), ((3, b"a"), math.log(0.1))),
)


def test_a_token_has_an_id_or_bytes():
    assert named_token((1, None), "id") == 1
    assert named_token((None, b"x"), "bytes") == b"x"
    assert (PLACE.token("id"), PLACE.token("bytes")) == (1, b"a")


def test_tokens_of_equal_bytes_are_one():
    assert len(PLACE.distribution("id")) == 3
    found = PLACE.distribution("bytes")
    assert found == {b"a": pytest.approx(math.log(0.6)), b"b": pytest.approx(math.log(0.2))}


def test_sequences_are_rows():
    sequence = TokenSequence(
        name="q", choice=0, places=(PLACE,), is_given=True, n_tokens=None, n_prompt=2
    )
    frame = frame_of_sequences((sequence,))
    assert frame.iloc[0].tolist() == ["q", 0, 1, True]
