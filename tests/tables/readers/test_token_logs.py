"""Logs of log-probabilities as servers write them."""

import json

import pytest

from shiftmetrics.tables.register import read_file
from shiftmetrics.tables.token_logs import TokenCells
from token_examples import TinyModel, generated_line, given_line, token_log

MODEL = TinyModel()
TEXT = [3, 1, 4, 1, 5]


def test_given_and_generated_tokens_are_told(tmp_path):
    for chat in (True, False):
        line = given_line(MODEL, "a", TEXT, 4, chat=chat)
        cells = read_file(token_log(tmp_path / "given.jsonl", [line]), "OLD")
        assert isinstance(cells, TokenCells)
        (sequence,) = cells.sequences
        assert sequence.is_given
        assert [place.token("id") for place in sequence.places] == TEXT[1:]
        for end, place in enumerate(sequence.places, start=1):
            expected = MODEL.logprobs(TEXT[:end])
            found = place.distribution("id")
            assert len(found) in (4, 5)
            assert found == {token: pytest.approx(expected[token]) for token in found}
    line = generated_line(MODEL, "a", TEXT, 3, 4)
    (sequence,) = read_file(token_log(tmp_path / "own.jsonl", [line]), "OLD").sequences
    assert not sequence.is_given
    assert (len(sequence.places), sequence.n_tokens, sequence.n_prompt) == (3, 3, 5)


def test_the_given_token_is_named_by_the_ids_of_the_prompt(tmp_path):
    record = json.loads(given_line(MODEL, "a", TEXT, 40))
    body = record["response"]["body"]
    # sorted keys, as some programs write them: the first one is no longer the token that stands there
    body["prompt_logprobs"] = [
        place and dict(sorted(place.items())) for place in body["prompt_logprobs"]
    ]
    body["prompt_token_ids"] = TEXT
    path = token_log(tmp_path / "given.jsonl", [json.dumps(record)])
    (sequence,) = read_file(path, "OLD").sequences
    assert [place.token("id") for place in sequence.places] == TEXT[1:]


def test_an_answer_without_its_request_is_read_too(tmp_path):
    record = json.loads(generated_line(MODEL, "a", TEXT, 3, 4))
    body = {**record["response"]["body"], "custom_id": "b"}
    (sequence,) = read_file(token_log(tmp_path / "own.jsonl", [json.dumps(body)]), "OLD").sequences
    assert sequence.name == "b"


def content_of(record):
    return record["response"]["body"]["choices"][0]["logprobs"]["content"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.pop("custom_id"), "custom_id"),
        (lambda record: content_of(record)[0].update(logprob=0.5), "at most 0"),
        (lambda record: content_of(record)[0].update(logprob="-1"), "at most 0"),
        (lambda record: content_of(record)[0].update(top_logprobs=[{"id": 1}]), "at most 0"),
    ],
)
def test_what_cannot_be_told_is_refused(tmp_path, change, message):
    record = json.loads(generated_line(MODEL, "a", TEXT, 1, 4))
    change(record)
    with pytest.raises(ValueError, match=message):
        read_file(token_log(tmp_path / "own.jsonl", [json.dumps(record)]), "OLD")


def test_a_damaged_line_is_named(tmp_path):
    line = generated_line(MODEL, "a", TEXT, 1, 4)
    with pytest.raises(ValueError, match="line 2 cannot be read"):
        read_file(token_log(tmp_path / "own.jsonl", [line, line[:-9]]), "OLD")


def test_a_request_stands_once(tmp_path):
    line = generated_line(MODEL, "a", TEXT, 1, 4)
    with pytest.raises(ValueError, match="twice"):
        read_file(token_log(tmp_path / "own.jsonl", [line, line]), "OLD")


def test_log_probabilities_by_text_are_refused(tmp_path):
    body = {
        "choices": [{"index": 0, "logprobs": {"tokens": ["a"], "top_logprobs": [{"a": -0.1}]}}],
    }
    line = json.dumps({"custom_id": "a", "response": {"body": body}})
    with pytest.raises(ValueError, match="texts alone"):
        read_file(token_log(tmp_path / "own.jsonl", [line]), "OLD")


def test_a_table_in_json_lines_stays_a_table(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"id": 1, "choices": 3}\n{"id": 2, "choices": 4}\n')
    assert not isinstance(read_file(path, "OLD"), TokenCells)
