"""Two models by the scores of the same questions: against numbers that are computed again by hand."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from evaluation_logs import (
    inspect_json,
    inspect_log,
    inspect_sample,
    lm_eval_file,
    lm_eval_line,
    promptfoo_json,
    promptfoo_result,
)
from shiftmetrics.decisions.labelling.paired import future_interval
from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval
from shiftmetrics.decisions.scores.result import ScoreDiffResult
from shiftmetrics.decisions.scores.scores import diff_scores
from shiftmetrics.tables.register import read_file


def table(scores, **columns):
    scores = np.asarray(scores, dtype=float)
    return pd.DataFrame({"id": [f"q{n}" for n in range(len(scores))], "score": scores, **columns})


def by_hand(old, new, allow):
    """Return verdict, exit code and interval from the scores alone."""
    gains = np.asarray(new) - np.asarray(old)
    if set(np.unique([old, new])) <= {0.0, 1.0}:
        interval = future_interval(int((gains > 0).sum()), int((gains < 0).sum()), len(gains))
    else:
        interval = paired_mean_interval(gains, 1.0)
    if interval.low > -allow:
        return "SAFE", 0, interval
    if interval.high < -allow:
        return "WORSE", 1, interval
    return "CANNOT TELL", 3, interval


@pytest.mark.parametrize("grades", [(0.0, 1.0), (0.0, 0.5, 1.0)])
@pytest.mark.parametrize("drop", [0.0, 0.03, 0.4])
def test_sentence_and_exit_code_are_those_of_the_scores(grades, drop):
    rng = np.random.default_rng(7)
    for n in (30, 300):
        old = rng.choice(grades, n)
        new = np.where(rng.random(n) < 0.1 + drop, rng.choice(grades, n), old)
        new = np.where(rng.random(n) < drop, 0.0, new)
        result = diff_scores(table(old), table(new), allow=0.1)
        verdict, code, interval = by_hand(old, new, 0.1)
        assert (result.verdict, result.exit_code) == (verdict, code)
        assert result.interval.low == pytest.approx(interval.low)
        assert result.value == pytest.approx(new.mean() - old.mean())
        assert result.headline().startswith(f"{verdict}  new is ")
        better = int((new > old).sum())
        worse = int((new < old).sum())
        words = ("fixed", "broken") if len(grades) == 2 else ("better", "worse")
        assert f": {better} {words[0]}, {worse} {words[1]}" in result.sentence
        (low, high) = re.search(r"95 %: (\S+) to (\S+)\)", result.sentence).groups()
        # printed with one digit less than the width has meaning
        assert float(low) == pytest.approx(100 * interval.low, abs=0.51)
        assert float(high) == pytest.approx(100 * interval.high, abs=0.51)


def test_grades_of_a_judge_are_scores_not_probabilities():
    old = [0.0, 0.5, 1.0, 1.0] * 25
    result = diff_scores(table(old), table(old), allow=0.1)
    assert result.old_score == pytest.approx(0.625)
    assert result.verdict == "SAFE"


def test_without_a_limit_the_sign_is_asked_for_and_the_command_succeeds():
    result = diff_scores(table([1.0] * 100), table([0.0] * 50 + [1.0] * 50))
    assert (result.verdict, result.exit_code) == ("WORSE", 0)


def test_the_order_of_rows_says_nothing():
    rng = np.random.default_rng(2)
    old = table(rng.random(50))
    new = table(rng.random(50))
    first = diff_scores(old, new, allow=0.1)
    second = diff_scores(old.sample(frac=1.0, random_state=1), new, allow=0.1)
    assert second.value == pytest.approx(first.value)
    assert second.interval.low == pytest.approx(first.interval.low)


def test_a_verdict_holds_whatever_failed_samples_would_have_scored():
    n = 400
    old = np.ones(n)
    new = np.ones(n)
    assert diff_scores(table(old), table(new), allow=0.05).verdict == "SAFE"
    new[:30] = np.nan
    result = diff_scores(table(old), table(new), allow=0.05)
    # with all of them wrong the new model is 7.5 points worse
    assert result.verdict == "CANNOT TELL"
    assert result.exit_code == 3
    assert "30 failed samples left out" in result.sentence
    assert "failed samples decide" in " ".join(result.next_steps)
    assert result.counts.left_out == 30
    new[3:30] = 1.0
    result = diff_scores(table(old), table(new), allow=0.05)
    assert result.verdict == "SAFE"
    assert result.n_samples == n - 3


def test_failed_samples_count_as_wrong_where_that_is_asked_for():
    new = np.ones(400)
    new[:80] = np.nan
    result = diff_scores(table(np.ones(400)), table(new), allow=0.05, failed="wrong")
    assert result.verdict == "WORSE"
    assert result.value == pytest.approx(-0.2)


def test_repeats_are_never_questions():
    rng = np.random.default_rng(4)
    ids = np.repeat([f"q{n}" for n in range(12)], 4)
    old = pd.DataFrame({"id": ids, "repeat": list(range(4)) * 12, "score": rng.integers(0, 2, 48)})
    new = old.assign(score=rng.integers(0, 2, 48))
    result = diff_scores(old, new, allow=0.1)
    assert result.n_samples == 12
    assert "on 12 questions x 4 runs" in result.sentence
    noise = "re-running the old model alone would change as many answers (p = "
    assert re.search(re.escape(noise) + r"(\.\d+|1)\)", result.sentence)
    means = new.groupby("id")["score"].mean() - old.groupby("id")["score"].mean()
    expected = paired_mean_interval(means.to_numpy(), 1.0)
    assert result.interval.low == pytest.approx(expected.low)


def test_groups_are_clusters():
    groups = np.repeat([f"p{n}" for n in range(30)], 4)
    rng = np.random.default_rng(6)
    new = np.repeat(rng.random(30) < 0.8, 4).astype(float)
    result = diff_scores(
        table(np.ones(120), passage=groups), table(new, passage=groups), groups="passage"
    )
    _, codes = np.unique(groups, return_inverse=True)
    expected = paired_mean_interval(new - 1.0, 1.0, clusters=codes)
    assert result.interval.low == pytest.approx(expected.low)
    assert "in 30 groups" in result.sentence


def test_several_tasks_count_equally_and_stand_beside_the_mean():
    tasks = ["big"] * 90 + ["small"] * 10
    new = np.array([1.0] * 90 + [0.0] * 10)
    result = diff_scores(table(np.ones(100), task=tasks), table(new, task=tasks))
    assert result.value == pytest.approx(-0.5)
    assert [part.name for part in result.parts] == ["big", "small"]
    assert [part.verdict for part in result.parts] == ["no clear difference", "worse"]
    assert any("over all questions new is 10 points worse" in note for note in result.notes())


def test_these_answers_alone_are_known_exactly():
    old = np.ones(50)
    new = np.ones(50)
    new[:2] = 0.0
    result = diff_scores(table(old), table(new), allow=0.04, population="these")
    assert (result.verdict, result.population) == ("SAFE", "these")
    assert "these 50 questions" in result.sentence
    assert "exactly" in result.sentence
    assert diff_scores(table(old), table(new), allow=0.03, population="these").verdict == "WORSE"
    new[2] = np.nan
    result = diff_scores(table(old), table(new), allow=0.04, population="these")
    assert result.verdict == "CANNOT TELL"


def test_less_is_better_of_costs():
    old = table(np.full(60, 2.0))
    new = table(np.full(60, 1.0))
    options = {"score_range": (0, 4), "allow": 0.5}
    assert diff_scores(old, new, **options, higher_is_better=False).value == 1.0
    assert diff_scores(old, new, **options, higher_is_better=True).verdict == "WORSE"


@pytest.mark.parametrize("given", [None, (0, 1), (2, 1), (0, 1, 2), "wide"])
def test_a_range_must_hold_all_scores(given):
    old = table([1.0, 5.0, 3.0])
    with pytest.raises(ValueError, match="score_range"):
        diff_scores(old, old, score_range=given)


def test_what_is_allowed_must_lie_within_the_range():
    old = table([1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="allow"):
        diff_scores(old, old, allow=1.0)


def test_failed_samples_alone_are_refused():
    old = table([1.0, 1.0])
    with pytest.raises(ValueError, match="score"):
        diff_scores(old, table([np.nan, np.nan]))


def test_a_second_run_of_the_old_model_is_said_and_decides_nothing():
    rng = np.random.default_rng(8)
    old, new, again = (table((rng.random(200) < 0.7).astype(float)) for _ in range(3))
    plain = diff_scores(old, new, allow=0.05)
    result = diff_scores(old, new, allow=0.05, again=again)
    assert result.verdict == plain.verdict
    assert result.noise.changed_again == int((old["score"] != again["score"]).sum())
    assert any("Running the old model again" in note for note in result.notes())


def test_how_many_questions_decide_is_true_for_equal_models():
    # as many questions as are named, as many of them changed: the half width is what is allowed
    old = np.array([1.0] * 160 + [0.0] * 40)
    new = old.copy()
    new[:5] = 0.0
    new[195:] = 1.0
    result = diff_scores(table(old), table(new), allow=0.02)
    assert result.verdict == "CANNOT TELL"
    n = result.counts.decide
    assert n == pytest.approx((1.96 / 0.02) ** 2 * 0.05, rel=0.1)
    half = round(0.025 * n)
    assert future_interval(half, half, n).low == pytest.approx(-0.02, abs=0.004)


def test_the_worst_questions_come_first():
    result = diff_scores(table([1.0, 1.0, 0.5, 0.0]), table([0.0, 0.5, 0.5, 1.0]))
    assert result.questions.id.tolist() == ["q0", "q1", "q3"]
    assert result.to_frame()["change"].tolist() == [-1.0, -0.5, 1.0]


def test_a_result_travels_as_json():
    result = diff_scores(table([1.0, 0.5, 0.0] * 5), table([0.5, 0.5, 1.0] * 5), allow=0.1)
    assert ScoreDiffResult.from_json(result.to_json()).equals(result)


# The tools' own formats: the same answers from each of them.
OLD = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]
NEW = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0]


def logs_of(tool, folder):
    paths = []
    for name, scores in (("old", OLD), ("new", NEW)):
        if tool == "lm_eval":
            lines = [lm_eval_line(n, {"acc": score}) for n, score in enumerate(scores)]
            path = lm_eval_file(folder / f"{name}.jsonl", lines)
        elif tool == "inspect_ai":
            samples = [
                inspect_sample(f"q{n}", {"match": "C" if score else "I"})
                for n, score in enumerate(scores)
            ]
            path = inspect_json(folder / f"{name}.json", inspect_log(samples))
        else:
            results = [promptfoo_result(n, score) for n, score in enumerate(scores)]
            path = promptfoo_json(folder / f"{name}.json", results)
        paths.append(read_file(path, name))
    return paths


@pytest.mark.parametrize("tool", ["lm_eval", "inspect_ai", "promptfoo"])
def test_logs_of_each_tool_give_the_same_answer(tool, tmp_path):
    result = diff_scores(*logs_of(tool, tmp_path), allow=0.1)
    expected = diff_scores(table(OLD), table(NEW), allow=0.1)
    assert result.sentence == expected.sentence
    assert result.exit_code == expected.exit_code == 3
    assert (result.counts.better, result.counts.worse) == (1, 2)
    assert result.questions.change.tolist() == [-1.0, -1.0, 1.0]


def test_two_samples_of_the_new_run_failed(tmp_path):
    old = [inspect_sample(f"q{n}", {"match": "C" if n % 3 else "I"}) for n in range(16)]
    new = [
        inspect_sample(f"q{n}", {"match": "C" if n % 4 else "I"}, error=n in (0, 3))
        for n in range(16)
    ]
    logs = [
        read_file(inspect_json(tmp_path / f"{name}.json", inspect_log(samples)), name)
        for name, samples in (("old", old), ("new", new))
    ]
    result = diff_scores(*logs)
    kept = [n for n in range(16) if n not in (0, 3)]
    assert result.n_samples == 14
    assert result.counts.failed_new == 2
    assert result.old_score == pytest.approx(np.mean([n % 3 != 0 for n in kept]))
    assert result.new_score == pytest.approx(np.mean([n % 4 != 0 for n in kept]))


def test_a_run_that_was_stopped_is_named_where_its_questions_are_missing(tmp_path):
    samples = [inspect_sample(f"q{n}", {"match": "C"}) for n in range(6)]
    old = read_file(inspect_json(tmp_path / "old.json", inspect_log(samples)), "old")
    stopped = inspect_log(samples[:4], status="cancelled", n=6)
    new = read_file(inspect_json(tmp_path / "new.json", stopped), "new")
    with pytest.raises(ValueError, match="cancelled"):
        diff_scores(old, new)
    result = diff_scores(old, new, inner=True)
    assert "cancelled" in result.above[0]


def test_several_models_in_a_log_are_asked_for(tmp_path):
    results = [promptfoo_result(n, 1.0, provider=name) for n in range(3) for name in "ab"]
    log = read_file(promptfoo_json(tmp_path / "eval.json", results), "old")
    with pytest.raises(ValueError, match="--old 'a'"):
        diff_scores(log, log)
    assert diff_scores(log.of_model("a"), log.of_model("b")).value == 0.0


def test_tasks_of_a_folder_without_the_score_did_not_fail(tmp_path):
    logs = []
    for name in ("old", "new"):
        for task, metric in (("adds", "acc"), ("texts", "f1")):
            lines = [lm_eval_line(n, {metric: 1.0}) for n in range(4)]
            lm_eval_file(tmp_path / name / f"samples_{task}_2026-11-28T18-05-37.6.jsonl", lines)
        logs.append(read_file(tmp_path / name, name))
    result = diff_scores(*logs, scores="acc")
    assert (result.n_samples, result.counts.failed_old) == (4, 0)
    assert any("texts" in text for text in result.above)
    assert diff_scores(*logs, scores="acc,none").value == 0.0


@pytest.mark.parametrize(
    ("n", "changed"),
    [
        (20, 0.1),
        (20, 0.3),
        (50, 0.02),
        (50, 0.3),
        (200, 0.02),
        pytest.param(200, 0.1, marks=pytest.mark.slow),
        pytest.param(200, 0.3, marks=pytest.mark.slow),
    ],
)
def test_safe_is_rarely_said_where_the_loss_is_what_is_allowed(n, changed):
    """Enumerate all outcomes of 0/1 scores whose true loss lies at the limit, of both kinds of change."""
    from scipy.stats import binom

    for fall in (changed, 0.75 * changed):
        loss = fall - (changed - fall)
        safe = 0.0
        for n_changed in range(n + 1):
            weight = binom.pmf(n_changed, n, changed)
            if weight < 1e-5:
                continue
            for n_fallen in range(n_changed + 1):
                chance = weight * binom.pmf(n_fallen, n_changed, fall / changed)
                if chance < 1e-6 or n_changed - 2 * n_fallen < -n * loss:
                    continue  # an estimate below the limit is never safe
                interval = future_interval(n_changed - n_fallen, n_fallen, n)
                safe += chance * (interval.low > -loss)
        assert safe <= 0.025
        assert not math.isnan(safe)


def test_each_group_is_beside_the_mean_and_holds_for_more_of_its_questions():
    rng = np.random.default_rng(3)
    old = pd.DataFrame({"id": range(300), "score": rng.integers(0, 2, 300).astype(float)})
    old["topic"] = np.repeat(["a", "b", "c"], 100)
    new = old.assign(score=np.where(old.topic == "b", 0.0, old.score))
    result = diff_scores(old, new, groups="topic")
    assert [(part.kind, part.name) for part in result.parts] == [
        ("group", "a"),
        ("group", "b"),
        ("group", "c"),
    ]
    assert [part.verdict for part in result.parts] == [
        "no clear difference",
        "worse",
        "no clear difference",
    ]
    # the interval of 100 questions alone, at a level at which three hold together
    alone = diff_scores(old[old.topic == "b"], new[new.topic == "b"])
    part = result.parts[1]
    assert part.interval.confidence_level == pytest.approx(1.0 - 0.05 / 3.0)
    assert part.interval.low < alone.interval.low < alone.interval.high < part.interval.high
    notes = " ".join(result.notes())
    assert all(f"Group {name}: " in notes for name in "abc")


def test_many_groups_are_no_parts():
    old = pd.DataFrame({"id": range(120), "score": 1.0, "passage": np.arange(120) // 2})
    assert diff_scores(old, old, groups="passage").parts == ()


def test_repeats_leave_an_interval_for_these_questions():
    rng = np.random.default_rng(4)
    rows = [(q, run) for q in range(12) for run in range(4)]
    frame = pd.DataFrame(rows, columns=["id", "repeat"])
    old = frame.assign(score=rng.integers(0, 2, 48).astype(float))
    new = frame.assign(score=rng.integers(0, 2, 48).astype(float))
    result = diff_scores(old, new, population="these")
    assert (result.population, result.interval.method) == ("these", "repeats")
    assert result.interval.low < result.value < result.interval.high
    assert "on these 12 questions x 4 runs" in result.sentence
    assert "95 %: " in result.sentence
    # other questions leave more open
    future = diff_scores(old, new).interval
    assert future.high - future.low > result.interval.high - result.interval.low
    # of one answer each, the answers are all there is
    first = diff_scores(old[old.repeat == 0], new[new.repeat == 0], population="these")
    assert first.interval.low == first.interval.high
