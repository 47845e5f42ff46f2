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
    for unclear in (verdicts.CANNOT_TELL, verdicts.CANNOT_TELL, verdicts.CHANGED):
        assert unclear not in good | bad


def test_exit_codes_of_gates() -> None:
    for verdict in (verdicts.SAFE, verdicts.BETTER, verdicts.SAME, verdicts.WORSE):
        assert verdicts.gate_exit_code(verdict, None) == 0
    codes = {
        verdicts.SAFE: 0, verdicts.BETTER: 0, verdicts.SAME: 0, verdicts.WORSE: 1,
        verdicts.CHANGED: 1, verdicts.CANNOT_TELL: 3,
    }  # fmt: skip
    for verdict, code in codes.items():
        assert verdicts.gate_exit_code(verdict, 0.0) == code
