"""The words of verdicts: each stands once, and none is good and bad."""

from shiftmetrics.decisions import verdicts


def test_no_two_verdicts_share_a_word() -> None:
    words = [
        value for name, value in vars(verdicts).items() if isinstance(value, str) and name.isupper()
    ]
    assert len(words) == len(set(words)) > 10


def test_good_and_bad_are_apart_and_not_knowing_is_neither() -> None:
    good = set(verdicts.GOOD)
    bad = set(verdicts.BAD)
    assert not good & bad
    for unclear in (verdicts.CANNOT_TELL, verdicts.CANNOT_TELL_YET, verdicts.CHANGED):
        assert unclear not in good | bad
