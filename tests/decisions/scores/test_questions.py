"""Questions of two models, matched."""

import numpy as np
import pandas as pd
import pytest

from evaluation_logs import lm_eval_file, lm_eval_line
from shiftmetrics.decisions.scores.questions import matched_questions
from shiftmetrics.decisions.scores.sides import side_of
from shiftmetrics.tables.register import read_file


def side(argument="old", ids="abcd", scores=(1.0, 0.0, 1.0, 0.0), groups=None, **columns):
    frame = pd.DataFrame({"id": list(ids), "score": scores, **columns})
    return side_of(frame, argument, None, None, groups)


def log_side(path, argument, questions, start=0):
    lines = [
        lm_eval_line(start + n, {"acc": float(n % 2)}, question=question)
        for n, question in enumerate(questions)
    ]
    return side_of(read_file(lm_eval_file(path, lines), argument), argument, None, None, None)


def test_questions_are_matched_by_name_not_by_place():
    pair = matched_questions(side(), side("new", ids="dcba"), inner=False)
    assert pair.ids.tolist() == ["a", "b", "c", "d"]
    assert pair.new.means().tolist() == [0.0, 1.0, 0.0, 1.0]


def test_tasks_without_the_score_stand_above_the_verdict(tmp_path):
    sides = []
    for argument in ("old", "new"):
        folder = tmp_path / argument
        folder.mkdir()
        for task, score in (("arc", "acc"), ("squad", "exact")):
            lines = [lm_eval_line(n, {score: float(n % 2)}) for n in range(4)]
            lm_eval_file(folder / f"samples_{task}_2026-01-01T00-00-00.jsonl", lines)
        sides.append(side_of(read_file(folder, argument), argument, "acc", None, None))
    pair = matched_questions(*sides, inner=False)
    assert len(pair.ids) == 4
    (text,) = pair.warnings
    assert "squad" in text
    assert "arc" not in text


def test_a_question_in_one_table_alone_is_refused_or_left_out():
    new = side("new", ids="abcx")
    with pytest.raises(ValueError, match="1 in old alone and 1 in new alone.*inner=True"):
        matched_questions(side(), new, inner=False)
    pair = matched_questions(side(), new, inner=True)
    assert len(pair.ids) == 3
    assert "Left out" in pair.notes[0]


def test_no_question_in_both_is_refused():
    with pytest.raises(ValueError, match="none in both"):
        matched_questions(side(), side("new", ids="wxyz"), inner=True)


