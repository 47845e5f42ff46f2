"""Comparing log-probabilities: against the full vectors of a small model, and the refusals."""

import json

import numpy as np
import pytest

from shiftmetrics.decisions import diff_tokens
from shiftmetrics.decisions.tokens.tokens import changed_interval, divergence_interval
from shiftmetrics.tables.register import read_file
from token_examples import (
    N_TOKENS,
    TinyModel,
    generated,
    generated_line,
    given_line,
    token_log,
)

OLD = TinyModel(noise=0.0)
NEW = TinyModel(noise=0.15)
TEXTS = np.random.default_rng(7).integers(0, N_TOKENS, (30, 12)).tolist()


def logs_of(tmp_path, write, k=8):
    found = []
    for name, model in (("old", OLD), ("new", NEW)):
        lines = [write(model, f"q{n}", text, k) for n, text in enumerate(TEXTS)]
        found.append(read_file(token_log(tmp_path / f"{name}.jsonl", lines), name))
    return found


def truth():
    """Return by full vectors which top tokens change, and the divergences."""
    changed = []
    divergences = []
    for text in TEXTS:
        for end in range(1, len(text)):
            old, new = OLD.logprobs(text[:end]), NEW.logprobs(text[:end])
            changed.append(old.argmax() != new.argmax())
            divergences.append(float((np.exp(old) * (old - new)).sum()))
    return np.array(changed), np.array(divergences)


def test_given_texts_agree_with_full_vectors(tmp_path):
    changed, divergences = truth()
    few = diff_tokens(*logs_of(tmp_path, given_line))
    assert few.n_samples == len(changed)
    assert few.counts.changed == changed.sum() > 0
    assert few.value == pytest.approx(changed.mean())
    assert 0.3 * divergences.mean() < few.divergence <= divergences.mean()
    assert (few.counts.is_given, few.counts.not_compared, few.counts.parted) == (True, 0, 0)
    # where all tokens are listed, it is the divergence
    full = diff_tokens(*logs_of(tmp_path, given_line, k=N_TOKENS))
    assert full.divergence == pytest.approx(divergences.mean(), abs=1e-5)
    assert full.value == few.value


def test_each_sequence_stands_in_the_table(tmp_path):
    result = diff_tokens(*logs_of(tmp_path, given_line))
    frame = result.to_frame()
    assert frame.divergence.is_monotonic_decreasing
    assert frame.tokens.sum() == result.n_samples
    assert frame.changed.sum() == result.counts.changed
    assert (frame.divergence * frame.tokens).sum() / result.n_samples == pytest.approx(
        result.divergence
    )


def test_answers_are_compared_up_to_the_first_other_token(tmp_path):
    def write(model, name, text, k):
        return generated_line(model, name, text[:4], 6, k)

    result = diff_tokens(*logs_of(tmp_path, write))
    n_places = n_after = n_changed = 0
    for text in TEXTS:
        answers = [generated(model, text[:4], 6) for model in (OLD, NEW)]
        parts = [place for place in range(6) if answers[0][place] != answers[1][place]]
        n_same = parts[0] + 1 if parts else 6
        n_changed += bool(parts)
        n_places += n_same
        n_after += 2 * (6 - n_same)
    assert result.n_samples == n_places
    assert result.counts.changed == result.counts.parted == n_changed > 0
    assert result.counts.not_compared == n_after
    assert f"{n_after:,} after the first other token are not compared" in result.sentence
    assert not result.counts.is_given


def test_tokens_are_joined_by_bytes_where_there_are_no_ids(tmp_path):
    def with_ids(model, name, text, k):
        return generated_line(model, name, text[:4], 6, k)

    def by_bytes(model, name, text, k):
        return generated_line(model, name, text[:4], 6, k, ids=False)

    first = diff_tokens(*logs_of(tmp_path, with_ids))
    second = diff_tokens(*logs_of(tmp_path, by_bytes))
    assert (first.counts.spelling, second.counts.spelling) == ("id", "bytes")
    assert first.value == second.value
    assert first.divergence == pytest.approx(second.divergence)


