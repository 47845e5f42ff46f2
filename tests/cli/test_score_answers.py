"""Scores and logs as the command ``diff`` takes them."""

import pandas as pd
import pytest

from evaluation_logs import promptfoo_json, promptfoo_result
from shiftmetrics.cli.score_answers import TypedScores, are_scores, score_answer, score_range_of
from shiftmetrics.cli.signature import Call
from shiftmetrics.tables.python import cells_of
from shiftmetrics.tables.register import read_file


def typed_call():
    return Call({}, {}, 0, False, {"scores": "--scores", "ids": "--id"})


@pytest.fixture
def log(tmp_path):
    results = [
        promptfoo_result(n, 1.0 if n % 3 or name == "a" else 0.0, provider=name)
        for n in range(30)
        for name in "ab"
    ]
    return read_file(promptfoo_json(tmp_path / "eval.json", results), "OLD")


def test_logs_and_named_columns_are_scores(log):
    table = cells_of(pd.DataFrame({"id": [1], "judge": [0.5]}), "OLD")
    assert are_scores([log, log], None)
    assert are_scores([table, table], "judge")
    assert not are_scores([table, table], None)


def test_two_models_of_one_log_are_compared(log, tmp_path):
    changed = tmp_path / "changed.csv"
    answer = score_answer(
        typed_call(), [log], ["eval.json"], TypedScores(old="a", new="b", changed=changed)
    )
    (result,) = answer.results.values()
    assert (result.counts.better, result.counts.worse) == (0, 10)
    assert answer.exit_code == 0  # nothing is allowed, so that nothing is asked
    assert len(pd.read_csv(changed)) == 10


def test_messages_name_options(log):
    with pytest.raises(ValueError, match="^--scores must be"):
        score_answer(typed_call(), [log], ["eval.json"], TypedScores(old="a", new="b", scores="x"))


def test_costs_are_lower(log):
    typed = TypedScores(old="a", new="b", lower_is_better=True)
    (result,) = score_answer(typed_call(), [log], ["eval.json"], typed).results.values()
    assert (result.counts.better, result.counts.worse) == (10, 0)


def test_a_range_is_two_numbers():
    assert score_range_of(None) is None
    assert score_range_of("1,5") == (1.0, 5.0)
    with pytest.raises(ValueError, match="--score-range"):
        score_range_of("1 to 5")


@pytest.mark.parametrize("as_is", [False, True])
def test_questions_that_a_spreadsheet_would_run_are_guarded(tmp_path, as_is):
    names = ["=1+1", "@SUM(1)", "plain"]
    old, new = (
        cells_of(pd.DataFrame({"id": names, "judge": scores}), argument)
        for argument, scores in (("OLD", [0.5, 0.5, 0.5]), ("NEW", [0.0, 1.0, 0.25]))
    )
    changed = tmp_path / "changed.csv"
    typed = TypedScores(scores="judge", ids="id", changed=changed, as_is=as_is)
    score_answer(typed_call(), [old, new], ["old.csv", "new.csv"], typed)
    written = set(pd.read_csv(changed)["id"])
    assert written == (set(names) if as_is else {"'=1+1", "'@SUM(1)", "plain"})
