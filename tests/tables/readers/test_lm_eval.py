"""Logs of lm-evaluation-harness, as the tool writes them."""

import json
import math

import pytest

from evaluation_logs import lm_eval_file, lm_eval_line
from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.logs import LogCells
from shiftmetrics.tables.register import read_file


def test_each_metric_is_a_score_and_repeats_in_the_answers_are_none(tmp_path):
    lines = [lm_eval_line(n, {"acc": float(n % 2), "acc_norm": 1.0}) for n in range(4)]
    log = read_file(
        lm_eval_file(tmp_path / "samples_adds_2026-11-28T18-05-37.6.jsonl", lines), "OLD"
    )
    assert isinstance(log, LogCells)
    assert log.scores == ("acc", "acc_norm")
    assert log.frame["id"].tolist() == ["0", "1", "2", "3"]
    assert log.frame["acc"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert set(log.frame["task"]) == {"adds"}
    assert log.frame["doc.passage"].tolist() == ["p0", "p0", "p0", "p1"]
    assert not log.says_repeats


def test_two_filters_are_two_scores_of_one_question(tmp_path):
    lines = [lm_eval_line(n, {"exact_match": 0.0}, chosen="strict-match") for n in range(3)]
    lines += [lm_eval_line(n, {"exact_match": 1.0}, chosen="flexible-extract") for n in range(3)]
    log = read_file(lm_eval_file(tmp_path / "old.jsonl", lines), "OLD")
    assert log.scores == ("exact_match,strict-match", "exact_match,flexible-extract")
    assert len(log.frame) == 3
    assert log.frame["exact_match,flexible-extract"].tolist() == [1.0, 1.0, 1.0]


def test_nan_is_missing_and_pairs_of_words_are_no_scores(tmp_path):
    lines = [lm_eval_line(0, {"acc": math.nan, "bleu": ["107", "7"]})]
    lines += [lm_eval_line(1, {"acc": True, "bleu": ["95", "95"]})]
    assert "NaN" in lines[0]
    log = read_file(lm_eval_file(tmp_path / "old.jsonl", lines), "OLD")
    assert log.scores == ("acc",)
    assert math.isnan(log.frame["acc"][0])
    assert log.frame["acc"][1] == 1.0
    assert "bleu" in log.notes[0]


def test_a_log_of_pairs_of_words_alone_is_refused(tmp_path):
    lines = [lm_eval_line(n, {"bleu": ["107", "7"]}) for n in range(2)]
    with pytest.raises(UnreadableError, match="score"):
        read_file(lm_eval_file(tmp_path / "old.jsonl", lines), "OLD")


def test_a_log_likelihood_and_its_units_are_a_perplexity(tmp_path):
    pairs = ([-3.0, 7], [-2.0, 6], [-1.0, 0])
    scores = [{"word_perplexity": pair, "bits_per_byte": pair} for pair in pairs]
    lines = [lm_eval_line(n, score) for n, score in enumerate(scores)]
    log = read_file(lm_eval_file(tmp_path / "old.jsonl", lines), "OLD")
    assert log.frame["word_perplexity"][0] == pytest.approx(2.718281828 ** (3 / 7))
    assert log.frame["bits_per_byte"][1] == pytest.approx(2 / 6 / 0.69314718)
    assert log.frame["word_perplexity"].isna().tolist() == [False, False, True]
    assert log.lower_is_better == {"word_perplexity", "bits_per_byte"}
    assert log.notes == (
        "every question counts alike in word_perplexity, bits_per_byte: the tool's own total weighs questions by "
        "their length",
    )


def test_a_task_without_scores_of_questions_is_left_out_of_a_folder(tmp_path):
    for task, metric in (("adds", {"acc": 1.0}), ("texts", {"bleu": ["a", "b"]})):
        lines = [lm_eval_line(n, metric) for n in range(3)]
        lm_eval_file(tmp_path / "run" / f"samples_{task}_2026-11-28T18-05-37.6.jsonl", lines)
    log = read_file(tmp_path / "run", "OLD")
    assert isinstance(log, LogCells)
    assert set(log.frame["task"]) == {"adds"}
    assert "samples_texts" in log.warnings[0]


def test_a_folder_has_a_file_for_each_task(tmp_path):
    for task, metric in (("adds", "acc"), ("texts", "bits_per_byte")):
        lines = [lm_eval_line(n, {metric: 0.5}) for n in range(3)]
        lm_eval_file(tmp_path / "run" / f"samples_{task}_2026-11-28T18-05-37.601577.jsonl", lines)
    (tmp_path / "run" / "results_2026-11-28T18-05-37.601577.json").write_text("{}")
    log = read_file(tmp_path / "run", "OLD")
    assert isinstance(log, LogCells)
    assert sorted(set(log.frame["task"])) == ["adds", "texts"]
    assert log.lower_is_better == {"bits_per_byte"}


def test_a_truncated_log_is_refused(tmp_path):
    lines = [lm_eval_line(n, {"acc": 1.0}) for n in range(3)]
    path = lm_eval_file(tmp_path / "old.jsonl", [*lines[:2], lines[2][:50]])
    with pytest.raises(UnreadableError, match="line 3"):
        read_file(path, "OLD")


def test_another_table_that_begins_so_is_read_as_one(tmp_path):
    lines = [json.dumps({"doc_id": n, "doc": "text", "cat": 0.5, "dog": 0.5}) for n in range(3)]
    cells = read_file(lm_eval_file(tmp_path / "old.jsonl", lines), "OLD")
    assert not isinstance(cells, LogCells)
    assert list(cells.frame.columns) == ["doc_id", "doc", "cat", "dog"]


def test_settings_of_the_generation_are_kept(tmp_path):
    lines = [lm_eval_line(n, {"acc": 1.0}, temperature=0.8) for n in range(3)]
    log = read_file(lm_eval_file(tmp_path / "old.jsonl", lines), "OLD")
    assert log.settings == {"temperature": "0.8"}


def test_unequal_rows_of_a_question_stay_two_rows(tmp_path):
    lines = [
        lm_eval_line(0, {"acc": 1.0}),
        lm_eval_line(0, {"acc": 0.0}),
        lm_eval_line(1, {"acc": 1.0}),
    ]
    log = read_file(lm_eval_file(tmp_path / "old.jsonl", lines), "OLD")
    assert log.frame["id"].tolist() == ["0", "1", "0"]
