"""The result of comparing tokens: its sentence and its way through JSON."""

import pytest

from shiftmetrics import Result
from shiftmetrics.decisions import diff_tokens
from shiftmetrics.tables.register import read_file
from token_examples import TinyModel, generated_line, given_line, token_log


@pytest.fixture
def results(tmp_path):
    found = []
    for write in (given_line, generated_line):
        logs = []
        for name, model in (("old", TinyModel()), ("new", TinyModel(noise=0.3))):
            lines = []
            for n in range(25):
                text = [n, n + 3, n + 7, n + 1, n + 2]
                more = (5,) if write is given_line else (4, 5)
                lines.append(write(model, f"q{n}", text, *more))
            logs.append(read_file(token_log(tmp_path / f"{name}.jsonl", lines), name))
        found.append(diff_tokens(*logs))
    return found


def test_the_sentence_has_the_figures(results):
    given, written = results
    assert f"top token is the same at {100 * (1 - given.value):.1f} %" in given.sentence
    assert "of 100 tokens of 25 sequences" in given.sentence
    assert "KL at least " in given.sentence
    assert "not compared" not in given.sentence
    assert f"{written.counts.parted} sequences part" in " ".join(written.notes())
    assert (given.status.code, written.status.code) == ("given", "generated")


def test_it_travels_as_json(results):
    for result in results:
        again = Result.from_json(result.to_json())
        assert again.equals(result)
        assert again.sentence == result.sentence


def test_what_stands_beside_the_value(results):
    given = results[0]
    assert given.secondary_metrics == {"divergence": given.divergence, "exit_code": 0}
    assert given.comparable["counts.is_given"][0] is True
    assert given.above == ()


def test_details_say_how_the_interval_was_made(results):
    given = results[0]
    assert "by 25 requests" in given.details()[0]
    assert f"model alone: {round(given.value * given.n_samples)}." in given.details()[1]
