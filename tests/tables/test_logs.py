"""What logs of evaluations hold."""

import gc
import math

import pytest

from shiftmetrics.tables.content import Content, ReadOptions
from shiftmetrics.tables.logs import (
    LogRows,
    collector_paused,
    column_of_score,
    digest_of_question,
    has_falling_name,
    joined_logs,
    left_out,
    number_of,
    plain_fields,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1.0), (True, 1.0), ("0.5", 0.5), (0.25, 0.25), ("good", None), ([1, 2], None)],
)
def test_a_score_is_a_number_or_none(value, number):
    assert number_of(value) == number


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "nan"])
def test_a_score_that_is_none_is_missing(value):
    assert math.isnan(number_of(value))


def test_a_digest_does_not_depend_on_the_order_of_keys():
    assert digest_of_question({"a": 1, "b": 2}) == digest_of_question({"b": 2, "a": 1})
    assert digest_of_question({"a": 1}) != digest_of_question({"a": 2})
    assert digest_of_question("a", "b") != digest_of_question("ab")


def test_long_strings_and_lists_are_no_fields():
    fields = plain_fields({"level": "hard", "text": "x" * 500, "choices": [1], "n": 3}, "doc")
    assert fields == {"doc.level": "hard", "doc.n": 3}


def test_a_score_with_the_name_of_a_role_gets_another_column():
    assert column_of_score("failed") == "score.failed"
    assert column_of_score("acc") == "acc"


def test_what_is_left_out_is_named():
    assert left_out([]) == ()
    assert "bleu" in left_out(["bleu"])[0]


def log_of(task, name, score):
    rows = LogRows()
    rows.add({"task": task, "id": "0", "digest": "d", "failed": False, score: 1.0})
    content = Content("OLD", name, ReadOptions(), data=b"")
    return rows.cells(content, tool="a tool", scores=[score], settings={"shots": name})


def test_logs_of_several_tasks_are_one():
    joined = joined_logs([log_of("a", "a.jsonl", "acc"), log_of("b", "b.jsonl", "f1")], "run")
    assert joined.scores == ("acc", "f1")
    assert joined.frame["task"].tolist() == ["a", "b"]
    assert math.isnan(joined.frame["f1"][0])
    assert joined.settings == {"shots": "a.jsonl", "shots (b.jsonl)": "b.jsonl"}


def test_digests_tell_texts_and_objects_apart():
    found = {
        digest_of_question(*parts)
        for parts in (
            ("a",),
            ("a", "b"),
            ("ab",),
            ("a\0b",),
            ("a", None),
            ({"a": 1},),
            ('[{"a": 1}]',),
            (["a"],),
            ('["a"]',),
        )
    }
    assert len(found) == 9
    assert digest_of_question({"a": 1, "b": 2}) == digest_of_question({"b": 2, "a": 1})


def test_the_collector_is_as_it_was():
    for is_on in (True, False):
        (gc.enable if is_on else gc.disable)()
        try:
            with collector_paused():
                assert not gc.isenabled()
            assert gc.isenabled() == is_on
        finally:
            gc.enable()


@pytest.mark.parametrize(
    ("name", "falls"),
    [
        ("wer", True),
        ("word_perplexity", True),
        ("bits_per_byte", True),
        ("accuracy", False),
        ("loss_free", False),
        ("wer,none", True),
        ("filter", False),
    ],
)
def test_losses_by_their_name(name, falls):
    assert has_falling_name(name) == falls