def test_texts_alone_are_refused(tmp_path):
    line = json.loads(generated_line(OLD, "q0", TEXTS[0][:4], 3, 5, ids=False))
    for entry in line["response"]["body"]["choices"][0]["logprobs"]["content"]:
        for part in (entry, *entry["top_logprobs"]):
            del part["bytes"]
    path = token_log(tmp_path / "old.jsonl", [json.dumps(line)])
    with pytest.raises(ValueError, match="texts alone"):
        read_file(path, "OLD")


def test_a_token_that_the_log_leaves_out_is_part_of_the_context(tmp_path):
    logs = []
    for name, first in (("old", 199), ("new", 200)):
        line = json.loads(generated_line(OLD, "q0", TEXTS[0][:4], 3, 5))
        entry = line["response"]["body"]["choices"][0]["logprobs"]["content"][1]
        entry["bytes"] = [first, *entry["bytes"]]
        logs.append(read_file(token_log(tmp_path / f"{name}.jsonl", [json.dumps(line)]), name))
    result = diff_tokens(*logs)
    assert result.n_samples == 1
    assert result.counts.not_compared == 4
    assert diff_tokens(logs[0], logs[0]).n_samples == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda texts: [[*texts[0][:-1], (texts[0][-1] + 1) % N_TOKENS], *texts[1:]],
            "given tokens",
        ),
        (lambda texts: texts[:-1], "same requests"),
    ],
)
def test_other_texts_and_requests_are_refused(tmp_path, change, message):
    logs = []
    for name, texts in (("old", TEXTS), ("new", change(TEXTS))):
        lines = [given_line(OLD, f"q{n}", text, 5) for n, text in enumerate(texts)]
        logs.append(read_file(token_log(tmp_path / f"{name}.jsonl", lines), name))
    with pytest.raises(ValueError, match=message):
        diff_tokens(*logs)
    if message == "same requests":
        assert diff_tokens(*logs, inner=True).counts.n_sequences == len(TEXTS) - 1


def test_tables_are_no_logs():
    with pytest.raises(TypeError, match="log of log-probabilities"):
        diff_tokens([0.1], [0.2])


def test_verdicts(tmp_path):
    old, new = logs_of(tmp_path, given_line)
    assert (diff_tokens(old, old).verdict, diff_tokens(old, new).verdict) == ("SAME", "CHANGED")
    assert diff_tokens(old, new).exit_code == 0
    interval = diff_tokens(old, new).interval
    for allow, verdict, code in (
        (interval.high + 0.01, "SAFE", 0),
        (interval.low / 2.0, "CHANGED", 1),
        (0.5 * (interval.low + interval.high), "CANNOT TELL", 3),
    ):
        result = diff_tokens(old, new, allow=allow)
        assert (result.verdict, result.exit_code) == (verdict, code)


def test_the_interval_is_by_requests_and_covers():
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(300):
        # what one request has in common makes its places alike
        rates = rng.beta(0.5, 4.5, 40)
        sizes = rng.integers(5, 40, 40)
        changed = rng.binomial(sizes, rates)
        interval = changed_interval(sizes, changed, np.arange(40))
        covered += interval.low <= 0.1 <= interval.high
    assert covered / 300 >= 0.93
    alone = changed_interval(np.array([9]), np.array([2]), np.array([0]))
    assert (alone.low, alone.high) == (0.0, 1.0)


def test_the_spread_of_a_divergence_is_that_between_requests():
    sizes = np.full(10, 5)
    totals = 5.0 * np.linspace(0.1, 1.0, 10)
    interval = divergence_interval(sizes, totals, np.arange(10))
    means = totals / 5.0
    from scipy import stats

    half = stats.t.ppf(0.975, 9) * means.std(ddof=1) / np.sqrt(10)
    assert interval.low == pytest.approx(means.mean() - half)
    assert interval.high == pytest.approx(means.mean() + half)
    assert divergence_interval(np.array([5]), np.array([1.0]), np.array([0])) is None
