"""A result that leads with a verdict."""

from shiftmetrics.decisions.leading_verdict import LeadingVerdict


class Toss(LeadingVerdict):
    verdict = "HEADS"
    sentence = "It fell once."


def test_the_verdict_stands_before_its_sentence_and_nothing_behind_it():
    assert Toss().headline().split("  ") == ["HEADS", "It fell once."]
    assert Toss().details() == []