def test_equal_doubled_rows_count_once_and_unequal_ones_are_refused():
    doubled = side("new", ids="abcdd", scores=(1.0, 0.0, 1.0, 0.0, 0.0))
    pair = matched_questions(side(), doubled, inner=False)
    assert pair.new.runs.shape == (4, 1)
    assert "count once" in pair.notes[0]
    other = side("new", ids="abcdd", scores=(1.0, 0.0, 1.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="several scores of 1 of them, such as 'd'"):
        matched_questions(side(), other, inner=False)


def test_repeats_are_runs_of_a_question():
    new = side("new", ids="aabbccdd", scores=(1, 0, 1, 1, 0, 0, 1, np.nan), repeat=[1, 2] * 4)
    pair = matched_questions(side(), new, inner=False)
    assert pair.new.means().tolist() == [0.5, 1.0, 0.0, 1.0]
    assert pair.new.failed.tolist() == [0, 0, 0, 1]
    assert pair.new.means(0.0).tolist() == [0.5, 1.0, 0.0, 0.5]


def test_rows_without_names_are_refused_unless_they_are_one_column():
    frame = pd.DataFrame({"score": [1.0, 0.0], "x": [1, 2]})
    sides = [side_of(frame, name, None, None, None) for name in ("old", "new")]
    with pytest.raises(ValueError, match="ids="):
        matched_questions(*sides, inner=False)
    sides = [side_of(np.array([1.0, 0.0]), name, None, None, None) for name in ("old", "new")]
    assert len(matched_questions(*sides, inner=False).ids) == 2


def test_ids_of_logs_that_count_other_questions_are_not_believed(tmp_path):
    asked = ["one", "two", "three", "four"]
    old = log_side(tmp_path / "old.jsonl", "old", asked)
    # the same questions in another order, counted anew
    new = log_side(tmp_path / "new.jsonl", "new", asked[::-1])
    pair = matched_questions(old, new, inner=False)
    assert pair.new.means().tolist() == [1.0, 0.0, 1.0, 0.0]
    assert "what was asked" in pair.notes[0]


def test_ids_that_differ_over_doubled_questions_are_refused(tmp_path):
    old = log_side(tmp_path / "old.jsonl", "old", ["one", "one", "two"])
    new = log_side(tmp_path / "new.jsonl", "new", ["two", "one", "one"])
    with pytest.raises(ValueError, match="ids="):
        matched_questions(old, new, inner=False)


def test_a_question_may_stand_twice_under_two_ids(tmp_path):
    old = log_side(tmp_path / "old.jsonl", "old", ["one", "one", "two"])
    new = log_side(tmp_path / "new.jsonl", "new", ["one", "one", "two"])
    assert len(matched_questions(old, new, inner=False).ids) == 3


def test_other_questions_under_the_same_ids_are_refused(tmp_path):
    old = log_side(tmp_path / "old.jsonl", "old", ["one", "two", "three"])
    new = log_side(tmp_path / "new.jsonl", "new", ["uno", "due", "tre"])
    with pytest.raises(ValueError, match='of the same questions.*pass ids="id" where an id is'):
        matched_questions(old, new, inner=False)
    # As probes of garak that draw their prompts anew: the remedy works as it is typed.
    sides = [side_of(side.cells, side.argument, None, "id", None) for side in (old, new)]
    assert len(matched_questions(*sides, inner=False).ids) == 3


def test_settings_that_differ_are_warnings(tmp_path):
    sides = []
    for argument, temperature in (("old", 0.0), ("new", 0.8)):
        lines = [lm_eval_line(n, {"acc": 1.0}, temperature=temperature) for n in range(3)]
        path = lm_eval_file(tmp_path / f"{argument}.jsonl", lines)
        sides.append(side_of(read_file(path, argument), argument, None, None, None))
    assert matched_questions(*sides, inner=False).warnings == ("temperature differs: 0.0 > 0.8.",)


def test_groups_must_be_one_for_each_question():
    old = side(groups="g", g=list("xxyy"))
    pair = matched_questions(old, side("new", groups="g", g=list("xxyy")), inner=False)
    assert pair.groups.tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="one group for each question"):
        matched_questions(old, side("new", groups="g", g=list("xyyy")), inner=False)
    tasks = {"task": list("ttuu"), "g": ["p"] * 4, "groups": "g"}
    with pytest.raises(ValueError, match="within one task"):
        matched_questions(side(**tasks), side("new", **tasks), inner=False)


def test_rows_of_several_scores_go_by_place_where_it_is_said():
    """As the scores of ragas 0.4.3: a list of objects with scores alone. The remedy works as it is typed."""
    frames = [
        pd.DataFrame({"exact": scores, "near": scores}) for scores in ([1.0, 0.0], [0.0, 0.0])
    ]
    sides = [
        side_of(frame, name, "exact", None, None)
        for frame, name in zip(frames, ("old", "new"), strict=True)
    ]
    with pytest.raises(ValueError, match='pass ids="none"'):
        matched_questions(*sides, inner=False)
    sides = [
        side_of(frame, name, "exact", "none", None)
        for frame, name in zip(frames, ("old", "new"), strict=True)
    ]
    pair = matched_questions(*sides, inner=False)
    assert pair.old.means().tolist() == [1.0, 0.0]
    assert pair.new.means().tolist() == [0.0, 0.0]
    shorter = side_of(frames[1][:1], "new", "exact", "none", None)
    with pytest.raises(ValueError, match="2 and 1 rows"):
        matched_questions(sides[0], shorter, inner=False)
