"""What all logs of evaluations have in common: the scores of each question, whatever the tool."""

from __future__ import annotations

import numpy as np
import pytest

from shiftmetrics.decisions import diff_scores
from shiftmetrics.tables.content import Content, ReadOptions, UnreadableError
from shiftmetrics.tables.logs import LogCells
from shiftmetrics.tables.readers.evaluations import (
    ScoredAnswer,
    cells_of_answers,
    numbered,
)
from shiftmetrics.tables.register import read_file
from tool_logs import WRITERS

OLD = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]
NEW = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("tool", WRITERS)
def test_two_logs_are_compared_question_by_question(tool, tmp_path):
    if tool == "lighteval":
        pytest.importorskip("pyarrow")
    write, lead, suffix = WRITERS[tool]
    paths = [tmp_path / f"{name}{suffix}" for name in ("old", "new")]
    for path, scores in zip(paths, (OLD, NEW), strict=True):
        path.write_bytes(write(scores))
    log = read_file(paths[0], "OLD")
    assert isinstance(log, LogCells)
    assert log.scores[0] == lead
    result = diff_scores(*(read_file(path, "OLD") for path in paths))
    assert result.n_samples == len(OLD)
    # lower is better for hits of a detector: 1 - score, which falls where the score rises
    assert result.value == pytest.approx(np.mean(NEW) - np.mean(OLD))
    frame = result.to_frame()
    assert len(frame) == sum(old != new for old, new in zip(OLD, NEW, strict=True))


@pytest.mark.parametrize("tool", ["opencompass", "evalscope", "mteb"])
def test_a_folder_of_one_file_for_each_task_is_one_log(tool, tmp_path):
    write, _, suffix = WRITERS[tool]
    names = ("first", "second")
    for name, scores in zip(names, (OLD, NEW), strict=True):
        options = {"task": name} if tool == "mteb" else {}
        (tmp_path / f"{name}{suffix}").write_bytes(write(scores, **options))
    log = read_file(tmp_path, "OLD")
    assert isinstance(log, LogCells)
    assert len(log.frame) == len(OLD) + len(NEW)
    assert set(log.frame["task"]) == set(names)


def answers_of(*scores, **more):
    answers = [
        ScoredAnswer(question=str(place), asked=place, scores=part, **more)
        for place, part in enumerate(scores)
    ]
    content = Content("OLD", "old.json", ReadOptions(), data=b"{}")
    return cells_of_answers(content, "a tool", answers)


def test_what_is_no_number_is_left_out_and_named():
    log = answers_of({"acc": 1.0, "text": "good", "wer": "0.5"}, {"acc": None, "wer": 0.25})
    assert log.scores == ("acc", "wer")
    assert log.lower_is_better == {"wer"}
    assert any("text" in note for note in log.notes)
    assert np.isnan(log.frame["acc"][1])
    with pytest.raises(UnreadableError, match="no number"):
        answers_of({"text": "good"})
    with pytest.raises(UnreadableError, match="samples"):
        answers_of()


def test_a_long_question_is_named_by_its_beginning_and_a_digest():
    answers = [
        ScoredAnswer(question="", asked="x" * 100 + end, scores={"acc": 1.0}) for end in "ab"
    ]
    content = Content("OLD", "old.json", ReadOptions(), data=b"{}")
    names = cells_of_answers(content, "a tool", answers).frame["id"].tolist()
    assert len(set(names)) == 2
    assert all(len(name) <= 60 for name in names)


def test_answers_to_one_question_are_counted():
    assert list(numbered("abca")) == [(1, True), (1, True), (1, True), (2, True)]
    assert list(numbered("abc")) == [(1, False), (1, False), (1, False)]
