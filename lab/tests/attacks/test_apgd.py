"""The checkpoints of APGD, and its losses."""

from shiftmetrics_lab.attacks.apgd import checkpoints


def test_checkpoints_are_those_of_the_paper():
    assert checkpoints(100)[:5] == [22, 41, 57, 70, 80]
    assert checkpoints(100)[-1] == 100
    assert checkpoints(7)[-1] == 7
