"""Logs of promptfoo, as the tool writes them."""

import json

import pytest

from evaluation_logs import promptfoo_json, promptfoo_result
from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.logs import LogCells
from shiftmetrics.tables.register import read_file


def test_success_and_score_are_scores_and_variables_name_the_question(tmp_path):
    results = [promptfoo_result(n, 1.0 if n % 2 else 0.5) for n in range(4)]
    log = read_file(promptfoo_json(tmp_path / "old.json", results), "OLD")
    assert isinstance(log, LogCells)
    assert log.scores == ("success", "score", "right")
    assert log.frame["id"].tolist() == ["add-000", "add-001", "add-002", "add-003"]
    assert log.frame["success"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert log.frame["score"].tolist() == [0.5, 1.0, 0.5, 1.0]


def test_the_place_of_a_test_says_nothing(tmp_path):
    first = promptfoo_json(tmp_path / "a.json", [promptfoo_result(n, 1.0) for n in range(3)])
    moved = [promptfoo_result(n, 1.0, place=2 - n) for n in range(3)]
    second = promptfoo_json(tmp_path / "b.json", moved)
    logs = [read_file(path, "OLD").frame for path in (first, second)]
    assert logs[0]["digest"].tolist() == logs[1]["digest"].tolist()


def test_an_error_of_the_provider_is_no_wrong_answer(tmp_path):
    results = [promptfoo_result(0, 0.0), promptfoo_result(1, 0.0, error=True)]
    log = read_file(promptfoo_json(tmp_path / "old.json", results), "OLD")
    assert log.frame["failed"].tolist() == [False, True]


def test_lines_are_read_too(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(promptfoo_result(n, 1.0)) + "\n" for n in range(3)))
    log = read_file(path, "OLD")
    assert isinstance(log, LogCells)
    assert log.frame["success"].tolist() == [1.0, 1.0, 1.0]


def test_repeats_are_numbered_where_the_log_says_so(tmp_path):
    results = [promptfoo_result(n // 2, 1.0, place=n) for n in range(6)]
    log = read_file(promptfoo_json(tmp_path / "old.json", results, repeat=2), "OLD")
    assert log.frame["repeat"].tolist() == [1, 2, 1, 2, 1, 2]
    log = read_file(promptfoo_json(tmp_path / "old.json", results), "OLD")
    assert "repeat" not in log.frame


def test_one_of_several_models_is_taken_by_name(tmp_path):
    results = [promptfoo_result(n, 1.0, provider=name) for n in range(3) for name in ("a", "b")]
    log = read_file(promptfoo_json(tmp_path / "old.json", results), "OLD")
    assert log.models == ("a", "b")
    assert len(log.of_model("b").frame) == 3
    with pytest.raises(ValueError, match="model of the log"):
        log.of_model("c")


def test_a_log_without_results_is_refused(tmp_path):
    with pytest.raises(UnreadableError, match="results"):
        read_file(promptfoo_json(tmp_path / "old.json", []), "OLD")
