"""The sentences of a comparison of scores."""

import numpy as np
import pandas as pd

from shiftmetrics.decisions.scores.scores import diff_scores


def table(scores):
    return pd.DataFrame({"id": range(len(scores)), "score": np.asarray(scores, dtype=float)})


def test_the_headline_of_a_benchmark():
    old = np.array([1.0] * 1232 + [0.0] * 87)
    new = old.copy()
    new[:38] = 0.0
    new[-31:] = 1.0
    headline = diff_scores(table(old), table(new), allow=0.01).headline()
    beginning = (
        "CANNOT TELL YET  new is 0.5 points worse on 1,319 questions (93.4 % to 92.9 %; 95 %: "
    )
    assert headline.startswith(beginning)
    assert ": 31 fixed, 38 broken. About " in headline
    assert headline.endswith("questions would decide on 1 point.")


def test_scores_of_another_range_are_units():
    old = table([600.0] * 40)
    new = table([620.0] * 40)
    sentence = diff_scores(old, new, score_range=(0, 1000)).sentence
    assert "new is 20 better" in sentence
    assert "(600 to 620; " in sentence


def test_few_groups_are_named():
    frame = table([1.0] * 20).assign(group=list("aaaaabbbbbcccccddddd"))
    notes = " ".join(diff_scores(frame, frame, groups="group").notes())
    assert "4 groups are few" in notes


def test_one_run_each_tells_nothing_of_chance():
    frame = table([1.0, 0.0, 1.0])
    assert "by chance" in " ".join(diff_scores(frame, frame).notes())


def test_a_number_has_no_exponent():
    old = table([620.0] * 4)
    new = table([0.0] * 4)
    assert "new is 620 worse" in diff_scores(old, new, score_range=(0, 1000)).sentence


def test_intervals_have_no_exponent():
    old = table(np.linspace(0.0, 90000.0, 30))
    new = table(np.linspace(0.0, 90000.0, 30)[::-1])
    sentence = diff_scores(old, new, score_range=(0, 100000)).sentence
    assert "e+" not in sentence
    assert "(45,000 to 45,000; 95 %: -" in sentence
