"""Names of scores: shared beginnings, what is beside them, and the class inside a name."""

from shiftmetrics.tables.roles.score_names import (
    affixes_of_longest,
    are_beside,
    is_single_score,
    middle_of,
    otherwise_named,
    without_beginning,
)


def test_a_beginning_that_all_share_is_taken_off():
    assert without_beginning(["new_cat", "new_dog"]) == ["cat", "dog"]
    assert without_beginning(["new_cat", "old_dog"]) == ["new_cat", "old_dog"]


def test_what_stands_between_beginning_and_end():
    affixes = affixes_of_longest(["prob.cat.1", "prob.dog.1"], {"cat", "dog"})
    assert ("prob.", ".1") in affixes
    assert middle_of("prob.cat.1", "prob.", ".1") == "cat"


def test_a_column_without_the_usual_beginning_is_told():
    assert otherwise_named(["p_cat", "p_dog", "p_fox", "weight"]) == {"weight"}
    assert otherwise_named(["cat", "p_dog"]) == set()


def test_names_of_what_stands_beside_scores():
    assert are_beside(["cat", "confidence"])
    assert not are_beside(["cat", "dog"])
    assert not is_single_score(["cat", "dog"])
