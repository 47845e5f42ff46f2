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
    beginning = "CANNOT TELL  new is 0.5 points worse on 1,319 questions (93.4 % to 92.9 %; 95 %: "
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
    # no number of questions in these groups would decide
    other = frame.assign(score=[0.0] * 3 + [1.0] * 17)
    result = diff_scores(frame, other, groups="group", allow=0.05)
    assert result.verdict == "CANNOT TELL"
    assert "would decide" not in result.sentence
    assert result.next_steps == ["Ask questions of more groups."]


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


def test_details_say_how_the_interval_was_made():
    scores = [1.0] * 20 + [0.0] * 12
    single = diff_scores(table(scores), table(scores[::-1]))
    assert "McNemar" in single.details()[0]
    assert "Of 32 questions 8 have equal scores" in single.details()[1]
    graded = table([0.5, 0.5, 1.0, 0.0])
    assert "one more question on either side" in diff_scores(graded, graded).details()[0]


def test_details_say_what_failed_samples_could_do():
    old = table([1.0] * 19 + [np.nan])
    new = table([1.0] * 20)
    result = diff_scores(old, new)
    assert "moves by at most 5 points" in result.details()[-1]
    assert "failed" not in " ".join(diff_scores(new, new).details())


def test_advice_names_options():
    frame = table([1.0, 0.0, 1.0])
    assert "second run of the old one by --again" in " ".join(diff_scores(frame, frame).notes())
